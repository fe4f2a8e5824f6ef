//! Sources are cited by author, year and section, never by the name of a file that a reader does not have.

use super::Complaints;
use super::sources::Source;
use std::fs;
use std::path::Path;

/// Names under which nobody else knows the sources, and a thesis without its author.
const NAMES: &[&str] = &[
    "thousand-cores.txt",
    "maflingo-silo.txt",
    "scalable-lock-manager.txt",
    "hyder2-slides.txt",
    "swarmdb.txt",
    "`design.md`",
    "(thesis ",
    "; thesis ",
];

/// Where the names are listed.
const LISTS: &str = "xtask/src/tidy/";

/// The rule on sources.
pub fn of_sources(sources: &[Source]) -> Complaints {
    sources.iter().flat_map(|source| of_text(&source.path, &source.text)).collect()
}

/// The rule on documents, machines and figures.
pub fn of_documents(root: &Path) -> Complaints {
    let mut complaints = Complaints::new();
    for top in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs", "crates", "tools"] {
        walk(root, &root.join(top), &mut complaints);
    }
    complaints
}

fn walk(root: &Path, path: &Path, complaints: &mut Complaints) {
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name() != "target").for_each(|entry| {
            walk(root, &entry.path(), complaints);
        });
    } else if path.extension().is_some_and(|it| it == "md" || it == "toml") {
        let short = path.strip_prefix(root).expect("under the root").to_string_lossy();
        let text = fs::read_to_string(path).unwrap_or_default();
        complaints.extend(of_text(&short, &text));
    }
}

fn of_text(path: &str, text: &str) -> Complaints {
    if path.starts_with(LISTS) {
        return Complaints::new();
    }
    let lines = text.lines().enumerate();
    let found = lines.filter_map(|(number, line)| {
        let name = NAMES.iter().find(|name| line.contains(**name))?;
        Some(format!("{path}:{}: cites {name:?}: say author, year and section", number + 1))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_refused_and_authors_are_not() {
        let refused = |path: &str, text: &str| of_text(path, text).len();
        assert_eq!(refused("docs/log.md", "as in swarmdb.txt 4.1\n"), 1);
        assert_eq!(refused("crates/log/src/a.rs", "//! x (thesis 4.1)\n"), 1);
        assert_eq!(refused("crates/log/src/a.rs", "//! x (Tu, 2013, 4.1)\n"), 0);
        assert_eq!(refused("xtask/src/tidy/a.rs", "//! x (thesis 4.1)\n"), 0);
    }
}
