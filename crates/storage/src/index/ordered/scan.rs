//! Scanning, a leaf at a time, in both directions.
//!
//! Nothing is held between two leaves: a [`Cursor`] is a position in the key space and an end, and
//! [`OrderedIndex::next_leaf`] descends anew, to the leaf that covers the keys right after the
//! position. It reports a *piece*: an interval of keys from the position to a new one, the entries
//! in it, and the leaf's guard with its count.
//!
//! Invariant (see the index's head for what the writers contribute): when the leaf's version was
//! validated, the leaf covered the whole interval, the entries were all there was in it, and the
//! count was the one reported. The next piece begins where this one ends, whatever happens to the
//! tree in between, so the pieces cover the range without a gap, and any key that comes or goes in
//! the range afterwards changes a count that was reported. Pieces without entries are reported like
//! others: they testify to a gap.
//!
//! Where a piece ends:
//!
//! - at the leaf's *fence*, the tightest separator met on the way down through the layer, and at
//!   the end of the layer's part of the key space where there is none;
//! - at a layer: an entry that is a layer's root belongs to other leaves. The entries before it are
//!   one piece, then come the layer's leaves, then the entries after it. A piece that would be an
//!   empty interval (the position is right at the layer) is no piece: the descent goes on into the
//!   layer;
//! - after as many entries as were asked for.
//!
//! Fences are conservative: a range may have grown since the separator was read, and if it has
//! shrunk, the leaf's version or its holder's has changed, and the descent begins again.
//!
//! Masstree walks a list of leaves (Mao et al., 2012, 4.6.4); here there is none to maintain, the descent hits
//! cached nodes but for the leaf, and reverse scans are the mirror image instead of a special case.

use super::cell::Cell;
use super::get::{RECORD_LINES, seen};
use super::node::{
    KIND_CELL, KIND_LAYER, Leaf, NODE_LINES, Spot, TAG_INNER, Target, inner_of, is_awaited,
    leaf_of, prefetch_node, record_of,
};
use super::slice::{RANK_LONGER, SLICE_BYTES, least_of, rank_at, slice_at, step_over};
use super::version::{NodeVersion, Stamp};
use super::{OrderedIndex, faults};
use crate::{Cursor, Direction, LeafRun, LocalHeap, RecordRef};
use chiliad_machine::{Cost, Link, Machine, Ordering, Tagged};
use core::ops::Bound;

impl Cursor {
    /// A scan of the keys between two bounds.
    #[must_use]
    pub fn new(low: Bound<&[u8]>, high: Bound<&[u8]>, direction: Direction) -> Self {
        let mut cursor = Self::default();
        cursor.reset(low, high, direction);
        cursor
    }

    /// Begins another scan, keeping the room.
    pub fn reset(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>, direction: Direction) {
        let (from, to) = match direction {
            Direction::Forward => (low, high),
            Direction::Reverse => (high, low),
        };
        self.inclusive = set_bound(&mut self.position, from);
        self.end_inclusive = set_bound(&mut self.end, to);
        self.direction = direction;
        self.finished = false;
        self.finished = self.is_at_end();
    }

    /// Whether nothing lies between the position and the end.
    fn is_at_end(&self) -> bool {
        let before_all = self.direction == Direction::Reverse
            && !self.inclusive
            && self.position.as_ref().is_some_and(Vec::is_empty);
        if before_all {
            return true;
        }
        let (Some(position), Some(end)) = (&self.position, &self.end) else {
            return false;
        };
        let order = match self.direction {
            Direction::Forward => position.cmp(end),
            Direction::Reverse => end.cmp(position),
        };
        order.is_gt() || order.is_eq() && !(self.inclusive && self.end_inclusive)
    }

    /// Whether a key lies beyond the end.
    fn is_beyond_end(&self, key: &[u8]) -> bool {
        let Some(end) = &self.end else {
            return false;
        };
        let order = match self.direction {
            Direction::Forward => key.cmp(end),
            Direction::Reverse => end.as_slice().cmp(key),
        };
        order.is_gt() || order.is_eq() && !self.end_inclusive
    }
}

/// Sets one side of a cursor and returns whether the bound itself is included.
fn set_bound(side: &mut Option<Vec<u8>>, bound: Bound<&[u8]>) -> bool {
    let (key, inclusive) = match bound {
        Bound::Included(key) => (key, true),
        Bound::Excluded(key) => (key, false),
        Bound::Unbounded => {
            *side = None;
            return true;
        }
    };
    let kept = side.get_or_insert_default();
    kept.clear();
    kept.extend_from_slice(key);
    inclusive
}

