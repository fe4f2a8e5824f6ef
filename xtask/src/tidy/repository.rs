//! The repository as a visitor finds it: few entries at the top, and commits whose subjects say what
//! changed. Both rules ask git; without a history they are skipped, and a printed line says so.

use super::Complaints;
use crate::nightly::skip;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Visible entries at the top of the repository: what a newcomer reads before opening any.
const ENTRIES_MAX: usize = 14;

/// The last commit whose subject is not checked; earlier ones follow no form.
const BASE: &str = "9b46534d42652b7db03610ad3aa9650201f2b223";

/// Characters of a subject, so that `git log --oneline` fits a terminal.
const SUBJECT_CHARACTERS_MAX: usize = 72;

/// Both rules on the repository at `root`.
pub fn check(root: &Path) -> Complaints {
    let mut complaints = Complaints::new();
    match git(root, &["ls-files"]) {
        Some(tracked) => complaints.extend(entries(&tracked)),
        None => skip("the count of entries at the top", "a git checkout"),
    }
    let range = format!("{BASE}..HEAD");
    match git(root, &["log", "--no-merges", "--format=%h %s", &range]) {
        Some(log) => complaints.extend(log.lines().filter_map(subject)),
        None => skip("subjects of commits", "the history since the first that is checked"),
    }
    complaints
}

/// What git prints; nothing where it is missing, fails, or knows no such commit.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The top holds few entries, hidden ones aside; `tracked` has a path in each line.
fn entries(tracked: &str) -> Option<String> {
    let top = tracked.lines().filter_map(|path| path.split('/').next());
    let visible: BTreeSet<&str> = top.filter(|name| !name.starts_with('.')).collect();
    (visible.len() > ENTRIES_MAX).then(|| {
        let names = visible.iter().copied().collect::<Vec<_>>().join(", ");
        format!("the top has {} visible entries, more than {ENTRIES_MAX}: {names}", visible.len())
    })
}

/// A complaint about a line of the log, an abbreviated hash and a subject, unless the subject has the
/// form `area: what it does now`, or `area, area: ...` for a change of several rooms.
fn subject(line: &str) -> Option<String> {
    let (hash, subject) = line.split_once(' ')?;
    let is_area = |area: &str| {
        let mut characters = area.chars();
        characters.next().is_some_and(|first| first.is_ascii_lowercase())
            && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let formed = subject.split_once(": ").is_some_and(|(areas, what)| {
        areas.split(", ").all(is_area) && !what.trim().is_empty() && !what.ends_with('.')
    });
    let length = subject.chars().count();
    match (formed, length > SUBJECT_CHARACTERS_MAX) {
        (true, false) => None,
        (false, _) => Some(format!("commit {hash}: `{subject}` is not `area: what it does now`")),
        (true, true) => Some(format!(
            "commit {hash}: `{subject}` has {length} characters, more than {SUBJECT_CHARACTERS_MAX}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowded_top_is_refused() {
        let files = |count: usize| (0..count).map(|n| format!("f{n}\n")).collect::<String>();
        let rest = ".ci/run\n.gitignore\nf0/x\nf0/y/z\n";
        assert_eq!(entries(&(files(ENTRIES_MAX) + rest)), None);
        assert!(entries(&(files(ENTRIES_MAX + 1) + rest)).is_some_and(|it| it.contains("f14")));
    }

    #[test]
    fn subjects_of_another_form_are_refused() {
        let good =
            ["engine: reads wait", "log, xtask: marks have a tail", "crates-x: it's so: yes"];
        for text in good {
            assert_eq!(subject(&format!("abc1234 {text}")), None);
        }
        let long = format!("engine: {}", "x".repeat(SUBJECT_CHARACTERS_MAX));
        let bad =
            ["Engine: reads wait", "reads wait", "engine:", "engine: reads wait.", ": x", &long];
        for text in bad {
            assert!(subject(&format!("abc1234 {text}")).is_some(), "{text}");
        }
        let fits = format!("engine: {}", "x".repeat(SUBJECT_CHARACTERS_MAX - "engine: ".len()));
        assert_eq!(subject(&format!("abc1234 {fits}")), None);
    }

    #[test]
    fn without_a_history_there_is_nothing_to_say() {
        let bare = std::env::temp_dir();
        assert_eq!(git(&bare, &["log", "no-such-commit..HEAD"]), None);
    }
}
