//! Tombstones that will decide nothing any more leave the trees.
//!
//! A tombstone tells an intention that has read an older state that the key was written since. An intention that has
//! read a state from before the window is refused anyway, so after that many further ones the tombstone is removed.
//! Verdicts stay the same, whether and whenever a server does so.

use crate::apply::Stop;
use crate::faults::TOMBSTONE_PURGED_EARLY;
use crate::item::Item;
use crate::join::remove;
use crate::judge::Judge;
use crate::node::Key;
use chiliad_machine::Machine;
use std::collections::VecDeque;

/// A tombstone that was written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tombstone {
    /// The intention that wrote it.
    pub label: u64,
    pub table: u32,
    pub key: Box<[u8]>,
}

/// Tombstones in the order of the intentions that wrote them.
#[derive(Default)]
pub struct Tombstones {
    queue: VecDeque<Tombstone>,
}

impl Tombstones {
    /// Takes note of those that the next intention has written.
    pub fn note<M: Machine>(&mut self, item: &Item<'_, M>) {
        for part in &item.parts {
            let removed = part.entries.iter().filter(|it| it.write.is_some_and(|it| it.tombstone));
            self.queue.extend(removed.map(|entry| Tombstone {
                label: item.label,
                table: part.table,
                key: entry.key.bytes().into(),
            }));
        }
    }

    /// Takes note of those of a checkpoint.
    pub fn extend(&mut self, tombstones: impl IntoIterator<Item = Tombstone>) {
        self.queue.extend(tombstones);
    }

    /// Removes those that can decide nothing about an intention after `label`.
    ///
    /// # Errors
    /// [`Stop::OutOfMemory`].
    pub fn purge<M: Machine>(&mut self, judge: &mut Judge<M>, label: u64) -> Result<(), Stop> {
        let window = match M::fault(&TOMBSTONE_PURGED_EARLY) {
            true => 0,
            false => judge.options.window,
        };
        while let Some(old) = self.queue.pop_front_if(|it| it.label.saturating_add(window) <= label)
        {
            let Some(root) = judge.roots.get_mut(old.table as usize) else { continue };
            let Some(tree) = *root else { continue };
            let key = Key::new(&old.key);
            // It may have been written again since.
            let is_there = |content: crate::node::Content<M>| {
                content.tombstone && content.version == old.label
            };
            if tree.find(key).is_some_and(|node| is_there(node.content())) {
                *root = Some(remove(&mut judge.maker, tree, key)?);
                judge.maker.settle(&mut judge.replaced);
            }
        }
        Ok(())
    }
}
