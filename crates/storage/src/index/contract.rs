//! The contract of every index: the answers of look-ups and insertions, the changes that they report, the state of
//! scans, and the hooks of a scheme.
//!
//! Both kinds build on this, and the list of the kinds (`index/mod.rs`) on both.

use crate::guard::{Guard, Seen};
use crate::record::RecordRef;
use chiliad_machine::Machine;
use core::ptr::NonNull;

/// The longest key in bytes.
pub const KEY_BYTES_MAX: usize = 4096;

/// The result of a look-up.
pub enum Found<M: Machine> {
    /// The key has a record (which the scheme may consider absent).
    Record(RecordRef<M>),
    /// It has none, as the guard testifies.
    Absent(Seen<M>),
}

impl<M: Machine> Clone for Found<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine> Copy for Found<M> {}

/// The result of an insertion.
pub enum Inserted<M: Machine> {
    /// The record is in the index.
    Yes,
    /// The key had a record already; nothing changed.
    Exists(RecordRef<M>),
}

/// A change of membership that an operation made, for the fix-up of the caller's own node set
/// (Tu, 2013, 4.5): a reader that had seen `before` may count as having seen `after`.
pub enum Change<M: Machine> {
    /// The count of `guard` went from `before` to `after`.
    Counted {
        /// The leaf as it is now.
        after: Seen<M>,
        /// Its count before.
        before: u64,
    },
    /// Some of the keys that `from` stood for are now covered by `to`, a new leaf.
    Handed {
        /// The leaf that was divided.
        from: NonNull<Guard<M>>,
        /// The new one.
        to: Seen<M>,
    },
}

impl<M: Machine> Change<M> {
    /// The leaf that was changed, or made, as it is now.
    #[must_use]
    #[inline]
    pub fn leaf(&self) -> Seen<M> {
        match self {
            Self::Counted { after, .. } => *after,
            Self::Handed { to, .. } => *to,
        }
    }
}

// SAFETY: it names guards, which may be reached from any thread where the words may.
unsafe impl<M: Machine> Send for Change<M> where M::Word: Sync {}

/// The changes of one operation, in order. Reused, so that steady state does not allocate.
pub type Changes<M> = Vec<Change<M>>;

/// A scheme's say in the reorganisation of leaves: called under the leaf latches, so these only
/// copy words, and when the old leaf's count has changed already (or shows that it is latched, for a
/// bucket). A scheme that validates counts needs none of them.
pub trait Hooks<M: Machine> {
    /// `new` takes over part of the keys of `old` (a split, or a layer made below it).
    fn hand_on(&mut self, old: &Guard<M>, new: &Guard<M>) {
        let _ = (old, new);
    }
    /// `dying` leaves the tree and `heir` takes over its key range.
    fn merge(&mut self, dying: &Guard<M>, heir: &Guard<M>) {
        let _ = (dying, heir);
    }
}

/// No scheme, or one that needs no hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl<M: Machine> Hooks<M> for NoHooks {}

/// Which way a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Direction {
    /// From low keys to high ones.
    #[default]
    Forward,
    /// From high keys to low ones.
    Reverse,
}

/// Where a scan stands. Owns its bounds, so that nothing is held between two leaves.
#[derive(Debug, Default)]
pub struct Cursor {
    /// The next key to look at lies at or beyond this one, as `inclusive` says. Forward scans move
    /// it up, reverse scans move it down; `None` is the end of the key space it started from.
    pub position: Option<Vec<u8>>,
    /// Whether `position` itself is still to be looked at.
    pub inclusive: bool,
    /// Where the scan ends: `None` is the end of the key space.
    pub end: Option<Vec<u8>>,
    /// Whether `end` itself belongs to the scan.
    pub end_inclusive: bool,
    /// Which way it goes.
    pub direction: Direction,
    /// Nothing is left.
    pub finished: bool,
    /// Room for the bytes of the layers above a leaf.
    pub(crate) prefix: Vec<u8>,
}

impl Clone for Cursor {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Keeps the room that there is.
    fn clone_from(&mut self, source: &Self) {
        let Self { position, inclusive, end, end_inclusive, direction, finished, prefix } = self;
        position.clone_from(&source.position);
        end.clone_from(&source.end);
        prefix.clone_from(&source.prefix);
        (*inclusive, *end_inclusive) = (source.inclusive, source.end_inclusive);
        (*direction, *finished) = (source.direction, source.finished);
    }
}

/// What an index takes, in bytes of the slots that hold it, besides its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexMemory {
    /// Leaves and inner nodes, or buckets and their nodes. Keys and parts of keys of up to eight bytes lie in them.
    pub node_bytes: u64,
    /// The rests of longer keys.
    pub key_bytes: u64,
}

impl IndexMemory {
    pub(crate) fn add(&mut self, other: Self) {
        self.node_bytes += other.node_bytes;
        self.key_bytes += other.key_bytes;
    }
}

/// One leaf's worth of a scan, as it stood at one moment: the caller tracks `seen`, then reads the
/// records. Reused between leaves.
pub struct LeafRun<M: Machine> {
    /// The leaf, and its count at that moment.
    pub seen: Option<Seen<M>>,
    /// The records in scan order, with the end of each key in `keys`.
    pub records: Vec<(u32, RecordRef<M>)>,
    /// The keys, one after the other.
    pub keys: Vec<u8>,
}

impl<M: Machine> Default for LeafRun<M> {
    fn default() -> Self {
        Self { seen: None, records: Vec::new(), keys: Vec::new() }
    }
}

impl<M: Machine> LeafRun<M> {
    /// Forgets the leaf, keeping the room.
    pub fn clear(&mut self) {
        self.seen = None;
        self.records.clear();
        self.keys.clear();
    }

    /// The key of record `at`.
    ///
    /// # Panics
    /// When there are not as many records.
    #[must_use]
    #[inline]
    pub fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.records[before].0);
        &self.keys[start as usize..self.records[at].0 as usize]
    }

    /// The records with their keys, in scan order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], RecordRef<M>)> {
        let mut start = 0;
        self.records.iter().map(move |&(end, record)| {
            let key = &self.keys[start..end as usize];
            start = end as usize;
            (key, record)
        })
    }
}
