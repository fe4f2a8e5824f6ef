//! Finishing, the global virtual time, and commits (Yan, 2015, 3.6).
//!
//! Every period each tile sends the virtual time of its earliest unfinished task to an arbiter in the middle, which sends
//! the least of them back: the *global virtual time* (GVT). It takes effect at all tiles when the furthest has heard of
//! it. Tasks before it commit: nothing can abort them any more, since all that could is unfinished and so not earlier.

use super::abort::Toll;
use super::chip::{Message, Role, Swarm};
use super::counts::{Cause, Passed, TaskCounts};
use super::time::VirtualTime;
use super::unit::Phase;
use crate::timed::{Load, Timed};

/// Updates without a dispatch or commit after which tasks wait for each other. An execution that makes all the
/// accesses that it may is over by then.
const STILL_MAX: u32 = 200_000;

/// The outcome of an execution that has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finish {
    /// It has left its core.
    Done,
    /// It keeps its core until it is woken.
    Waits,
}

impl Swarm {
    /// A core's task has come to its end.
    pub(super) fn finish(&mut self, timed: &mut Timed, core: u32, time: u64) -> Finish {
        let (tile, slot) = self.running(core);
        let unit = &mut self.units[tile];
        let it = &mut unit.slots[slot as usize];
        if it.pending > 0 && !self.fault.is_some_and(|it| std::ptr::eq(it, &super::faults::TRANSIT))
        {
            return Finish::Waits;
        }
        if !it.irrevocable && !it.queued {
            if unit.commit_free == 0 && !self.take_entry(timed, tile, slot, time) {
                self.marks.insert("task waited for an entry of the commit queue");
                return Finish::Waits;
            }
            let unit = &mut self.units[tile];
            let it = &mut unit.slots[slot as usize];
            unit.commit_free -= 1;
            it.queued = true;
        }
        let unit = &mut self.units[tile];
        let it = &mut unit.slots[slot as usize];
        it.ran = time.saturating_sub(it.begun).saturating_sub(it.waited);
        it.phase = Phase::Finished;
        let irrevocable = it.irrevocable;
        unit.finished.push((it.time, slot));
        self.cores[core as usize].role = Role::Idle;
        if irrevocable {
            self.commit(timed, tile, slot, time);
        }
        self.dispatch(timed, tile, time);
        Finish::Done
    }

    /// A task takes the entry of the latest finished one, if it precedes that: whether one is free now.
    fn take_entry(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64) -> bool {
        let unit = &self.units[tile];
        let own = unit.slots[slot as usize].time;
        let Some(&(latest, victim)) = unit.finished.iter().max() else { return false };
        if latest < own {
            return false;
        }
        self.marks.insert("entry of the commit queue taken from a later task");
        let _: Toll = self.abort(timed, &[(tile, victim)], Cause::Resource, time);
        self.units[tile].commit_free > 0
    }

    /// Tasks that wait to finish try again, the earliest first.
    pub(super) fn wake_finishers(&mut self, timed: &mut Timed, tile: usize, time: u64) {
        let mut waiting: Vec<(VirtualTime, u32)> = Vec::new();
        for &core in &self.units[tile].cores {
            let it = &self.cores[core as usize];
            if let (Role::Busy(slot), true) = (it.role, it.waits) {
                let of = &self.units[tile].slots[slot as usize];
                if of.pending == 0 && (!of.excepted || of.irrevocable) {
                    waiting.push((of.time, core));
                }
            }
        }
        waiting.sort_unstable();
        for (_, core) in waiting {
            self.wake(timed, core, time);
        }
    }

    /// A finished task leaves no trace of having been speculative.
    fn commit(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64) {
        self.still = 0;
        let pointer = self.pointer(tile, slot);
        let unit = &mut self.units[tile];
        unit.finished.retain(|it| it.1 != slot);
        let it = &mut unit.slots[slot as usize];
        let (children, returned) = (it.children, std::mem::take(&mut it.returned));
        self.counts.committed += 1;
        self.counts.core_time.committed += it.ran;
        let cleared = if self.fault.is_some_and(|it| std::ptr::eq(it, &super::faults::COLUMN)) {
            // The planted bug: another task's sets go.
            unit.entry_slots.len() as u8 - 1 - it.entry
        } else {
            it.entry
        };
        unit.sets.clear(cleared);
        unit.entries_free.push(it.entry);
        unit.commit_free += u32::from(it.queued);
        it.forget();
        it.phase = Phase::Free;
        unit.free.push(slot);
        self.alive -= 1;
        self.give_back(&returned);
        for child in children.into_iter().flatten() {
            if let Some(it) = self.find(child).filter(|it| it.parent == Some(pointer)) {
                it.parent = None;
            }
        }
        self.admit_waiting(timed, tile, time);
    }

    /// The first update is on its way.
    pub(super) fn begin_updates(&mut self, timed: &mut Timed) {
        self.post(timed, self.what.gvt_period.into(), Message::Sample);
    }

