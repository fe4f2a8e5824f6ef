//! What a line's home does for a request: it finds the line or brings it from memory, takes copies away, and
//! keeps the directory.
//!
//! The directory knows clusters (`private`), not cores. Siblings of a tile may have asked for one line at once: the
//! second one's request finds its cluster in the directory already.

use super::core::{Access, NOBODY, Request};
use super::directory::{At, Copies};
use super::home::Timed;
use super::network::Load;
use super::tags::Right;
use crate::description::Coherence;

impl Timed {
    /// Does what a request needs at its home: when that is done, what the answer carries, and the right
    /// that it gives.
    pub(super) fn give(
        &mut self,
        time: u64,
        core: u32,
        (line, mix, home): (u64, u64, u32),
        access: Access,
    ) -> (u64, Load, Right) {
        let tag = self.machine.shared_tag_cycles;
        let chip = self.chip_of(core);
        let it = &mut self.chips[chip];
        let time = it.ports.take(home as usize, time, 4 * tag);
        let (at, mut time) = match it.directory.find(home, mix, line) {
            Some(at) => (at, time + u64::from(self.machine.shared.cycles)),
            None => self.fill(chip, home, mix, line, time + u64::from(tag)),
        };
        let cluster = self.private.cluster_of(core);
        let directory = &mut self.chips[chip].directory;
        directory.use_it(at);
        if let Copies::Owned(owner) = directory.copies(at) {
            if owner == cluster {
                // A sibling has asked for it meanwhile.
                let reads = access == Access::Read;
                return (time, Load::Head, if reads { Right::Exclusive } else { Right::Modified });
            }
            time = self.take_from(chip, owner, (home, at), access, time);
        }
        match access {
            Access::Read => {
                let used = self.cores[core as usize].request.tracked.is_some_and(|it| it.shared);
                let directory = &mut self.chips[chip].directory;
                let alone = directory.sharers(at) == 0 && !used;
                if alone && self.machine.coherence == Coherence::Mesi {
                    directory.own(at, cluster);
                    return (time, Load::Line, Right::Exclusive);
                }
                directory.share(at, cluster);
                (time, Load::Line, Right::Shared)
            }
            Access::Write | Access::Modify => {
                let (held, time) = self.take_from_sharers(chip, cluster, (home, at), time);
                self.chips[chip].directory.own(at, cluster);
                (time, if held { Load::Head } else { Load::Line }, Right::Modified)
            }
        }
    }

    /// Brings a line from memory: where it is then, and when.
    fn fill(&mut self, chip: usize, home: u32, mix: u64, line: u64, time: u64) -> (At, u64) {
        let at = match self.chips[chip].directory.victim(home, mix) {
            Ok(at) => at,
            Err(at) => {
                self.evict(chip, home, at, time);
                at
            }
        };
        self.chips[chip].directory.put(at, line);
        self.timings.memory_reads += 1;
        let (controller, tile) = self.chips[chip].controller_of(home);
        let asked = self.travel(chip, home, tile, Load::Head, time);
        let quarters = self.line_quarters();
        let begun = self.chips[chip].controllers.take(controller, asked, quarters);
        let read = begun + u64::from(self.machine.memory.cycles);
        (at, self.travel(chip, tile, home, Load::Line, read))
    }

    fn line_quarters(&self) -> u32 {
        (self.machine.memory.line_centicycles * 4).div_ceil(100)
    }

    /// Takes a line out of the shared cache and out of all caches. Nobody waits for that.
    fn evict(&mut self, chip: usize, home: u32, at: At, time: u64) {
        let line = self.chips[chip].directory.line(at);
        if let Copies::Owned(owner) = self.chips[chip].directory.copies(at) {
            self.take_away(owner, line);
            self.chips[chip].directory.set_dirty(at);
        }
        let mut sharers = Vec::new();
        self.chips[chip].directory.each_sharer(at, |sharer| sharers.push(sharer));
        for sharer in sharers {
            self.take_away(sharer, line);
        }
        if self.chips[chip].directory.evict(at).dirty {
            let (controller, tile) = self.chips[chip].controller_of(home);
            let there = self.travel(chip, home, tile, Load::Line, time);
            let quarters = self.line_quarters();
            self.chips[chip].controllers.take(controller, there, quarters);
        }
    }

