//! A program that does a little of everything, under many seeds: runs repeat, end, and keep their
//! host thread sound whatever their verdict is.

use crate::common::words;
use chiliad_machine::{Class, Machine, Ordering, Word, WorkerId};
use chiliad_simulator::{Config, MemoryModel, Outcome, Run, Schedule, Sim, SimWord, stopping};
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

const CORES: u32 = 6;

/// One step that the core's own dice choose. Some steps are mistakes, rare enough that all verdicts
/// occur.
fn step(shared: &'static [SimWord]) {
    let word = &shared[(Sim::random() % 16) as usize];
    let dice = Sim::random() % 4096;
    match dice {
        0 => panic!("one panic"),
        1..3 => Sim::park(),
        3 if Sim::random() % 4 == 0 => {
            // SAFETY: that words of the block are used afterwards is what some runs end with.
            unsafe {
                Sim::free(
                    NonNull::from(&shared[0]).cast(),
                    Layout::for_value(shared),
                    Class::Control,
                );
            }
        }
        3..20 => {
            let caught = catch_unwind(AssertUnwindSafe(|| {
                word.store(1, Release);
                panic!("caught");
            }));
            assert!(caught.is_err());
        }
        20..100 => {
            Sim::park_until(Sim::now() + Sim::random() % 100);
        }
        100..104 => Sim::unpark(WorkerId(1 + (Sim::random() % u64::from(CORES)) as u32)),
        104..500 => Sim::pause(),
        500..600 => Sim::fence(SeqCst),
        600..650 => Sim::heavy_fence(),
        650..700 => Sim::mark(["a", "b", "c"][(dice % 3) as usize]),
        700..900 => {
            let layout = Layout::from_size_align(8 + (dice % 5) as usize * 8, 8).expect("a layout");
            let block = Sim::alloc(layout, Class::Control).expect("room");
            let own = block.cast::<SimWord>();
            // SAFETY: the block is ours, and freed once.
            unsafe {
                own.write(SimWord::new(0));
                own.as_ref().store(dice, Relaxed);
                assert_eq!(own.as_ref().load(Relaxed), dice);
                Sim::free(block, layout, Class::Control);
            }
        }
        900..1500 => {
            word.fetch_add(dice, AcqRel);
        }
        1500..2500 => word.store(dice, if dice % 8 == 0 { SeqCst } else { Release }),
        _ => {
            word.load(Acquire);
        }
    }
}

fn program(config: Config) -> Outcome {
    let seed = config.seed;
    let mut run = Run::new(config);
    let shared = run.outside(|| words(16));
    if !seed.is_multiple_of(3) {
        run.spawn_daemon("ticker", move || {
            while !stopping() {
                shared[0].fetch_add(1, AcqRel);
                Sim::park_until(Sim::now() + 500);
            }
        });
    }
    for core in 1..CORES {
        run.spawn(format!("core {core}"), move || {
            for _ in 0..500 {
                step(shared);
            }
        });
    }
    run.go()
}

#[test]
fn runs_repeat_whatever_their_verdict() {
    let mut verdicts = BTreeMap::new();
    for seed in 0..400 {
        let config = Config {
            schedule: [Schedule::Random, Schedule::few_preemptions()][(seed % 2) as usize],
            memory_model: [MemoryModel::Sc, MemoryModel::Tso][(seed / 2 % 2) as usize],
            region_bytes: 2 << 20,
            events_max: 3_000 + seed % 400 * 10,
            ..Config::new(seed)
        };
        let first = program(config.clone());
        let second = program(config.clone());
        assert_eq!(first.trace_hash, second.trace_hash, "seed {seed}");
        assert_eq!(first.events, second.events);
        assert_eq!(first.marks, second.marks);
        assert_eq!(first.verdict.name(), second.verdict.name());
        assert!(!std::thread::panicking());
        *verdicts.entry(first.verdict.name()).or_insert(0) += 1;
    }
    assert_eq!(verdicts.len(), 5, "{verdicts:?}");
}
