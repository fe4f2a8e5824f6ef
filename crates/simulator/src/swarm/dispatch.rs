//! Which task a core runs next, and when a core is taken from a task (Yan, 2015, 3.2 and 3.7).
//!
//! - A core without work takes the earliest idle task of its tile. A task that met an exception is taken only when
//!   none earlier is left anywhere, and begins when the global virtual time is its own.
//! - An idle task that precedes all tasks on the tile's cores takes the core of the latest of them, if the commit queue
//!   is full or a core stalls: what they wait for may be that it runs. (The thesis names a full commit queue only, with
//!   which four tasks that wait for room in other tiles would keep the earliest one from running.)

use super::abort::Toll;
use super::chip::{CommitEntry, Role, Swarm};
use super::counts::{Begun, Cause};
use super::time::VirtualTime;
use super::unit::{Phase, Pointer};
use crate::timed::Timed;

/// The next step of a core.
enum Work {
    Spill,
    Refill,
    Task(u16),
}

impl Swarm {
    /// Cores of a tile that have nothing to do get tasks, if there are any.
    pub(super) fn dispatch(&mut self, timed: &mut Timed, tile: usize, time: u64) {
        while let Some(core) = self.idle_core(tile) {
            match self.next_work(tile) {
                Some(Work::Spill) => self.begin_job(timed, tile, core, time, false),
                Some(Work::Refill) => self.begin_job(timed, tile, core, time, true),
                Some(Work::Task(slot)) => {
                    if !self.may_begin(timed, tile, slot, time) {
                        break;
                    }
                    self.begin(timed, tile, core, slot, time);
                }
                None => return,
            }
        }
        self.take_core(timed, tile, time);
    }

    fn idle_core(&self, tile: usize) -> Option<u32> {
        let idles = |core: &&u32| self.cores[**core as usize].role == Role::Idle;
        self.units[tile].cores.iter().find(idles).copied()
    }

    fn next_work(&self, tile: usize) -> Option<Work> {
        let unit = &self.units[tile];
        if !unit.job && self.wants_refill(tile) {
            return Some(Work::Refill);
        }
        if !unit.job && self.wants_room(tile) {
            return Some(Work::Spill);
        }
        self.next_task(tile).map(Work::Task)
    }

    /// The earliest idle task of a tile that may begin.
    fn next_task(&self, tile: usize) -> Option<u16> {
        let unit = &self.units[tile];
        let ready = |slot: u16| {
            let it = &unit.slots[slot as usize];
            !it.excepted || it.task.timestamp <= self.gvt.timestamp()
        };
        unit.order.iter().map(|it| it.2).find(|&slot| ready(slot))
    }

    /// A task can be dispatched: where it needs its entry of the commit queue for that, one is free, or that of the
    /// latest task is taken from it, which comes later.
    fn may_begin(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64) -> bool {
        if self.options.commit_entry == CommitEntry::Finish || self.units[tile].commit_free > 0 {
            return true;
        }
        let unit = &self.units[tile];
        let timestamp = unit.slots[slot as usize].task.timestamp;
        let next = VirtualTime::new(timestamp, self.dispatches + 1);
        let running = unit.cores.iter().filter_map(|&core| match self.cores[core as usize].role {
            Role::Busy(slot) => Some((unit.slots[slot as usize].time, slot)),
            Role::Idle | Role::Draining | Role::Job => None,
        });
        let latest = unit.finished.iter().copied().chain(running).max();
        let Some((_, victim)) = latest.filter(|latest| latest.0 > next) else { return false };
        self.marks.insert("entry of the commit queue taken from a later task");
        let _: Toll = self.abort(timed, &[(tile, victim)], Cause::Resource, time);
        self.units[tile].commit_free > 0
            && self.units[tile].slots[slot as usize].phase == Phase::Idle
    }

