//! What the tests share: words in a run's memory, and schedules by seed.

use chiliad_machine::{Class, Machine, Word};
use chiliad_simulator::{Config, MemoryModel, Run, Schedule, Sim, SimWord};
use std::alloc::Layout;

/// `count` words holding zero, in the current run's memory.
pub fn words(count: usize) -> &'static [SimWord] {
    let layout = Layout::array::<SimWord>(count).expect("a small array");
    let block = Sim::alloc(layout, Class::Control).expect("room").cast::<SimWord>();
    // SAFETY: the block is ours, large enough, and lives as long as the run; no test keeps the words
    // longer than that.
    unsafe {
        for i in 0..count {
            block.add(i).write(SimWord::new(0));
        }
        std::slice::from_raw_parts(block.as_ptr(), count)
    }
}

/// Configurations that differ in seed and alternate between the schedules.
pub fn configs(memory_model: MemoryModel, seeds: u64) -> impl Iterator<Item = Config> {
    (0..seeds).map(move |seed| {
        let schedule = if seed % 2 == 0 {
            Schedule::Random
        } else {
            Schedule::FewPreemptions { preemptions: 3, events: 20 }
        };
        Config { schedule, memory_model, region_bytes: 4 << 20, ..Config::new(seed) }
    })
}

/// A run with `count` words made outside.
pub fn run_with_words(config: Config, count: usize) -> (Run, &'static [SimWord]) {
    let run = Run::new(config);
    let words = run.outside(|| words(count));
    (run, words)
}
