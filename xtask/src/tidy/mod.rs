//! The rules of the architecture that the compiler does not check. Each is one function from what
//! was read to complaints, and each has a test that it can fail.

mod assertions;
mod circles;
mod citations;
mod edges;
mod faults;
mod orderings;
mod published;
mod repository;
mod retired;
mod sources;
mod words;

use sources::Source;
use std::path::Path;

/// Something that breaks a rule: where, and which.
type Complaints = Vec<String>;

/// A rule on the sources.
type Rule = fn(&[Source]) -> Complaints;

/// Checks everything.
///
/// # Errors
/// The complaints, one a line.
pub fn run(root: &Path) -> Result<(), String> {
    let sources = sources::read(root)?;
    let mut complaints = edges::check(&edges::read(root)?);
    complaints.extend(repository::check(root));
    complaints.extend(published::check(root));
    complaints.extend(retired::words(root, &sources)?);
    complaints.extend(citations::of_documents(root)?);
    for rule in RULES {
        complaints.extend(rule(&sources));
    }
    if complaints.is_empty() {
        println!("tidy: {} files, no complaint", sources.len());
        return Ok(());
    }
    complaints.sort();
    Err(format!("{}\ntidy: {} complaints", complaints.join("\n"), complaints.len()))
}

const RULES: &[Rule] = &[
    sources::heads,
    sources::lengths,
    sources::functions,
    words::unfinished,
    words::seam,
    words::waits,
    words::schemes,
    words::unsafe_rooms,
    words::safety,
    faults::declared,
    circles::grown,
    orderings::partners,
    assertions::often,
    citations::of_sources,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        if let Err(complaints) = run(&crate::root()) {
            panic!("{complaints}");
        }
    }

    /// Each rule complains once about a file made to break it.
    #[test]
    fn every_rule_can_fail() {
        let long_body = format!("//! x\nfn f() {{\n{}}}\n", "    g();\n".repeat(80));
        let cases: [(&str, &str, Rule); 13] = [
            ("crates/engine/src/a.rs", "fn f() {}\n", sources::heads),
            ("crates/engine/src/a.rs", &"//!\n".repeat(801), sources::lengths),
            ("src/a.rs", &long_body, sources::functions),
            ("src/a.rs", "//! x\n// TODO: y\n", words::unfinished),
            ("crates/storage/src/a.rs", "//! x\nuse std::thread;\n", words::seam),
            ("crates/engine/src/scheme/a.rs", "//! x\nfn f() { M::park() }\n", words::waits),
            ("src/a.rs", "//! x\nfn f() { unsafe { g() } }\n", words::unsafe_rooms),
            ("src/a.rs", "//! x\nfn f() { unsafe { g() } }\n", words::safety),
            ("crates/lock/src/a.rs", &format!("//! x\n// {}\n", words::BORROWED[0]), words::safety),
            (
                "crates/log/src/a.rs",
                "//! x\nfn f() { g(Ordering::Acquire) }\n",
                orderings::partners,
            ),
            ("crates/engine/src/a.rs", "//! x\nstatic LOST: Fault = f();\n", faults::declared),
            ("crates/workload/src/a.rs", "//! x\nfn f() {}\n", words::schemes),
            ("crates/log/src/a.rs", "//! x\nfn f() {}\n", assertions::often),
        ];
        for (path, text, rule) in cases {
            let complaints = rule(&[Source::new(path, text)]);
            assert_eq!(complaints.len(), 1, "{path}: {complaints:?}");
        }
    }
}
