//! The planted bugs of this room, for the rig with the failing disk.

use chiliad_machine::{Fault, Rig};

/// The verdicts of a crash after which a promise to a client was broken, or what is recovered is no state.
const LOST: &[&str] = &["acknowledged transaction lost", "wrong state", "not closed"];

/// An epoch is claimed although nothing has been synced.
pub static ACKNOWLEDGED_BEFORE_SYNC: Fault = Fault {
    name: "acknowledged-before-sync",
    step: "a writer syncs its file before it claims an epoch",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: LOST,
    seeds: 200,
};

/// A frame counts whatever its checksum says.
pub static NO_CHECKSUM: Fault = Fault {
    name: "no-checksum",
    step: "a frame counts only if its checksum fits",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["acknowledged transaction lost", "wrong state", "not closed", "damage accepted"],
    seeds: 400,
};

/// An epoch counts as durable when the fastest writer has it.
pub static PAST_A_LAGGING_WRITER: Fault = Fault {
    name: "past-a-lagging-writer",
    step: "an epoch is durable when the last of the writers has it",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: LOST,
    seeds: 400,
};

/// Buffers are taken before the writer looks which epochs are complete.
pub static DRAINED_TOO_EARLY: Fault = Fault {
    name: "drained-too-early",
    step: "a writer looks which epochs are stable before it takes the buffers",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: LOST,
    seeds: 1000,
};

/// A new segment's name may be lost with everything in it.
pub static SEGMENT_NAME_NOT_SYNCED: Fault = Fault {
    name: "segment-name-not-synced",
    step: "the name of a new segment is synced before anything in it counts",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["acknowledged transaction lost", "wrong state", "not closed", "recovery refused"],
    seeds: 400,
};

/// The manifest takes its place before it is on the disk.
pub static MANIFEST_NOT_SYNCED: Fault = Fault {
    name: "manifest-not-synced",
    step: "a manifest is synced before it takes its place",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused", "acknowledged transaction lost", "wrong state"],
    seeds: 400,
};

/// A checkpoint is published while its parts may still be lost.
pub static CHECKPOINT_NOT_SYNCED: Fault = Fault {
    name: "checkpoint-not-synced",
    step: "the parts of a checkpoint are synced before it is published",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused", "acknowledged transaction lost", "wrong state"],
    seeds: 400,
};

/// After a failed sync the writer tries again and believes what it is told.
pub static SYNC_RETRIED: Fault = Fault {
    name: "sync-retried",
    step: "after a failed sync nothing is claimed any more",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: LOST,
    seeds: 1000,
};

/// Recovery syncs the ends of logs, and believes what it has read.
pub static END_NOT_REWRITTEN: Fault = Fault {
    name: "end-not-rewritten",
    step: "recovery writes the ends of logs again, which a failed sync may have left in memory only",
    rig: Rig::Disk,
    schemes: &[],
    workload: "scan",
    expected: &["recovery refused", "acknowledged transaction lost", "wrong state"],
    seeds: 1000,
};

/// A writer notes how far its log is durable before it is.
pub static NOTED_BEFORE_SYNC: Fault = Fault {
    name: "noted-before-sync",
    step: "a writer notes how far its log is durable after the sync that made it so",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused"],
    seeds: 400,
};

/// A segment is begun and nothing beside it says so.
pub static SEGMENT_NOT_NOTED: Fault = Fault {
    name: "segment-not-noted",
    step: "a segment that was begun is noted before its first frame of transactions",
    rig: Rig::Disk,
    schemes: &[],
    workload: "scan",
    expected: &["damage accepted"],
    seeds: 1000,
};

/// Planted bug: the durable end is not noted beside the log.
pub static FRAME_NOT_NOTED: Fault = Fault {
    name: "frame-not-noted",
    step: "a writer notes in its segment that a frame is durable before it writes the next one",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["damage accepted"],
    seeds: 400,
};

/// The end of a log that the manifest has pinned is not compared with what is there.
pub static SEAL_NOT_CHECKED: Fault = Fault {
    name: "seal-not-checked",
    step: "where a log was closed it ends where the manifest says",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["damage accepted"],
    seeds: 400,
};

/// The name of a segment whose beginning has failed may go with the power.
pub static BARE_SEGMENT_COUNTS: Fault = Fault {
    name: "bare-segment-counts",
    step: "a segment that nothing was written to and no claim names is none",
    rig: Rig::Disk,
    schemes: &[],
    workload: "bank",
    expected: &["recovery refused"],
    seeds: 400,
};

/// The planted bugs of this room.
pub static FAULTS: &[&Fault] = &[
    &ACKNOWLEDGED_BEFORE_SYNC,
    &NO_CHECKSUM,
    &PAST_A_LAGGING_WRITER,
    &DRAINED_TOO_EARLY,
    &SEGMENT_NAME_NOT_SYNCED,
    &MANIFEST_NOT_SYNCED,
    &CHECKPOINT_NOT_SYNCED,
    &SYNC_RETRIED,
    &END_NOT_REWRITTEN,
    &NOTED_BEFORE_SYNC,
    &SEGMENT_NOT_NOTED,
    &FRAME_NOT_NOTED,
    &SEAL_NOT_CHECKED,
    &BARE_SEGMENT_COUNTS,
];
