//! Any program leaves the memory that the serial runtime leaves.

use super::kit::{config, contents, words};
use chiliad_machine::tasks::{FunctionId, LinePool, Program, Serial, Task, Tasks, Ties};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_simulator::description::{Cache, Description, TaskUnits};
use chiliad_simulator::{
    Aborts, Canary, CommitEntry, Outcome, Place, Run, SetKind, Sim, SimWord, TASK_FAULTS,
    TaskOptions,
};
use std::collections::BTreeSet;

/// Lines that all tasks share.
const LINES: usize = 24;

/// A number that looks random.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// Tasks that read, write, add, copy, and link lines of their own here and there, as numbers drawn from their words say,
/// and from what they have read.
struct Mixture<'w> {
    words: &'w [SimWord],
    /// Links to lines that tasks have obtained: what they hold differs from run to run.
    boxes: &'w [SimWord],
    /// Reads and writes at most.
    steps: u64,
    /// One step in so many does odd things if what it has read is odd.
    traps: bool,
}

impl Mixture<'_> {
    fn at(&self, place: u64) -> &SimWord {
        &self.words[place as usize % self.words.len()]
    }

    fn step<T: Tasks<Machine = Sim>>(&self, tasks: &T, seen: u64, drawn: u64) -> u64 {
        let at = self.at(drawn >> 8);
        match drawn % 8 {
            0 | 1 => at.load(Ordering::Relaxed),
            2 | 3 => {
                at.store(seen ^ drawn, Ordering::Relaxed);
                seen
            }
            4 => at.fetch_add(drawn >> 32, Ordering::Relaxed),
            5 => {
                let (mut bytes, from) = ([0; 40], (drawn >> 8) as usize % (self.words.len() - 16));
                SimWord::read_bytes(&self.words[from..from + 5], &mut bytes);
                bytes[0] ^= seen as u8;
                SimWord::write_bytes(&self.words[from + 8..from + 13], &bytes);
                u64::from(bytes[9])
            }
            6 => {
                Sim::work(chiliad_machine::Cost::ALL[0], (drawn >> 40) as u32 % 200);
                seen
            }
            _ => self.with_box(tasks, seen, drawn),
        }
    }

    /// Looks into one of a few lines that tasks obtain, hand on to each other, and give back.
    fn with_box<T: Tasks<Machine = Sim>>(&self, tasks: &T, seen: u64, drawn: u64) -> u64 {
        let link = &self.boxes[(drawn >> 8) as usize % 4 * 8];
        let held = link.load(Ordering::Relaxed);
        if held == 0 {
            let Some(block) = tasks.alloc(1) else { return seen };
            // SAFETY: the block has eight words, and is this task's.
            unsafe { block.add(1).as_ref() }.fetch_add(drawn, Ordering::Relaxed);
            link.store(block.as_ptr().expose_provenance() as u64, Ordering::Relaxed);
            return seen;
        }
        let held = std::ptr::with_exposed_provenance_mut::<SimWord>(held as usize);
        let Some(block) = std::ptr::NonNull::new(held) else { return seen };
        // SAFETY: links lead to blocks of eight words, some of which are free by now.
        let found = unsafe { block.add(1).as_ref() }.load(Ordering::Relaxed);
        if drawn >> 16 & 1 == 0 {
            link.store(0, Ordering::Relaxed);
            // SAFETY: taken as one line by whoever put it there; the link to it is gone.
            unsafe { tasks.free(block, 1) };
        }
        seen ^ found
    }
}

impl<T: Tasks<Machine = Sim>> Program<T> for Mixture<'_> {
    fn name(&self, _: FunctionId) -> &'static str {
        "mixture"
    }

    fn run(&self, tasks: &T, task: &Task) {
        let (own, mut seen) = (task.word(0), task.word(1));
        let steps = 1 + mix(own) % self.steps;
        for step in 0..steps {
            let drawn = mix(own ^ step << 32 ^ seen << 1);
            seen = self.step(tasks, seen, drawn);
            if self.traps && seen == 0x5eed {
                tasks.trap("a value that no serial run shows");
            }
        }
        // Every timestamp is one task's: the result depends on the order of timestamps alone.
        let (depth, span) = (task.word(2), task.word(3));
        if depth > 0 {
            let children = 1 + mix(own ^ 7) % 8;
            let part = span / 9;
            for child in 1..=children {
                let words = [mix(own ^ child), seen, depth - 1, part];
                tasks.enqueue(task.function, task.timestamp + child * part, &words, Some(child));
            }
        }
        self.at(own).fetch_add(mix(seen), Ordering::Relaxed);
    }
}

/// The first tasks of a program of this seed.
fn first(seed: u64) -> Vec<Task> {
    let span = 9 * 9 * 9;
    let count = 1 + mix(seed) % 12;
    (0..count)
        .map(|at| {
            let depth = mix(seed ^ at) % 3;
            let words = [mix(seed ^ at << 8), 0, depth, span];
            Task::new(FunctionId(0), at * span * 2, &words, None).expect("four words")
        })
        .collect()
}