    /// Tiles send the times of their earliest unfinished tasks to the arbiter, which tells all of the earliest.
    pub(super) fn sample(&mut self, timed: &mut Timed, time: u64) {
        let least = (0..self.units.len()).map(|tile| self.earliest(tile)).min();
        let least = least.unwrap_or(VirtualTime::MAX);
        let (tiles, centre) = (self.units.len() as u32, timed.centre(0));
        // The least and the greatest of what tiles send arrive unhindered; the furthest tile counts.
        let (mut there, mut back) = (time, 0);
        for tile in 0..tiles {
            there = there.max(timed.travel(0, tile, centre, Load::Head, time));
        }
        for tile in 0..tiles {
            back = back.max(timed.travel(0, centre, tile, Load::Head, there));
        }
        self.post(timed, back, Message::Update(least));
        if self.alive > 0 {
            self.post(timed, time + u64::from(self.what.gvt_period), Message::Sample);
        }
    }

    /// The virtual time of a tile's earliest task that is not finished. Those that have none yet are given the next.
    fn earliest(&mut self, tile: usize) -> VirtualTime {
        let next = self.dispatches + 1;
        let soon = |timestamp: u64| VirtualTime::new(timestamp, next);
        let unit = &self.units[tile];
        let mut least = VirtualTime::MAX;
        for &core in &unit.cores {
            if let Role::Busy(slot) = self.cores[core as usize].role {
                least = least.min(unit.slots[slot as usize].time);
            }
        }
        let idle = unit.order.first().map(|it| it.0);
        let spilled = unit.spilled.first_key_value().map(|it| it.0.0);
        let resting = unit.resting.iter().map(|&slot| unit.slots[slot as usize].task.timestamp);
        let waiting = unit.waiting.iter().map(|it| it.task.timestamp);
        for timestamp in idle.into_iter().chain(spilled).chain(resting).chain(waiting) {
            least = least.min(soon(timestamp));
        }
        least
    }

    /// The tiles hear of a new global virtual time.
    pub(super) fn update(&mut self, timed: &mut Timed, time: u64, gvt: VirtualTime) {
        self.counts.updates += 1;
        self.still += 1;
        if gvt < self.gvt {
            self.unsound.get_or_insert("global virtual time");
        }
        if gvt.timestamp() > self.gvt.timestamp() {
            let counts = self.counts_at(time);
            self.passed.push(Passed { cycle: time, timestamp: gvt.timestamp(), counts });
        }
        self.gvt = self.gvt.max(gvt);
        for tile in 0..self.units.len() {
            let unit = &self.units[tile];
            self.counts.queued += unit.in_use() as u64;
            self.counts.commit_queued += unit.finished.len() as u64;
            let mut over: Vec<_> = unit.finished.iter().filter(|it| it.0 < gvt).copied().collect();
            over.sort_unstable();
            for (_, slot) in over {
                self.commit(timed, tile, slot, time);
            }
            for index in 0..self.units[tile].cores.len() {
                let core = self.units[tile].cores[index];
                if let Role::Busy(slot) = self.cores[core as usize].role
                    && self.units[tile].slots[slot as usize].time == gvt
                {
                    self.settle(timed, tile, slot, time);
                }
            }
        }
        for tile in 0..self.units.len() {
            self.wake_finishers(timed, tile, time);
            self.dispatch(timed, tile, time);
        }
    }

    /// The counts until now. What tasks take that have not committed yet is not among the time of committed ones, nor
    /// have their cores idled.
    fn counts_at(&self, time: u64) -> TaskCounts {
        let mut under_way = 0;
        for unit in &self.units {
            let ran = |&(_, slot): &(VirtualTime, u16)| unit.slots[slot as usize].ran;
            under_way += unit.finished.iter().map(ran).sum::<u64>();
            for &core in &unit.cores {
                if let Role::Busy(slot) = self.cores[core as usize].role {
                    let of = &unit.slots[slot as usize];
                    under_way += time.saturating_sub(of.begun).saturating_sub(of.waited);
                }
            }
        }
        let mut counts = self.counts;
        let cores = self.cores.len() as u64 - 1;
        counts.core_time.idle = (cores * time).saturating_sub(counts.core_time.total() + under_way);
        counts
    }

    /// The earliest task of all is irrevocable from now on: nothing of it is tracked, and its children are on their own.
    fn settle(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64) {
        let pointer = self.pointer(tile, slot);
        let unit = &mut self.units[tile];
        let it = &mut unit.slots[slot as usize];
        if it.irrevocable {
            return;
        }
        it.irrevocable = true;
        let children = std::mem::take(&mut it.children);
        unit.sets.clear(it.entry);
        it.undo.clear();
        it.obtained.clear();
        let core = it.core;
        for child in children.into_iter().flatten() {
            if let Some(it) = self.find(child).filter(|it| it.parent == Some(pointer)) {
                it.parent = None;
            }
        }
        for tile in 0..self.units.len() {
            self.admit_waiting(timed, tile, time);
        }
        self.wake(timed, core, time);
    }

    /// All tasks have committed.
    pub(crate) fn is_over(&self) -> bool {
        self.alive == 0
    }

    /// Nothing has happened for long.
    pub(crate) fn is_stuck(&self) -> bool {
        self.still > STILL_MAX
    }
}
