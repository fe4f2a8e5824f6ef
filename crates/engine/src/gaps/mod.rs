//! The gaps that a transaction has seen: keys that were not there, and ranges that it has scanned (phantoms; Tu, 2013,
//! 4.5).
//!
//! Of each leaf that it looked at the transaction remembers the count of membership changes (*node set*). A count that
//! is as it was says that no key has come or gone in the whole leaf. One that has moved says little: most changes of a
//! leaf are none of the part that was looked at. So the transaction also remembers that part, its *piece* of the key
//! space, with the records met there. Before a commit, and whenever the scheme misses a count, the engine looks at such
//! pieces again (`renew.rs`): a piece with the same records counts as seen now, in the leaves that cover it now.
//!
//! The scheme has the last word. It compares the counts when others can change nothing any more that the transaction
//! depends on ([`Gaps::holds`]). What the transaction inserts itself is taken note of as it happens.

mod faults;
mod renew;

use faults::{ANOTHER_ABSENCE, COUNTS_NOT_COMPARED};
pub(crate) use faults::{FAULTS, REST_OF_RANGE_FORGOTTEN};

use crate::tables::table::Entry as TableEntry;
use chiliad_api::TableId;
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Change, Cursor, Direction, KEY_BYTES_MAX, LeafRun, RecordRef, Seen};
use core::ops::{Bound, Range};

/// A leaf, its count, and the piece for which it was looked at.
struct Node<M: Machine> {
    seen: Seen<M>,
    piece: u32,
}

/// Consecutive bytes of [`Gaps::keys`], or records of [`Gaps::met`].
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    length: u32,
}

impl Part {
    #[inline]
    fn range(self) -> Range<usize> {
        self.start..self.start + self.length as usize
    }
}

/// One end of a piece: a key, or the end of the key space. There is one for each leaf that a scan passes, so it is small.
struct End {
    start: usize,
    length: u16,
    has_key: bool,
    inclusive: bool,
}
const _: () = assert!(KEY_BYTES_MAX <= u16::MAX as usize, "the length of a key fits");

/// The keys from one end to another, in the direction of a scan, and the records met there.
struct Keys {
    from: End,
    to: End,
    direction: Direction,
    met: Part,
}

/// The part of the key space that a piece stands for.
enum Extent {
    /// One key, which was not there, and the minimum insert TID of its leaf then.
    Key {
        key: Part,
        least: u64,
    },
    Keys(Keys),
    /// One key, which was not there until the transaction inserted it.
    Own,
}

/// A part of a table's key space that lay in one leaf when it was looked at.
struct Piece {
    table: TableId,
    extent: Extent,
    /// It has to be looked at again.
    is_stale: bool,
}

/// The gaps that one transaction has seen.
pub struct Gaps<M: Machine> {
    nodes: Vec<Node<M>>,
    pieces: Vec<Piece>,
    /// The keys at the ends of pieces, one after the other.
    keys: Vec<u8>,
    /// The records met in pieces, one after the other.
    met: Vec<RecordRef<M>>,
    /// The tables by number, to look at them again.
    tables: Vec<TableEntry<M>>,
    scratch: Scratch<M>,
}

