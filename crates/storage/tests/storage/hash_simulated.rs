//! The hash index on simulated cores: many schedules, both memory models, and the planted bugs.
//!
//! Each key belongs to one core, which alone inserts and unlinks it; the others look it up and
//! compare with what they can know. What a core knows of another's key lies outside the simulated
//! memory and is written between fences, so that it never runs ahead of the index.

use crate::schedules::config;
use chiliad_machine::{Fault, Machine, Ordering, Shared};
use chiliad_simulator::{Config, Outcome, Run, Sim, Verdict};
use chiliad_storage::Seen;
use chiliad_storage::index::hash::faults;
use chiliad_storage::{Found, HashIndex, Heap, Inserted, Kind, LocalHeap, NoHooks, RecordRef};
use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

const CORES: usize = 4;

/// The knowledge about one key.
#[derive(Default)]
struct Known {
    record: Cell<Option<RecordRef<Sim>>>,
    /// Odd while the owner changes it.
    epoch: Cell<u64>,
    /// Insertions that have ended.
    insertions: Cell<u64>,
}

/// State shared by the cores of a run.
struct World {
    index: HashIndex<Sim>,
    heap: Arc<Shared<Sim, Heap<Sim>>>,
    keys: Vec<Known>,
    /// Of so many keys one is never unlinked.
    stable: usize,
}

fn key(number: usize) -> Vec<u8> {
    match number % 3 {
        0 => (number as u64).to_be_bytes().to_vec(),
        1 => format!("{number:>20}").into_bytes(),
        _ => (number as u16).to_be_bytes().to_vec(),
    }
}

fn value(record: RecordRef<Sim>) -> u64 {
    let mut bytes = [0; 8];
    record.read(&mut bytes);
    u64::from_le_bytes(bytes)
}

struct Worker {
    world: Rc<World>,
    heap: LocalHeap<Sim>,
    number: usize,
    /// Absent look-ups: the key, its insertions by then, and what testifies.
    absent: Vec<(usize, u64, Seen<Sim>)>,
}

impl Worker {
    fn new(world: &Rc<World>, number: usize) -> Self {
        let heap = LocalHeap::new(&world.heap).expect("a slot");
        Self { world: Rc::clone(world), heap, number, absent: Vec::new() }
    }

    fn insert(&mut self, number: usize) {
        let world = Rc::clone(&self.world);
        let known = &world.keys[number];
        let record = self.heap.alloc_record(Kind::Record, 8).expect("memory");
        record.write(&(number as u64).to_le_bytes());
        known.epoch.set(known.epoch.get() + 1);
        self.heap.pin();
        let mut changes = Vec::new();
        let done =
            world.index.insert(&mut self.heap, &key(number), record, &mut NoHooks, &mut changes);
        self.heap.unpin();
        assert!(matches!(done, Ok(Inserted::Yes)), "a ghost of key {number}");
        Sim::fence(Ordering::SeqCst);
        known.record.set(Some(record));
        known.insertions.set(known.insertions.get() + 1);
        known.epoch.set(known.epoch.get() + 1);
    }

    fn unlink(&mut self, number: usize, record: RecordRef<Sim>) {
        let world = Rc::clone(&self.world);
        let known = &world.keys[number];
        known.epoch.set(known.epoch.get() + 1);
        self.heap.pin();
        let (heap, mut agree) = (&mut self.heap, |_: &chiliad_storage::Guard<Sim>| true);
        let taken = world.index.unlink(heap, &key(number), record, &mut NoHooks, &mut agree);
        assert!(taken, "lost key {number}");
        // SAFETY: unlinked during this pin, by its only owner.
        unsafe { self.heap.retire_record(Kind::Record, record) };
        self.heap.unpin();
        self.heap.reclaim_now();
        Sim::fence(Ordering::SeqCst);
        known.record.set(None);
        known.epoch.set(known.epoch.get() + 1);
    }

    fn look_up(&mut self, number: usize) {
        let known = &self.world.keys[number];
        let (epoch, expected) = (known.epoch.get(), known.record.get());
        self.heap.pin();
        let found = self.world.index.get(&self.heap, &key(number));
        let quiet = epoch.is_multiple_of(2) && known.epoch.get() == epoch;
        match found {
            Found::Record(record) => {
                let value = value(record);
                assert_eq!(value, number as u64, "another key than {number}");
                assert!(!quiet || expected == Some(record), "a ghost of key {number}");
            }
            Found::Absent(seen) => {
                assert!(!quiet || expected.is_none(), "lost key {number}");
                self.absent.push((number, known.insertions.get(), seen));
            }
        }
        self.heap.unpin();
    }

