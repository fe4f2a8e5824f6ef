//! The machine but its cores' programs: requests and their queues, events, counts. What a home does with the copies
//! of its lines is in `coherence`.

use super::chip::{Chip, Queue};
use super::core::{Access, Core, Effect, Event, NOBODY, Post, Request, perform};
use super::network::Load;
use super::posted::Posted;
use super::private::Private;
use super::tags::Right;
use super::wheel::Wheel;
use crate::config::Config;
use crate::description::Description;
use crate::host::Host;
use chiliad_machine::{Machine, Native};

/// Tiles from which on what the next events want is not in the host's own caches any more: it is asked for.
const CROWD: u32 = 128;

/// Lines of a [`Core`], and of what an effect needs on its core's stack.
const CORE_LINES: u32 = 3;
const EFFECT_LINES: u32 = 2;

/// The counts of the memory of a timed run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timings {
    /// Cycles from when what the first core does began to take time until the last core stopped.
    pub cycles: u64,
    /// Lines looked up in the cores' own caches.
    pub accesses: u64,
    /// Of these, requests to a line's home, lines asked for ahead of use included.
    pub misses: u64,
    /// Read-modify-writes among the accesses.
    pub modifications: u64,
    /// Read-modify-writes among the misses.
    pub modifications_missed: u64,
    /// Lines that came from memory.
    pub memory_reads: u64,
    /// Lines taken from another core's cache.
    pub transfers: u64,
    /// Copies taken away for a write.
    pub invalidations: u64,
    /// Times that a core slept through a spin.
    pub naps: u64,
}

/// The machine but its cores' programs.
pub(crate) struct Timed {
    pub(crate) machine: Description,
    pub(super) wheel: Wheel,
    pub(crate) private: Private,
    pub(super) chips: Vec<Chip>,
    pub(crate) cores: Vec<Core>,
    /// By core: until when it is stopped; and the last of these times.
    pub(super) held: Vec<u64>,
    pub(super) held_until: u64,
    /// Of all chips.
    pub(super) tiles: u32,
    /// By cluster: its tile.
    pub(super) cluster_tiles: Vec<u32>,
    /// Events that are no core's: see [`Timed::post`].
    pub(super) posted: Posted,
    /// With task units, the lines that tiles have lost since those were told, each after its tile.
    pub(crate) lost: Option<Vec<(u32, u64)>>,
    /// By cluster, where cores share a second cache: lines on their way there, and when they arrive.
    pub(super) arriving: Vec<Vec<(u64, u64)>>,
    /// Cores that spin sleep.
    naps: bool,
    /// How many do.
    pub(super) asleep: u32,
    /// When what a core does was first told to take time.
    begun: Option<u64>,
    salt: u64,
    pub(crate) timings: Timings,
    /// Mixed from every event.
    pub(crate) digest: u64,
}

impl Timed {
    /// A machine whose cores have these posts and hosts: a chip for each host.
    pub(crate) fn new(
        machine: &Description,
        posts: &[Post],
        hosts: &[Host],
        config: &Config,
    ) -> Self {
        let mut timed = Self {
            wheel: Wheel::new(),
            private: Private::new(machine),
            chips: Vec::new(),
            cores: Vec::with_capacity(posts.len()),
            held: Vec::with_capacity(posts.len()),
            held_until: 0,
            tiles: 0,
            cluster_tiles: Vec::new(),
            arriving: Vec::new(),
            posted: Posted::default(),
            lost: None,
            naps: config.naps,
            asleep: 0,
            begun: None,
            salt: mix(config.seed),
            timings: Timings::default(),
            digest: 0,
            machine: machine.clone(),
        };
        let places = posts.iter().zip(hosts);
        for &host in hosts {
            let cores = places.clone().filter(|&it| it == (&Post::Tile, &host)).count();
            let cores = cores.max(1) as u32;
            timed.chip_for(host, cores.div_ceil(machine.cores_per_tile()));
        }
        places.for_each(|(&post, &host)| timed.add_core(post, host));
        timed
    }

    /// The rights of `core` to a line, in how many cycles it knows, and from when on the line is there.
    #[inline]
    pub(crate) fn look(&mut self, core: u32, line: u64, access: Access) -> (Right, u32, u64) {
        let (right, cycles) = self.private.look(core, line, access);
        let ahead = if self.private.is_shared() {
            &self.arriving[self.private.cluster_of(core) as usize]
        } else {
            &self.cores[core as usize].ahead
        };
        if ahead.is_empty() || right == Right::None {
            return (right, cycles, 0);
        }
        let there = ahead.iter().find(|it| it.0 == line).map_or(0, |it| it.1);
        (right, cycles, there)
    }

