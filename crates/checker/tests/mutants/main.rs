//! The checker against falsified histories: every operator on every history of the golden set, in up
//! to [`PLACES_MAX`] places of each.
//!
//! What the checker says of a mutant is compared with what a search through all serial orders finds
//! (`oracle.rs`, which shares no code with it):
//!
//! - it reports an anomaly, and no serial order explains the mutant: *caught*;
//! - it finds nothing, and a serial order explains the mutant: *harmless*, and that order is the
//!   reason;
//! - it finds nothing and says that some absences are unexplained: *undecided*, which must be rare.
//!
//! Anything else fails the test. `mutants.txt` counts all of them by operator, so that an operator that
//! loses its teeth shows; `MUTANTS=write cargo test -p chiliad-checker --test mutants` writes it anew,
//! `MUTANTS=list` with `-- --nocapture` prints each harmless mutant with its order, `MUTANTS=all` takes
//! every place.

mod model;
mod operators;
mod oracle;

use chiliad_checker::{History, Options, check};
use model::Model;
use operators::Operator;
use oracle::Rules;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where an operator fits more places of a history, some are chosen at equal distances.
const PLACES_MAX: usize = 24;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// What came of the mutants of one operator.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    mutants: u64,
    caught: u64,
    harmless: u64,
    undecided: u64,
}

struct Golden {
    name: String,
    model: Model,
    rules: Rules,
}

fn golden() -> Vec<Golden> {
    let files = std::fs::read_dir(folder().join("histories")).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 50);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let asked = text.lines().find_map(|line| line.strip_prefix("#! check ")).unwrap_or("");
        let asks = |word| asked.split_whitespace().any(|asked| asked == word);
        let rules = Rules {
            strict: asks("strict"),
            insertion: asks("insertion"),
            order_follows_reads: asks("order-follows-reads"),
        };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let model = Model::parse(&History::from_text(&text).unwrap().to_text());
        Golden { name, model, rules }
    };
    paths.into_iter().map(read).collect()
}

/// The serial order, where there is one, and whether the checker left the question open.
fn judge(model: &Model, rules: Rules, what: &dyn Fn() -> String) -> (Option<Vec<String>>, bool) {
    let text = model.to_text();
    let history = History::from_text(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", what()));
    let options = Options {
        strict: rules.strict,
        version_insertion: rules.insertion,
        order_follows_reads: rules.order_follows_reads,
        ..Options::default()
    };
    let verdict = check(&history, &options);
    let order = oracle::explain(model, rules);
    let open = verdict.passed() && verdict.unexplained_reads > 0;
    assert!(
        open || verdict.passed() == order.is_some(),
        "{}: a serial order is {order:?}, but the checker says\n{verdict}\n{text}",
        what()
    );
    (order, open)
}

fn falsify(golden: &Golden, operator: &Operator, wanted: &str) -> Tally {
    let mut tally = Tally::default();
    let mutants = (operator.apply)(&golden.model);
    let distance = if wanted == "all" { 1 } else { mutants.len().div_ceil(PLACES_MAX).max(1) };
    for (number, mutant) in mutants.into_iter().enumerate().step_by(distance) {
        let what = || format!("{}, {}, mutant {number}", golden.name, operator.name);
        let (order, open) = judge(&mutant, golden.rules, &what);
        tally.mutants += 1;
        match order {
            _ if open => tally.undecided += 1,
            None => tally.caught += 1,
            Some(order) => {
                tally.harmless += 1;
                if wanted == "list" {
                    println!("{}: explained by {}", what(), order.join(" "));
                }
            }
        }
    }
    tally
}

#[test]
fn every_mutant_is_caught_or_harmless() {
    let wanted = std::env::var("MUTANTS").unwrap_or_default();
    let golden = golden();
    let mut table = String::from(
        "mutants of histories that are serializable, and of others, by operator\n\
         every harmless one has a serial order that explains it\n\n",
    );
    writeln!(table, "{:52}{:>8}{:>8}{:>9}{:>10}", "", "mutants", "caught", "harmless", "undecided")
        .unwrap();
    for good in [true, false] {
        let chosen: Vec<&Golden> = golden
            .iter()
            .filter(|golden| {
                judge(&golden.model, golden.rules, &|| golden.name.clone()).0.is_some() == good
            })
            .collect();
        writeln!(
            table,
            "{} {}",
            chosen.len(),
            if good { "serializable" } else { "not serializable" }
        )
        .unwrap();
        for operator in operators::ALL {
            let mut sum = Tally::default();
            for golden in &chosen {
                let tally = falsify(golden, operator, &wanted);
                sum.mutants += tally.mutants;
                sum.caught += tally.caught;
                sum.harmless += tally.harmless;
                sum.undecided += tally.undecided;
            }
            let Tally { mutants, caught, harmless, undecided } = sum;
            assert!(undecided * 100 <= mutants, "{}: {undecided} of {mutants}", operator.name);
            writeln!(
                table,
                "  {:50}{mutants:>8}{caught:>8}{harmless:>9}{undecided:>10}",
                operator.name
            )
            .unwrap();
        }
    }
    if wanted == "all" {
        return println!("{table}");
    }
    let path = folder().join("mutants.txt");
    if wanted == "write" {
        std::fs::write(&path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, expected, "{}", path.display());
}