/// The goal of a descent through one layer: the first entry at or after (slice, rank) forward, the last at or before
/// it in reverse, and within a rank of longer keys those that `rest` allows.
#[derive(Clone, Copy)]
pub(super) struct Aim<'k> {
    pub(super) slice: u64,
    pub(super) rank: u64,
    /// The position's bytes after the slice, if it goes on; it then divides the keys of the rank.
    pub(super) rest: Option<&'k [u8]>,
}

impl<'k> Aim<'k> {
    /// Where in a layer a position aims; no position is the layer's beginning (forward) or its end
    /// (reverse).
    pub(super) fn new(position: Option<&'k [u8]>, inclusive: bool, direction: Direction) -> Self {
        let reverse = direction == Direction::Reverse;
        let Some(key) = position else {
            return match reverse {
                false => Self { slice: 0, rank: 0, rest: None },
                true => Self { slice: u64::MAX, rank: RANK_LONGER, rest: None },
            };
        };
        let (slice, rank) = (slice_at(key, 0), rank_at(key, 0));
        if rank == RANK_LONGER {
            return Self { slice, rank, rest: Some(&key[SLICE_BYTES..]) };
        }
        match (reverse, inclusive) {
            (_, true) => Self { slice, rank, rest: None },
            (false, false) => Self { slice, rank: rank + 1, rest: None },
            (true, false) if key.last() == Some(&0) => Self { slice, rank: rank - 1, rest: None },
            // The least key of its slice: all that lies before it has lesser slices. (It is not
            // the empty key, before which there is nothing: the cursor is then finished.)
            (true, false) => Self { slice: slice.saturating_sub(1), rank: RANK_LONGER, rest: None },
        }
    }
}

/// A leaf as a descent found it. What is read of it counts if its version still is `stamp` afterwards.
struct Visit<'t, M: Machine> {
    leaf: &'t Leaf<M>,
    stamp: Stamp,
    /// The separators around the leaf in its layer, where there are any.
    low: Option<u64>,
    high: Option<u64>,
}

/// Where the descent through the next layer begins.
pub(super) struct Entrance<'t, M: Machine> {
    pub(super) version: &'t NodeVersion<M>,
    pub(super) stamp: Stamp,
    pub(super) root: Tagged<Target>,
}

/// Where a piece ends.
pub(super) enum PieceEnd {
    /// At the entry of this slice, which is a layer.
    Layer(u64),
    /// Forward: at the separator above; reverse: at the one below.
    Fence(u64),
    /// At the end of the layer.
    LayerEnd,
    /// After its last entry: it has as many as it may have.
    Entry,
}

impl<M: Machine> OrderedIndex<M> {
    /// Reports the next piece of a scan in `run`, with no more entries than `at_most`, one at least, and moves the cursor past
    /// it. Returns `false`, with nothing in `run`, when the scan is finished already.
    ///
    /// A piece may be without entries; its guard counts all the same.
    pub fn next_leaf(
        &self,
        heap: &LocalHeap<M>,
        cursor: &mut Cursor,
        run: &mut LeafRun<M>,
        at_most: usize,
    ) -> bool {
        debug_assert!(heap.is_pinned());
        debug_assert!(at_most > 0, "a piece without room for an entry leads nowhere");
        run.clear();
        if cursor.finished {
            return false;
        }
        let position = cursor.position.take();
        let mut prefix = core::mem::take(&mut cursor.prefix);
        let end = loop {
            prefix.clear();
            let from = position.as_deref();
            if let Some(end) = self.try_piece(cursor, from, &mut prefix, run, at_most) {
                break end;
            }
            run.clear();
        };
        let mut position = position.unwrap_or_default();
        position.clear();
        match (&end, run.records.len().checked_sub(1)) {
            (PieceEnd::Entry, Some(last)) => position.extend_from_slice(run.key(last)),
            _ => position.extend_from_slice(&prefix),
        }
        cursor.prefix = prefix;
        advance(cursor, position, &end);
        if cursor.finished {
            trim(cursor, run);
        }
        debug_assert!(
            run.iter().map(|(key, _)| key).is_sorted_by(|a, b| match cursor.direction {
                Direction::Forward => a < b,
                Direction::Reverse => a > b,
            }),
            "keys are in order"
        );
        if run.records.is_empty() && M::fault(&faults::SCAN_SKIPS_EMPTY_LEAF) {
            run.seen = None;
        }
        true
    }

