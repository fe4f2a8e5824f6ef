//! An intention on its way through the stages that decide it.

use crate::apply::{Entry, Stop};
use crate::blocks::{Block, Blocks, Mark};
use crate::faults::READ_DEPENDENCE_DROPPED;
use crate::intention::{Intention, at};
use crate::maker::Maker;
use crate::node::{Content, Key, Tree};
use crate::options::Level;
use crate::overlay::{Overlay, Part};
use crate::pair::PairOverlay;
use chiliad_api::Reason;
use chiliad_machine::Machine;

/// Why an intention does not commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another one has written what it depends on.
    Because(Reason),
    /// This server cannot go on.
    OutOfMemory,
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Conflict => Self::Because(Reason::ReadChanged),
            Stop::OutOfMemory => Self::OutOfMemory,
        }
    }
}

impl From<chiliad_storage::OutOfMemory> for Refused {
    fn from(_: chiliad_storage::OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// An intention that is being decided.
pub struct Item<'b, M: Machine> {
    /// Its number among all items of the log.
    pub label: u64,
    pub bytes: &'b [u8],
    pub intention: Intention,
    /// Its parts about tables, in their order.
    pub parts: Vec<Part<'b, M>>,
    /// It was melded into one with the item before it.
    pub is_paired: bool,
    /// The overlays of both for the tables of which both say something.
    pub pairs: Vec<(u32, PairOverlay<'b, M>)>,
    /// Its outcome.
    pub outcome: Outcome,
    /// The values that it writes.
    values: Blocks<M>,
}

/// What became of an item, for the one that clears away what is left of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing of it is part of a state: it was refused, or not decided.
    Refused,
    /// It has committed by itself.
    Committed,
    /// It has committed as one with its neighbour.
    CommittedAsPair,
}

impl<'b, M: Machine> Item<'b, M> {
    /// Makes the values of an intention and sorts out what it depends on.
    ///
    /// # Errors
    /// [`Refused::OutOfMemory`].
    pub fn new(
        maker: &mut Maker<M>,
        label: u64,
        bytes: &'b [u8],
        intention: Intention,
        level: Level,
    ) -> Result<Self, Refused> {
        let mut item = Self {
            label,
            bytes,
            intention,
            parts: Vec::new(),
            is_paired: false,
            pairs: Vec::new(),
            outcome: Outcome::Refused,
            values: Blocks::new(),
        };
        maker.exchange(&mut item.values);
        let parts = item.make_parts(maker, level);
        maker.exchange(&mut item.values);
        match parts {
            Ok(parts) => {
                item.parts = parts;
                Ok(item)
            }
            Err(refused) => {
                item.free(maker);
                Err(refused)
            }
        }
    }

    fn make_parts(&self, maker: &mut Maker<M>, level: Level) -> Result<Vec<Part<'b, M>>, Refused> {
        let mut parts: Vec<Part<'b, M>> = Vec::new();
        for entry in &self.intention.entries {
            let write = match &entry.write {
                None => None,
                Some(write) => {
                    let value = at(self.bytes, &write.value);
                    let is_there = !write.tombstone || !value.is_empty();
                    let value = is_there.then(|| maker.value(value)).transpose()?;
                    Some(Content { version: self.label, tombstone: write.tombstone, value })
                }
            };
            let reads = level == Level::Serializable && !M::fault(&READ_DEPENDENCE_DROPPED);
            let depends = entry.depends && (write.is_some() || reads);
            if !depends && write.is_none() {
                continue;
            }
            let base = depends.then_some(self.intention.snapshot);
            let key = Key::new(at(self.bytes, &entry.key));
            if parts.last().is_none_or(|part| part.table != entry.table) {
                let (table, entries) = (entry.table, Vec::new());
                parts.push(Part { table, entries, overlay: Overlay::new(maker) });
            }
            if let Some(part) = parts.last_mut() {
                part.entries.push(Entry { key, base, write });
            }
        }
        Ok(parts)
    }

    /// Builds the overlays on these trees.
    ///
    /// # Errors
    /// [`Refused`]: the verdict, which no later state changes.
    pub fn build(
        &mut self,
        maker: &mut Maker<M>,
        tree: impl Fn(u32) -> Tree<M>,
    ) -> Result<(), Refused> {
        for part in &mut self.parts {
            part.overlay.build(maker, &part.entries, tree(part.table))?;
        }
        Ok(())
    }

    /// Builds them again on later trees, where these differ.
    ///
    /// # Errors
    /// As for [`Item::build`].
    pub fn rebase(
        &mut self,
        maker: &mut Maker<M>,
        tree: impl Fn(u32) -> Tree<M>,
    ) -> Result<(), Refused> {
        for part in &mut self.parts {
            part.overlay.rebase(maker, &part.entries, tree(part.table))?;
        }
        Ok(())
    }

    /// The nodes of its overlays that have gone since these were built are part of them again.
    pub fn revive(&mut self) {
        self.parts.iter_mut().for_each(|part| part.overlay.revive());
    }

    /// Clears away what is left of it when it was decided, and what it has made is part of a state or is not. What it has
    /// replaced is appended to `replaced`.
    pub fn clear_away(mut self, maker: &mut Maker<M>, replaced: &mut Vec<Block<M>>) {
        let pairs = core::mem::take(&mut self.pairs).into_iter();
        match self.outcome {
            Outcome::CommittedAsPair => pairs.for_each(|(_, pair)| pair.settle(maker, replaced)),
            Outcome::Committed | Outcome::Refused => pairs.for_each(|(_, pair)| pair.free(maker)),
        }
        match self.outcome {
            Outcome::Refused => self.free(maker),
            Outcome::Committed | Outcome::CommittedAsPair => {
                self.parts.into_iter().for_each(|part| part.overlay.settle(maker, replaced));
            }
        }
    }

    /// Frees all that was made for it.
    pub fn free(self, maker: &mut Maker<M>) {
        debug_assert!(self.pairs.is_empty(), "it is alone");
        self.parts.into_iter().for_each(|part| part.overlay.free(maker));
        maker.free_made(&self.values, Mark::START..self.values.mark());
    }
}
