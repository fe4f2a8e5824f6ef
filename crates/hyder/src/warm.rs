//! Descents that wait for memory together.
//!
//! A tree of ten million rows has two dozen levels, most of which are not in the cache. One descent waits for one node
//! after the other; many of them, a level at a time, wait for all their nodes at once.

use crate::node::{Key, NodeRef, Tree};
use chiliad_machine::Machine;
use core::cmp::Ordering;

/// Goes down to `keys`, each in its tree: what is looked up next finds its path in the cache.
pub fn warm<M: Machine>(keys: &[(Tree<M>, Key<'_>)]) {
    descend(keys, |_, _| {});
}

/// The nodes of `keys`, each in its tree, tombstones too. Their values are on the way to the cache.
pub fn find_all<M: Machine>(keys: &[(Tree<M>, Key<'_>)]) -> Vec<Option<NodeRef<M>>> {
    let mut found = vec![None; keys.len()];
    descend(keys, |at, node| {
        found[at] = Some(node);
        node.content().value.inspect(|value| value.prefetch());
    });
    found
}

/// Goes down to `keys`, and tells where they were found.
fn descend<M: Machine>(keys: &[(Tree<M>, Key<'_>)], mut found: impl FnMut(usize, NodeRef<M>)) {
    let roots = keys.iter().enumerate().filter_map(|(at, (tree, _))| Some((at, tree.root?)));
    let mut descents: Vec<_> = roots.inspect(|(_, node)| node.prefetch()).collect();
    while !descents.is_empty() {
        descents.retain_mut(|(at, node)| {
            let next = match node.compare(keys[*at].1) {
                Ordering::Less => node.child(false),
                Ordering::Greater => node.child(true),
                Ordering::Equal => {
                    found(*at, *node);
                    None
                }
            };
            next.is_some_and(|child| {
                child.prefetch();
                *node = child;
                true
            })
        });
    }
}
