//! The stages before the last one, and the one that clears away after it.

use super::plan::{MeldPlan, MeldReport, MeldSetting};
use super::states::{State, States};
use super::watch::Watch;
use crate::blocks::Block;
use crate::collector::Collector;
use crate::group::meld_into_one;
use crate::intention::Intention;
use crate::item::{Item, Refused};
use crate::maker::Maker;
use crate::options::{Certifier, Group, Premeld};
use crate::warm::warm;
use chiliad_api::Reason;
use chiliad_machine::Machine;

/// There is no more memory, or another thread has none.
pub struct Short;

/// An intention, or why it does not commit.
pub type Prepared<'b, M> = Result<Item<'b, M>, Refused>;

/// Intentions that go through each stage together.
#[derive(Clone, Copy)]
pub struct Batch<'b> {
    /// The label of the last intention before them.
    pub before: u64,
    pub bytes: &'b [Vec<u8>],
    pub is_timed: bool,
}

/// Those of a batch, ready for the last stage.
pub struct Ready<'b, M: Machine> {
    pub items: Vec<Prepared<'b, M>>,
    pub is_timed: bool,
}

/// A batch after the last stage: its items are to be cleared away.
pub struct Decided<'b, M: Machine> {
    /// The label of its last intention.
    pub label: u64,
    pub items: Vec<Prepared<'b, M>>,
    /// The blocks that the last stage has replaced.
    pub replaced: Vec<Block<M>>,
    pub is_timed: bool,
}

/// A thread's part of these stages.
pub struct Ahead<'p, M: Machine> {
    plan: &'p MeldPlan,
    setting: MeldSetting,
    /// States that are kept besides those of the zone: what is on its way was built on them.
    in_flight: u64,
    collector: Collector<M>,
    pub report: MeldReport,
}

impl<'p, M: Machine> Ahead<'p, M> {
    pub fn new(plan: &'p MeldPlan, setting: MeldSetting, in_flight: u64) -> Self {
        let report = MeldReport::default();
        Self { plan, setting, in_flight, collector: Collector::new(), report }
    }

