//! The garbage of a worker's transactions, until it is collected: versions that were overwritten, tombstones,
//! placeholders of cancelled insertions.
//!
//! The engine owns the queue. Commits and rollbacks add to it; `collector.rs` takes from it and asks the scheme for
//! the fate of each entry; a worker that ends leaves the rest to others.

use chiliad_machine::Machine;
use chiliad_storage::{Home, Kind, LocalHeap, RecordRef, Segments};
use std::collections::VecDeque;

/// A record that may have to leave its index, or shed versions.
pub struct Garbage<M: Machine> {
    pub table: u32,
    pub record: RecordRef<M>,
    /// The key, where the record is to leave its index.
    pub key: Option<Vec<u8>>,
    /// The order of the version that is garbage: if the record has another one by now, it is not.
    pub order: u64,
    /// It was inserted by a transaction that did not commit.
    pub placeholder: bool,
    /// Snapshots at or below this commit epoch may need it; zero: none does, or the scheme's snapshots do not go by
    /// commit epochs.
    pub epoch: u64,
}

/// Which entries may be collected: those below both bounds.
#[derive(Clone, Copy)]
pub struct Due {
    /// Bounds the order of the version: no transaction at work reads what is below.
    pub order: u64,
    /// Bounds the commit epoch: no snapshot reads what is below.
    pub epoch: u64,
}

impl Due {
    /// All of them.
    pub const ALL: Self = Self { order: u64::MAX, epoch: u64::MAX };

    fn covers<M: Machine>(self, garbage: &Garbage<M>) -> bool {
        garbage.order < self.order && garbage.epoch < self.epoch
    }
}

/// An old version in a slot of its own, which belongs to this queue and is not touched any more.
struct OldVersion<M: Machine> {
    block: RecordRef<M>,
    home: Home,
    /// The commit epoch in which it was overwritten: snapshots at or below may read it.
    epoch: u64,
}

/// A worker's entries, in the order in which they come due.
pub struct GarbageQueue<M: Machine> {
    /// Old versions that expire (`Needs::versions_expire`).
    pub segments: Segments<M>,
    /// Those among them that have slots of their own, in the order of epochs.
    versions: VecDeque<OldVersion<M>>,
    /// Entries that wait for no commit epoch, in the order of commits.
    now: VecDeque<Garbage<M>>,
    /// Entries that do, in the order of epochs.
    later: VecDeque<Garbage<M>>,
}

impl<M: Machine> GarbageQueue<M> {
    /// An empty one.
    pub fn new() -> Self {
        let [now, later] = [VecDeque::new(), VecDeque::new()];
        Self { segments: Segments::default(), versions: VecDeque::new(), now, later }
    }

    /// How many entries there are, besides old versions.
    pub fn len(&self) -> usize {
        self.now.len() + self.later.len()
    }

    /// Whether there is nothing to collect.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let no_version = self.versions.is_empty() && self.segments.is_empty();
        self.now.is_empty() && self.later.is_empty() && no_version
    }

    /// Takes over an old version in a slot of its own, which was overwritten in commit epoch `epoch`.
    #[inline]
    pub fn add_version(&mut self, heap: &LocalHeap<M>, block: RecordRef<M>, epoch: u64) {
        let home = heap.home_of(Kind::Version, block);
        self.versions.push_back(OldVersion { block, home, epoch });
    }

    /// Takes the first old version in a slot of its own if it was overwritten below epoch `oldest`, at or above which all
    /// snapshots are that begin now or are in progress.
    #[inline]
    pub fn take_version(&mut self, oldest: u64) -> Option<(Home, RecordRef<M>)> {
        let old = self.versions.pop_front_if(|old| old.epoch < oldest);
        old.map(|old| (old.home, old.block))
    }

    /// Adds an entry after those that wait for the same.
    pub fn add(&mut self, garbage: Garbage<M>) {
        debug_assert!(garbage.key.is_some() || !garbage.placeholder, "a placeholder has a key");
        match garbage.epoch {
            0 => self.now.push_back(garbage),
            _ => self.later.push_back(garbage),
        }
    }

    /// Adds an entry after all others.
    pub fn add_last(&mut self, garbage: Garbage<M>) {
        self.later.push_back(garbage);
    }

    /// Takes the first entry, if it is due.
    pub fn take(&mut self, due: Due) -> Option<Garbage<M>> {
        let first = self.now.front();
        debug_assert!(first.is_none_or(|it| it.epoch == 0), "what waits for an epoch is later");
        let queue = if self.now.is_empty() { &mut self.later } else { &mut self.now };
        let is_due = queue.front().is_some_and(|garbage| due.covers(garbage));
        if is_due { queue.pop_front() } else { None }
    }

    /// Takes over all that is in another queue, due or not.
    pub fn absorb(&mut self, other: &mut Self) {
        self.segments.absorb(&mut other.segments);
        self.versions.append(&mut other.versions);
        self.now.append(&mut other.now);
        self.later.append(&mut other.later);
        debug_assert!(other.is_empty(), "nothing stays");
    }
}
