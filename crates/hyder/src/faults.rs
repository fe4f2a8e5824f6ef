//! The planted bugs of servers that share a log. Worlds of such servers must show each.

use chiliad_machine::{Fault, Rig};

/// All of them.
pub const FAULTS: &[&Fault] = &[
    &READ_DEPENDENCE_DROPPED,
    &ABSENCE_DROPPED,
    &RANGE_DROPPED,
    &NEWEST_NOT_RAISED,
    &GRAFTED_ON_EQUAL_KEY,
    &DROPPED_BY_PREMELD,
    &INNER_CONFLICT_IGNORED,
    &TOO_OLD_BY_MEMORY,
    &TOMBSTONE_PURGED_EARLY,
    &DUPLICATE_MELDED,
    &NUMBERED_TWICE,
    &RETRIED_AS_ANOTHER,
    &APPEND_NOT_REPEATED,
    &LABEL_BEFORE_STATE,
    &ANSWERED_BEFORE_PUBLISHED,
    &BARRIER_ANSWERED_EARLY,
    &FREED_ABOVE_LOW_WATER,
    &KEPT_STATES_FREED,
    &CHECKPOINT_NOT_PINNED,
    &ITEMS_FORGOTTEN_AT_CHECKPOINT,
    &JOINS_FORGOTTEN_AT_CHECKPOINT,
    &PARTS_FORGOTTEN_AT_CHECKPOINT,
    &NUMBERED_AT_FIRST_PART,
    &TOMBSTONES_NOT_IN_CHECKPOINT,
    &WRITERS_FORGOTTEN_AT_RESTART,
    &TRIMMED_BEFORE_DURABLE,
    &DIVERGENCE_IGNORED,
    &IDENTITY_NOT_COMPARED,
    &RECORD_NOT_COMPARED,
    &SHORTER_LOG_AWAITED,
    &FULL_LOG_IGNORED,
];

const fn fault(
    name: &'static str,
    step: &'static str,
    workload: &'static str,
    expected: &'static [&'static str],
) -> Fault {
    Fault { name, step, rig: Rig::World, schemes: &["hyder"], workload, expected, seeds: 400 }
}

/// Servers come to other verdicts than the log's, or than each other.
const VERDICT: &[&str] = &["verdict differs", "digest differs"];

/// A server goes on with a log that has broken its promises.
const UNNOTICED: &[&str] = &["unnoticed"];

/// A reader meets freed memory.
const FREED: &[&str] = &["use of freed memory"];

/// Keys that were only read are no dependence.
pub static READ_DEPENDENCE_DROPPED: Fault = fault(
    "hyder-read-dependence-dropped",
    "an intention depends on the keys that it has read",
    "ycsb",
    VERDICT,
);

/// Keys that were not found are no dependence.
pub static ABSENCE_DROPPED: Fault = fault(
    "hyder-absence-dropped",
    "an intention depends on the absence of the keys that it has not found",
    "hash",
    &["history"],
);

/// Scanned ranges are no dependence.
pub static RANGE_DROPPED: Fault = fault(
    "hyder-range-dropped",
    "an intention depends on the ranges that it has scanned",
    "scan",
    VERDICT,
);

/// A new node's subtree does not count its own version.
pub static NEWEST_NOT_RAISED: Fault = fault(
    "hyder-newest-not-raised",
    "the newest version of a subtree is raised with each version written in it",
    "scan",
    VERDICT,
);

/// An overlay's part replaces whatever has its key.
pub static GRAFTED_ON_EQUAL_KEY: Fault = fault(
    "hyder-grafted-on-equal-key",
    "a part of an overlay is grafted only where the tree has the very part that it was built on",
    "bank",
    &["verdict differs", "digest differs", "wrong state", "use of freed memory"],
);

/// An intention that is refused before its turn gets no number.
pub static DROPPED_BY_PREMELD: Fault = fault(
    "hyder-dropped-by-premeld",
    "an intention that is refused before its turn is numbered and answered all the same",
    "bank",
    &["verdict differs", "digest differs", "stuck"],
);

/// Two are melded into one though the second depends on what the first writes.
pub static INNER_CONFLICT_IGNORED: Fault = fault(
    "hyder-inner-conflict-ignored",
    "two intentions are one only if the second does not depend on what the first writes",
    "bank",
    VERDICT,
);

/// An intention is refused because this server does not have the state any more that it has read.
pub static TOO_OLD_BY_MEMORY: Fault = fault(
    "hyder-too-old-by-memory",
    "whether a state is too old is a matter of numbers, not of what a server has kept",
    "bank",
    VERDICT,
);

/// A checkpoint does not have the parts of intentions that are not complete.
pub static PARTS_FORGOTTEN_AT_CHECKPOINT: Fault = fault(
    "hyder-parts-forgotten-at-checkpoint",
    "a checkpoint has the parts of intentions that are not complete",
    "bank",
    &["verdict differs", "digest differs", "stuck", "acknowledged lost"],
);

/// An intention in several records gets its number where the first of them lies that was read at once.
pub static NUMBERED_AT_FIRST_PART: Fault = fault(
    "hyder-numbered-at-first-part",
    "an intention gets its number where its last part lies",
    "bank",
    VERDICT,
);