    /// A reader that saw a key absent must be able to notice that it came.
    fn check_absent(&mut self) {
        let keys = &self.world.keys;
        self.absent.retain(|(number, insertions, seen)| {
            let came = keys[*number].insertions.get() > *insertions;
            let holds = seen.holds();
            assert!(!(came && holds), "a phantom of key {number}");
            holds
        });
    }

    fn walk(&self) {
        let mut seen = HashSet::new();
        let stable: Vec<_> = (0..self.world.keys.len())
            .filter(|it| {
                it.is_multiple_of(self.world.stable) && self.world.keys[*it].insertions.get() > 0
            })
            .collect();
        self.heap.pin();
        self.world.index.walk(&self.heap, |bytes, record| {
            let number = value(record);
            assert_eq!(bytes, key(number as usize), "another key walked");
            assert!(seen.insert(number), "walked twice");
        });
        self.heap.unpin();
        assert!(stable.iter().all(|&it| seen.contains(&(it as u64))), "lost from a walk");
    }

    fn act(&mut self) {
        let count = self.world.keys.len();
        let number = Sim::random() as usize % count;
        let own = number / CORES * CORES + self.number;
        match Sim::random() % 16 {
            0..8 if own < count => match self.world.keys[own].record.get() {
                None => self.insert(own),
                Some(record) if !own.is_multiple_of(self.world.stable) => self.unlink(own, record),
                Some(_) => self.look_up(own),
            },
            15 if number.is_multiple_of(4) => self.walk(),
            _ => self.look_up(number),
        }
        self.check_absent();
    }
}

fn run(config: Config, count: usize, rounds: usize) -> Outcome {
    let planted = config.fault.is_some();
    let stable = if config.seed.is_multiple_of(5) { usize::MAX } else { 3 };
    let mut run = Run::new(config);
    let world = run.outside(|| {
        let heap = Heap::<Sim>::new(u64::MAX);
        let index = HashIndex::new(&heap, 0).expect("memory");
        let keys = (0..count).map(|_| Known::default()).collect();
        Rc::new(World { index, heap, keys, stable })
    });
    for number in 0..CORES {
        let world = Rc::clone(&world);
        run.spawn(format!("core {number}"), move || {
            // A core that unwinds cannot wait, so what a failed assertion leaves behind stays.
            let mut worker = ManuallyDrop::new(Worker::new(&world, number));
            for _ in 0..rounds {
                worker.act();
            }
            drop(ManuallyDrop::into_inner(worker));
        });
    }
    let outcome = run.go();
    run.outside(|| {
        // A planted bug is to be noticed by the cores that run beside it.
        if outcome.verdict.is_completed() && !planted {
            let mut worker = Worker::new(&world, 0);
            (0..count).for_each(|number| worker.look_up(number));
        }
        drop(world);
    });
    outcome
}

fn shaped(seed: u64, fault: Option<&'static Fault>) -> Outcome {
    run(config(seed, fault), [20, 60, 240][(seed / 6 % 3) as usize], 60)
}

#[test]
fn many_schedules_pass_and_reach_the_rare_branches() {
    let mut marks = BTreeSet::new();
    let seeds = std::env::var("CHILIAD_SEEDS").map_or(400, |it| it.parse().expect("a number"));
    for seed in 0..seeds {
        let outcome = shaped(seed, None);
        assert!(outcome.verdict.is_completed(), "seed {seed}: {:?}", outcome.verdict);
        marks.extend(outcome.marks);
    }
    let rare = [
        "bucket split",
        "bucket overflow",
        "bucket chain freed",
        "bucket read again",
        "bucket growth put off",
    ];
    for mark in rare {
        assert!(marks.contains(mark), "never happened: {mark}; {marks:?}");
    }
}

#[test]
fn a_seed_repeats_itself() {
    let (first, second) = (shaped(17, None), shaped(17, None));
    assert_eq!((first.events, first.trace_hash), (second.events, second.trace_hash));
}

/// Whether the verdict is one that a planted bug leads to here, where no transaction runs.
fn is_caught(fault: &Fault, verdict: &Verdict) -> bool {
    match verdict {
        Verdict::UseOfFreedMemory(_) => fault.expected.contains(&"use of freed memory"),
        Verdict::CorePanicked(panic) => {
            let signs = ["a phantom", "lost key", "a ghost", "another key"];
            signs.iter().any(|it| panic.message.contains(it))
        }
        _ => false,
    }
}

/// Each planted bug makes an assertion about the index fail, and the same seed passes without it.
#[test]
fn planted_bugs_are_caught() {
    for fault in faults::FAULTS {
        let seed = (0..u64::from(fault.seeds))
            .find(|&seed| is_caught(fault, &shaped(seed, Some(fault)).verdict))
            .unwrap_or_else(|| panic!("{} is not caught", fault.name));
        println!("{}: seed {seed}", fault.name);
        assert!(shaped(seed, None).verdict.is_completed());
    }
}