impl<M: Machine> Gaps<M> {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::with_capacity(32),
            pieces: Vec::with_capacity(32),
            keys: Vec::new(),
            met: Vec::new(),
            tables: Vec::new(),
            scratch: Scratch::new(),
        }
    }

    /// The tables of the transactions that follow.
    pub(crate) fn learn(&mut self, tables: &[TableEntry<M>]) {
        self.tables.clear();
        self.tables.extend_from_slice(tables);
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.pieces.clear();
        self.keys.clear();
        self.met.clear();
    }

    /// A key of `table` is missing, as `seen` testifies: what [`Gaps::add`] adds next is its leaf. `false`: look the key
    /// up again.
    #[inline]
    pub(crate) fn begin_key(&mut self, table: TableId, key: &[u8], seen: Seen<M>) -> bool {
        let key = self.keep(key);
        let least = least(seen);
        self.pieces.push(Piece { table, extent: Extent::Key { key, least }, is_stale: false });
        // Or the word may be that of a later absence.
        seen.holds()
    }

    /// A scan of `table` has gone from `from` to where `to` stands, or to `last`, the last key that it was to return, and
    /// has met these records: what [`Gaps::add`] adds next is their leaf.
    #[inline]
    pub(crate) fn begin_keys(
        &mut self,
        table: TableId,
        from: &Place,
        to: &Cursor,
        last: Option<&[u8]>,
        met: impl Iterator<Item = RecordRef<M>>,
    ) {
        let position = from.has_position.then_some(from.position.as_slice());
        let from = self.keep_end(position, from.inclusive);
        // The cursor stands where the next piece begins: what that includes is none of this one.
        let (end, inclusive) = match (last, to.finished) {
            (Some(last), _) => (Some(last), true),
            (None, true) => (to.end.as_deref(), to.end_inclusive),
            (None, false) => (to.position.as_deref(), !to.inclusive),
        };
        let end = self.keep_end(end, inclusive);
        let start = self.met.len();
        self.met.extend(met);
        let met = Part { start, length: (self.met.len() - start) as u32 };
        debug_assert!(last.is_none() || met.length > 0, "a limit is met by a row");
        let extent = Extent::Keys(Keys { from, to: end, direction: to.direction, met });
        self.pieces.push(Piece { table, extent, is_stale: false });
    }

    fn key(&self, key: Part) -> &[u8] {
        &self.keys[key.range()]
    }

    fn bound(&self, end: &End) -> Bound<&[u8]> {
        let key = &self.keys[end.start..end.start + usize::from(end.length)];
        match (end.has_key, end.inclusive) {
            (true, true) => Bound::Included(key),
            (true, false) => Bound::Excluded(key),
            (false, _) => Bound::Unbounded,
        }
    }

    #[inline]
    fn keep_end(&mut self, key: Option<&[u8]>, inclusive: bool) -> End {
        debug_assert!(key.is_some() || inclusive, "only a key is left out");
        let Part { start, length } = self.keep(key.unwrap_or(&[]));
        debug_assert!(length <= u32::from(u16::MAX), "keys are checked");
        End { start, length: length as u16, has_key: key.is_some(), inclusive }
    }

    #[inline]
    fn keep(&mut self, key: &[u8]) -> Part {
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        Part { start, length: key.len() as u32 }
    }

    /// Remembers the leaf of the piece that was begun last.
    #[inline]
    pub fn add(&mut self, seen: Seen<M>) {
        debug_assert!(!self.pieces.is_empty(), "each leaf is of a piece");
        self.nodes.push(Node { seen, piece: self.pieces.len() as u32 - 1 });
    }

    /// How many leaves there are, each as often as it was passed.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no leaf has changed.
    #[inline]
    pub fn holds(&self) -> bool {
        M::work(Cost::Validate, self.nodes.len() as u32);
        self.nodes.iter().all(|node| node.seen.holds()) || M::fault(&COUNTS_NOT_COMPARED)
    }

    /// The greatest of the leaves' minimum insert TIDs. Those of leaves that have not changed are as they were when they
    /// were looked at.
    #[inline]
    pub fn min_insert_tid(&self) -> u64 {
        // Relaxed: whoever saw a leaf without a row saw the word that was raised before, by way of the leaf's own version.
        let word = |node: &Node<M>| node.seen.guard().header.word.load(Ordering::Relaxed);
        self.nodes.iter().map(word).max().unwrap_or(0)
    }

    /// The transaction has put a record of its own under `key`, with these changes: a miss of the key before holds from now
    /// on, whatever happens beside it, unless another record has come and gone there in between.
    #[inline]
    pub(crate) fn settle(&mut self, table: TableId, key: &[u8], changes: &[Change<M>]) {
        if !self.pieces.is_empty() {
            self.settle_pieces(table, key, changes);
        }
    }

    fn settle_pieces(&mut self, table: TableId, key: &[u8], changes: &[Change<M>]) {
        let Some(now) = least_after(changes) else { return };
        for piece in self.pieces.iter_mut().filter(|piece| piece.table == table) {
            if let Extent::Key { key: missed, least } = piece.extent
                && self.keys[missed.range()] == *key
                && (now <= least || M::fault(&ANOTHER_ABSENCE))
            {
                piece.extent = Extent::Own;
            }
        }
    }

    /// Takes note of leaf changes that the transaction made itself: what had been seen before counts
    /// as seen after. An entry that had not been seen as it was just before is left alone, unless
    /// `forgiving`: its piece is looked at again.
    #[inline]
    pub fn fix_up(&mut self, changes: &[Change<M>], forgiving: bool) {
        debug_assert!(self.nodes.is_empty() || !self.pieces.is_empty(), "each leaf is of a piece");
        if !self.nodes.is_empty() {
            self.fix_up_nodes(changes, forgiving);
        }
    }

    fn fix_up_nodes(&mut self, changes: &[Change<M>], forgiving: bool) {
        for change in changes {
            match change {
                Change::Counted { after, before } => {
                    for Node { seen, .. } in &mut self.nodes {
                        let current = seen.members == *before || forgiving;
                        if seen.guard_ptr() == after.guard_ptr() && current {
                            seen.members = after.members;
                        }
                    }
                }
                Change::Handed { from, to } => {
                    for at in 0..self.nodes.len() {
                        let Node { seen, piece } = self.nodes[at];
                        if seen.guard_ptr() == *from {
                            self.nodes.push(Node { seen: *to, piece });
                        }
                    }
                }
            }
        }
    }
}

