//! The documents against the program: what they show is what comes out.
//!
//! - A `console` fence holds commands behind `$ ` and what each prints. They are run, one document in
//!   one folder, and what comes out has the form of what is shown: numbers may differ, and `...` stands
//!   for any lines. `$ cat FILE` shows a file, which is made so.
//! - A `rust,ignore` fence is an excerpt, word by word, of a file that its document links to. All
//!   other `rust` fences are doc-tests of the crate that they use.
//! - The guide names every error and every option.
//!
//! Command lines that show no output are parsed in `tests/lines.rs` and `xtask`.

mod common;
#[path = "common/fences.rs"]
mod fences;

use common::Folder;
use fences::{Document, documents, split};
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The same with less to do, for what takes long. The form of the output is the same.
const QUICKER: &[(&str, &str)] = &[
    (
        "bench tpcc --warehouses 2 --threads 2 --duration 2s --verify",
        "bench tpcc --warehouses 2 --threads 2 --transactions 800 --scale micro --verify",
    ),
    (
        "bench tpcc --warehouses 1 --threads 1 --transactions 2000 --history run.history --quiet",
        "bench tpcc --warehouses 1 --threads 1 --transactions 200 --scale micro --history run.history --quiet",
    ),
    (
        "soak --simulated --scheme lock-table --workload scan",
        "soak --simulated --scheme lock-table --workload scan --interleave 1,8",
    ),
    (
        "crash --cycles 300 --workload bank --durability epoch --seed 12",
        "crash --cycles 1 --workload bank --durability epoch --seed 12",
    ),
];

/// Runs a documented line; everything that it says.
fn run(line: &str, folder: &str, used: &mut Vec<usize>) -> String {
    let words = split(line);
    let words = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["chiliad", ..] => &words[1..],
        ["cargo", "run", "--release", "--", ..] => &words[4..],
        _ => panic!("`{line}` is no command of this repository"),
    };
    let mut line = words.join(" ");
    if let Some(at) = QUICKER.iter().position(|(slow, _)| *slow == line) {
        line = QUICKER[at].1.to_owned();
        used.push(at);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_chiliad"));
    let output = command.args(split(&line)).current_dir(folder).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8(said).expect("UTF-8")
}

/// A line without what differs from run to run: numbers, widths of columns, reasons of refusals.
fn form(line: &str) -> String {
    let mut out = String::new();
    for word in line.split_whitespace() {
        let identity = word.len() >= 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let masked = if identity { "#".to_owned() } else { mask(word) };
        out += if out.is_empty() { "" } else { " " };
        out += &masked;
    }
    // `, phantom 3` and the like.
    while let Some(at) = out.rfind(", ") {
        let reason = out[at + 2..].strip_suffix(" #").is_some_and(|reason| {
            reason.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        });
        if !reason {
            break;
        }
        out.truncate(at);
    }
    out
}

