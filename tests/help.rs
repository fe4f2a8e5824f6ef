//! The help against the pages of the guide: every word that the command accepts is told there, and every flag that the
//! page on the command tells is one.
//!
//! Flags of workloads are told on the workloads' page, all others on the command's.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Flags of Cargo, of `cargo xtask` and of all programs that the command's page shows.
const OTHERS: [&str; 4] = ["--release", "--features", "--ours", "--help"];

/// A subcommand: its words, and what its help says.
struct Page {
    words: Vec<String>,
    help: String,
}

impl Page {
    fn read(words: Vec<String>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chiliad"));
        let output = command.args(&words).arg("--help").output().expect("it runs");
        assert!(output.status.success(), "{words:?} --help");
        Self { words, help: String::from_utf8(output.stdout).expect("UTF-8") }
    }

    /// Its subcommands.
    fn inner(&self) -> Vec<String> {
        let listed = self.help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let lines = listed.lines().take_while(|line| !line.is_empty());
        // What is wrapped is indented further.
        let names = lines.filter_map(|line| line.strip_prefix("  "));
        let names = names.filter(|line| !line.starts_with(' '));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    }

    /// Its own flags.
    fn flags(&self) -> BTreeSet<String> {
        let words = self.help.lines().filter_map(|line| line.split_whitespace().next());
        let flags = words.filter(|word| word.starts_with("--"));
        flags.map(|word| word.split(['=', '[']).next().unwrap_or_default().to_owned()).collect()
    }
}

/// The help of the command and of all that is below it.
fn pages() -> Vec<Page> {
    let mut pages = vec![Page::read(Vec::new())];
    let mut at = 0;
    while let Some(page) = pages.get(at) {
        let inner = page.inner().into_iter().map(|name| [&page.words[..], &[name]].concat());
        let inner: Vec<_> = inner.map(Page::read).collect();
        pages.extend(inner);
        at += 1;
    }
    pages
}

/// All flags that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("--"));
    words.filter(|word| word.len() > 3).map(|word| word.trim_end_matches('-').to_owned()).collect()
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(path).expect("a page of the guide")
}

#[test]
fn every_flag_of_the_help_is_told_in_the_guide() {
    let pages = pages();
    assert!(pages.len() >= 30, "{} subcommands", pages.len());
    let (command, workload) = (document("command.md"), document("workload.md"));
    let (of_command, of_workload) = (named(&command), named(&workload));
    let mut untold = Vec::new();
    for page in &pages {
        let is_load = matches!(page.words.first().map(String::as_str), Some("bench" | "simulate"));
        if let Some(name) = page.words.last() {
            let told =
                command.contains(&format!("`{name}")) || command.contains(&format!("{name}`"));
            if !told {
                untold.push(page.words.join(" "));
            }
        }
        for flag in page.flags() {
            let told = of_command.contains(&flag) || is_load && of_workload.contains(&flag);
            if !told {
                untold.push(format!("{} {flag}", page.words.join(" ")));
            }
        }
    }
    let of_clap = |line: &String| line.ends_with("--help") || line.ends_with("--version");
    untold.retain(|line| !of_clap(line));
    assert!(untold.is_empty(), "no page of the guide tells: {}", untold.join("; "));
}

#[test]
fn every_flag_of_the_page_is_one() {
    let known: BTreeSet<String> = pages().iter().flat_map(Page::flags).collect();
    let told = named(&document("command.md"));
    let unknown: Vec<_> = told.difference(&known).collect();
    let unknown: Vec<_> = unknown.into_iter().filter(|flag| !OTHERS.contains(&&***flag)).collect();
    assert!(unknown.is_empty(), "docs/command.md tells flags that there are not: {unknown:?}");
}

#[test]
fn flags_are_found_in_running_text() {
    let found = named("with `--shared-log LOG`, --a|--bc, (`--seed`) or - and -- none");
    let found: Vec<_> = found.iter().map(String::as_str).collect();
    assert_eq!(found, ["--bc", "--seed", "--shared-log"]);
}
