//! Measuring a tree while others use it: its nodes and key cells, each once, a leaf at a time.
//!
//! The way is that of a forward scan (`scan.rs`): nothing is held between two pieces, and each descends anew. A leaf is
//! counted with the piece that begins at its first entry. An inner node is counted with the first leaf below it, which
//! is the one that the descent reaches by the node's first child. So while the tree stands still every node is counted
//! once; what is divided or leaves meanwhile may be counted twice or not at all.

use super::OrderedIndex;
use super::cell::{Cell, cell_bytes};
use super::node::{
    Entry, Inner, KIND_CELL, KIND_LAYER, LEAF_SLOTS, Leaf, TAG_INNER, inner_of, leaf_of, record_of,
};
use super::scan::{Aim, Entrance, PieceEnd, advance};
use super::slice::RANK_LONGER;
use super::version::Stamp;
use crate::classes::slot_bytes_for;
use crate::index::contract::{IndexMemory, LeafRun};
use crate::{Cursor, Direction, LocalHeap};
use chiliad_machine::{Link, Machine, Ordering};

/// A leaf at the end of a descent through a layer, validated.
struct Reached<'t, M: Machine> {
    leaf: &'t Leaf<M>,
    stamp: Stamp,
    entries: [Entry; LEAF_SLOTS],
    /// The separator above it in its layer, where there is one.
    fence: Option<u64>,
    /// The inner nodes above it of which it is the first leaf.
    firsts: u64,
}

impl<M: Machine> OrderedIndex<M> {
    /// Puts the records of the next piece into `run`, without their keys, and adds what the piece takes in the index to
    /// `memory`. `false` when nothing was left. Pinned; `cursor` began as a scan forward of all keys.
    pub fn measure_piece(
        &self,
        heap: &LocalHeap<M>,
        cursor: &mut Cursor,
        run: &mut LeafRun<M>,
        memory: &mut IndexMemory,
    ) -> bool {
        debug_assert!(heap.is_pinned() && cursor.direction == Direction::Forward);
        run.clear();
        if cursor.finished {
            return false;
        }
        let position = cursor.position.take();
        let mut prefix = Vec::new();
        let (end, piece) = loop {
            prefix.clear();
            run.clear();
            let inclusive = cursor.inclusive;
            if let Some(found) = self.try_measure(position.as_deref(), inclusive, &mut prefix, run)
            {
                break found;
            }
        };
        memory.add(piece);
        advance(cursor, prefix, &end);
        true
    }

    /// One attempt, with the bytes of the layers above the piece left in `prefix`.
    fn try_measure(
        &self,
        mut position: Option<&[u8]>,
        inclusive: bool,
        prefix: &mut Vec<u8>,
        run: &mut LeafRun<M>,
    ) -> Option<(PieceEnd, IndexMemory)> {
        let anchor = &self.anchor;
        let stamp = anchor.version.read();
        let root = anchor.root.load(Ordering::Relaxed);
        let mut entrance = Entrance { version: &anchor.version, stamp, root };
        loop {
            let aim = Aim::new(position, inclusive, Direction::Forward);
            let reached = Self::reach(&entrance, aim.slice)?;
            let entries = &reached.entries[..reached.stamp.count()];
            let first =
                entries.iter().position(|it| (it.slice, it.rank()) >= (aim.slice, aim.rank));
            if let Some(first) = first
                && let Entry { slice, kind: KIND_LAYER, link } = entries[first]
                && (slice, RANK_LONGER) == (aim.slice, aim.rank)
            {
                prefix.extend_from_slice(&slice.to_be_bytes());
                let (version, stamp) = (&reached.leaf.version, reached.stamp);
                entrance = Entrance { version, stamp, root: link };
                position = aim.rest;
                continue;
            }
            let mut memory = IndexMemory::default();
            if first == Some(0) || entries.is_empty() {
                memory.node_bytes = slot_bytes_for(size_of::<Leaf<M>>())
                    + reached.firsts * slot_bytes_for(size_of::<Inner<M>>());
            }
            let piece = &entries[first.unwrap_or(entries.len())..];
            let end = weigh(piece, run, &mut memory);
            let fence = reached.fence.map_or(PieceEnd::LayerEnd, PieceEnd::Fence);
            return Some((end.unwrap_or(fence), memory));
        }
    }

    /// Descends through a layer to the leaf that covers `slice`; `None` if somebody was in the way.
    fn reach<'t>(entrance: &Entrance<'t, M>, slice: u64) -> Option<Reached<'t, M>> {
        let Entrance { mut version, mut stamp, root: mut child } = *entrance;
        let (mut fence, mut firsts) = (None, 0);
        while child.tag() == TAG_INNER {
            if !version.holds(stamp) {
                return None;
            }
            // SAFETY: its holder was validated after the link was read; the caller is pinned.
            let inner = unsafe { inner_of::<M>(child) };
            let below = inner.version.read();
            if !version.holds(stamp) {
                return None;
            }
            let index = inner.search(slice);
            if index < below.count() {
                fence = Some(inner.key(index));
            }
            firsts = if index == 0 { firsts + 1 } else { 0 };
            child = inner.child(index).load(Ordering::Relaxed);
            (version, stamp) = (&inner.version, below);
        }
        if !version.holds(stamp) {
            return None;
        }
        // SAFETY: its holder was validated after the link was read; the caller is pinned.
        let leaf = unsafe { leaf_of::<M>(child) };
        let below = leaf.version.read();
        if !version.holds(stamp) {
            return None;
        }
        let entries = leaf.copy_out(below.count());
        let reached = Reached { leaf, stamp: below, entries, fence, firsts };
        leaf.version.holds(below).then_some(reached)
    }
}

/// Puts the records of a piece, up to a layer, into `run`, and counts their cells. Where the piece ends, if at a layer.
fn weigh<M: Machine>(
    piece: &[Entry],
    run: &mut LeafRun<M>,
    memory: &mut IndexMemory,
) -> Option<PieceEnd> {
    for entry in piece {
        let record = match entry.kind {
            KIND_LAYER => return Some(PieceEnd::Layer(entry.slice)),
            KIND_CELL => {
                // SAFETY: a cell entry of a validated state; the caller is pinned.
                let cell = unsafe { Cell::<M>::from_target(entry.link) };
                memory.key_bytes += slot_bytes_for(cell_bytes::<M>(cell.length()));
                cell.record()
            }
            // SAFETY: an inline entry of a validated state.
            _ => unsafe { record_of(entry.link) },
        };
        run.records.push((0, record));
    }
    None
}