/// A word with `#` for each number, digits with commas and points between them.
fn mask(word: &str) -> String {
    let mut out = String::new();
    for c in word.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' if out.ends_with("#.") || out.ends_with("#,") => drop(out.pop()),
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

/// Whether lines have the forms shown; `...` stands for any number of lines.
fn fits(shown: &[&str], said: &[&str]) -> bool {
    match (shown, said) {
        ([], []) => true,
        ([first, rest @ ..], _) if first.trim() == "..." => {
            (0..=said.len()).any(|skipped| fits(rest, &said[skipped..]))
        }
        ([shown, rest @ ..], [said, after @ ..]) => form(shown) == form(said) && fits(rest, after),
        _ => false,
    }
}

/// Commands of a `console` fence with what each is shown to print.
fn entries(code: &str) -> Vec<(&str, Vec<&str>)> {
    let mut entries: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in code.lines() {
        match (line.strip_prefix("$ "), entries.last_mut()) {
            (Some(command), _) => entries.push((command, Vec::new())),
            (None, Some((_, shown))) => shown.push(line),
            (None, None) => panic!("a `console` fence begins with a command: {line}"),
        }
    }
    entries
}

fn compare(document: &Document, used: &mut Vec<usize>) -> usize {
    let place = document.path.display().to_string();
    let folder = Folder::new(&format!("documents-{}", place.replace('/', "-")));
    let mut compared = 0;
    for fence in document.fences().into_iter().filter(|fence| fence.language == "console") {
        for (line, shown) in entries(&fence.code) {
            if let Some(file) = line.strip_prefix("cat ") {
                fs::write(folder.file(file), shown.join("\n") + "\n").expect("a file");
                continue;
            }
            let said = run(line, &folder.file("."), used);
            let lines: Vec<&str> = said.lines().collect();
            let shown: Vec<&str> = shown.into_iter().filter(|line| !line.is_empty()).collect();
            let said_lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
            assert!(
                fits(&shown, &said_lines),
                "{place}:{}: `{line}` says\n{said}\nbut is shown to say\n{}",
                fence.line,
                shown.join("\n")
            );
            compared += 1;
        }
    }
    compared
}

#[test]
fn samples_of_output_have_the_form_that_comes_out() {
    let mut used = Vec::new();
    let compared: usize =
        documents(root()).iter().map(|document| compare(document, &mut used)).sum();
    assert!(compared >= 10, "{compared} samples");
    for (at, (slow, _)) in QUICKER.iter().enumerate() {
        assert!(used.contains(&at), "no document shows `{slow}`");
    }
}

#[test]
fn numbers_alone_may_differ() {
    assert_eq!(form("  aborted  15 (0.06 %), phantom 15"), form("  aborted 3 (1.20 %)"));
    assert_eq!(form("p99.9 25,428.0 us"), "p# # us");
    assert_ne!(form("lost 0"), form("found 0"));
    assert!(fits(&["a 1", "...", "z"], &["a 2", "b", "c", "z"]));
    assert!(!fits(&["a 1", "z"], &["a 2", "b", "z"]) && !fits(&["a 1"], &[]));
}

/// Every fence says what is in it, so that none escapes the tests.
#[test]
fn fences_say_what_they_hold() {
    for document in documents(root()) {
        for fence in document.fences() {
            let place = format!("{}:{}", document.path.display(), fence.line);
            let known = ["sh", "console", "text", "rust", "rust,ignore", "toml"];
            assert!(known.contains(&fence.language.as_str()), "{place}: `{}`", fence.language);
            if fence.language == "text" {
                let output = fence.code.lines().any(|line| {
                    line.starts_with("$ ")
                        || line.starts_with("chiliad")
                        || line.contains("edges: ")
                });
                assert!(!output, "{place}: what a command prints stands in a `console` fence");
            }
        }
    }
}

#[test]
fn excerpts_are_what_the_files_hold() {
    let words = |code: &str| code.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = 0;
    for document in documents(root()) {
        let folder = root().join(&document.path);
        let folder = folder.parent().expect("a folder");
        let links = document.text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let files = links
            .map(|(link, _)| folder.join(link))
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let sources: Vec<String> =
            files.map(|path| words(&fs::read_to_string(path).expect("a source"))).collect();
        for fence in document.fences().into_iter().filter(|fence| fence.language == "rust,ignore") {
            let code = words(&fence.code);
            let place = document.path.display();
            assert!(
                sources.iter().any(|source| source.contains(&code)),
                "{place}:{}: no file that the page links to holds this",
                fence.line
            );
            found += 1;
        }
    }
    assert!(found > 0, "no excerpt was found");
}

fn source(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// The lines of an item, from its head to the brace that ends it.
fn item<'a>(source: &'a str, head: &str) -> impl Iterator<Item = &'a str> {
    let (_, body) = source.split_once(&format!("\n{head} {{\n")).expect(head);
    body.lines().take_while(|line| *line != "}")
}

/// Names that begin a line of an item behind `prefix`.
fn names<'a>(lines: impl Iterator<Item = &'a str>, prefix: &str) -> Vec<String> {
    let name = |line: &str| {
        let rest = line.strip_prefix(prefix)?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let starts = rest.starts_with(|c: char| c.is_alphabetic());
        starts.then(|| rest[..end].to_owned())
    };
    lines.filter_map(name).collect()
}

/// A section of the guide on embedding.
fn section<'a>(guide: &'a str, title: &str) -> &'a str {
    let (_, rest) = guide.split_once(&format!("\n## {title}\n")).expect(title);
    rest.split("\n## ").next().expect("a section")
}

#[test]
fn the_guide_names_every_error_and_option() {
    let guide = source("docs/embedding.md");
    let quoted = |text: &str, name: &str| {
        text.contains(&format!("`{name}`")) || text.contains(&format!("`{name}("))
    };
    let errors = names(item(&source("crates/api/src/error.rs"), "pub enum Error"), "    ");
    assert!(errors.len() > 20 && errors.contains(&"Conflict".to_owned()), "{errors:?}");
    for error in errors {
        assert!(quoted(section(&guide, "Errors"), &error), "Error::{error} is missing");
    }
    let options = item_names("crates/chiliad/src/options.rs", "pub struct Options");
    assert!(options.len() > 20, "{options:?}");
    for option in options {
        assert!(quoted(section(&guide, "Opening"), &option), "Options::{option} is missing");
    }
    let run_options = item_names("crates/chiliad/src/run_options.rs", "pub struct RunOptions");
    assert!(run_options.len() > 4, "{run_options:?}");
    for option in run_options {
        assert!(quoted(&guide, &option), "RunOptions::{option} is missing");
    }
}

fn item_names(path: &str, head: &str) -> Vec<String> {
    names(item(&source(path), head), "    pub ")
}