    /// Removes a line from the caches of a cluster, on the word of its home.
    fn take_away(&mut self, cluster: u32, line: u64) {
        let now = self.wheel.now();
        if self.private.is_shared() {
            self.private.remove_from_tile(cluster, line);
            self.leaves_tile(cluster, line, now);
            return;
        }
        self.private.remove(cluster, line);
        self.loses(cluster, line, now);
    }

    /// A core's own caches have lost a line: from now on it would not find it.
    fn loses(&mut self, core: u32, line: u64, time: u64) {
        if self.cores[core as usize].spin.watches(line) {
            self.rouse(core, time);
        }
    }

    /// What the second cache of a tile has lost the first ones of its cores lose.
    fn leaves_tile(&mut self, cluster: u32, line: u64, time: u64) {
        if let Some(lost) = &mut self.lost {
            lost.push((cluster, line));
        }
        for index in 0.. {
            let Some(core) = self.private.member(cluster, index) else { return };
            if self.private.remove_near(core, line) {
                self.loses(core, line, time);
            }
        }
    }

    /// The tiles of a chip whose second caches have a line, by the bits of their numbers, as its home knows them.
    pub(crate) fn holders(&self, chip: usize, request: &Request) -> u64 {
        let chip = &self.chips[chip];
        let Some(at) = chip.directory.find(request.home, request.mix, request.line) else {
            return 0;
        };
        let bit = |cluster: u32| 1 << (cluster - chip.first_cluster);
        if let Copies::Owned(owner) = chip.directory.copies(at) {
            return bit(owner);
        }
        let mut tiles = 0;
        chip.directory.each_sharer(at, |cluster| tiles |= bit(cluster));
        tiles
    }

    /// A home serves the request of a task's core, whose checks are over at `checked`: what must happen there but the
    /// effect. When the core goes on, and whether its tile has got the line, or a right to it.
    pub(crate) fn serve_tracked(&mut self, time: u64, core: u32, checked: u64) -> (u64, bool) {
        let Request { line, mix, home, access, tracked, .. } = self.cores[core as usize].request;
        let chip = self.chip_of(core);
        let check_only = tracked.is_some_and(|it| it.check_only)
            && access.is_answered_by(self.private.right_of_tile(core, line));
        let (done, load, right) = if check_only {
            (time + u64::from(self.machine.shared_tag_cycles), Load::Head, Right::None)
        } else {
            self.give(time, core, (line, mix, home), access)
        };
        let done = done.max(checked);
        self.queue(core).until = done + 1;
        let tile = self.cores[core as usize].tile;
        let there = self.travel(chip, home, tile, load, done);
        if check_only {
            self.take_near(core, line, access, time);
        } else {
            self.install(core, line, right, there);
        }
        (there + u64::from(self.machine.first.cycles), !check_only)
    }

    /// A core reads or writes a line of its tile's second cache: its first one has it then.
    pub(crate) fn take_near(&mut self, core: u32, line: u64, access: Access, time: u64) {
        if access == Access::Read {
            self.private.fetch(core, line);
        } else {
            self.write_in_tile(core, line, time);
        }
    }

    /// `core` writes a line that its tile's second cache holds and may write.
    pub(super) fn write_in_tile(&mut self, core: u32, line: u64, time: u64) {
        let Self { private, cores, asleep, .. } = self;
        let mut watchers = 0;
        private.write_through(core, line, |sibling| {
            watchers += u32::from(*asleep > 0 && cores[sibling as usize].spin.watches(line));
        });
        if watchers > 0 {
            self.written_untold(line, time);
        }
    }

    /// Gets a line back from the cluster that owns it: when it is there.
    fn take_from(
        &mut self,
        chip: usize,
        owner: u32,
        (home, at): (u32, At),
        access: Access,
        time: u64,
    ) -> u64 {
        let line = self.chips[chip].directory.line(at);
        let tile = self.cluster_tiles[owner as usize];
        self.timings.transfers += 1;
        let asked = self.travel(chip, home, tile, Load::Head, time);
        let answered = asked + u64::from(self.private.answer_cycles());
        let there = self.travel(chip, tile, home, Load::Line, answered);
        self.chips[chip].directory.forget_all(at);
        // The line comes back whether or not it has been written: its owner may write it untold.
        self.chips[chip].directory.set_dirty(at);
        if access == Access::Read {
            self.private.restate(owner, line, Right::Shared);
            self.chips[chip].directory.share(at, owner);
        } else {
            self.take_away(owner, line);
        }
        there + u64::from(self.machine.shared.cycles)
    }