/// A small machine, which differs from seed to seed: queues of a few entries, caches of a few lines.
fn machine(seed: u64) -> (Description, usize, TaskOptions) {
    let draw = |what: u64, of: u64| mix(seed ^ what << 20) % of;
    let cores_per_tile = [1, 2, 4][draw(1, 3) as usize];
    let cores = 1 + draw(2, 16) as usize;
    let tasks = TaskUnits {
        queue: [4, 6, 16, 64][draw(3, 4) as usize].max(4 / cores_per_tile + 1),
        commit_queue: [1, 2, 4, 16][draw(4, 4) as usize],
        gvt_period: [50, 200, 1000][draw(5, 3) as usize],
        filter_way_bits: [8, 64, 256][draw(6, 3) as usize],
        ..TaskUnits::YAN
    };
    let small = draw(7, 2) == 0;
    let cache = |bytes, ways, cycles| Cache { bytes, ways, cycles };
    let machine = Description {
        tasks: Some(tasks),
        first: if small { cache(64 * 4, 2, 2) } else { cache(64 * 64, 4, 2) },
        second: Some(if small { cache(64 * 8, 2, 7) } else { cache(64 * 512, 8, 7) }),
        shared: if draw(8, 3) == 0 { cache(64 * 16, 4, 9) } else { cache(1 << 16, 16, 9) },
        ..Description::tiled(cores_per_tile)
    };
    let options = TaskOptions {
        sets: if draw(9, 2) == 0 { SetKind::Precise } else { SetKind::Bloom },
        aborts: if draw(10, 4) == 0 { Aborts::All } else { Aborts::Selective },
        canary: if draw(12, 3) == 0 { Canary::Line } else { Canary::Set },
        commit_entry: if draw(13, 3) == 0 { CommitEntry::Dequeue } else { CommitEntry::Finish },
        place: if draw(11, 3) == 0 { Place::Hint } else { Place::Random },
        ..TaskOptions::default()
    };
    (machine, cores, options)
}

/// What a program of this seed leaves on the serial runtime.
fn serial(seed: u64) -> (Vec<u64>, u64) {
    let run = Run::new(config(Description::tiled(4), seed));
    let (words, boxes) = (words(&run, LINES), words(&run, 4));
    let ran = run.outside(|| {
        let pool = LinePool::default();
        let program = Mixture { words, boxes, steps: 12, traps: true };
        Serial::new(&pool, Ties::Creation).run(&program, first(seed)).expect("no violation")
    });
    (contents(&run, words), ran)
}

/// The same on task units.
fn speculative(
    seed: u64,
    audit: bool,
    fault: Option<&'static chiliad_machine::Fault>,
) -> (Outcome, Vec<u64>) {
    let (machine, cores, options) = machine(seed);
    let options = TaskOptions { audit, ..options };
    let mut run = Run::new(chiliad_simulator::Config { fault, ..config(machine, seed) });
    let (words, boxes) = (words(&run, LINES), words(&run, 4));
    let pool = run.outside(LinePool::default);
    let program = Mixture { words, boxes, steps: 12, traps: true };
    let outcome = run.go_tasks(cores, &pool, &program, &first(seed), options);
    run.outside(|| drop(pool));
    (outcome, contents(&run, words))
}

#[test]
fn random_programs_leave_what_the_serial_runtime_leaves() {
    let mut marks = BTreeSet::new();
    for seed in 0..300 {
        let (outcome, found) = speculative(seed, true, None);
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        let (expected, ran) = serial(seed);
        assert_eq!(found, expected, "seed {seed}");
        let tasks = outcome.tasks.expect("a run of tasks");
        assert_eq!(tasks.committed, ran, "seed {seed}");
        assert_eq!(tasks.made, tasks.committed + tasks.squashed, "seed {seed}");
        let time = tasks.core_time;
        assert!(time.committed > 0 && time.total() > 0, "seed {seed}: {time:?}");
        marks.extend(outcome.marks);
    }
    for mark in [
        "abort of eight tasks or more",
        "core taken from a later task",
        "entry of the commit queue taken from a later task",
        "task refused by a full queue",
        "task waited for an entry of the commit queue",
        "tasks came back from memory",
        "tasks went to memory",
    ] {
        assert!(marks.contains(mark), "never happened: {mark}; {marks:?}");
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in 0..10 {
        let ((first, _), (second, _)) =
            (speculative(seed, false, None), speculative(seed, false, None));
        assert_eq!(first.trace_hash, second.trace_hash);
        assert_eq!(first.tasks, second.tasks);
        assert_eq!(first.timings, second.timings);
    }
}

#[test]
fn every_planted_bug_is_caught() {
    let mut missed = Vec::new();
    for (fault, audit) in TASK_FAULTS.iter().flat_map(|it| [(it, false), (it, true)]) {
        let caught = (0..u64::from(fault.seeds)).any(|seed| {
            let (outcome, found) = speculative(seed, audit, Some(fault));
            !outcome.verdict.is_completed() || found != serial(seed).0
        });
        if !caught {
            missed.push((fault.name, audit));
        }
    }
    assert!(missed.is_empty(), "never caught: {missed:?}");
}
