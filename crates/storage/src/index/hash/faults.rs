//! Planted bugs of the hash index.

use chiliad_machine::{Fault, Rig};

const PHANTOM: &[&str] = &["G2", "G2-item", "G-single", "lost update"];
/// Keys that are there are not found.
const MISSED: &[&str] = &["lost record", "lost update", "G-single", "G2-item", "G2", "G1c"];
/// And keys that are not there are.
const LOST: &[&str] =
    &["lost record", "lost update", "G-single", "G2-item", "G2", "read of unknown version"];
/// Keys are put where nobody will look for them, and are then inserted once more.
const MISLAID: &[&str] = &["G2", "G2-item", "G-single", "lost update", "fork", "lost record"];

const fn fault(
    name: &'static str,
    step: &'static str,
    expected: &'static [&'static str],
    seeds: u32,
) -> Fault {
    Fault { name, step, rig: Rig::SimSc, schemes: &[], workload: "hash", expected, seeds }
}

/// An insertion leaves the count of its bucket as it was.
pub static INSERT_FORGETS_GUARD: Fault = fault(
    "bucket-insert-forgets-guard",
    "an insertion counts itself in the guard of its bucket",
    PHANTOM,
    200,
);

/// A division leaves the count of the divided bucket as it was.
pub static SPLIT_FORGETS_GUARD: Fault = fault(
    "bucket-split-forgets-guard",
    "the division of a bucket counts as a change of the bucket divided",
    MISLAID,
    1000,
);

/// A reader trusts the number of buckets that it saw before it noted the version.
pub static READER_SKIPS_MAPPING: Fault = fault(
    "bucket-reader-skips-mapping",
    "a reader looks at the number of buckets again after it noted the version",
    MISSED,
    200,
);

/// A reader does not compare versions at the end.
pub static READER_SKIPS_VERSION: Fault = fault(
    "bucket-reader-skips-version",
    "a reader compares the bucket's version with the one it noted",
    LOST,
    1000,
);

/// A writer latches whatever version it meets.
pub static WRITER_SKIPS_VERSION: Fault = fault(
    "bucket-writer-skips-version",
    "a writer latches a bucket only at the version that it searched",
    LOST,
    1000,
);

/// A node is reused while readers may still be on it.
pub static NODE_FREED_EARLY: Fault = fault(
    "bucket-node-freed-early",
    "a node that leaves a chain waits until its readers have left",
    &["use of freed memory"],
    200,
);

/// All of them.
pub static FAULTS: &[&Fault] = &[
    &INSERT_FORGETS_GUARD,
    &SPLIT_FORGETS_GUARD,
    &READER_SKIPS_MAPPING,
    &READER_SKIPS_VERSION,
    &WRITER_SKIPS_VERSION,
    &NODE_FREED_EARLY,
];
