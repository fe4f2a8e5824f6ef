//! Looking up one key, whole or a cache miss at a time.
//!
//! A look-up is a [`OrderedProbe`] that [`OrderedIndex::step`] moves by one node. Each step begins
//! with memory that the step before asked for and ends by asking for the next, so that a caller with
//! many keys takes turns among their probes and has all their misses in flight together. A single
//! [`OrderedIndex::get`] is the same machine, stepped until it is done; it compiles to a loop whose
//! state is in registers.
//!
//! Validation is hand over hand, as in `path`: before a child is touched, its holder must still be
//! as it was when the link was read (links of a changed node may be stale), and again after the
//! child's stamp was read (the child might have been split in between). What the leaf says counts if
//! its stamp still holds after everything, its guard's count included, was read.

use super::cell::Cell;
use super::node::{
    KIND_CELL, KIND_LAYER, Leaf, NODE_LINES, Spot, TAG_INNER, Target, inner_of, is_awaited,
    leaf_of, prefetch_node, record_of,
};
use super::slice::{SLICE_BYTES, assert_length, rank_at, slice_at};
use super::version::{NodeVersion, Stamp};
use super::{OrderedIndex, faults};
use crate::{Found, LocalHeap, Seen};
use chiliad_machine::{Cost, Link, Machine, Ordering, Tagged};
use core::ptr::NonNull;

/// Tag of a probe's next target when that is a key cell; nodes have tags 0 and [`TAG_INNER`].
const TAG_CELL: usize = 2;
/// Lines of a cell that are worth asking for: its head and a rest of up to 48 bytes.
const CELL_LINES: u32 = 1;
/// Lines of a record that are worth asking for: its head and a value of up to 104 bytes.
pub(super) const RECORD_LINES: u32 = 2;

/// A look-up in progress. It is of use only within the pin that it was begun in.
pub struct OrderedProbe<M: Machine> {
    /// The version of what holds `next`, and the state in which it did.
    holder: NonNull<NodeVersion<M>>,
    stamp: Stamp,
    /// The target of the next step.
    next: Tagged<Target>,
    /// The leaf that leads to `next`, if that is a cell.
    leaf: Option<NonNull<Leaf<M>>>,
    /// Where in the key the current layer's slice begins.
    offset: usize,
}

// SAFETY: a probe points at shared memory and owns none of it; the pin that it depends on may move
// between threads with its worker.
unsafe impl<M: Machine> Send for OrderedProbe<M> where M::Word: Sync {}

impl<M: Machine> OrderedProbe<M> {
    #[inline]
    fn holder_holds(&self) -> bool {
        // SAFETY: a node that the probe came by during this pin, or the anchor.
        unsafe { self.holder.as_ref() }.holds(self.stamp)
    }
}

/// `None` instead of an answer that a torn state may have given.
#[inline]
fn validated<M: Machine>(leaf: &Leaf<M>, stamp: Stamp, found: Found<M>) -> Option<Found<M>> {
    if leaf.version.holds(stamp) || M::fault(&faults::READER_SKIPS_VALIDATION) {
        Some(found)
    } else {
        None
    }
}

/// The count of a guard now. The caller validates the leaf afterwards.
#[inline]
pub(super) fn seen<M: Machine>(leaf: &Leaf<M>) -> Seen<M> {
    // SAFETY: the guard is the start of the leaf's slot, and heaps outlive what is seen in them.
    unsafe { Seen::new(NonNull::from(leaf).cast(), leaf.guard.members()) }
}

impl<M: Machine> OrderedIndex<M> {
    /// Finds `key`'s record, and waits for its first lines, or the leaf that would hold it.
    ///
    /// # Panics
    /// When the key is longer than [`crate::KEY_BYTES_MAX`].
    #[inline]
    pub fn get(&self, heap: &LocalHeap<M>, key: &[u8]) -> Found<M> {
        debug_assert!(heap.is_pinned());
        let mut probe = self.probe(key);
        for depth in 0.. {
            if is_awaited::<M>(depth) {
                M::await_line(probe.next.pointer().cast_const().cast(), NODE_LINES);
            }
            let Some(found) = self.advance(&mut probe, key) else { continue };
            if is_awaited::<M>(depth)
                && let Found::Record(record) = found
            {
                M::await_line(record.as_ptr().cast_const().cast(), RECORD_LINES);
            }
            return found;
        }
        unreachable!("the loop has no end")
    }

