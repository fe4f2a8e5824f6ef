//! Planted bugs of the ordered index: each one line at the step that it removes.

use chiliad_machine::{Fault, Rig};

const fn index_fault(
    name: &'static str,
    step: &'static str,
    expected: &'static [&'static str],
    seeds: u32,
) -> Fault {
    Fault { name, step, rig: Rig::SimSc, schemes: &[], workload: "scan", expected, seeds }
}

/// A scan that saw the leaf before the split misses what is then inserted into the new leaf.
pub static SPLIT_FORGETS_GUARD: Fault = index_fault(
    "split-forgets-guard",
    "a split counts as a change of the old leaf's membership",
    &["G2", "G-single", "lost update"],
    1000,
);

/// A scan does not notice that a key has appeared.
pub static INSERT_FORGETS_GUARD: Fault = index_fault(
    "insert-forgets-guard",
    "an insertion counts as a change of the leaf's membership",
    &["G2", "G-single", "lost update"],
    200,
);

/// A scan that saw the leaf above misses what is then inserted into the layer below.
pub static LAYER_FORGETS_GUARD: Fault = index_fault(
    "layer-forgets-guard",
    "making a layer counts as a change of the membership of the leaf above",
    &["G2", "G-single", "lost update"],
    1000,
);

/// Planted bug: a reader that saw the leaf empty, before it left the tree, misses what is then inserted into its
/// heir.
pub static REMOVAL_FORGETS_GUARD: Fault = index_fault(
    "removal-forgets-guard",
    "the guard of a leaf that leaves the tree is dead",
    &["G2", "G-single", "lost update"],
    1000,
);

/// An entry read while a writer moves entries may belong to another key.
pub static READER_SKIPS_VALIDATION: Fault = index_fault(
    "reader-skips-validation",
    "a reader checks the leaf's version after reading it",
    &["G2", "G-single", "lost update", "read of unknown version", "use of freed memory"],
    1000,
);

/// A key that a concurrent split has moved to the right is not found on the left.
pub static PARENT_NOT_RECHECKED: Fault = index_fault(
    "parent-not-rechecked",
    "a reader checks the parent again after reading the child's version",
    &["G2", "G2-item", "G-single", "lost update", "lost record"],
    1000,
);

/// Nothing testifies that the range was empty.
pub static SCAN_SKIPS_EMPTY_LEAF: Fault = index_fault(
    "scan-skips-empty-leaf",
    "a scan reports leaves without entries too",
    &["G2", "G-single", "lost update"],
    200,
);

/// An insertion between the two is taken for seen.
pub static GUARD_READ_TOO_LATE: Fault = index_fault(
    "guard-read-too-late",
    "a scan reads the guard's count before it validates the leaf",
    &["G2", "G-single", "lost update"],
    4000,
);

/// The leaf of the last insertion may have been divided since, or have left the tree.
pub static FINGER_NOT_CHECKED: Fault = index_fault(
    "finger-not-checked",
    "an insertion begins at the leaf of the last one if nothing has changed there",
    &["G2", "G2-item", "G-single", "lost update", "lost record", "use of freed memory"],
    1000,
);

/// Keys that are inserted together may have others between them.
pub static RUN_PAST_NEIGHBOUR: Fault = index_fault(
    "run-past-neighbour",
    "keys that are inserted together end before the next key of the leaf",
    &["unsorted", "lost record"],
    1000,
);

/// A sibling that spins for the latch keeps the core from its holder.
pub static LATCHED_WHILE_WAITING: Fault = Fault {
    rig: Rig::SimCrews,
    ..index_fault(
        "latched-while-waiting",
        "nobody waits for memory with a leaf latched",
        &["switch in a section"],
        20,
    )
};

/// Those for which no workload has transactions insert beside each other often enough: the index's own simulated runs catch them.
pub static INDEX_FAULTS: &[&Fault] = &[&FINGER_NOT_CHECKED, &RUN_PAST_NEIGHBOUR];

/// All others.
pub static FAULTS: &[&Fault] = &[
    &SPLIT_FORGETS_GUARD,
    &INSERT_FORGETS_GUARD,
    &LAYER_FORGETS_GUARD,
    &REMOVAL_FORGETS_GUARD,
    &READER_SKIPS_VALIDATION,
    &PARENT_NOT_RECHECKED,
    &SCAN_SKIPS_EMPTY_LEAF,
    &GUARD_READ_TOO_LATE,
    &LATCHED_WHILE_WAITING,
];