    /// A core begins to run a task.
    fn begin(&mut self, timed: &mut Timed, tile: usize, core: u32, slot: u16, time: u64) {
        self.dispatches += 1;
        self.still = 0;
        self.counts.dispatched += 1;
        let unit = &mut self.units[tile];
        unit.unlist(slot);
        let entry = unit
            .entries_free
            .pop()
            .expect("there is one for each core and each entry of the commit queue");
        unit.entry_slots[entry as usize] = slot;
        let it = &mut unit.slots[slot as usize];
        it.forget();
        it.phase = Phase::Running;
        it.time = VirtualTime::new(it.task.timestamp, self.dispatches);
        (it.core, it.entry, it.begun) = (core, entry, time);
        if self.options.watched == Some(it.task.function) {
            self.begun.push(Begun { cycle: time, timestamp: it.task.timestamp });
        }
        let (virtual_time, held) = (it.time, it.excepted);
        if self.options.commit_entry == CommitEntry::Dequeue {
            it.queued = true;
            unit.commit_free -= 1;
        }
        let of = &mut self.cores[core as usize];
        of.role = Role::Busy(slot);
        of.starts = true;
        of.epoch += 1;
        let before = std::mem::replace(&mut of.last, virtual_time);
        if virtual_time < before && !self.fault(&super::faults::FLASH) {
            // What it has checked says nothing about what lies between.
            timed.private.clear_near(core);
        }
        if held {
            self.marks.insert("task replayed as the earliest");
            self.waits(core, time);
        } else {
            timed.resume_at(time + u64::from(self.what.instruction), core);
        }
    }

    /// The earliest idle task takes the core of the latest one that runs, where it must.
    fn take_core(&mut self, timed: &mut Timed, tile: usize, time: u64) {
        let unit = &self.units[tile];
        let idle = self.next_task(tile).map(|slot| unit.slots[slot as usize].task.timestamp);
        let spilled = unit.spilled.first_key_value().map(|it| it.0.0);
        let spilled = spilled.filter(|_| !unit.job && self.wants_refill(tile));
        let Some(first) = idle.into_iter().chain(spilled).min() else { return };
        let next = VirtualTime::new(first, self.dispatches + 1);
        let mut latest = None;
        let mut stalls = unit.commit_free == 0;
        for &core in &unit.cores {
            let it = &self.cores[core as usize];
            match it.role {
                Role::Busy(slot) => {
                    let of = &unit.slots[slot as usize];
                    if of.time < next {
                        return;
                    }
                    // For a moment a core also waits for word of a child.
                    let long = time >= it.waits_since + u64::from(self.what.gvt_period);
                    stalls |= it.waits && (of.refused > 0 || of.excepted || long);
                    latest = latest.max(Some((of.time, slot)));
                }
                // It will be free.
                Role::Idle | Role::Draining | Role::Job => return,
            }
        }
        if let Some((_, slot)) = latest.filter(|_| stalls) {
            self.marks.insert("core taken from a later task");
            let _: Toll = self.abort(timed, &[(tile, slot)], Cause::Resource, time);
        }
    }

    /// Nothing is under way any more for the execution that a core has given up.
    pub(crate) fn core_rested(&mut self, timed: &mut Timed, time: u64, core: u32) {
        self.cores[core as usize].rested = true;
        self.core_freed(timed, time, core);
    }

    /// A core has paid for a roll-back, or has done its job.
    pub(super) fn core_freed(&mut self, timed: &mut Timed, time: u64, core: u32) {
        let it = &mut self.cores[core as usize];
        let tile = it.tile as usize;
        match it.role {
            Role::Draining if it.rested && time >= it.until => it.role = Role::Idle,
            Role::Job => {
                it.role = Role::Idle;
                self.units[tile].job = false;
            }
            Role::Idle | Role::Busy(_) | Role::Draining => return,
        }
        self.dispatch(timed, tile, time);
    }

    /// A task's roll-back is paid for: it waits for a core again.
    pub(super) fn task_rested(&mut self, timed: &mut Timed, time: u64, pointer: Pointer) {
        let (tile, slot) = (pointer.tile as usize, pointer.slot);
        if self.find(pointer).is_none_or(|it| it.phase != Phase::Resting) {
            return;
        }
        let unit = &mut self.units[tile];
        unit.resting.retain(|&it| it != slot);
        unit.list(slot);
        self.dispatch(timed, tile, time);
    }
}
