//! What the tests share: machines, lines by their home, distances.

use chiliad_machine::{Class, Cost, Machine, Ordering, Word};
use chiliad_simulator::description::{Description, Homes, Slack};
use chiliad_simulator::{Config, Host, Outcome, Run, Sim, SimWord, stopping};
use std::alloc::Layout;
use std::cell::RefCell;
use std::rc::Rc;

/// Words of a line.
pub const WORDS: usize = 8;

/// A mesh whose cores' reads do not run ahead, and whose lines' homes are known.
pub fn mesh() -> Description {
    Description { slack: Slack::of(0), homes: Homes::Modulo, ..Description::mesh() }
}

pub fn config(machine: Description, seed: u64) -> Config {
    let region_bytes = 64 << 20;
    Config { machine: Some(machine), region_bytes, stack_bytes: 64 << 10, ..Config::new(seed) }
}

/// So many fresh lines, each by its first word, whose home is tile `home` of `tiles`.
pub fn lines_at(run: &Run, home: usize, tiles: usize, count: usize) -> Vec<&'static SimWord> {
    let all = lines(run, tiles * count);
    let homes = |line: &&SimWord| Sim::address(std::ptr::from_ref(*line).cast()) / 64;
    run.outside(|| {
        all.into_iter().filter(|line| homes(line) % tiles as u64 == home as u64).collect()
    })
}

/// So many fresh lines side by side, each by its first word.
pub fn lines(run: &Run, count: usize) -> Vec<&'static SimWord> {
    lines_of(run, Host(0), count)
}

/// As [`lines`], for the cores of a host.
pub fn lines_of(run: &Run, host: Host, count: usize) -> Vec<&'static SimWord> {
    run.outside_on(host, || {
        let layout = Layout::from_size_align(64 * count, 64).expect("a small array");
        let block = Sim::alloc(layout, Class::Control).expect("room").cast::<SimWord>();
        // SAFETY: the block is ours, large enough, and lives as long as the run; no test keeps the
        // words longer than that.
        unsafe {
            for word in 0..count * WORDS {
                block.add(word).write(SimWord::new(0));
            }
            (0..count).map(|line| &*block.add(line * WORDS).as_ptr()).collect()
        }
    })
}

/// What each of `tiles` cores does with one line at `home`, by its number: how that went, and what they noted.
pub fn at_one_line<T: 'static>(
    tiles: usize,
    home: usize,
    body: impl Fn(usize, &SimWord, &Notes<T>) + Copy + 'static,
) -> (Outcome, Vec<T>) {
    let mut run = Run::new(config(mesh(), 1));
    let line = lines_at(&run, home, tiles, 1)[0];
    let notes = Notes::new();
    for core in 0..tiles {
        let notes = notes.clone();
        run.spawn(format!("core {core}"), move || body(core, line, &notes));
    }
    let outcome = complete(&mut run);
    (outcome, notes.take())
}

/// Cycles of a message's head between two tiles of a mesh of `tiles`.
pub fn way(tiles: usize, from: usize, to: usize) -> u64 {
    let width = (1..).find(|width| width * width >= tiles).expect("a square");
    let hops = (from % width).abs_diff(to % width) + (from / width).abs_diff(to / width);
    2 * hops as u64
}

/// The same for a message with a line: eight flits behind the head, unless nothing travels.
pub fn way_of_line(tiles: usize, from: usize, to: usize) -> u64 {
    if from == to { 0 } else { way(tiles, from, to) + 8 }
}

/// Results of cores, in the order in which they came.
pub struct Notes<T>(Rc<RefCell<Vec<T>>>);

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Notes<T> {
    pub fn new() -> Self {
        Self(Rc::default())
    }

    pub fn note(&self, result: T) {
        self.0.borrow_mut().push(result);
    }

    pub fn take(&self) -> Vec<T> {
        self.0.take()
    }
}

/// Sleeps until `time`, which has not come yet.
pub fn wait_until(time: u64) {
    assert!(Sim::now() < time, "the test's times are too close");
    while Sim::now() < time {
        Sim::park_until(time);
    }
}

/// Cycles that `what` takes.
pub fn timed(what: impl FnOnce()) -> u64 {
    let before = Sim::now();
    what();
    // The look at the clock takes one itself.
    Sim::now() - before - 1
}

pub fn read(word: &SimWord) {
    word.load(Ordering::Acquire);
}

pub fn write(word: &SimWord) {
    word.store(1, Ordering::Release);
}

/// Runs to the end, which must be a good one.
pub fn complete(run: &mut Run) -> Outcome {
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    outcome
}

/// Adds cores that do nothing, so that the machine has its tiles.
pub fn idle(run: &mut Run, cores: std::ops::Range<usize>) {
    for core in cores {
        run.spawn(format!("idle {core}"), || {});
    }
}

/// Adds background work of so many units in each period of so many cycles.
pub fn background(run: &mut Run, work: u32, period: u64) {
    run.spawn_daemon("background", move || {
        let mut next = 0;
        while !stopping() {
            Sim::work(Cost::ALL[0], work);
            next += period;
            Sim::park_until(next);
        }
    });
}