    /// Takes the copies of all others away: whether the cluster has one itself, and when all are gone. The
    /// messages leave one after the other, a cycle each, and return as they like.
    fn take_from_sharers(
        &mut self,
        chip: usize,
        cluster: u32,
        (home, at): (u32, At),
        time: u64,
    ) -> (bool, u64) {
        let line = self.chips[chip].directory.line(at);
        let (mut held, mut sharers) = (false, Vec::new());
        self.chips[chip].directory.each_sharer(at, |sharer| {
            if sharer == cluster { held = true } else { sharers.push(sharer) }
        });
        let mut gone = time;
        for (sent, sharer) in (0..).zip(sharers) {
            let way = self.chips[chip].network.distance(home, self.cluster_tiles[sharer as usize]);
            self.take_away(sharer, line);
            self.timings.invalidations += 1;
            gone = gone.max(time + sent + 2 * way + u64::from(self.private.answer_cycles()));
        }
        (held, gone)
    }

    /// A line comes to a core; another may have to go, which its home is told.
    pub(super) fn install(&mut self, core: u32, line: u64, right: Right, time: u64) {
        let cluster = self.private.cluster_of(core);
        let gone = if self.private.is_shared() {
            self.install_in_tile(core, line, right, time)
        } else {
            self.private.install(core, line, right)
        };
        let Some((gone, right)) = gone else { return };
        let chip = self.chip_of(core);
        let (mix, home) = self.home_of(chip, gone);
        let directory = &mut self.chips[chip].directory;
        let Some(at) = directory.find(home, mix, gone) else { return };
        directory.forget(at, cluster);
        if right == Right::Modified {
            directory.set_dirty(at);
            let tile = self.cores[core as usize].tile;
            self.travel(chip, tile, home, Load::Line, time);
        }
    }

    /// As [`Timed::install`], for a core whose first cache writes through: the line that goes from the second cache.
    fn install_in_tile(
        &mut self,
        core: u32,
        line: u64,
        right: Right,
        time: u64,
    ) -> Option<(u64, Right)> {
        let (cluster, now) = (self.private.cluster_of(core), self.wheel.now());
        let gone = self.private.install_in_tile(cluster, line, right);
        if let Some((gone, _)) = gone {
            self.leaves_tile(cluster, gone, now);
        }
        if right == Right::Modified {
            self.write_in_tile(core, line, now);
        } else {
            self.private.fetch(core, line);
        }
        let arriving = &mut self.arriving[cluster as usize];
        arriving.retain(|it| it.1 > now);
        arriving.push((line, time));
        gone
    }

    /// `core` asks for a line ahead of use. Where it holds as many as the machine allows it waits for none.
    pub(super) fn ask_ahead(&mut self, core: u32, line: u64, time: u64) {
        let (right, _) = self.private.look(core, line, Access::Read);
        let ahead = &mut self.cores[core as usize].ahead;
        ahead.retain(|it| it.1 > time);
        if right != Right::None || ahead.len() >= self.machine.prefetches as usize {
            return;
        }
        let chip = self.chip_of(core);
        let (mix, home) = self.home_of(chip, line);
        let tile = self.cores[core as usize].tile;
        let arrival = self.travel(chip, tile, home, Load::Head, time);
        let queue = *self.chips[chip].queue(mix);
        if queue.first != NOBODY {
            // Others wait for it already; it would only be taken away again.
            return;
        }
        let begin = arrival.max(queue.until);
        let (done, load, right) = self.give(begin, core, (line, mix, home), Access::Read);
        self.chips[chip].queue(mix).until = done + 1;
        let there = self.travel(chip, home, tile, load, done);
        self.install(core, line, right, there);
        self.timings.misses += 1;
        self.cores[core as usize].ahead.push((line, there));
    }
}
