//! Conflicts and roll-backs (Yan, 2015, 3.4 and 3.5).
//!
//! An abort takes effect in one step: first it is found what goes with it (children, and all later tasks that have
//! accessed a line that one of them has written, again and again), then all words are restored, those of the latest task
//! first. Time is charged afterwards: a cycle for each restored word, before the task and its core are free, and the
//! access that caused it waits for what had written its line.

use super::chip::{Aborts, Message, Role, Swarm};
use super::counts::Cause;
use super::time::VirtualTime;
use super::unit::{Phase, Pointer};
use crate::timed::Timed;

/// The cost of an abort.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Toll {
    /// Words restored.
    pub(super) words: u64,
}

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Check {
    /// Virtual times that were compared.
    pub(super) compared: u32,
    /// Cycles for which the access waits for roll-backs.
    pub(super) rolled: u64,
}

/// From so many tasks that depend on each other on, an abort is a cascade.
const CASCADE: u32 = 4;

/// A task about to be aborted, or squashed.
const ABORTED: u8 = 1;
const SQUASHED: u8 = 2;

impl Swarm {
    /// Checks an access of a line against the tasks of a tile: aborts the later ones that conflict.
    pub(super) fn check(
        &mut self,
        timed: &mut Timed,
        tile: usize,
        (at, own): (VirtualTime, Option<u8>),
        (line, writes): (u64, bool),
        time: u64,
    ) -> Check {
        let unit = &self.units[tile];
        let own = own.map_or(0, |entry| 1 << entry);
        let candidates = unit.sets.candidates(line, writes) & !own;
        if candidates == 0 {
            return Check::default();
        }
        let exact = unit.sets.exact(line, writes);
        let mut victims = Vec::new();
        let compared = unit.later(candidates, at, |slot| victims.push((tile, slot)));
        let mut wrote = false;
        unit.later(unit.sets.exact(line, false) & !own, at, |_| wrote = true);
        self.counts.compared += u64::from(compared);
        self.counts.false_matches += u64::from((candidates & !exact).count_ones());
        let toll = if victims.is_empty() {
            Toll::default()
        } else {
            self.abort(timed, &victims, Cause::Data, time)
        };
        Check { compared, rolled: if wrote { toll.words } else { 0 } }
    }

    /// Undoes executions and all that depends on them.
    pub(super) fn abort(
        &mut self,
        timed: &mut Timed,
        first: &[(usize, u16)],
        cause: Cause,
        time: u64,
    ) -> Toll {
        let mut undone = Vec::new();
        for &(tile, slot) in first {
            self.take_back(&mut undone, (tile, slot), ABORTED, cause);
        }
        if self.options.aborts == Aborts::All {
            self.take_back_later(&mut undone);
        }
        let (mut next, mut depth) = (0, 0);
        while next < undone.len() {
            let end = undone.len();
            while next < end {
                let task = undone[next];
                self.take_back_dependents(&mut undone, task);
                next += 1;
            }
            depth += 1;
        }
        if depth > CASCADE {
            self.marks.insert("abort of a cascade");
        }
        self.counts.largest_abort = self.counts.largest_abort.max(undone.len() as u64);
        if undone.len() >= 8 {
            self.marks.insert("abort of eight tasks or more");
        }
        undone.sort_unstable_by_key(|&(tile, slot)| {
            std::cmp::Reverse((self.units[tile].slots[slot as usize].time, tile, slot))
        });
        let mut toll = Toll::default();
        for &(tile, slot) in &undone {
            toll.words += self.undo(tile, slot);
        }
        self.counts.undone_words += toll.words;
        for &(tile, slot) in &undone {
            self.give_up(timed, tile, slot, time);
        }
        let mut tiles: Vec<usize> = undone.iter().map(|it| it.0).collect();
        tiles.sort_unstable();
        tiles.dedup();
        for tile in tiles {
            self.admit_waiting(timed, tile, time);
            self.wake_finishers(timed, tile, time);
        }
        toll
    }

    /// Adds a task to those that are to be undone.
    fn take_back(
        &mut self,
        undone: &mut Vec<(usize, u16)>,
        (tile, slot): (usize, u16),
        how: u8,
        cause: Cause,
    ) {
        let it = &mut self.units[tile].slots[slot as usize];
        if it.irrevocable || it.time < self.gvt {
            self.unsound.get_or_insert("commit");
        }
        if it.fate == 0 {
            undone.push((tile, slot));
            if matches!(it.phase, Phase::Running | Phase::Finished) {
                self.counts.aborted[cause as usize] += 1;
            }
        }
        it.fate = it.fate.max(how);
    }