    /// Makes a batch ready for the last stage.
    pub fn prepare<'b>(
        &mut self,
        maker: &mut Maker<M>,
        states: &States<M>,
        batch: Batch<'b>,
    ) -> Result<Ready<'b, M>, Short> {
        let start = Watch::start(maker);
        let mut items = Vec::with_capacity(batch.bytes.len());
        for (label, bytes) in (batch.before + 1..).zip(batch.bytes) {
            let intention = Intention::decode(bytes).ok_or(Short)?;
            let item = Item::new(maker, label, bytes, intention, self.setting.roll.level);
            items.push(Ok(item.map_err(|_| Short)?));
        }
        let mut decode = start.stop(maker);
        // Waiting for a state is no work.
        let bases = self.bases(&items, states, batch.before)?;
        let start = Watch::start(maker);
        self.warm(&items, &bases);
        decode += start.stop(maker);
        let start = Watch::start(maker);
        if self.setting.roll.certifier == Certifier::Meld {
            for (place, base) in items.iter_mut().zip(&bases) {
                step(maker, place, |item, maker| item.build(maker, |_| base.tree))?;
            }
        }
        let build = start.stop(maker);
        let later = if self.premelds() { self.later(&items, states, &batch)? } else { Vec::new() };
        let zone_left = self.zone_left(batch.before, &bases, &later);
        let start = Watch::start(maker);
        if self.premelds() {
            for (place, later) in items.iter_mut().zip(&later) {
                step(maker, place, |item, maker| item.rebase(maker, |_| later.tree))?;
            }
        }
        let premeld = start.stop(maker);
        let start = Watch::start(maker);
        if self.setting.roll.pairs() {
            items.chunks_mut(2).for_each(|two| self.pair(maker, two));
        }
        let group = start.stop(maker);
        if batch.is_timed {
            self.report.zone_left += zone_left;
            self.report.decode += decode;
            self.report.build += build;
            self.report.premeld += premeld;
            self.report.group += group;
        }
        Ok(Ready { items, is_timed: batch.is_timed })
    }

    /// The trees that intentions are built on: those that they have read; or the newest.
    fn bases(
        &self,
        items: &[Prepared<'_, M>],
        states: &States<M>,
        before: u64,
    ) -> Result<Vec<State<M>>, Short> {
        let is_read = self.setting.roll.certifier == Certifier::Meld && !self.setting.fused;
        let label = |item: &Prepared<'_, M>| match item {
            Ok(item) if is_read => item.intention.snapshot,
            _ => u64::MAX,
        };
        let labels: Vec<_> = items.iter().map(label).collect();
        let last = if is_read { labels.last().copied().unwrap_or(0).min(before) } else { 0 };
        states.get(last, labels.into_iter()).ok_or(Short)
    }

    fn premelds(&self) -> bool {
        let roll = &self.setting.roll;
        roll.certifier == Certifier::Meld && roll.premeld != Premeld::Off && !self.setting.fused
    }

    /// The later trees that overlays are built on again.
    fn later(
        &self,
        items: &[Prepared<'_, M>],
        states: &States<M>,
        batch: &Batch<'_>,
    ) -> Result<Vec<State<M>>, Short> {
        let Premeld::Fixed { threads, distance } = self.setting.roll.premeld else {
            return states.get(0, items.iter().map(|_| u64::MAX)).ok_or(Short);
        };
        let back = u64::from(threads) * u64::from(distance) + 1;
        let later = |label: u64| label.saturating_sub(back).max(label.saturating_sub(self.zone()));
        let labels = (batch.before + 1..).take(items.len()).map(later);
        let last = labels.clone().last().unwrap_or(0).min(batch.before);
        states.get(last, labels).ok_or(Short)
    }

    /// What is left of the conflict zone of all intentions together when their overlays were built on `later`, where that
    /// is later than `bases`.
    fn zone_left(&self, before: u64, bases: &[State<M>], later: &[State<M>]) -> u64 {
        if self.setting.roll.certifier != Certifier::Meld {
            return 0;
        }
        let label = |at: usize| {
            let later = later.get(at).map_or(0, |later| later.label);
            bases[at].label.max(later)
        };
        (before + 1..).zip(0..bases.len()).map(|(own, at)| own - label(at)).sum()
    }

    /// Intentions between the state that one has read and itself.
    fn zone(&self) -> u64 {
        self.plan.zone.max(1)
    }

    /// Lets the descents of all intentions wait for memory together, if they shall.
    fn warm(&self, items: &[Prepared<'_, M>], bases: &[State<M>]) {
        if !self.setting.roll.overlap {
            return;
        }
        let only_writes = self.setting.roll.certifier == Certifier::Window;
        let mut keys = Vec::with_capacity(items.len() * self.plan.operations as usize);
        for (item, base) in items.iter().zip(bases) {
            let Ok(item) = item else { continue };
            let entries = item.parts.iter().flat_map(|part| &part.entries);
            let entries = entries.filter(|entry| !only_writes || entry.write.is_some());
            keys.extend(entries.map(|entry| (base.tree, entry.key)));
        }
        warm(&keys);
    }

    fn pair(&self, maker: &mut Maker<M>, two: &mut [Prepared<'_, M>]) {
        let [Ok(first), Ok(second)] = two else { return };
        let is_one = meld_into_one(maker, first, second);
        if !is_one && self.setting.roll.group == Group::Fate {
            two.iter_mut().for_each(|item| refuse(maker, item, Reason::ReadChanged));
        }
    }

    /// Clears away what is left of a batch, and frees what no intention of the zone leads to any more.
    pub fn clear_away(
        &mut self,
        maker: &mut Maker<M>,
        states: &States<M>,
        decided: Decided<'_, M>,
    ) {
        let start = Watch::start(maker);
        let Decided { label, items, mut replaced, is_timed } = decided;
        items.into_iter().flatten().for_each(|item| item.clear_away(maker, &mut replaced));
        self.collector.add(label, replaced, None);
        let first = states.forget(label.saturating_sub(self.plan.zone + self.in_flight));
        self.collector.free(maker, first);
        if is_timed {
            self.report.free += start.stop(maker);
        }
    }
}

/// A stage at work on an item, which it may refuse.
fn step<'b, M: Machine>(
    maker: &mut Maker<M>,
    place: &mut Prepared<'b, M>,
    stage: impl FnOnce(&mut Item<'b, M>, &mut Maker<M>) -> Result<(), Refused>,
) -> Result<(), Short> {
    let Ok(item) = place else { return Ok(()) };
    match stage(item, maker) {
        Ok(()) => Ok(()),
        Err(Refused::OutOfMemory) => Err(Short),
        Err(Refused::Because(reason)) => {
            refuse(maker, place, reason);
            Ok(())
        }
    }
}

/// An item is refused before its turn.
fn refuse<M: Machine>(maker: &mut Maker<M>, place: &mut Prepared<'_, M>, reason: Reason) {
    if let Ok(item) = core::mem::replace(place, Err(Refused::Because(reason))) {
        item.free(maker);
    }
}
