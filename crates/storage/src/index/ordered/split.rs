//! Dividing full nodes.
//!
//! A leaf that must be divided needs room in its holder: the highest of the full inner nodes right
//! above it is divided first, on an attempt of its own, and so on downwards; no attempt latches
//! more than a node and its holder. Where the holder is not an inner node of the same layer (the
//! tree's anchor, or the leaf above), a new root comes in between.
//!
//! Where: a leaf whose last insertion went right beside this one's place is being filled in order,
//! ascending or descending. It is then divided beside the new entry, so that keys that arrive in
//! order fill their nodes, at the ends of the tree and of any range that is appended to (an order
//! line of its district). The separator is chosen so that the keys still to come go where there is
//! room, and what lies beyond the range does not ride along. All else is divided in the middle.
//! Masstree does the former at the right end of the tree only (Mao et al., 2012, 4.3). Entries
//! that share a slice stay together, so that separators are plain slices.

use super::finger::Finger;
use super::insertion::{Insertion, Supplies, count_change, hand_on};
use super::node::{Entry, INNER_KEYS, Inner, LEAF_SLOTS, Target};
use super::path::{Full, Holder, Path, Place};
use super::version::Held;
use super::{OrderedIndex, faults};
use crate::{LocalHeap, OutOfMemory};
use chiliad_machine::{Link, Machine, Ordering, Tagged};

/// The entries of a full leaf and a new one.
const CROWD: usize = LEAF_SLOTS + 1;
/// As few children as a node may have.
const CHILDREN_MIN: usize = 2;

/// How many of the crowd stay on the left: near `wanted`, not between entries of one slice.
fn boundary(crowd: &[Entry; CROWD], wanted: usize) -> usize {
    let divides = |at: &usize| crowd[at - 1].slice != crowd[*at].slice;
    let candidates = (0..CROWD).flat_map(|step| [wanted.checked_sub(step), Some(wanted + step)]);
    candidates
        .flatten()
        .filter(|at| (1..CROWD).contains(at) && CROWD - at <= LEAF_SLOTS)
        .find(divides)
        .expect("a slice has fewer keys than a leaf")
}

/// The ways to make room for a new child beside the one that a holder leads to.
enum Room<'t, M: Machine> {
    Beside(&'t Inner<M>, usize),
    Under(&'t M::Link<Target>, &'t Inner<M>),
}

impl<'t, M: Machine> Room<'t, M> {
    fn at(
        heap: &mut LocalHeap<M>,
        supplies: &mut Supplies<'t, M>,
        place: &Place<'t, M>,
    ) -> Result<Self, OutOfMemory> {
        Ok(match place.holder {
            Holder::Inner(inner, index) => Self::Beside(inner, index),
            _ => Self::Under(place.link(), supplies.root(heap)?),
        })
    }

    /// Links `right` beside `left`. The caller holds the holder's latch, `held`.
    fn fill(
        self,
        supplies: &mut Supplies<'t, M>,
        held: &mut Held<'_, M>,
        left: Tagged<Target>,
        key: u64,
        right: Tagged<Target>,
    ) {
        match self {
            Self::Beside(inner, index) => {
                let count = held.count();
                inner.insert(count, index, key, right);
                held.set_count(count + 1);
            }
            Self::Under(link, root) => {
                M::mark("root split");
                root.refill(&[key], &[left, right]);
                supplies.used_root();
                // Readers follow the link only after they have validated the holder, whose version
                // is released after this store.
                link.store(root.target(), Ordering::Relaxed);
            }
        }
    }
}

