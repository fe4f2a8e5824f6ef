//! Crates that own shared memory or files assert their invariants often.

use super::Complaints;
use super::sources::Source;

/// Crates in which the rule holds.
const HOLDS: &[&str] =
    &["crates/engine/src", "crates/lock/src", "crates/log/src", "crates/storage/src"];

/// Lines of code for each assertion, at most.
const LINES_MAX: usize = 40;

/// How assertions look; those of debug builds end like the others.
const ASSERTIONS: &[&str] = &["assert!(", "assert_eq!(", "assert_ne!("];

/// Each crate that must has an assertion for every 40 lines of its product, without blank lines, comments and tests.
/// Whether an assertion says anything nobody checks but the reader.
pub fn often(sources: &[Source]) -> Complaints {
    HOLDS.iter().filter_map(|room| complaint(room, sources)).collect()
}

fn complaint(room: &str, sources: &[Source]) -> Option<String> {
    let product = sources.iter().filter(|it| it.is_in(room) && it.is_product());
    let (mut lines, mut assertions) = (0, 0);
    for line in product.flat_map(|it| it.code.lines()).filter(|line| !line.trim().is_empty()) {
        lines += 1;
        assertions += ASSERTIONS.iter().map(|it| line.matches(it).count()).sum::<usize>();
    }
    let wanted = usize::div_ceil(lines, LINES_MAX);
    (assertions < wanted).then(|| {
        format!("{room}: {assertions} assertions in {lines} lines of code, and {wanted} are wanted")
    })
}
