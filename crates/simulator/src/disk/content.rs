//! The content of one file: as written, as durable, and the writes between the two.
//!
//! - `cached` is what reads see: every write, durable or not.
//! - `durable` is what certainly survives a loss of power. Besides it, each sector of a pending write
//!   may survive or not ([`super::fates`]).
//! - A sync makes pending writes durable, in order, all of them or those of a range. One that fails takes them out of what is pending
//!   too, as Linux does: some became durable, the others never will, and no later sync covers them,
//!   though reads still see them.

use super::change::{Change, put};
use super::fates::{Fates, apply};
use super::pending::Pending;
use super::sector::Sector;
use crate::random::Generator;
use core::ops::Range;

/// A file without its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) cached: Vec<Sector>,
    pub(super) durable: Vec<Sector>,
    pub(super) pending: Pending<Change>,
    /// Syncs that failed. A handle that has not told of one yet does so at its next sync, whichever handle's
    /// sync it was: what failed to become durable may have been written through either.
    pub(super) errors: u64,
    /// Open handles.
    pub(super) handles: u32,
}

impl Content {
    /// A file of which all is durable.
    pub(super) fn durable(sectors: Vec<Sector>) -> Self {
        Self { durable: sectors.clone(), cached: sectors, ..Self::default() }
    }

    /// Empties it. Returns what is on the disk, for its blocks may come to be another file's.
    pub(super) fn truncate(&mut self) -> Vec<Sector> {
        self.cached.clear();
        self.pending.push(Change::Truncate);
        self.durable.clone()
    }

    /// Writes; a gap between the old end and the first sector becomes zeros.
    pub(super) fn write(&mut self, first: usize, sectors: Vec<Sector>) {
        let gap = self.cached.len().min(first);
        let mut written = vec![Sector::Zeros; first - gap];
        written.extend(sectors);
        put(&mut self.cached, gap, &written);
        self.pending.push(Change::Write(gap, written));
    }

    /// Writes before the mark become durable that are of the sectors of `range`.
    pub(super) fn sync(&mut self, mark: u64, range: &Range<usize>) {
        for change in self.take(mark, range) {
            match change {
                Change::Truncate => self.durable.clear(),
                Change::Write(first, sectors) => put(&mut self.durable, first, &sectors),
            }
        }
        // The length goes with every sync, also where an earlier one lost what was written there.
        self.durable.resize(self.cached.len(), Sector::Hole);
    }

    /// Writes before the mark that are of the sectors of `range` become durable in parts, and the rest never will be.
    pub(super) fn fail(&mut self, mark: u64, range: &Range<usize>, random: &mut Generator) {
        self.errors += 1;
        let changes = self.take(mark, range);
        let mut fates = Fates::new(&changes, false, random);
        apply(&mut self.durable, &changes, &mut fates);
    }

    /// Takes out what a sync of `range` covers. Where the file was emptied meanwhile that is all: its length is one.
    fn take(&mut self, mark: u64, range: &Range<usize>) -> Vec<Change> {
        let emptied = self.pending.all().iter().any(|it| matches!(it, Change::Truncate));
        self.pending.take(mark, |change| emptied || change.meets(range))
    }
}