impl<M: Machine> OrderedIndex<M> {
    /// Divides the path's full leaf, puts `entry` where it would be at `index`, and has `finger` point there. `false` if
    /// somebody was in the way.
    pub(super) fn split_leaf<'t>(
        &self,
        heap: &mut LocalHeap<M>,
        supplies: &mut Supplies<'t, M>,
        path: &Path<'t, M>,
        index: usize,
        entry: Entry,
        (insertion, finger): (&mut Insertion<'_, M>, &mut Finger<M>),
    ) -> Result<bool, OutOfMemory> {
        let left = path.leaf;
        let right = supplies.leaf(heap)?;
        let room = Room::at(heap, supplies, &path.place)?;
        let Some(mut held_place) = path.place.try_latch() else {
            return Ok(false);
        };
        let Some(mut held) = left.version.try_latch(path.stamp) else {
            held_place.unchanged();
            return Ok(false);
        };
        M::mark("leaf split");
        debug_assert!(held.count() == LEAF_SLOTS, "a leaf is divided when it is full");
        let order = order_of(left.hint(), index);
        let crowd = crowd(&left.copy_out(LEAF_SLOTS), index, entry);
        let at = boundary(
            &crowd,
            match order {
                Some(Order::Ascending) => (index + 1).min(LEAF_SLOTS),
                Some(Order::Descending) => index.max(1),
                None => CROWD / 2,
            },
        );
        let place = |entry: &Entry| (entry.slice, entry.rank());
        debug_assert!(crowd.is_sorted_by(|a, b| place(a) < place(b)), "keys are in order");
        debug_assert!(crowd[at - 1].slice < crowd[at].slice, "a slice stays in one leaf");
        right.refill(&crowd[at..]);
        left.overwrite(&crowd[..at]);
        held.set_count(at);
        if index < at {
            left.set_hint(index);
        } else {
            right.set_hint(index - at);
        }
        if !M::fault(&faults::SPLIT_FORGETS_GUARD) {
            count_change(left, insertion.changes);
        }
        hand_on(left, right, insertion);
        // Any slice between the two will do. An insertion that goes on appending after the left one's last entry
        // stays there.
        let key = match order {
            Some(Order::Ascending) if index < at => crowd[at].slice - 1,
            _ => crowd[at - 1].slice,
        };
        debug_assert!((crowd[at - 1].slice..crowd[at].slice).contains(&key), "between the two");
        room.fill(supplies, &mut held_place, left.target(), key, right.target());
        supplies.used_leaf();
        // Both are as they were made until the latches are given back.
        match index < at {
            true => finger.follow(self, path, left, (left.guard.members(), key)),
            false => finger.follow(self, path, right, (right.guard.members(), path.high)),
        }
        Ok(true)
    }

    /// Divides a full inner node on the way to `slice`, whose holder has room. Does nothing if
    /// somebody is in the way.
    pub(super) fn split_inner<'t>(
        heap: &mut LocalHeap<M>,
        supplies: &mut Supplies<'t, M>,
        full: &Full<'t, M>,
        slice: u64,
        in_order: bool,
    ) -> Result<(), OutOfMemory> {
        let left = full.node;
        let right = supplies.inner(heap)?;
        let room = Room::at(heap, supplies, &full.place)?;
        let Some(mut held_place) = full.place.try_latch() else {
            return Ok(());
        };
        let Some(mut held) = left.version.try_latch(full.stamp) else {
            held_place.unchanged();
            return Ok(());
        };
        M::mark("inner split");
        debug_assert!(held.count() == INNER_KEYS, "a node is divided when it is full");
        let (keys, children) = left.copy_out();
        let stay = match in_order {
            // As for leaves: right after the child that is being filled.
            true => (left.search(slice) + 1).clamp(CHILDREN_MIN, children.len() - CHILDREN_MIN),
            false => children.len() / 2,
        };
        debug_assert!(keys[stay - 2] < keys[stay - 1], "the separator that goes up is the next");
        right.refill(&keys[stay..], &children[stay..]);
        left.overwrite(&keys[..stay - 1], &children[..stay]);
        held.set_count(stay - 1);
        room.fill(supplies, &mut held_place, left.target(), keys[stay - 1], right.target());
        supplies.used_inner();
        Ok(())
    }
}

/// How a leaf is being filled.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Ascending,
    Descending,
}

/// How an insertion at `index` goes on from the last one: right after it, or right before.
pub(super) fn order_of(hint: Option<usize>, index: usize) -> Option<Order> {
    match index.checked_sub(hint?) {
        Some(1) => Some(Order::Ascending),
        Some(0) => Some(Order::Descending),
        _ => None,
    }
}

/// A full leaf's entries with `entry` at `index`.
fn crowd(entries: &[Entry; LEAF_SLOTS], index: usize, entry: Entry) -> [Entry; CROWD] {
    core::array::from_fn(|at| match at.cmp(&index) {
        core::cmp::Ordering::Less => entries[at],
        core::cmp::Ordering::Equal => entry,
        core::cmp::Ordering::Greater => entries[at - 1],
    })
}