/// The minimum insert TID of a leaf (`scheme/parts/min_insert_tid.rs`): no removal of a key that has left the leaf by now
/// is above it.
#[inline]
fn least<M: Machine>(leaf: Seen<M>) -> u64 {
    // Acquire pairs with the release in `min_insert_tid::raise`, by way of the leaf's own version: who sees the word of a
    // removal also sees the count of the insertion before.
    leaf.guard().header.word.load(Ordering::Acquire)
}

/// The greatest minimum insert TID of the leaves that were changed, if any was.
pub(crate) fn least_after<M: Machine>(changes: &[Change<M>]) -> Option<u64> {
    changes.iter().map(|change| least(change.leaf())).max()
}

/// The buffers of a second look, kept from one to the next.
struct Scratch<M: Machine> {
    cursor: Cursor,
    run: LeafRun<M>,
    /// The leaves that cover the stale pieces now.
    fresh: Vec<Node<M>>,
}

impl<M: Machine> Scratch<M> {
    fn new() -> Self {
        Self { cursor: Cursor::default(), run: LeafRun::default(), fresh: Vec::new() }
    }
}

/// Where a scan stood before a leaf.
#[derive(Default)]
pub(crate) struct Place {
    position: Vec<u8>,
    has_position: bool,
    inclusive: bool,
}

impl Place {
    /// Takes note of where `cursor` stands.
    #[inline]
    pub fn mark(&mut self, cursor: &Cursor) {
        self.position.clear();
        self.has_position = cursor.position.is_some();
        if let Some(position) = &cursor.position {
            self.position.extend_from_slice(position);
        }
        self.inclusive = cursor.inclusive;
    }

    /// Has `cursor`, which has gone on over a leaf since, stand there again.
    pub fn restore(&self, cursor: &mut Cursor) {
        cursor.inclusive = self.inclusive;
        cursor.finished = false;
        match self.has_position {
            true => {
                let position = cursor.position.get_or_insert_default();
                position.clear();
                position.extend_from_slice(&self.position);
            }
            false => cursor.position = None,
        }
    }
}
