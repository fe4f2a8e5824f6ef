//! Decides intentions in the order of the log, and makes the state after each.

use crate::apply::{Entry, apply};
use crate::blocks::Block;
use crate::faults::RANGE_DROPPED;
use crate::intention::bound_at;
use crate::item::{Item, Outcome, Refused};
use crate::maker::Maker;
use crate::node::{Key, Tree};
use crate::options::{Certifier, Group, Level, RollOptions};
use crate::ranges::is_changed;
use crate::window::{KEPT, Window, Writer};
use chiliad_api::Reason;
use chiliad_machine::Machine;

/// The rows of all tables after some intention.
pub struct Judge<M: Machine> {
    pub options: RollOptions,
    pub maker: Maker<M>,
    /// By table number; nothing where a table was dropped.
    pub roots: Vec<Option<Tree<M>>>,
    /// What was replaced since it was last taken.
    pub replaced: Vec<Block<M>>,
    /// The trees that the intention in hand has changed.
    changed: Vec<(u32, Tree<M>)>,
    pub window: Window,
}

impl<M: Machine> Judge<M> {
    pub fn new(maker: Maker<M>, options: RollOptions) -> Self {
        let (roots, replaced, changed) = (Vec::new(), Vec::new(), Vec::new());
        Self { options, maker, roots, replaced, changed, window: Window::new(KEPT) }
    }

    /// The rows of a table that is there.
    ///
    /// # Errors
    /// [`Reason::Vanished`].
    pub fn tree(&self, table: u32) -> Result<Tree<M>, Refused> {
        let tree = self.roots.get(table as usize).copied().flatten();
        tree.ok_or(Refused::Because(Reason::Vanished))
    }

    /// Applies an intention, if nothing that it depends on has changed since the state that it has read. What is left of
    /// it is for another stage to clear away ([`Item::clear_away`]).
    ///
    /// # Errors
    /// [`Refused`]: the state is as it was.
    pub fn decide(&mut self, item: &mut Item<'_, M>) -> Result<(), Refused> {
        let mark = self.maker.mark();
        self.changed.clear();
        if let Err(refused) = self.try_decide(item) {
            self.maker.take_back(mark);
            return Err(refused);
        }
        self.adopt();
        if self.options.certifier == Certifier::Window {
            self.take_note(item);
        }
        item.outcome = Outcome::Committed;
        Ok(())
    }