    /// Begins a look-up and asks for the first lines that it needs.
    ///
    /// # Panics
    /// When the key is longer than [`crate::KEY_BYTES_MAX`].
    #[inline]
    pub fn probe(&self, key: &[u8]) -> OrderedProbe<M> {
        assert_length(key);
        M::work(Cost::Descend, 1);
        let holder = &self.anchor.version;
        let stamp = holder.read();
        let next = self.anchor.root.load(Ordering::Relaxed);
        prefetch_node::<M>(next);
        OrderedProbe { holder: NonNull::from(holder), stamp, next, leaf: None, offset: 0 }
    }

    /// Advances a look-up of the same key by one node and asks for the lines that the next step
    /// needs; with an answer, for the record's. Within the pin in which the probe was begun.
    #[inline]
    pub fn step(
        &self,
        heap: &LocalHeap<M>,
        probe: &mut OrderedProbe<M>,
        key: &[u8],
    ) -> Option<Found<M>> {
        debug_assert!(heap.is_pinned());
        let found = self.advance(probe, key);
        if let Some(Found::Record(record)) = found {
            M::prefetch(record.as_ptr().cast_const().cast(), RECORD_LINES);
        }
        found
    }

    #[inline(always)]
    fn advance(&self, probe: &mut OrderedProbe<M>, key: &[u8]) -> Option<Found<M>> {
        if !probe.holder_holds() {
            *probe = self.probe(key);
            return None;
        }
        if probe.next.tag() == TAG_INNER {
            // SAFETY: its holder was validated just now; we are pinned.
            let node = unsafe { inner_of::<M>(probe.next) };
            let stamp = node.version.read();
            if !probe.holder_holds() && !M::fault(&faults::PARENT_NOT_RECHECKED) {
                *probe = self.probe(key);
                return None;
            }
            probe.next =
                node.child(node.search(slice_at(key, probe.offset))).load(Ordering::Relaxed);
            prefetch_node::<M>(probe.next);
            probe.holder = NonNull::from(&node.version);
            probe.stamp = stamp;
            return None;
        }
        let found = match probe.leaf {
            None => self.advance_leaf(probe, key)?,
            Some(leaf) => Self::advance_cell(probe, leaf, key),
        };
        if found.is_none() {
            *probe = self.probe(key);
        }
        found
    }

    /// The step at a leaf. The outer `None` means: on to the next step; the inner: begin again.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "local to the step, and registers in the loop")]
    fn advance_leaf(&self, probe: &mut OrderedProbe<M>, key: &[u8]) -> Option<Option<Found<M>>> {
        // SAFETY: its holder was validated just now; we are pinned.
        let leaf = unsafe { leaf_of::<M>(probe.next) };
        let stamp = leaf.version.read();
        if !probe.holder_holds() && !M::fault(&faults::PARENT_NOT_RECHECKED) {
            return Some(None);
        }
        let offset = probe.offset;
        let spot = leaf.find(stamp, slice_at(key, offset), rank_at(key, offset));
        let Spot::At(index, kind) = spot else {
            return Some(validated(leaf, stamp, Found::Absent(seen(leaf))));
        };
        let link = leaf.link(index).load(Ordering::Relaxed);
        if kind < KIND_CELL {
            if !leaf.version.holds(stamp) && !M::fault(&faults::READER_SKIPS_VALIDATION) {
                return Some(None);
            }
            // SAFETY: an inline entry of a validated state. (The planted bug skips that, in
            // simulation, whose memory is never unmapped: the entry's link is then another's.)
            return Some(Some(Found::Record(unsafe { record_of(link) })));
        }
        probe.holder = NonNull::from(&leaf.version);
        probe.stamp = stamp;
        if kind == KIND_LAYER {
            prefetch_node::<M>(link);
            probe.next = link;
            probe.offset = offset + SLICE_BYTES;
        } else {
            M::prefetch(link.pointer().cast_const().cast(), CELL_LINES);
            probe.next = Tagged::new(link.pointer(), TAG_CELL);
            probe.leaf = Some(NonNull::from(leaf));
        }
        None
    }

    /// The step at a key cell. `None` means: begin again.
    #[inline]
    fn advance_cell(
        probe: &OrderedProbe<M>,
        leaf: NonNull<Leaf<M>>,
        key: &[u8],
    ) -> Option<Found<M>> {
        // SAFETY: a leaf that the probe came by during this pin.
        let leaf = unsafe { leaf.as_ref() };
        // SAFETY: the leaf was validated at the beginning of the step, after the link was read.
        let cell = unsafe { Cell::<M>::from_target(probe.next) };
        if cell.is(&key[probe.offset + SLICE_BYTES..]) {
            return Some(Found::Record(cell.record()));
        }
        validated(leaf, probe.stamp, Found::Absent(seen(leaf)))
    }
}
