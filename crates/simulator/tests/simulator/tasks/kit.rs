//! The kit of these tests: runs of tasks, and programs of them.

use chiliad_machine::tasks::{FunctionId, LinePool, Program, Task, Tasks};
use chiliad_machine::{Machine, Word};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Hardware, Outcome, Run, Sim, SimWord, TaskOptions};
use std::alloc::Layout;
use std::sync::atomic::Ordering;

/// A configuration of a run of tasks.
pub fn config(machine: Description, seed: u64) -> Config {
    let region_bytes = 64 << 20;
    Config {
        machine: Some(machine),
        region_bytes,
        stack_bytes: 64 << 10,
        events_max: 50_000_000,
        ..Config::new(seed)
    }
}

/// So many lines of zeroes, as words of the run.
pub fn words(run: &Run, lines: usize) -> &'static [SimWord] {
    run.outside(|| {
        let layout = Layout::from_size_align(64 * lines, 64).expect("a small array");
        let block = Sim::alloc(layout, chiliad_machine::Class::Control).expect("room");
        let block = block.cast::<SimWord>();
        // SAFETY: the block is ours, large enough, and lives as long as the run; no test keeps the words longer than that.
        unsafe {
            (0..lines * 8).for_each(|word| block.add(word).write(SimWord::new(0)));
            std::slice::from_raw_parts(block.as_ptr(), lines * 8)
        }
    })
}

/// The values of words.
pub fn contents(run: &Run, words: &[SimWord]) -> Vec<u64> {
    run.outside(|| words.iter().map(|word| word.load(Ordering::Relaxed)).collect())
}

/// A program whose functions are closures.
pub struct Closures<'f> {
    pub run: &'f dyn Fn(&Hardware, &Task),
}

impl Program<Hardware> for Closures<'_> {
    fn name(&self, _: FunctionId) -> &'static str {
        "closure"
    }
    fn run(&self, tasks: &Hardware, task: &Task) {
        (self.run)(tasks, task);
    }
}

/// A task of function `function` at `timestamp` with one word.
pub fn task(function: u16, timestamp: u64, word: u64) -> Task {
    Task::new(FunctionId(function), timestamp, &[word], None).expect("one word")
}

/// Runs a program to its end, which must be a good one.
pub fn complete(
    run: &mut Run,
    cores: usize,
    program: &dyn Program<Hardware>,
    first: &[Task],
    options: TaskOptions,
) -> Outcome {
    let pool = run.outside(LinePool::<Sim>::default);
    let outcome = run.go_tasks(cores, &pool, program, first, options);
    run.outside(|| drop(pool));
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    outcome
}

/// Enqueues a child of `task` without a hint.
pub fn child<T: Tasks>(tasks: &T, function: u16, timestamp: u64, words: &[u64]) {
    tasks.enqueue(FunctionId(function), timestamp, words, None);
}

/// A hundred lines and more at each of so many homes, each by its first word: neighbours have neighbouring homes, and the first
/// is at home on tile 0.
pub fn lines_at(run: &Run, tiles: usize) -> Vec<&'static SimWord> {
    let all = words(run, 130 * tiles);
    let home = |word: &SimWord| Sim::address(std::ptr::from_ref(word).cast()) / 64;
    let skip = run.outside(|| (0..tiles).find(|&it| home(&all[it * 8]) % tiles as u64 == 0));
    all.iter().step_by(8).skip(skip.expect("one of them")).collect()
}
