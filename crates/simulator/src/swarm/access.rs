//! An access of a task: what is checked, when, and what is noted (Yan, 2015, 3.3 and 3.4).
//!
//! | the line is | checked are |
//! | --- | --- |
//! | in the core's first cache, with the right | none: whoever installed it has checked, and was not later |
//! | in the tile's second cache, with the right, and its set's canary is not later | the tile's tasks |
//! | elsewhere | the tile's tasks, and those of all tiles that may have had the line, asked by its home |
//!
//! A check takes place with the access's effect: in a tile when it is the core's turn, else when the home serves the
//! request. An access takes as long as its data or its checks, whichever is longer.

use super::chip::{Canary, Swarm};
use super::time::VirtualTime;
use super::unit::Phase;
use crate::outcome::Access as Done;
use crate::state::State;
use crate::timed::{Access, Timed, Tracked, perform};
use std::cell::RefCell;

/// Bytes of a line.
const LINE: usize = 64;

impl State {
    /// An access by a task to `words` words of a line from a host address on.
    pub(crate) fn tracked_access<R>(
        &self,
        (timed, swarm): (&RefCell<Timed>, &RefCell<Swarm>),
        (host, words): (usize, u32),
        access: Access,
        mut effect: impl FnMut() -> R,
    ) -> R {
        if std::thread::panicking() {
            return effect();
        }
        let core = self.core.get();
        let line = self.tracked_line(swarm, core, host, access);
        let at = (self.region.offset(host), words);
        loop {
            let mut it = timed.borrow_mut();
            let (right, cycles, there) = it.look(core, line, access);
            let now = self.time.get().max(there);
            let near = it.private.answers_near(core, line, access);
            let ahead = match access {
                Access::Read if near => it.machine.slack.read,
                Access::Write if near => it.machine.slack.write,
                _ => 0,
            };
            let held = access.is_answered_by(right);
            if held && !self.is_turn(&it, now, ahead.into()) {
                self.time.set(now);
                it.resume_at(now, core);
                drop(it);
                self.go_on();
                continue;
            }
            let mut units = swarm.borrow_mut();
            let modify = if access == Access::Modify { it.machine.modify_cycles } else { 0 };
            let checked = match (near, held) {
                (true, _) => {
                    it.timings.accesses += 1;
                    units.passes_near(core, line, access);
                    Some(0)
                }
                (false, true) => units.access_in_tile(&mut it, core, line, access, now),
                (false, false) => None,
            };
            if let Some(checked) = checked {
                let cycles = u64::from(cycles).max(checked);
                self.time.set(now + cycles + u64::from(modify));
                if !near {
                    it.hit(core, line, right, access, now);
                }
                units.note(core, line, access, at);
                return effect();
            }
            drop(units);
            self.time.set(now + u64::from(cycles));
            let tracked = Tracked { host: at.0, words, check_only: held, shared: false };
            return self.ask_tracked(it, core, line, access, tracked, &mut effect);
        }
    }