    /// `core` reads or writes a line that it may, at `time`.
    #[inline]
    pub(crate) fn hit(&mut self, core: u32, line: u64, right: Right, access: Access, time: u64) {
        self.timings.accesses += 1;
        if self.private.is_shared() {
            self.hit_in_tile(core, line, access, time);
            return;
        }
        let spin = &mut self.cores[core as usize].spin;
        if access == Access::Read {
            spin.read(line);
            return;
        }
        spin.act();
        self.timings.modifications += u64::from(access == Access::Modify);
        if right != Right::Modified {
            self.private.modify(core, line);
        }
    }

    /// As [`Timed::hit`], for a core whose first cache writes through.
    fn hit_in_tile(&mut self, core: u32, line: u64, access: Access, time: u64) {
        if access == Access::Read {
            if self.private.is_near(core, line) {
                self.cores[core as usize].spin.read(line);
                return;
            }
            // It took longer than it will the next time.
            self.acts(core);
            self.private.fetch(core, line);
            return;
        }
        self.acts(core);
        self.timings.modifications += u64::from(access == Access::Modify);
        self.write_in_tile(core, line, time);
    }

    /// `core` does something that may come out differently the next time.
    pub(crate) fn acts(&mut self, core: u32) {
        self.cores[core as usize].spin.act();
    }

    /// `core` pauses: whether it sleeps.
    pub(super) fn pauses(&mut self, core: u32, time: u64, steady: bool) -> bool {
        let it = &mut self.cores[core as usize];
        let sleeps = it.spin.pause(time, steady, self.naps && !it.has_guests);
        self.timings.naps += u64::from(sleeps);
        self.asleep += u32::from(sleeps);
        sleeps
    }

    /// `core` does not go on for now.
    #[inline]
    pub(super) fn stops(&mut self, core: u32, time: u64) {
        let it = &mut self.cores[core as usize];
        let taken = time.saturating_sub(it.resumed);
        it.resumed = time;
        if let Some(host) = it.guest_of {
            self.cores[host as usize].owed += taken;
        }
        if !self.cores[core as usize].free {
            let cycles = time.saturating_sub(self.begun.unwrap_or(0));
            self.timings.cycles = self.timings.cycles.max(cycles);
        }
    }

    /// When the last core stopped whose operations take time.
    pub(crate) fn last(&self) -> u64 {
        self.begun.unwrap_or(0) + self.timings.cycles
    }

    /// Switches whether the operations of `core` take time from `time` on.
    pub(super) fn clock(&mut self, core: u32, time: u64, on: bool) {
        let it = &mut self.cores[core as usize];
        it.resumed = time;
        it.free = !on;
        if on {
            self.begun.get_or_insert(time);
        }
    }

    /// `core` goes on at `time`, or when it has got back what guests took: when.
    #[inline]
    pub(super) fn goes_on(&mut self, core: u32, time: u64) -> u64 {
        let it = &mut self.cores[core as usize];
        let time = time + std::mem::take(&mut it.owed);
        it.resumed = time;
        time
    }

    #[inline]
    pub(crate) fn chip_of(&self, core: u32) -> usize {
        self.cores[core as usize].chip as usize
    }

    /// The mix of a line's number, and its home on a chip.
    #[inline]
    pub(super) fn home_of(&self, chip: usize, line: u64) -> (u64, u32) {
        let mix = mix(line ^ self.salt);
        (mix, self.chips[chip].home_of(self.machine.homes, line, mix))
    }

    /// The tile in the middle of a chip.
    pub(crate) fn centre(&self, chip: usize) -> u32 {
        self.chips[chip].centre()
    }

    /// Cycles between two tiles of a chip where nothing is in the way.
    pub(crate) fn distance(&self, chip: usize, from: u32, to: u32) -> u64 {
        self.chips[chip].network.distance(from, to)
    }

    /// A message between two tiles of a chip: when it has arrived.
    #[inline]
    pub(crate) fn travel(&mut self, chip: usize, from: u32, to: u32, load: Load, time: u64) -> u64 {
        self.chips[chip].network.travel(from, to, load, time)
    }

    /// `core` sends a request at `time`, which is performed by `effect` when the home serves it.
    pub(crate) fn send(
        &mut self,
        core: u32,
        line: u64,
        access: Access,
        time: u64,
        effect: Option<Effect>,
    ) {
        let chip = self.chip_of(core);
        let (mix, home) = self.home_of(chip, line);
        let it = &mut self.cores[core as usize];
        let place = &mut self.chips[chip];
        place.prefetch(home, mix);
        let arrival = place.network.travel(it.tile, home, Load::Head, time);
        let tracked = None;
        it.request = Request { line, mix, home, access, tracked, effect, further: None };
        it.event = Event::Arrive;
        it.spin.act();
        self.timings.accesses += 1;
        self.timings.misses += 1;
        self.timings.modifications += u64::from(access == Access::Modify);
        self.timings.modifications_missed += u64::from(access == Access::Modify);
        self.wheel.push(arrival, core);
        if let Some(victim) = self.private.victim(core, line) {
            let (mix, home) = self.home_of(chip, victim);
            self.chips[chip].directory.prefetch(home, mix);
        }
    }

