//! The ordered index on simulated cores: many schedules, both memory models, and the planted bugs.

use crate::ordered_common::{Keys, Worker, populate};
use crate::schedules::config;
use chiliad_machine::{Fault, Shared};
use chiliad_simulator::{Config, Outcome, Run, Sim, Verdict};
use chiliad_storage::index::ordered::faults;
use chiliad_storage::{Heap, LocalHeap, OrderedIndex};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;

/// What the cores of a run share.
struct World {
    index: OrderedIndex<Sim>,
    heap: Arc<Shared<Sim, Heap<Sim>>>,
    keys: Keys,
    kept: Cell<usize>,
}

/// Four cores act; at the end the tree is checked.
fn run(config: Config, style: usize, count: usize, rounds: usize) -> Outcome {
    let seed = config.seed;
    let mut run = Run::new(config);
    let world = run.outside(|| {
        let shared = Heap::<Sim>::new(u64::MAX);
        let mut heap = LocalHeap::new(&shared).expect("a slot");
        let index = OrderedIndex::new(&mut heap).expect("room");
        // Without stable keys the tree is emptied now and then.
        let keys = Keys { count, workers: 4, style, populated: !seed.is_multiple_of(4) };
        populate(&index, &mut heap, &keys);
        Rc::new(World { index, heap: shared, keys, kept: Cell::new(0) })
    });
    for number in 0..world.keys.workers {
        let world = Rc::clone(&world);
        run.spawn(format!("core {number}"), move || {
            let heap = LocalHeap::new(&world.heap).expect("a slot");
            // A core that unwinds cannot wait, so what a failed assertion leaves behind stays.
            let worker = Worker::new(&world.index, heap, &world.keys, number, seed);
            let mut worker = ManuallyDrop::new(worker);
            for round in 0..rounds {
                worker.act(true);
                if round % 32 == 31 {
                    worker.finish();
                }
            }
            world.kept.set(world.kept.get() + worker.count());
            drop(ManuallyDrop::into_inner(worker));
        });
    }
    let outcome = run.go();
    run.outside(|| {
        if matches!(outcome.verdict, Verdict::Completed) {
            let heap = LocalHeap::new(&world.heap).expect("a slot");
            heap.pin();
            let always = (0..count).filter(|&n| world.keys.is_in(n)).count();
            assert_eq!(world.index.check(&heap).keys, always + world.kept.get());
            heap.unpin();
        }
        drop(world);
    });
    outcome
}

/// One of the shapes that a seed stands for: keys, how many, and how long it lasts.
fn shaped(seed: u64, fault: Option<&'static Fault>) -> Outcome {
    let style = (seed / 4 % 3) as usize;
    let count = [24, 60, 880][(seed / 12 % 3) as usize];
    run(config(seed, fault), style, count, 40)
}

#[test]
fn many_schedules_pass_and_reach_the_rare_branches() {
    let mut marks = BTreeSet::new();
    let seeds = std::env::var("CHILIAD_SEEDS").map_or(400, |it| it.parse().expect("a number"));
    for seed in 0..seeds {
        let outcome = shaped(seed, None);
        assert!(
            matches!(outcome.verdict, Verdict::Completed),
            "seed {seed}: {:?}",
            outcome.verdict
        );
        marks.extend(outcome.marks);
    }
    for mark in [
        "leaf split",
        "inner split",
        "root split",
        "layer made",
        "layer removed",
        "leaf removed",
        "inner collapsed",
        "reverse scan over fence",
        "run inserted",
    ] {
        assert!(marks.contains(mark), "never happened: {mark}; {marks:?}");
    }
}

#[test]
fn a_seed_repeats_itself() {
    let (first, second) = (shaped(17, None), shaped(17, None));
    assert_eq!((first.events, first.trace_hash), (second.events, second.trace_hash));
}

/// Each planted bug makes an assertion about the index fail, and the same seed passes without it.
#[test]
fn planted_bugs_are_caught() {
    for fault in faults::FAULTS.iter().chain(faults::INDEX_FAULTS) {
        let caught = (0..2000).find_map(|seed| {
            let outcome = shaped(seed, Some(fault));
            match outcome.verdict {
                Verdict::Completed => None,
                verdict => Some((seed, verdict)),
            }
        });
        let (seed, verdict) = caught.unwrap_or_else(|| panic!("{} is not caught", fault.name));
        println!("{}: seed {seed}: {verdict:?}", fault.name);
        let panic = match verdict {
            Verdict::CorePanicked(panic) => panic,
            // The simulator's own assertion.
            Verdict::RuleBroken(_) if fault.expected == [verdict.name()] => continue,
            _ => panic!("{} ends otherwise: {verdict:?}", fault.name),
        };
        let assertions = [
            "nobody notices",
            "a phantom",
            "stable key",
            "another key",
            "that we have",
            "lost what",
        ];
        assert!(assertions.iter().any(|it| panic.message.contains(it)), "{}", panic.message);
        assert!(matches!(shaped(seed, None).verdict, Verdict::Completed));
    }
}
