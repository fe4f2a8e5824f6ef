//! Making a layer: a second key comes to share a slice with one that goes on beyond it.
//!
//! The new layers (one for each further slice that the two keys share) are built before anything is
//! latched, from the old key's cell, which never changes; then one store under the leaf's latch
//! turns the cell's entry into the layer's. The latch is taken from the stamp in which the cell was
//! found, so it is still the entry's.
//!
//! Membership: the leaf above changes, and each new leaf takes over part of what it covered.

use super::cell::Cell;
use super::insertion::{Insertion, count_change, hand_on};
use super::node::{Entry, KIND_CELL, KIND_LAYER, Leaf, leaf_of};
use super::path::Path;
use super::slice::{RANK_LONGER, SLICE_BYTES, rank_at, slice_at};
use super::{OrderedIndex, faults};
use crate::{LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::{Machine, Tagged};

/// The leaves of a chain of new layers, top down: each but the last has one entry, the next layer.
struct Chain<'t, M: Machine> {
    top: Option<&'t Leaf<M>>,
    bottom: Option<&'t Leaf<M>>,
}

impl<'t, M: Machine> Chain<'t, M> {
    /// Hangs a leaf below the last one.
    fn push(&mut self, leaf: &'t Leaf<M>) {
        match self.bottom {
            None => self.top = Some(leaf),
            Some(above) => above.set_layer(0, leaf.target()),
        }
        self.bottom = Some(leaf);
    }

    fn iter(&self) -> impl Iterator<Item = &'t Leaf<M>> {
        let mut next = self.top;
        core::iter::from_fn(move || {
            let leaf = next?;
            let first = leaf.copy_out(1)[0];
            // SAFETY: the links of a chain's layers are set to leaves of the chain.
            next = (first.kind == KIND_LAYER && !first.link.is_null())
                .then(|| unsafe { leaf_of(first.link) });
            Some(leaf)
        })
    }

    /// Frees the leaves, which nobody else has seen, and the cells made for the last one.
    fn give_back(self, heap: &mut LocalHeap<M>, cells: [Option<Cell<M>>; 2]) {
        // The iterator looks at a leaf before it hands it out, not after.
        for leaf in self.iter() {
            leaf.free(heap);
        }
        for cell in cells.into_iter().flatten() {
            cell.free(heap);
        }
    }
}

/// The entry for the rest of a key, and the cell that was made for it, if one was needed.
struct Made<M: Machine> {
    entry: Entry,
    cell: Option<Cell<M>>,
}

impl<M: Machine> OrderedIndex<M> {
    /// Replaces entry `index`, which is `cell`'s, by a layer that holds its key and the new one.
    /// `false` if somebody was in the way.
    pub(super) fn make_layer(
        heap: &mut LocalHeap<M>,
        path: &Path<'_, M>,
        index: usize,
        cell: Cell<M>,
        insertion: &mut Insertion<'_, M>,
    ) -> Result<bool, OutOfMemory> {
        let mut chain = Chain { top: None, bottom: None };
        let mut cells = [None, None];
        let rest = path.rest(insertion.key);
        let built = build(heap, &mut chain, &mut cells, cell, rest, insertion.record);
        let held = match built {
            Ok(()) => path.leaf.version.try_latch(path.stamp),
            Err(refused) => {
                chain.give_back(heap, cells);
                return Err(refused);
            }
        };
        let (Some(held), Some(top)) = (held, chain.top) else {
            chain.give_back(heap, cells);
            return Ok(false);
        };
        debug_assert!(chain.bottom.is_some(), "the two keys part somewhere");
        M::mark("layer made");
        path.leaf.set_layer(index, top.target());
        if !M::fault(&faults::LAYER_FORGETS_GUARD) {
            count_change(path.leaf, insertion.changes);
        }
        for leaf in chain.iter() {
            hand_on(path.leaf, leaf, insertion);
        }
        drop(held);
        cell.retire(heap);
        Ok(true)
    }
}

/// Builds the layers for the rest of an old key, in its cell, and the rest of a new one.
fn build<M: Machine>(
    heap: &mut LocalHeap<M>,
    chain: &mut Chain<'_, M>,
    cells: &mut [Option<Cell<M>>; 2],
    old: Cell<M>,
    new: &[u8],
    record: RecordRef<M>,
) -> Result<(), OutOfMemory> {
    let mut depth = 0;
    loop {
        let offset = depth * SLICE_BYTES;
        let old_rank = ((old.length() - offset) as u64).min(RANK_LONGER);
        let (old_slice, new_slice) = (old.slice(depth), slice_at(new, offset));
        let new_rank = rank_at(new, offset);
        if (old_slice, old_rank) != (new_slice, new_rank) {
            let old_made = if old_rank < RANK_LONGER {
                Made { entry: Entry::inline(old_slice, old_rank, old.record()), cell: None }
            } else {
                let cell = old.tail(heap, depth + 1)?;
                Made { entry: cell_entry(old_slice, cell), cell: Some(cell) }
            };
            cells[0] = old_made.cell;
            let new_made = if new_rank < RANK_LONGER {
                Made { entry: Entry::inline(new_slice, new_rank, record), cell: None }
            } else {
                let cell = Cell::new(heap, record, &new[offset + SLICE_BYTES..])?;
                Made { entry: cell_entry(new_slice, cell), cell: Some(cell) }
            };
            cells[1] = new_made.cell;
            let mut entries = [old_made.entry, new_made.entry];
            entries.sort_by_key(|entry| (entry.slice, entry.rank()));
            chain.push(Leaf::create(heap, &entries)?);
            return Ok(());
        }
        // The two keys differ, so they do not both end here.
        debug_assert!(old_rank == RANK_LONGER);
        let below = Entry { slice: old_slice, kind: KIND_LAYER, link: Tagged::null() };
        chain.push(Leaf::create(heap, &[below])?);
        depth += 1;
    }
}

fn cell_entry<M: Machine>(slice: u64, cell: Cell<M>) -> Entry {
    Entry { slice, kind: KIND_CELL, link: cell.target() }
}