    /// Asks a line's home, which performs `effect` when it serves the request.
    fn ask_tracked<R>(
        &self,
        mut timed: std::cell::RefMut<'_, Timed>,
        core: u32,
        line: u64,
        access: Access,
        tracked: Tracked,
        effect: &mut dyn FnMut() -> R,
    ) -> R {
        let mut result = None;
        let mut perform = || {
            result = Some(effect());
            None
        };
        let effect: *mut (dyn FnMut() -> Option<u64> + '_) = &mut perform;
        // SAFETY: only the lifetime changes. The home performs the effect before it lets this core resume; an execution
        // that is aborted meanwhile has its request taken back before its stack is given up.
        let effect: crate::timed::Effect = unsafe { std::mem::transmute(effect) };
        timed.send(core, line, access, self.time.get(), Some(effect));
        timed.cores[core as usize].request.tracked = Some(tracked);
        drop(timed);
        self.go_on();
        result.expect("a request that was answered has been performed")
    }

    /// The line of what a task accesses. An access to closed memory, or one too many, ends a speculative execution.
    fn tracked_line(&self, swarm: &RefCell<Swarm>, core: u32, host: usize, access: Access) -> u64 {
        let offset = self.region.offset(host);
        let open = self.region.contains(offset) && self.region.is_open(offset);
        let (speculative, patient) = swarm.borrow_mut().counts_access(core);
        if speculative && !(open && patient) {
            self.task_exception();
        }
        if !open {
            let done = if access == Access::Read { Done::Load } else { Done::Store };
            self.stray(offset, done);
        }
        self.region.simulated(offset) / LINE as u64
    }

    /// A home serves a task's request; its turn in a queue has come, or (not `turn`) there was none.
    pub(crate) fn serve_task(&self, time: u64, core: u32, turn: bool) {
        let (Some(timed), Some(swarm)) = (self.timed(), self.swarm.get()) else { return };
        let (mut it, mut units) = (timed.borrow_mut(), swarm.borrow_mut());
        let request = it.cores[core as usize].request;
        let Some(tracked) = request.tracked else { return };
        let (checked, shared) = units.check_everywhere(&mut it, core, time);
        it.cores[core as usize].request.tracked = Some(Tracked { shared, ..tracked });
        let (resumes, installed) = it.serve_tracked(time, core, checked);
        units.absorb_losses(&mut it);
        if installed {
            units.installs(core, request.line);
        }
        units.note(core, request.line, request.access, (tracked.host, tracked.words));
        it.cores[core as usize].request.tracked = None;
        if let Some(effect) = request.effect {
            perform(effect);
        }
        it.resume_at(resumes, core);
        if turn {
            it.next_turn(core);
        }
    }
}

impl Swarm {
    /// The virtual time and the entry of a core's task, and its tile.
    fn who(&mut self, core: u32) -> (usize, VirtualTime, u8) {
        let (tile, slot) = self.running(core);
        let it = &self.units[tile].slots[slot as usize];
        debug_assert!(it.phase == Phase::Running, "a task accesses while it runs");
        (tile, it.time, it.entry)
    }

    /// Counts an access of a core's task: whether that is speculative, and may make it.
    fn counts_access(&mut self, core: u32) -> (bool, bool) {
        let (tile, slot) = self.running(core);
        let it = &mut self.units[tile].slots[slot as usize];
        it.accesses = it.accesses.saturating_add(1);
        (!it.irrevocable, it.accesses <= self.options.accesses_max)
    }

    /// Notes what a core's task accesses, and what the words held that it is about to write.
    fn note(&mut self, core: u32, line: u64, access: Access, (offset, words): (usize, u32)) {
        let (tile, slot) = self.running(core);
        let unit = &mut self.units[tile];
        let it = &mut unit.slots[slot as usize];
        if it.irrevocable {
            return;
        }
        let writes = access != Access::Read;
        unit.sets.add(it.entry, line, writes);
        if writes {
            let end = (offset + words as usize * 8).min((offset / LINE + 1) * LINE);
            for offset in (offset..end).step_by(8) {
                let word =
                    (offset, self.words.at(offset).load(std::sync::atomic::Ordering::Relaxed));
                it.undo.push(word);
            }
        }
    }

    /// An access that the core's first cache lets pass.
    fn passes_near(&mut self, core: u32, line: u64, access: Access) {
        self.counts.passed_near += 1;
        if self.options.audit {
            let (tile, time, entry) = self.who(core);
            let all = 0..self.units.len();
            self.audit(all, (tile, entry), time, (line, access != Access::Read), "first cache");
        }
    }

    /// An access of a line that the core's tile holds with the right to it: how long the check takes; `None`: other
    /// tiles must be asked.
    fn access_in_tile(
        &mut self,
        timed: &mut Timed,
        core: u32,
        line: u64,
        access: Access,
        time: u64,
    ) -> Option<u64> {
        let (tile, own, entry) = self.who(core);
        let writes = access != Access::Read;
        if self.canary(tile, line) > own {
            self.marks.insert("canary of a later task");
            return None;
        }
        self.counts.passed_canary += 1;
        if self.options.audit {
            let others = (0..self.units.len()).filter(|&other| other != tile);
            self.audit(others, (tile, entry), own, (line, writes), "canary");
        }
        Some(self.check_tile(timed, tile, (own, entry), (line, writes), time))
    }

