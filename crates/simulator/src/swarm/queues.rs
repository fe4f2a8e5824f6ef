//! Task queues: how a task comes to a tile, and what happens when the tile has no room (Yan, 2015, 3.2 and 3.7).
//!
//! - An enqueued task travels to its tile, which acknowledges it. A parent is not finished before all its children are
//!   acknowledged, so the parent's virtual time stands for theirs while they are on their way.
//! - A queue that is nearly full has a core take tasks to memory whose parents have committed, the latest first
//!   (a *coalescer*); one brings them back when they are the tile's earliest (a *splitter*).
//! - A full queue with such tasks has arrivals wait. One without them refuses: the parent's core stalls at its next
//!   enqueue, and the task is sent again after a time that grows with each attempt.
//! - Children of a task that is irrevocable are never refused: where there is no room they go to memory.
//! - The last entry of a queue is for a task from memory that no earlier one is left to make room for.

use super::chip::{Message, Role, Swarm};
use super::unit::{Arrival, Execution, Phase};
use crate::timed::{Load, Timed};
use chiliad_machine::tasks::Task;

/// Tasks that a coalescer takes to memory, and a splitter brings back, at most.
const SPILL: usize = 16;
const REFILL: usize = 8;
/// Cycles for each of them.
const MOVE_CYCLES: u64 = 10;
/// Cycles by which each attempt to send a task comes later after the one before.
const BACKOFF_CYCLES: u64 = 25;

impl Swarm {
    /// A core's task enqueues a child, which goes to its tile.
    pub(super) fn enqueue(&mut self, timed: &mut Timed, core: u32, time: u64, child: Task) {
        let (tile, slot) = self.running(core);
        let task = self.pointer(tile, slot);
        let it = &mut self.units[tile].slots[slot as usize];
        it.enqueued += 1;
        it.pending += 1;
        if it.irrevocable && it.enqueued == self.what.children {
            self.marks.insert("earliest task with all the children that it may have");
        }
        let parent = Execution { task, number: it.execution };
        let to = self.target(&child);
        self.made();
        self.send(timed, time, to, Arrival { task: child, parent: Some(parent), attempts: 0 });
    }

    /// Counts a task that is enqueued.
    pub(super) fn made(&mut self) {
        self.counts.made += 1;
        self.alive += 1;
    }

    /// Counts a task that is gone because its parent's execution was undone.
    pub(super) fn squashed(&mut self) {
        self.counts.squashed += 1;
        self.alive -= 1;
    }

    /// A task leaves its parent's tile.
    pub(super) fn send(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: Arrival) {
        let from = arrival.parent.map_or(tile, |parent| parent.task.tile);
        let there = timed.travel(0, from.into(), tile.into(), Load::Task, time);
        self.post(timed, there, Message::Arrive { tile, arrival });
    }

    /// A task comes to a tile.
    pub(super) fn arrives(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: Arrival) {
        if !self.is_wanted(&arrival) {
            self.squashed();
            return;
        }
        let unit = &self.units[tile as usize];
        let (room, untied) = (unit.free.len() > 1 && unit.waiting.is_empty(), unit.has_untied());
        if room {
            self.accept(timed, time, tile, &arrival);
            self.dispatch(timed, tile.into(), time);
        } else if self.is_irrevocable(arrival.parent) {
            self.overflow(timed, time, tile, &arrival);
            self.dispatch(timed, tile.into(), time);
        } else if untied {
            self.units[tile as usize].waiting.push_back(arrival);
            self.dispatch(timed, tile.into(), time);
        } else {
            self.refuse(timed, time, tile, arrival);
        }
    }

    fn refuse(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: Arrival) {
        self.counts.refused += 1;
        self.marks.insert("task refused by a full queue");
        let parent = arrival.parent.map_or(tile, |parent| parent.task.tile);
        let back = timed.travel(0, tile.into(), parent.into(), Load::Head, time);
        self.post(timed, back, Message::Nack { tile, arrival });
    }

    /// The execution that has enqueued a task is not undone.
    fn is_wanted(&mut self, arrival: &Arrival) -> bool {
        arrival.parent.is_none_or(|parent| self.executing(parent).is_some())
    }

    fn is_irrevocable(&mut self, parent: Option<Execution>) -> bool {
        parent.is_none_or(|parent| self.executing(parent).is_none_or(|it| it.irrevocable))
    }

    /// A task from outside is put into a tile's queue, or into its memory.
    pub(super) fn put(&mut self, tile: u16, task: Task) {
        self.made();
        self.arrivals += 1;
        let arrival = self.arrivals;
        let unit = &mut self.units[tile as usize];
        if unit.free.len() > 1 + unit.slots.len() / 8 {
            let slot = unit.free.pop().expect("there are several");
            unit.slots[slot as usize].take(task, None, arrival);
            unit.list(slot);
        } else {
            self.counts.spilled += 1;
            unit.spilled.insert((task.timestamp, arrival), task);
        }
    }

    /// A task gets its place in the queue, and its parent's tile hears of it.
    fn accept(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: &Arrival) {
        self.arrivals += 1;
        let number = self.arrivals;
        let tied = !self.is_irrevocable(arrival.parent);
        let parent = arrival.parent.filter(|_| tied).map(|parent| parent.task);
        let unit = &mut self.units[tile as usize];
        let Some(slot) = unit.free.pop() else { unreachable!("the caller has seen a free place") };
        unit.slots[slot as usize].take(arrival.task, parent, number);
        unit.list(slot);
        let child = self.pointer(tile.into(), slot);
        if let Some(parent) = arrival.parent
            && tied
            && let Some(it) = self.executing(parent)
            && let Some(place) = it.children.iter_mut().find(|child| child.is_none())
        {
            *place = Some(child);
        }
        self.acknowledge(timed, time, tile, arrival);
    }

