//! Prints what simulation costs: events per second by schedule and memory model, and the creation
//! and taking apart of a run.
//!
//! `cargo bench -p chiliad-simulator --bench speed`

use chiliad_machine::{Class, Machine, Ordering, Word};
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim, SimWord};
use std::alloc::Layout;
use std::time::Instant;

const CORES: usize = 8;

fn words(count: usize) -> &'static [SimWord] {
    let layout = Layout::array::<SimWord>(count).expect("a small array");
    let block = Sim::alloc(layout, Class::Chunk).expect("room").cast::<SimWord>();
    // SAFETY: the block is ours, large enough, and lives as long as the run, which the words do not
    // outlive.
    unsafe {
        (0..count).for_each(|i| block.add(i).write(SimWord::new(0)));
        std::slice::from_raw_parts(block.as_ptr(), count)
    }
}

/// A mix of three loads to one store, with a read-modify-write now and then.
fn program(config: Config, turns: u64) -> (u64, u64) {
    let mut run = Run::new(config);
    let words = run.outside(|| words(1024));
    for core in 0..CORES {
        run.spawn(format!("core {core}"), move || {
            let mut at = core;
            for turn in 0..turns {
                for _ in 0..3 {
                    at = (at * 5 + 1 + words[at].load(Ordering::Acquire) as usize) % 1024;
                }
                words[at].store(turn, Ordering::Release);
                if turn % 16 == 0 {
                    words[core].fetch_add(1, Ordering::AcqRel);
                }
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    (outcome.events, outcome.switches)
}

fn main() {
    for memory_model in [MemoryModel::Sc, MemoryModel::Tso] {
        for schedule in [Schedule::Random, Schedule::few_preemptions()] {
            for seed in 0..8 {
                let config =
                    Config { schedule, memory_model, events_max: u64::MAX, ..Config::new(seed) };
                let start = Instant::now();
                let (events, switches) = program(config, 100_000);
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "{memory_model:?} {schedule:?} seed {seed}: {:.1} M events/s, {:.1} events per \
                     switch",
                    events as f64 / seconds / 1e6,
                    events as f64 / (switches as f64).max(1.0),
                );
            }
        }
    }
    let runs = 2_000;
    let start = Instant::now();
    for seed in 0..runs {
        program(Config::new(seed), 1);
    }
    let microseconds = start.elapsed().as_secs_f64() * 1e6 / runs as f64;
    println!("a run of {CORES} cores and about forty events: {microseconds:.1} us");
}