    /// The same for two that follow each other and were melded into one.
    ///
    /// # Errors
    /// As for [`Judge::decide`], for each of them.
    pub fn decide_both<'b>(
        &mut self,
        first: &mut Item<'b, M>,
        second: &mut Item<'b, M>,
    ) -> [Result<(), Refused>; 2] {
        debug_assert!(second.is_paired, "they were melded into one");
        let mark = self.maker.mark();
        self.changed.clear();
        if let Err(refused) = self.meld_both(first, second) {
            self.maker.take_back(mark);
            if self.options.group == Group::Fate {
                return [Err(refused), Err(refused)];
            }
            // One of them does not commit: which, they say alone.
            first.revive();
            second.revive();
            return [self.decide(first), self.decide(second)];
        }
        self.adopt();
        (first.outcome, second.outcome) = (Outcome::CommittedAsPair, Outcome::CommittedAsPair);
        [Ok(()), Ok(())]
    }

    /// The trees that were changed are the state.
    fn adopt(&mut self) {
        for (table, tree) in self.changed.drain(..) {
            self.roots[table as usize] = Some(tree);
        }
        self.maker.settle(&mut self.replaced);
    }

    fn meld_both<'b>(
        &mut self,
        first: &mut Item<'b, M>,
        second: &mut Item<'b, M>,
    ) -> Result<(), Refused> {
        for item in [&*first, &*second] {
            self.check_age(item)?;
            self.check_ranges(item)?;
        }
        for part in &mut first.parts {
            let tree = self.tree(part.table)?;
            let pair = second.pairs.iter_mut().find(|(table, _)| *table == part.table);
            let other = second.parts.iter_mut().find(|other| other.table == part.table);
            let after = match (pair, other) {
                (Some((_, pair)), Some(other)) => pair.meld(&mut self.maker, part, other, tree)?,
                _ => part.overlay.meld(&mut self.maker, &part.entries, tree)?,
            };
            self.changed.push((part.table, after));
        }
        for part in &mut second.parts {
            if first.parts.iter().all(|other| other.table != part.table) {
                let tree = self.tree(part.table)?;
                let after = part.overlay.meld(&mut self.maker, &part.entries, tree)?;
                self.changed.push((part.table, after));
            }
        }
        Ok(())
    }

    /// Refuses an intention that has read too old a state: by numbers alone, not because this server has forgotten it.
    fn check_age(&self, item: &Item<'_, M>) -> Result<(), Refused> {
        let (snapshot, label) = (item.intention.snapshot, item.label);
        match snapshot >= label || label - snapshot > self.options.window {
            true => Err(Refused::Because(Reason::TooLate)),
            false => Ok(()),
        }
    }

    fn try_decide(&mut self, item: &mut Item<'_, M>) -> Result<(), Refused> {
        self.check_age(item)?;
        self.check_ranges(item)?;
        if self.options.certifier == Certifier::Window {
            self.check_writers(item)?;
        }
        for part in &mut item.parts {
            let tree = self.tree(part.table)?;
            let after = match self.options.certifier {
                Certifier::Plain => apply(&mut self.maker, &part.entries, tree)?,
                Certifier::Meld => part.overlay.meld(&mut self.maker, &part.entries, tree)?,
                Certifier::Window => {
                    let written = part.entries.iter().filter(|entry| entry.write.is_some());
                    let written =
                        written.map(|it| Entry { base: None, key: it.key, write: it.write });
                    apply(&mut self.maker, &written.collect::<Vec<_>>(), tree)?
                }
            };
            self.changed.push((part.table, after));
        }
        Ok(())
    }

    /// Refuses an intention that has scanned where something was written since.
    fn check_ranges(&mut self, item: &Item<'_, M>) -> Result<(), Refused> {
        if self.options.level == Level::Snapshot || M::fault(&RANGE_DROPPED) {
            return Ok(());
        }
        for range in &item.intention.ranges {
            let tree = self.tree(range.table)?;
            let (low, high) = (bound_at(item.bytes, &range.low), bound_at(item.bytes, &range.high));
            if is_changed(&mut self.maker, tree, low, high, item.intention.snapshot) {
                return Err(Refused::Because(Reason::Phantom));
            }
        }
        Ok(())
    }

    /// Refuses an intention that depends on a key that was written since.
    fn check_writers(&mut self, item: &Item<'_, M>) -> Result<(), Refused> {
        let is_covered = self.window.covers(item.intention.snapshot);
        for part in &item.parts {
            let tree = self.tree(part.table)?;
            for entry in &part.entries {
                let Some(base) = entry.base else { continue };
                let newest = match self.window.writer(part.table, entry.key.bytes()) {
                    Writer::Known(label) => label,
                    Writer::Older if is_covered => 0,
                    Writer::Older => version(tree, entry.key),
                };
                if newest > base {
                    return Err(Refused::Because(Reason::ReadChanged));
                }
            }
        }
        Ok(())
    }

    fn take_note(&mut self, item: &Item<'_, M>) {
        for part in &item.parts {
            let written = part.entries.iter().filter(|entry| entry.write.is_some());
            written.for_each(|it| self.window.write(item.label, part.table, it.key.bytes()));
        }
        self.window.advance(item.label);
    }
}

/// The version of a key; zero where nobody has written it.
fn version<M: Machine>(tree: Tree<M>, key: Key<'_>) -> u64 {
    tree.find(key).map_or(0, |node| node.version())
}