    /// A task goes to memory at once: it is nobody's to squash.
    fn overflow(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: &Arrival) {
        self.arrivals += 1;
        self.counts.spilled += 1;
        self.marks.insert("child of the earliest task went to memory");
        let place = (arrival.task.timestamp, self.arrivals);
        self.units[tile as usize].spilled.insert(place, arrival.task);
        self.acknowledge(timed, time, tile, arrival);
    }

    fn acknowledge(&mut self, timed: &mut Timed, time: u64, tile: u16, arrival: &Arrival) {
        let Some(parent) = arrival.parent else { return };
        let back = timed.travel(0, tile.into(), parent.task.tile.into(), Load::Head, time);
        self.post(timed, back, Message::Ack { parent, refused: arrival.attempts > 0 });
    }

    /// A parent hears that a child has its place.
    pub(super) fn acknowledged(
        &mut self,
        timed: &mut Timed,
        time: u64,
        parent: Execution,
        refused: bool,
    ) {
        let Some(it) = self.executing(parent) else { return };
        it.pending -= 1;
        it.refused -= u32::from(refused);
        let core = it.core;
        self.wake(timed, core, time);
    }

    /// A parent's tile hears that a task must be sent again.
    pub(super) fn refused(
        &mut self,
        timed: &mut Timed,
        time: u64,
        tile: u16,
        mut arrival: Arrival,
    ) {
        let parent = arrival.parent.and_then(|parent| self.executing(parent));
        let Some(parent) = parent else {
            self.squashed();
            return;
        };
        parent.refused += u32::from(arrival.attempts == 0);
        arrival.attempts += 1;
        let again = time + BACKOFF_CYCLES * u64::from(arrival.attempts);
        self.post(timed, again, Message::Retry { tile, arrival });
    }

    /// Tasks that wait for entries get those that are free, and those that nobody wants any more go. Children of a task that
    /// has become irrevocable go to memory, whatever waits before them.
    pub(super) fn admit_waiting(&mut self, timed: &mut Timed, tile: usize, time: u64) {
        for _ in 0..self.units[tile].waiting.len() {
            let Some(arrival) = self.units[tile].waiting.pop_front() else { return };
            if !self.is_wanted(&arrival) {
                self.squashed();
            } else if self.units[tile].free.len() > 1 {
                self.accept(timed, time, tile as u16, &arrival);
            } else if self.is_irrevocable(arrival.parent) {
                self.overflow(timed, time, tile as u16, &arrival);
            } else if !self.units[tile].has_untied() {
                // What made it wait is gone: it is refused after all.
                self.refuse(timed, time, tile as u16, arrival);
            } else {
                self.units[tile].waiting.push_back(arrival);
            }
        }
    }

    /// The task queue is nearly full, and has tasks that can go to memory.
    pub(super) fn wants_room(&self, tile: usize) -> bool {
        let unit = &self.units[tile];
        let near = unit.slots.len() * 7 / 8;
        (unit.in_use() >= near || !unit.waiting.is_empty()) && unit.has_untied()
    }

    /// The earliest task in memory precedes the idle ones, and there is a place for it.
    pub(super) fn wants_refill(&self, tile: usize) -> bool {
        let unit = &self.units[tile];
        let Some((&(timestamp, arrival), _)) = unit.spilled.first_key_value() else { return false };
        let first = unit.order.first().is_none_or(|it| (timestamp, arrival) < (it.0, it.1));
        let room =
            unit.free.len() > 1 || (!unit.free.is_empty() && timestamp <= self.gvt.timestamp());
        first && room
    }

    /// A core takes tasks to memory, the latest first, or brings the earliest back (`back`).
    pub(super) fn begin_job(
        &mut self,
        timed: &mut Timed,
        tile: usize,
        core: u32,
        time: u64,
        back: bool,
    ) {
        let moved = if back { self.refill(tile) } else { self.spill(tile) };
        let it = &mut self.cores[core as usize];
        it.role = Role::Job;
        self.units[tile].job = true;
        let cycles = u64::from(self.what.instruction) + MOVE_CYCLES * moved;
        self.counts.core_time.committed += cycles;
        self.post(timed, time + cycles, Message::Free(core));
        self.admit_waiting(timed, tile, time);
    }

    fn spill(&mut self, tile: usize) -> u64 {
        self.marks.insert("tasks went to memory");
        let unit = &mut self.units[tile];
        let untied: Vec<_> = unit
            .order
            .iter()
            .skip(1)
            .rev()
            .filter(|it| unit.slots[it.2 as usize].parent.is_none())
            .take(SPILL)
            .copied()
            .collect();
        // An exception is forgotten with the place: the task meets it again.
        for &(timestamp, arrival, slot) in &untied {
            unit.order.remove(&(timestamp, arrival, slot));
            let it = &mut unit.slots[slot as usize];
            it.phase = Phase::Free;
            unit.spilled.insert((timestamp, arrival), it.task);
            unit.free.push(slot);
        }
        self.counts.spilled += untied.len() as u64;
        untied.len() as u64
    }

    fn refill(&mut self, tile: usize) -> u64 {
        self.marks.insert("tasks came back from memory");
        let unit = &mut self.units[tile];
        let mut moved = 0;
        while moved < REFILL as u64
            && (unit.free.len() > 1 || (moved == 0 && !unit.free.is_empty()))
        {
            let Some(((_, arrival), task)) = unit.spilled.pop_first() else { break };
            let Some(slot) = unit.free.pop() else { break };
            unit.slots[slot as usize].take(task, None, arrival);
            unit.list(slot);
            moved += 1;
        }
        self.counts.refilled += moved;
        moved
    }
}