/// Tombstones leave the trees while intentions may come that have read states before them.
pub static TOMBSTONE_PURGED_EARLY: Fault = fault(
    "hyder-tombstone-purged-early",
    "a tombstone stays as long as an intention may depend on its absence",
    "scan",
    VERDICT,
);

/// An item that is in the log twice is decided twice.
pub static DUPLICATE_MELDED: Fault = fault(
    "hyder-duplicate-melded",
    "an item that is in the log twice counts once",
    "bank",
    VERDICT,
);

/// An item that is in the log twice gets two numbers.
pub static NUMBERED_TWICE: Fault = fault(
    "hyder-numbered-twice",
    "an item that is in the log twice has the number of the first",
    "bank",
    VERDICT,
);

/// An append whose outcome is unknown is repeated under a new number.
pub static RETRIED_AS_ANOTHER: Fault = fault(
    "hyder-retried-as-another",
    "an item that is appended again has the same number among those of its server",
    "bank",
    &["doubled"],
);

/// An append whose outcome is unknown is taken for done.
pub static APPEND_NOT_REPEATED: Fault = fault(
    "hyder-append-not-repeated",
    "records that may not have arrived are appended again",
    "bank",
    &["stuck"],
);

/// A reader announces a label and gets the state before it.
pub static LABEL_BEFORE_STATE: Fault =
    fault("hyder-label-before-state", "a state is there before its label is", "hash", FREED);

/// A client learns of its commit before its server shows it.
pub static ANSWERED_BEFORE_PUBLISHED: Fault = fault(
    "hyder-answered-before-published",
    "a client is answered after the state with its writes is published",
    "bank",
    &["stale read"],
);

/// A reader that asks for the newest state does not wait for it.
pub static BARRIER_ANSWERED_EARLY: Fault = fault(
    "hyder-barrier-answered-early",
    "a reader that asks for all that was acknowledged waits for its barrier",
    "hash",
    &["history"],
);

/// What was replaced is freed while readers look at states that lead to it.
pub static FREED_ABOVE_LOW_WATER: Fault = fault(
    "hyder-freed-above-low-water",
    "what was replaced is freed after the last reader of the states before",
    "bank",
    FREED,
);

/// Replaced blocks are freed while intentions are built on states that lead to them.
pub static KEPT_STATES_FREED: Fault = fault(
    "hyder-kept-states-freed",
    "what was replaced is freed after the last kept state that leads to it",
    "bank",
    FREED,
);

/// A checkpoint is written of a state that nobody holds.
pub static CHECKPOINT_NOT_PINNED: Fault = fault(
    "hyder-checkpoint-not-pinned",
    "whoever writes a checkpoint pins the state",
    "bank",
    FREED,
);

/// A checkpoint does not say which items have been numbered.
pub static ITEMS_FORGOTTEN_AT_CHECKPOINT: Fault = fault(
    "hyder-items-forgotten-at-checkpoint",
    "a checkpoint says which items have been numbered",
    "bank",
    VERDICT,
);

/// A checkpoint does not say how many servers have joined.
pub static JOINS_FORGOTTEN_AT_CHECKPOINT: Fault = fault(
    "hyder-joins-forgotten-at-checkpoint",
    "a checkpoint says how many servers have joined, by which sessions are named",
    "bank",
    &["doubled"],
);

/// A checkpoint has rows alone.
pub static TOMBSTONES_NOT_IN_CHECKPOINT: Fault = fault(
    "hyder-tombstones-not-in-checkpoint",
    "a checkpoint has the tombstones that an intention may depend on",
    "hash",
    &["verdict differs", "digest differs", "wrong state"],
);

/// A server that begins with a checkpoint takes what it has not seen for never written.
pub static WRITERS_FORGOTTEN_AT_RESTART: Fault = fault(
    "hyder-writers-forgotten-at-restart",
    "a server that begins with a checkpoint asks the tree for writers from before it",
    "bank",
    VERDICT,
);

/// The log is trimmed before the checkpoint that replaces its beginning is durable.
pub static TRIMMED_BEFORE_DURABLE: Fault = fault(
    "hyder-trimmed-before-durable",
    "the log is trimmed after the checkpoint is durable",
    "scan",
    &["cannot start"],
);

/// A server goes on beside one that has come to other verdicts.
pub static DIVERGENCE_IGNORED: Fault = fault(
    "hyder-divergence-ignored",
    "a server stops that reads of another digest at a label than its own",
    "bank",
    &["digest differs"],
);

/// A log that was made anew, with the same records, is taken for the one of before.
pub static IDENTITY_NOT_COMPARED: Fault = fault(
    "hyder-identity-not-compared",
    "a server compares the log's identity with the one that it knows",
    "bank",
    UNNOTICED,
);

/// Other records at positions that were read are not noticed.
pub static RECORD_NOT_COMPARED: Fault = fault(
    "hyder-record-not-compared",
    "a server compares the last record that it has read with the one at its position",
    "bank",
    UNNOTICED,
);

/// Records that were read and are gone are waited for.
pub static SHORTER_LOG_AWAITED: Fault = fault(
    "hyder-shorter-log-awaited",
    "a log that shows less than was read is refused, if that lasts",
    "bank",
    UNNOTICED,
);

/// An append that a full log has refused is taken for done.
pub static FULL_LOG_IGNORED: Fault = fault(
    "hyder-full-log-ignored",
    "a server fails whose log has no room for what it appends",
    "bank",
    &["stuck"],
);
