//! Every command line of the documents, parsed and resolved as if it had been typed; nothing runs.

#[path = "../tests/common/fences.rs"]
mod fences;

use crate::args::{self, Command};
use crate::{jobs, sweep};
use chiliad_host::Stop;
use std::path::Path;

fn try_out(words: &[String]) -> Result<(), Stop> {
    args::parse(words)?;
    for point in sweep::expand(words)? {
        // What the flags of a run mean together, as far as nothing is created for it.
        let command = args::parse(&point)?.command;
        if matches!(command, Command::Bench(_) | Command::Simulate(_)) {
            jobs::job(&command)?;
        }
    }
    Ok(())
}

/// In running text a command may stand without what it needs, and a word for any workload.
fn is_cut_short(stop: &Stop) -> bool {
    matches!(stop, Stop::BadInput(line) if line.contains("missing"))
}

/// This computer is too small for it, which says nothing of the document.
fn needs_a_larger_computer(stop: &Stop) -> bool {
    matches!(stop, Stop::BadInput(line) if line.contains("needs about") && line.contains("of memory"))
}

/// Lines that show what is refused.
const REFUSED: [&str; 1] = ["bench tpcc --warehouses 0"];

#[test]
fn command_lines_in_documents_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut tried, mut refused) = (0, 0);
    for document in fences::documents(root) {
        for command in document.commands() {
            let Some(words) = command.of_chiliad() else { continue };
            let any = |word: &String| if word == "WORKLOAD" { "ycsb".into() } else { word.clone() };
            let words: Vec<String> = words.iter().map(any).collect();
            tried += 1;
            match try_out(&words) {
                Ok(()) | Err(Stop::Done(_)) => {}
                Err(stop) if command.inline && is_cut_short(&stop) => {}
                Err(stop) if needs_a_larger_computer(&stop) => {}
                Err(Stop::BadInput(_)) if REFUSED.contains(&words.join(" ").as_str()) => {
                    refused += 1
                }
                Err(stop) => panic!("{}: {words:?}: {stop:?}", command.place),
            }
        }
    }
    assert!(tried > 60 && refused == REFUSED.len(), "{tried} tried, {refused} refused");
}
