//! Descents that wait for memory together.
//!
//! A tree of ten million rows has two dozen levels, most of which are not in the cache. One descent waits for one node
//! after the other; many of them, a level at a time, wait for all their nodes at once. What is looked up next finds its
//! path in the cache.

use crate::node::{Key, NodeRef, Tree};
use chiliad_machine::Machine;
use core::cmp::Ordering;

/// Goes down to `keys`, each in its tree.
pub fn warm<M: Machine>(keys: &[(Tree<M>, Key<'_>)]) {
    let roots = keys.iter().filter_map(|(tree, key)| Some((tree.root?, *key)));
    let mut descents: Vec<_> = roots.inspect(|(node, _)| prefetch(*node)).collect();
    while !descents.is_empty() {
        descents.retain_mut(|(node, key)| {
            let next = match node.compare(*key) {
                Ordering::Less => node.child(false),
                Ordering::Greater => node.child(true),
                Ordering::Equal => None,
            };
            next.is_some_and(|child| {
                prefetch(child);
                *node = child;
                true
            })
        });
    }
}

fn prefetch<M: Machine>(node: NodeRef<M>) {
    M::prefetch(node.as_ptr().cast(), 1);
}
