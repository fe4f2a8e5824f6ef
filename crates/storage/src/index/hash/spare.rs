//! Nodes and key cells that are not in the table: stocked before a bucket is latched, given back after.

use super::bucket::{Bucket, Node};
use super::cell::CellRef;
use super::faults;
use crate::{Kind, LocalHeap, OutOfMemory};
use chiliad_machine::{Link, Machine, Ordering, Tagged};
use core::ptr::NonNull;

/// Memory that an operation allocated before it latched, and has not used yet.
pub(super) struct Spare<M: Machine> {
    /// Nodes, linked by their chains.
    nodes: Option<NonNull<Node<M>>>,
    pub cell: Option<CellRef<M>>,
}

impl<M: Machine> Spare<M> {
    pub(super) fn new() -> Self {
        Self { nodes: None, cell: None }
    }

    /// Allocates until there are `count` nodes.
    pub(super) fn stock(
        &mut self,
        heap: &mut LocalHeap<M>,
        count: usize,
    ) -> Result<(), OutOfMemory> {
        let mut have = 0;
        let mut next = self.nodes;
        while let Some(node) = next {
            have += 1;
            next = node_after(node);
        }
        for _ in have..count {
            let node = heap.alloc(Kind::Inner, size_of::<Node<M>>())?.cast::<Node<M>>();
            // SAFETY: a slot of sufficient size that nobody else knows.
            unsafe { node.write(Node::new()) };
            self.give(node);
        }
        Ok(())
    }

    fn give(&mut self, node: NonNull<Node<M>>) {
        let rest = self.nodes.map_or(core::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: the node is ours.
        unsafe { node.as_ref() }.chain.store(Tagged::new(rest, 0), Ordering::Relaxed);
        self.nodes = Some(node);
    }

    /// A node that was stocked.
    pub(super) fn take(&mut self) -> NonNull<Node<M>> {
        let node = self.nodes.expect("stocked");
        self.nodes = node_after(node);
        // SAFETY: the node is ours.
        unsafe { node.as_ref() }.chain.store(Tagged::null(), Ordering::Relaxed);
        node
    }

    /// Gives back what was not needed.
    pub(super) fn free(mut self, heap: &mut LocalHeap<M>) {
        while self.nodes.is_some() {
            let node = self.take();
            // SAFETY: it stayed private.
            unsafe { heap.free(Kind::Inner, size_of::<Node<M>>(), node.cast()) };
        }
        if let Some(cell) = self.cell {
            cell.free(heap);
        }
    }
}

fn node_after<M: Machine>(node: NonNull<Node<M>>) -> Option<NonNull<Node<M>>> {
    // SAFETY: the caller owns the node.
    NonNull::new(unsafe { node.as_ref() }.chain.load(Ordering::Relaxed).pointer())
}

/// Retires the nodes of a chain that was cut off.
pub(super) fn retire_nodes<M: Machine>(
    heap: &mut LocalHeap<M>,
    mut chain: Option<NonNull<Node<M>>>,
) {
    while let Some(node) = chain {
        M::mark("bucket chain freed");
        chain = node_after(node);
        // SAFETY: no bucket leads to it any more, and we cut it off.
        unsafe {
            if M::fault(&faults::NODE_FREED_EARLY) {
                heap.free(Kind::Inner, size_of::<Node<M>>(), node.cast());
            } else {
                heap.retire(Kind::Inner, size_of::<Node<M>>(), node.cast());
            }
        }
    }
}

/// Frees the nodes of a bucket that nobody else looks at any more.
pub(super) fn free_nodes<M: Machine>(heap: &mut LocalHeap<M>, bucket: &Bucket<M>) {
    let mut chain = bucket.walk().cut_nodes();
    while let Some(node) = chain {
        chain = node_after(node);
        // SAFETY: the caller is alone with the index, and no bucket leads to the node any more.
        unsafe { heap.free(Kind::Inner, size_of::<Node<M>>(), node.cast()) };
    }
}
