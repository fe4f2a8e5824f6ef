//! The Rust sources, and the rules on their form.

use super::Complaints;
use std::fs;
use std::path::Path;

/// The greatest number of lines of a file.
const FILE_LINES_MAX: usize = 800;
/// The greatest number of lines of a function.
const FUNCTION_LINES_MAX: usize = 75;

/// One file.
pub struct Source {
    /// From the root, with slashes.
    pub path: String,
    /// As it is.
    pub text: String,
    /// What is compiled into the product: without comments and without unit tests, line by line.
    pub code: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let product = text.split_once("\n#[cfg(test)]\nmod tests {").map_or(text, |it| it.0);
        // A `//` inside a string ends the line too early, which costs the rules little.
        let code = product.lines().map(|line| line.split("//").next().unwrap_or_default());
        let code = code.collect::<Vec<_>>().join("\n");
        Self { path: path.into(), text: text.into(), code }
    }

    /// Whether it belongs to the sources of `room`, tests left out.
    pub fn is_in(&self, room: &str) -> bool {
        self.path.starts_with(&format!("{room}/"))
    }

    /// Whether it is compiled into the product.
    pub fn is_product(&self) -> bool {
        let under = |folder: &str| {
            self.path.contains(&format!("/{folder}/"))
                || self.path.starts_with(&format!("{folder}/"))
        };
        !(under("tests") || under("examples") || under("benches") || under("xtask"))
    }
}

/// All sources under `root`; modules that are compiled for tests only count as tests.
pub fn read(root: &Path) -> Result<Vec<Source>, String> {
    let files = files(root, &["crates", "src", "tests", "xtask"], &["rs"])?;
    let mut sources: Vec<Source> =
        files.iter().map(|(path, text)| Source::new(path, text)).collect();
    let only_for_tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        if only_for_tests.contains(&source.path) {
            source.code.clear();
        }
    }
    Ok(sources)
}

/// All files with one of these `endings` under the `tops` of `root`, what was built aside: path from the root, with
/// slashes, and text.
pub fn files(
    root: &Path,
    tops: &[&str],
    endings: &[&str],
) -> Result<Vec<(String, String)>, String> {
    let mut files = Vec::new();
    for top in tops {
        collect(root, &root.join(top), endings, &mut files)?;
    }
    Ok(files)
}

fn collect(
    root: &Path,
    path: &Path,
    endings: &[&str],
    files: &mut Vec<(String, String)>,
) -> Result<(), String> {
    let name = |error| format!("{}: {error}", path.display());
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(name)?;
        for entry in entries {
            let entry = entry.map_err(name)?.path();
            if !entry.ends_with("target") {
                collect(root, &entry, endings, files)?;
            }
        }
    } else if path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending)) {
        let text = fs::read_to_string(path).map_err(name)?;
        let short = path.strip_prefix(root).expect("under the root");
        files.push((short.to_string_lossy().into_owned(), text));
    }
    Ok(())
}

/// The files of the modules that a file declares under `#[cfg(test)]`.
fn test_modules(source: &Source) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let folder = match file {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", file.trim_end_matches(".rs")),
    };
    let declared = source.text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| {
        let line = rest.lines().next()?;
        line.trim_start_matches("pub(crate) ").strip_prefix("mod ")?.strip_suffix(';')
    });
    declared.map(|module| format!("{folder}/{module}.rs")).collect()
}

/// A file opens with what it is for.
pub fn heads(sources: &[Source]) -> Complaints {
    let silent = sources.iter().filter(|source| !source.text.starts_with("//!"));
    silent.map(|source| format!("{}: does not open with `//!`", source.path)).collect()
}

/// A file holds one idea.
pub fn lengths(sources: &[Source]) -> Complaints {
    let long = sources.iter().filter(|source| source.text.lines().count() > FILE_LINES_MAX);
    long.map(|source| format!("{}: has more than {FILE_LINES_MAX} lines", source.path)).collect()
}

/// So does a function. Relies on the indentation that rustfmt gives.
pub fn functions(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        let mut open: Option<(usize, usize, &str)> = None;
        for (number, line) in source.code.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let signature = line.contains("fn ") && line.trim_end().ends_with(['{', '(']);
            match open {
                Some((from, depth, name)) if indent == depth && line.trim() == "}" => {
                    if number - from >= FUNCTION_LINES_MAX {
                        let path = &source.path;
                        complaints.push(format!("{path}:{}: too long: {name}", from + 1));
                    }
                    open = None;
                }
                // A declaration without a body.
                Some((_, depth, _)) if indent == depth && line.trim_end().ends_with(';') => {
                    open = None
                }
                None if signature => open = Some((number, indent, line.trim())),
                _ => {}
            }
        }
    }
    complaints
}
