//! Removals. A leaf that they leave empty goes, and so do inner nodes that lead nowhere else.

use super::find::Side;
use super::node::{CHILDREN, INNER, Inner, Kind, Leaf, Node, SLOTS, Tree, Way};
use crate::record::{KeySource, Place, free_lines};
use chiliad_machine::tasks::Lines;
use chiliad_machine::{Link as _, Machine, Ordering, Tagged};
use core::ptr::NonNull;

impl<M: Machine> Leaf<M> {
    /// Whether it has no entry. Reads no further than to the first.
    fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| (0..SLOTS).all(|slot| line.row(slot).is_none()))
    }
}

impl<'t, T: Lines> Tree<'t, T> {
    /// Takes the row of a key out of the tree; it is the caller's then.
    ///
    /// # Safety
    /// Nobody uses what the tree has led to, but for rows.
    pub(crate) unsafe fn remove(
        &self,
        key: KeySource<'_, T::Machine>,
    ) -> Option<Place<T::Machine>> {
        let (leaf, way) = self.descend(key, Side::At);
        let row = leaf.take(key)?;
        if leaf.is_empty() {
            self.cut(&way);
        }
        Some(row)
    }

    /// Takes the empty leaf at the end of the way out of the lowest node that has other children. The last leaf
    /// stays.
    fn cut(&self, way: &Way<'t, T::Machine>) {
        let steps = &way.steps[..way.depth];
        let fork = steps.iter().rposition(|step| step.is_some_and(|(inner, _)| inner.count() > 1));
        let Some((inner, at)) = fork.and_then(|fork| steps[fork]) else { return };
        let mut link = inner.children[at].load(Ordering::Relaxed);
        let bound = inner.remove(at);
        if let Some(bound) = bound {
            // SAFETY: nothing leads to the bound now.
            unsafe { bound.free(self.memory) };
        }
        // Each node below has one child, and that the next.
        loop {
            let next = match self.node(link) {
                Kind::Leaf(_) => None,
                Kind::Inner(inner) => Some(inner.children[0].load(Ordering::Relaxed)),
            };
            self.free(link);
            match next {
                Some(next) => link = next,
                None => break,
            }
        }
        self.lower();
    }

    /// As long as the root has one child, that is the root.
    fn lower(&self) {
        loop {
            let root = self.root.link().load(Ordering::Relaxed);
            match self.node(root) {
                Kind::Inner(inner) if inner.count() == 1 => {
                    let child = inner.children[0].load(Ordering::Relaxed);
                    self.root.link().store(child, Ordering::Relaxed);
                    self.free(root);
                }
                _ => return,
            }
        }
    }

    /// Gives a node back to which nothing leads any more.
    fn free(&self, node: Tagged<Node<T::Machine>>) {
        let Some(block) = NonNull::new(node.pointer()) else { return };
        // SAFETY: it was taken out of the tree, and has the size that its tag says; whoever removes has the tree alone.
        unsafe {
            match node.tag() {
                INNER => free_lines::<T, Inner<T::Machine>>(self.memory, block.cast()),
                _ => free_lines::<T, Leaf<T::Machine>>(self.memory, block.cast()),
            }
        }
    }
}

const _: () = assert!(CHILDREN >= 4, "halves of a divided node have two children");