    /// One attempt, with the bytes of the layers above the piece left in `prefix`.
    fn try_piece(
        &self,
        cursor: &Cursor,
        position: Option<&[u8]>,
        prefix: &mut Vec<u8>,
        run: &mut LeafRun<M>,
        at_most: usize,
    ) -> Option<PieceEnd> {
        M::work(Cost::Descend, 1);
        let (direction, inclusive) = (cursor.direction, cursor.inclusive);
        let anchor = &self.anchor;
        let stamp = anchor.version.read();
        let root = anchor.root.load(Ordering::Relaxed);
        let mut entrance = Entrance { version: &anchor.version, stamp, root };
        let mut position = position;
        let mut depth = 0;
        loop {
            let aim = Aim::new(position, inclusive, direction);
            let visit = Self::visit(&entrance, aim.slice, direction, &mut depth)?;
            let Visit { leaf, stamp, .. } = visit;
            let spot = leaf.find(stamp, aim.slice, aim.rank);
            if aim.rank == RANK_LONGER
                && let Spot::At(index, KIND_LAYER) = spot
            {
                let root = leaf.link(index).load(Ordering::Relaxed);
                if !leaf.version.holds(stamp) {
                    return None;
                }
                prefix.extend_from_slice(&aim.slice.to_be_bytes());
                entrance = Entrance { version: &leaf.version, stamp, root };
                position = aim.rest;
                continue;
            }
            let first = match (direction, spot) {
                (_, Spot::At(index, _)) => Some(index),
                (Direction::Forward, Spot::Before(index)) => Some(index),
                (Direction::Reverse, Spot::Before(index)) => index.checked_sub(1),
            };
            run.seen = Some(seen(leaf));
            let end = collect(run, prefix, (&visit, first), aim, cursor, at_most)?;
            if !leaf.version.holds(stamp) {
                return None;
            }
            if stamp.count() == 0 {
                M::mark("scan met an empty leaf");
            }
            if M::fault(&faults::GUARD_READ_TOO_LATE) {
                run.seen = Some(seen(leaf));
            }
            return Some(end);
        }
    }

    /// Descends through a layer to the leaf that covers `slice`; `None` if somebody was in the way.
    fn visit<'t>(
        entrance: &Entrance<'t, M>,
        slice: u64,
        direction: Direction,
        depth: &mut u32,
    ) -> Option<Visit<'t, M>> {
        let Entrance { mut version, mut stamp, root: mut child } = *entrance;
        let (mut low, mut high) = (None, None);
        loop {
            prefetch_node::<M>(child);
            if !version.holds(stamp) {
                return None;
            }
            if is_awaited::<M>(*depth) {
                M::await_line(child.pointer().cast_const().cast(), NODE_LINES);
            }
            *depth += 1;
            if child.tag() != TAG_INNER {
                break;
            }
            // SAFETY: its holder was validated after the link was read; the caller is pinned.
            let inner = unsafe { inner_of::<M>(child) };
            let below = inner.version.read();
            if !version.holds(stamp) {
                return None;
            }
            let index = inner.search(slice);
            if index > 0 {
                low = Some(inner.key(index - 1));
            }
            if index < below.count() {
                high = Some(inner.key(index));
            }
            child = inner.child(index).load(Ordering::Relaxed);
            // Most scans go on into the next leaf: have it ready when they come back for it.
            let next = match direction {
                Direction::Forward if index < below.count() => Some(index + 1),
                Direction::Reverse => index.checked_sub(1),
                Direction::Forward => None,
            };
            if let Some(next) = next
                && child.tag() != TAG_INNER
            {
                prefetch_node::<M>(inner.child(next).load(Ordering::Relaxed));
            }
            (version, stamp) = (&inner.version, below);
        }
        // SAFETY: the holder was validated after the link was read; we are pinned.
        let leaf = unsafe { leaf_of::<M>(child) };
        let below = leaf.version.read();
        if !version.holds(stamp) {
            return None;
        }
        Some(Visit { leaf, stamp: below, low, high })
    }
}