    /// Without selective aborts all later tasks go too.
    fn take_back_later(&mut self, undone: &mut Vec<(usize, u16)>) {
        let times = undone.iter().map(|&(tile, slot)| self.units[tile].slots[slot as usize].time);
        let Some(first) = times.min() else { return };
        for tile in 0..self.units.len() {
            let mut later = Vec::new();
            for (slot, it) in self.units[tile].slots.iter().enumerate() {
                if matches!(it.phase, Phase::Running | Phase::Finished) && it.time > first {
                    later.push(slot as u16);
                }
            }
            for slot in later {
                self.take_back(undone, (tile, slot), ABORTED, Cause::Data);
            }
        }
    }

    /// Adds the children of a task that is to be undone, and the later tasks that have used what it wrote.
    fn take_back_dependents(&mut self, undone: &mut Vec<(usize, u16)>, (tile, slot): (usize, u16)) {
        let it = &self.units[tile].slots[slot as usize];
        let (children, time) = (it.children, it.time);
        let mut lines: Vec<u64> = it.undo.iter().map(|it| (it.0 / 64) as u64).collect();
        if !self.fault(&super::faults::ORPHAN) {
            for child in children.into_iter().flatten() {
                if self.find(child).is_some() {
                    let place = (child.tile as usize, child.slot);
                    self.take_back(undone, place, SQUASHED, Cause::Parent);
                }
            }
        }
        if self.fault(&super::faults::UNDO_UNCHECKED) {
            return;
        }
        lines.sort_unstable();
        lines.dedup();
        let mut victims = Vec::new();
        for line in lines {
            for tile in 0..self.units.len() {
                let unit = &self.units[tile];
                let candidates = unit.sets.candidates(line, true);
                unit.later(candidates, time, |slot| victims.push((tile, slot)));
            }
        }
        for victim in victims {
            self.take_back(undone, victim, ABORTED, Cause::Data);
        }
    }

    /// Restores what a task has overwritten: how many words.
    fn undo(&mut self, tile: usize, slot: u16) -> u64 {
        let undo = std::mem::take(&mut self.units[tile].slots[slot as usize].undo);
        if self.fault(&super::faults::UNDO_ORDER) {
            undo.iter().for_each(|&entry| self.restore(entry));
        } else {
            undo.iter().rev().for_each(|&entry| self.restore(entry));
        }
        let words = undo.len() as u64;
        self.units[tile].slots[slot as usize].undo = undo;
        words
    }

    /// An execution whose words have been restored is over.
    fn give_up(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64) {
        let it = &mut self.units[tile].slots[slot as usize];
        let (phase, squashed, words) = (it.phase, it.fate == SQUASHED, it.undo.len() as u64);
        let obtained = std::mem::take(&mut it.obtained);
        if phase == Phase::Running {
            self.leave_core(timed, tile, slot, time, words);
        }
        self.give_back(&obtained);
        let unit = &mut self.units[tile];
        match phase {
            Phase::Running | Phase::Finished => {
                let it = &mut unit.slots[slot as usize];
                unit.sets.clear(it.entry);
                unit.entries_free.push(it.entry);
                unit.commit_free += u32::from(it.queued);
                self.counts.core_time.aborted += it.ran + words;
                unit.finished.retain(|it| it.1 != slot);
            }
            Phase::Idle => unit.unlist(slot),
            Phase::Resting => unit.resting.retain(|&it| it != slot),
            Phase::Free => {
                self.unsound.get_or_insert("set of a task that is gone");
                return;
            }
        }
        let it = &mut unit.slots[slot as usize];
        it.forget();
        if squashed {
            it.phase = Phase::Free;
            unit.free.push(slot);
            self.squashed();
            return;
        }
        it.phase = Phase::Resting;
        unit.resting.push(slot);
        let pointer: Pointer = self.pointer(tile, slot);
        self.post(timed, time + words, Message::Rested(pointer));
    }

    /// A running execution leaves its core, which is free when the roll-back is paid for and nothing is under way.
    fn leave_core(&mut self, timed: &mut Timed, tile: usize, slot: u16, time: u64, words: u64) {
        let it = &mut self.units[tile].slots[slot as usize];
        let core = it.core;
        let of = &mut self.cores[core as usize];
        if of.waits {
            let waited = time.saturating_sub(of.waits_since);
            it.waited += waited;
            self.counts.core_time.stalled += waited;
        }
        it.ran = time.saturating_sub(it.begun).saturating_sub(it.waited);
        let under_way = !of.waits;
        timed.stop_for_good(core, under_way);
        of.role = Role::Draining;
        (of.rested, of.waits, of.starts) = (!under_way, false, false);
        of.until = time + words;
        of.epoch += 1;
        self.post(timed, time + words, Message::Free(core));
    }
}