    fn set_of(&self, tile: usize, line: u64) -> usize {
        line as usize & (self.units[tile].canaries.len() - 1)
    }

    fn canary(&self, tile: usize, line: u64) -> VirtualTime {
        if self.options.canary == Canary::Line {
            let canaries = &self.units[tile].line_canaries;
            return canaries.get(&line).copied().unwrap_or(VirtualTime::MAX);
        }
        let canaries = &self.units[tile].canaries;
        let mut set = self.set_of(tile, line);
        if self.fault(&super::faults::CANARY) {
            set = (set + 1) % canaries.len();
        }
        canaries[set]
    }

    /// A core's task has brought a line into its tile's second cache, or the right to write it.
    fn installs(&mut self, core: u32, line: u64) {
        let (tile, own, _) = self.who(core);
        if self.options.canary == Canary::Line {
            let canaries = &mut self.units[tile].line_canaries;
            canaries.entry(line).and_modify(|it| *it = own.max(*it)).or_insert(own);
            return;
        }
        let set = self.set_of(tile, line);
        let canary = &mut self.units[tile].canaries[set];
        *canary = own.max(*canary);
    }

    /// Checks an access against the tasks of the core's own tile: in how many cycles.
    fn check_tile(
        &mut self,
        timed: &mut Timed,
        tile: usize,
        (own, entry): (VirtualTime, u8),
        what: (u64, bool),
        time: u64,
    ) -> u64 {
        self.counts.checked_tile += 1;
        if self.fault(&super::faults::TILE) {
            return 0;
        }
        let check = self.check(timed, tile, (own, Some(entry)), what, time);
        u64::from(self.what.check + check.compared) + check.rolled
    }

    /// Checks a request that its home serves at `time` against the tasks of the core's tile, and of all tiles that may
    /// have had the line: when all have answered, and whether there are any.
    fn check_everywhere(&mut self, timed: &mut Timed, core: u32, time: u64) -> (u64, bool) {
        let (own_tile, own, entry) = self.who(core);
        let request = timed.cores[core as usize].request;
        let what = (request.line, request.access != Access::Read);
        let sticky = self.sticky.get(&request.line).copied().unwrap_or(0);
        let mut tiles = (timed.holders(0, &request) | sticky) & !(1 << own_tile);
        if self.options.audit {
            let asked = tiles;
            let left = (0..self.units.len())
                .filter(|&tile| tile != own_tile && asked & 1 << tile == 0)
                .collect::<Vec<_>>();
            self.audit(left.into_iter(), (own_tile, entry), own, what, "directory");
        }
        // The tile's own check is over before its request has left for the home.
        self.check_tile(timed, own_tile, (own, entry), what, time);
        self.counts.checked_global += 1;
        let (mut over, shared) = (time, tiles != 0);
        while tiles != 0 {
            let tile = tiles.trailing_zeros();
            tiles &= tiles - 1;
            self.counts.tiles_asked += 1;
            let check = self.check(timed, tile as usize, (own, None), what, time);
            let way = timed.distance(0, request.home, tile);
            let cycles = 2 * way + u64::from(self.what.check + check.compared) + check.rolled;
            over = over.max(time + cycles);
            if sticky & 1 << tile != 0
                && self.units[tile as usize].sets.candidates(request.line, true) == 0
                && let Some(tiles) = self.sticky.get_mut(&request.line)
            {
                *tiles &= !(1 << tile);
            }
        }
        (over, shared)
    }

    /// Compares an access that some tiles are not asked about with their exact sets.
    fn audit(
        &mut self,
        tiles: impl Iterator<Item = usize>,
        (own_tile, own_entry): (usize, u8),
        own: VirtualTime,
        (line, writes): (u64, bool),
        who: &'static str,
    ) {
        let mut missed = false;
        for tile in tiles {
            let unit = &self.units[tile];
            let mut entries = unit.sets.exact(line, writes);
            if tile == own_tile {
                entries &= !(1 << own_entry);
            }
            unit.later(entries, own, |_| missed = true);
        }
        if missed {
            self.unsound.get_or_insert(who);
        }
    }
}