/// Puts the records of a piece, which begins at entry `first` of the leaf, into `run`: those up to a layer, and `at_most` of
/// them. Returns where the piece ends. The cells that the entries lead to stay as they are for the caller's pin. All of it
/// counts if the leaf's version holds afterwards; `None`: it does not.
fn collect<M: Machine>(
    run: &mut LeafRun<M>,
    prefix: &[u8],
    (visit, first): (&Visit<'_, M>, Option<usize>),
    aim: Aim<'_>,
    cursor: &Cursor,
    at_most: usize,
) -> Option<PieceEnd> {
    let &Visit { leaf, stamp, low, high } = visit;
    let (count, kinds) = (stamp.count(), leaf.kinds());
    for index in kinds.cells(count) {
        let cell = leaf.link(index).load(Ordering::Relaxed);
        M::prefetch(cell.pointer().cast_const().cast(), 1);
    }
    let reverse = cursor.direction == Direction::Reverse;
    let mut next = first.filter(|&index| index < count);
    while let Some(index) = next {
        next = match reverse {
            false => Some(index + 1).filter(|&index| index < count),
            true => index.checked_sub(1),
        };
        let (slice, kind) = (leaf.slice(index), kinds.of(index));
        if kind == KIND_LAYER {
            return Some(PieceEnd::Layer(slice));
        }
        if run.records.len() == at_most {
            return Some(PieceEnd::Entry);
        }
        let link = leaf.link(index).load(Ordering::Relaxed);
        if kind == KIND_CELL {
            if !leaf.version.holds(stamp) {
                return None;
            }
            // SAFETY: a cell entry of a validated state; the caller is pinned.
            let cell = unsafe { Cell::<M>::from_target(link) };
            if slice == aim.slice
                && let Some(rest) = aim.rest
            {
                let order = cell.compare(rest);
                let order = if reverse { order.reverse() } else { order };
                if order.is_lt() || order.is_eq() && !cursor.inclusive {
                    continue;
                }
            }
            append_key(&mut run.keys, prefix, slice, SLICE_BYTES);
            cell.append_to(&mut run.keys);
            push(run, cell.record());
        } else if link.is_null() {
            // Of an entry that has just gone.
            return None;
        } else {
            append_key(&mut run.keys, prefix, slice, (kind as usize).min(SLICE_BYTES));
            // SAFETY: a link that is not null, of an inline entry of a state that the caller validates before it follows the
            // link.
            push(run, unsafe { record_of(link) });
        }
    }
    let fence = if reverse { low } else { high };
    if fence.is_some() && reverse {
        M::mark("reverse scan over fence");
    }
    Some(fence.map_or(PieceEnd::LayerEnd, PieceEnd::Fence))
}

/// Appends the bytes of the layers above, and so many of a slice. All bytes of the slice go there first: to copy as many as
/// a variable says would be a call.
#[inline]
fn append_key(keys: &mut Vec<u8>, prefix: &[u8], slice: u64, bytes: usize) {
    debug_assert!(bytes <= SLICE_BYTES, "of one slice");
    if !prefix.is_empty() {
        keys.extend_from_slice(prefix);
    }
    let end = keys.len() + bytes;
    keys.extend_from_slice(&slice.to_be_bytes());
    keys.truncate(end);
}

/// Adds a record whose key is the last in `run`, and asks for its lines: they are read next, all of
/// them, so their misses may as well overlap.
fn push<M: Machine>(run: &mut LeafRun<M>, record: RecordRef<M>) {
    M::prefetch(record.as_ptr().cast_const().cast(), RECORD_LINES);
    M::work(Cost::Entry, 1);
    debug_assert!(u32::try_from(run.keys.len()).is_ok(), "a leaf's keys are few");
    run.records.push((run.keys.len() as u32, record));
}

/// Moves the cursor to the end of a piece; `position` holds the bytes of the layers above it, or the key of its last entry
/// where it ends there.
pub(super) fn advance(cursor: &mut Cursor, mut position: Vec<u8>, end: &PieceEnd) {
    let forward = cursor.direction == Direction::Forward;
    let more = match *end {
        PieceEnd::Layer(slice) => {
            position.extend_from_slice(&slice.to_be_bytes());
            cursor.inclusive = false;
            // Forward: after the key that is the layer's prefix. Reverse: before the first key that is after the
            // layer; there is one, or the layer would have been entered.
            forward || step_over(&mut position)
        }
        PieceEnd::Fence(separator) => {
            debug_assert!(separator < u64::MAX, "keys lie above it");
            // The least key above the separator, which is not the greatest slice.
            least_of(separator + 1, &mut position);
            cursor.inclusive = forward;
            true
        }
        PieceEnd::Entry => {
            cursor.inclusive = false;
            true
        }
        PieceEnd::LayerEnd => {
            cursor.inclusive = true;
            // Forward: the first key after the layer. Reverse: the key that is its prefix.
            if forward { step_over(&mut position) } else { !position.is_empty() }
        }
    };
    cursor.position = Some(position);
    cursor.finished = !more || cursor.is_at_end();
}

/// Takes out of the last piece what lies beyond the end.
fn trim<M: Machine>(cursor: &Cursor, run: &mut LeafRun<M>) {
    while let Some(last) = run.records.len().checked_sub(1) {
        let key = run.key(last);
        if !cursor.is_beyond_end(key) {
            break;
        }
        let left = run.keys.len() - key.len();
        run.records.pop();
        run.keys.truncate(left);
    }
}
