//! Goes through the rows of a tree in the order of their keys, or against it.

use crate::node::{Key, NodeRef, Tree};
use chiliad_machine::Machine;
use core::cmp::Ordering;
use core::ops::Bound;

/// The nodes of a range, tombstones too.
pub struct Cursor<'a, M: Machine> {
    /// Nodes still to be visited whose nearer subtrees have been.
    path: Vec<NodeRef<M>>,
    /// The bound that ends the walk.
    end: Bound<&'a [u8]>,
    reverse: bool,
}

impl<'a, M: Machine> Cursor<'a, M> {
    /// Begins at the first key within the bounds, or at the last.
    pub fn new(tree: Tree<M>, low: Bound<&'a [u8]>, high: Bound<&'a [u8]>, reverse: bool) -> Self {
        let (begin, end) = if reverse { (high, low) } else { (low, high) };
        let mut cursor = Self { path: Vec::new(), end, reverse };
        let mut next = tree.root;
        while let Some(node) = next {
            M::await_line(node.as_ptr().cast(), 1);
            next = if lies_within(node, begin, !reverse) {
                cursor.path.push(node);
                node.child(reverse)
            } else {
                node.child(!reverse)
            };
        }
        cursor
    }
}

/// Whether the node's key is not below the bound (`low`), or not above it.
fn lies_within<M: Machine>(node: NodeRef<M>, bound: Bound<&[u8]>, low: bool) -> bool {
    let order = match bound {
        Bound::Unbounded => return true,
        Bound::Included(key) | Bound::Excluded(key) => node.compare(Key::new(key)),
    };
    // Of the key beside the node's.
    match order {
        Ordering::Equal => matches!(bound, Bound::Included(_)),
        Ordering::Less => low,
        Ordering::Greater => !low,
    }
}

impl<M: Machine> Iterator for Cursor<'_, M> {
    type Item = NodeRef<M>;

    fn next(&mut self) -> Option<NodeRef<M>> {
        let node = self.path.pop()?;
        let mut next = node.child(!self.reverse);
        while let Some(beyond) = next {
            self.path.push(beyond);
            next = beyond.child(self.reverse);
        }
        if lies_within(node, self.end, self.reverse) {
            return Some(node);
        }
        self.path.clear();
        None
    }
}
