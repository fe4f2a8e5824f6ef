//! Which faults a disk has, and what it counts.

use crate::random::Generator;

/// The faults that are switched on. The default has none but what a loss of power does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskFaults {
    /// One write in so many, on average, fails after some of its sectors were written, from the
    /// first on. Zero: none.
    pub short_writes_one_in: u64,
    /// One sync in so many, of a file or of names, fails. What it covered is durable in parts, and
    /// no later sync covers it. Zero: none.
    pub sync_errors_one_in: u64,
    /// One read in so many has a bit turned over, which the next read of the same place has not.
    /// Zero: none.
    pub read_flips_one_in: u64,
    /// Bytes that all files together may have; what would be more fails with
    /// [`std::io::ErrorKind::StorageFull`], after what fits was written.
    pub full_after_bytes: Option<u64>,
    /// Changing operations (creating, writing, renaming, removing, syncing) after which the disk is
    /// off: the next one and all others fail and change nothing. What then survives says
    /// [`super::FaultyDisk::crash`]. A sync that began before and has not returned is not performed.
    pub off_after_operations: Option<u64>,
    /// A loss of power leaves sectors old or new, never torn within: what the interface promises.
    /// A log whose records carry checksums survives torn ones too, and by default they are torn.
    pub whole_sectors: bool,
    /// How long a sync takes on average, in simulated ticks, when a simulated core calls it.
    pub sync_ticks_mean: u64,
}

impl Default for DiskFaults {
    fn default() -> Self {
        Self {
            short_writes_one_in: 0,
            sync_errors_one_in: 0,
            read_flips_one_in: 0,
            full_after_bytes: None,
            off_after_operations: None,
            whole_sectors: false,
            sync_ticks_mean: 64,
        }
    }
}

/// Whether something of which one in so many happens does so now.
pub(super) fn strikes(one_in: u64, random: &mut Generator) -> bool {
    one_in > 0 && random.below(one_in) == 0
}

/// Operations since the disk was mounted. Those through dead handles do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskCounters {
    /// Changing operations, those that failed included.
    pub operations: u64,
    /// Writes.
    pub writes: u64,
    /// Sectors that writes have written.
    pub sectors_written: u64,
    /// Syncs of files.
    pub syncs: u64,
    /// Syncs of names.
    pub name_syncs: u64,
    /// Writes that failed after a part.
    pub short_writes: u64,
    /// Syncs of files or names that failed.
    pub sync_errors: u64,
    /// Reads with a bit turned over.
    pub read_flips: u64,
    /// Writes and creations for which there was no room.
    pub full: u64,
}

/// The losses of the power failure that a disk was mounted after: zeros when there was none. Of
/// files that have no name any more, only the change of the name counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskLosses {
    /// Sectors written and not synced that are as if they had not been written.
    pub sectors_lost: u64,
    /// Sectors of which a part is new and a part old.
    pub sectors_torn: u64,
    /// Writes of which some sectors were kept and some lost.
    pub writes_torn: u64,
    /// Creations, renames and removals that are as if they had not been.
    pub names_lost: u64,
}

impl DiskLosses {
    pub(super) fn add(&mut self, other: &Self) {
        self.sectors_lost += other.sectors_lost;
        self.sectors_torn += other.sectors_torn;
        self.writes_torn += other.writes_torn;
        self.names_lost += other.names_lost;
    }
}
