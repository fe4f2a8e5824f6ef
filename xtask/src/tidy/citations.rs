//! Sources are cited by author, year and section, never by the name of a file that a reader does not have.

use super::Complaints;
use super::sources::{Source, files};
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

/// Where documents, machines and figures are.
const TOPS: &[&str] = &["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs", "crates", "tools"];

/// The rule on documents, machines and figures under `root`.
///
/// # Errors
/// A file that cannot be read.
pub fn of_documents(root: &Path) -> Result<Complaints, String> {
    let files = files(root, TOPS, &["md", "toml"])?;
    Ok(files.iter().flat_map(|(path, text)| of_text(path, text)).collect())
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