    /// `core` goes on at `time`.
    pub(crate) fn resume_at(&mut self, time: u64, core: u32) {
        let it = &mut self.cores[core as usize];
        it.event = Event::Resume;
        if it.spin.is_idle() {
            self.wheel.push_last(time, core);
        } else {
            self.wheel.push(time, core);
        }
    }

    /// Takes the first event; a core that goes on, and when.
    pub(super) fn step(&mut self) -> Option<Step> {
        let (time, core) = self.wheel.pop()?;
        if self.tiles >= CROWD {
            self.prefetch();
        }
        self.digest =
            (self.digest ^ time ^ u64::from(core) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.posted.is_message(core) {
            return Some(Step::Message(time, self.posted.take(core)));
        }
        let tracked = self.cores[core as usize].request.tracked.is_some();
        match self.cores[core as usize].event {
            Event::Resume if time < self.held_until && time < self.held[core as usize] => {
                self.resume_at(self.held[core as usize], core);
            }
            Event::Resume => return Some(self.go_further(time, core)),
            Event::Arrive if tracked => {
                return Some(match self.joins_queue(time, core) {
                    true => Step::Served,
                    false => Step::Tracked(time, core, false),
                });
            }
            Event::Turn if tracked => return Some(Step::Tracked(time, core, true)),
            Event::Arrive => self.arrive(time, core),
            Event::Turn => {
                self.serve(time, core);
                self.next_turn(core);
            }
            Event::Count => self.count(time, core),
            Event::Nothing => {
                self.cores[core as usize].event = Event::Resume;
                return Some(Step::Rested(time, core));
            }
            Event::Pass => {
                self.next_turn(core);
                self.cores[core as usize].event = Event::Resume;
                return Some(Step::Rested(time, core));
            }
        }
        Some(Step::Served)
    }

    /// Asks the host for what the next event wants, and for the core of the one after it.
    #[inline]
    fn prefetch(&self) {
        let [first, second] = self.wheel.ahead();
        if let Some(second) = second {
            Native::prefetch((&raw const self.cores[second as usize]).cast(), CORE_LINES);
        }
        let Some(first) = first else { return };
        let Core { event, ref request, stack, .. } = self.cores[first as usize];
        match event {
            Event::Resume => stack.prefetch(),
            Event::Arrive | Event::Turn => {
                self.chips[self.chip_of(first)].prefetch(request.home, request.mix);
                self.private.prefetch(first, request.line);
                if let Some(effect) = request.effect {
                    Native::prefetch(effect.cast_const().cast(), EFFECT_LINES);
                }
            }
            Event::Count | Event::Nothing | Event::Pass => {}
        }
    }

    /// A core has been answered: it goes on, or its access does with the next line.
    fn go_further(&mut self, time: u64, core: u32) -> Step {
        let request = &mut self.cores[core as usize].request;
        let (access, effect) = (request.access, request.effect);
        let Some(line) = request.further else { return Step::Resume(time, core) };
        let (right, cycles, there) = self.look(core, line, access);
        let time = time.max(there);
        if !access.is_answered_by(right) {
            self.send(core, line, access, time + u64::from(cycles), effect);
            return Step::Served;
        }
        self.hit(core, line, right, access, time);
        let further = effect.and_then(perform);
        self.cores[core as usize].request.further = further;
        self.wheel.push(time + u64::from(cycles), core);
        Step::Served
    }

    pub(super) fn queue(&mut self, core: u32) -> &mut Queue {
        let (mix, chip) = (self.cores[core as usize].request.mix, self.chip_of(core));
        self.chips[chip].queue(mix)
    }

    fn arrive(&mut self, time: u64, core: u32) {
        if !self.joins_queue(time, core) {
            self.serve(time, core);
        }
    }

    /// Whether the home is busy with other requests for a line that `core` asks for: then its turn comes.
    fn joins_queue(&mut self, time: u64, core: u32) -> bool {
        let queue = *self.queue(core);
        if queue.first == NOBODY && queue.until <= time {
            return false;
        }
        self.cores[core as usize].event = Event::Turn;
        self.cores[core as usize].behind = NOBODY;
        self.queue(core).last = core;
        if queue.first == NOBODY {
            self.queue(core).first = core;
            self.wheel.push(queue.until, core);
        } else {
            self.cores[queue.last as usize].behind = core;
        }
        true
    }

    /// Posts an event that is no core's, whose number [`Step::Message`] will have.
    pub(crate) fn post(&mut self, time: u64, number: u32) {
        let cores = self.cores.len() as u32;
        let (id, fresh) = self.posted.add(cores, number);
        if fresh {
            self.wheel.add_core();
        }
        self.wheel.push(time, id);
    }

    /// The turn passes from `core`, which has been served, to its successor in the queue.
    pub(crate) fn next_turn(&mut self, core: u32) {
        let next = self.cores[core as usize].behind;
        let queue = self.queue(core);
        queue.first = next;
        let until = queue.until;
        if next == NOBODY {
            queue.last = NOBODY;
        } else {
            self.wheel.push(until, next);
        }
    }

    /// The home serves a core's request.
    fn serve(&mut self, time: u64, core: u32) {
        let Request { line, mix, home, access, effect, .. } = self.cores[core as usize].request;
        let (done, load, right) = self.give(time, core, (line, mix, home), access);
        self.queue(core).until = done + 1;
        self.cores[core as usize].request.further = effect.and_then(perform);
        let tile = self.cores[core as usize].tile;
        let there = self.travel(self.chip_of(core), home, tile, load, done);
        self.install(core, line, right, there);
        self.resume_at(there + u64::from(self.machine.first.cycles), core);
        self.cores[core as usize].stack.prefetch();
    }

    /// Wakes `core`, if it sleeps through a spin, as of `time`.
    pub(super) fn rouse(&mut self, core: u32, time: u64) {
        if let Some(looks) = self.cores[core as usize].spin.rouse(time) {
            self.asleep -= 1;
            self.resume_at(looks, core);
        }
    }

    /// A core whose doings take no time writes to a line, and takes it from no other: cores that sleep until they
    /// lose the line look again.
    #[inline]
    pub(super) fn written_untold(&mut self, line: u64, time: u64) {
        if self.asleep > 0 {
            for core in 0..self.cores.len() as u32 {
                if self.cores[core as usize].spin.watches(line) {
                    self.rouse(core, time);
                }
            }
        }
    }

    /// When a sleeper on core `to` runs that core `from` wakes. Between two chips the word is there at once: what
    /// joins hosts, and how slowly, is up to the program.
    pub(super) fn wakes(&mut self, from: u32, to: u32, time: u64) -> u64 {
        if self.cores[from as usize].free {
            return time;
        }
        let (from, to) = (&self.cores[from as usize], &self.cores[to as usize]);
        let there = if from.chip == to.chip {
            let (chip, from, to) = (from.chip as usize, from.tile, to.tile);
            self.travel(chip, from, to, Load::Head, time)
        } else {
            time
        };
        there + u64::from(self.machine.waiting.wake)
    }

    /// The counter in the middle adds one, in no time.
    pub(super) fn count_now(&mut self, core: u32) -> u64 {
        let chip = self.chip_of(core);
        self.chips[chip].counted += 1;
        self.chips[chip].counted
    }

    /// `core` sends a request to the counter in the middle.
    pub(super) fn send_count(&mut self, core: u32, time: u64) {
        let (tile, chip) = (self.cores[core as usize].tile, self.chip_of(core));
        let there = self.travel(chip, tile, self.chips[chip].centre(), Load::Head, time);
        self.cores[core as usize].event = Event::Count;
        self.wheel.push(there, core);
    }

    /// The counter in the middle adds one for `core`, one request a cycle.
    fn count(&mut self, time: u64, core: u32) {
        let (tile, chip) = (self.cores[core as usize].tile, self.chip_of(core));
        let done = self.chips[chip].counter.take(0, time, 4) + 1;
        self.cores[core as usize].counted = self.count_now(core);
        let there = self.travel(chip, self.chips[chip].centre(), tile, Load::Head, done);
        self.resume_at(there, core);
    }
}

/// The result of one event.
pub(super) enum Step {
    /// A core goes on at a time.
    Resume(u64, u32),
    /// A home has done something.
    Served,
    /// A message that was posted with this number has come.
    Message(u64, u32),
    /// A home is to serve a task's request, whose turn in a queue it was (`true`).
    Tracked(u64, u32, bool),
    /// Nothing is under way any more of what the program of a core that was stopped for good had asked for.
    Rested(u64, u32),
}

/// A number whose every bit depends on all bits of `line`.
#[inline]
fn mix(line: u64) -> u64 {
    let mut mixed = line.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 32;
    mixed = mixed.wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}
