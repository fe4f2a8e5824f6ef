//! Executions that are given up leave nothing on the host, however many there are.

use chiliad_machine::tasks::{FunctionId, LinePool, Lines, Program, Task, Tasks};
use chiliad_machine::{Class, Cost, Machine, Ordering, Word};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Hardware, Run, Sim, SimWord, TaskOptions};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes in use.
static IN_USE: AtomicI64 = AtomicI64::new(0);

struct Counting;

// SAFETY: all is the system's allocator's, which is asked with what the caller gives.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A task that changes one word of all, holds a line, and is followed by another.
struct Crowd<'w> {
    words: &'w [SimWord],
    last: u64,
}

impl Program<Hardware> for Crowd<'_> {
    fn name(&self, _: FunctionId) -> &'static str {
        "crowd"
    }

    fn run(&self, tasks: &Hardware, task: &Task) {
        let block = tasks.alloc(1).expect("memory");
        if task.timestamp + 16 <= self.last {
            tasks.enqueue(task.function, task.timestamp + 16, &[], None);
        }
        Sim::work(Cost::ALL[0], (task.timestamp * 37 % 200) as u32);
        self.words[0].fetch_add(1, Ordering::Relaxed);
        Sim::work(Cost::ALL[0], (task.timestamp * 91 % 200) as u32);
        self.words[0].fetch_add(1, Ordering::Relaxed);
        // SAFETY: taken above with as many lines; nobody else has a way to it.
        unsafe { tasks.free(block, 1) };
    }
}

/// Bytes in use when so many tasks are done, and executions that were given up.
fn after(tasks: u64) -> (i64, u64) {
    let config = Config {
        machine: Some(Description::tiled(4)),
        region_bytes: 64 << 20,
        stack_bytes: 64 << 10,
        events_max: u64::MAX,
        ..Config::new(1)
    };
    let before = IN_USE.load(Relaxed);
    let mut run = Run::new(config);
    let words = run.outside(|| {
        let layout = Layout::new::<[u64; 8]>().align_to(64).expect("a line");
        let block = Sim::alloc(layout, Class::Control).expect("room").cast::<SimWord>();
        // SAFETY: the block is ours and lives as long as the run, which outlives the words' use.
        unsafe {
            (0..8).for_each(|word| block.add(word).write(SimWord::new(0)));
            std::slice::from_raw_parts(block.as_ptr(), 8)
        }
    });
    let pool = run.outside(LinePool::<Sim>::default);
    let first: Vec<Task> =
        (0..16).map(|at| Task::new(FunctionId(0), at, &[], None).expect("no words")).collect();
    let crowd = Crowd { words, last: tasks - 1 };
    let mut outcome = run.go_tasks(16, &pool, &crowd, &first, TaskOptions::default());
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    run.outside(|| assert_eq!(words[0].load(Ordering::Relaxed), 2 * tasks));
    assert_eq!(pool.taken(), 0);
    // It has an entry for each timestamp, whatever was given up.
    drop(core::mem::take(&mut outcome.passed));
    let in_use = IN_USE.load(Relaxed) - before;
    run.outside(|| drop(pool));
    let counts = outcome.tasks.expect("tasks");
    (in_use, counts.aborted.iter().sum())
}

#[test]
fn host_memory_does_not_grow_with_aborts() {
    let (few, some) = after(3_000);
    let (more, many) = after(30_000);
    assert!(some > 1_500 && many > 15_000, "{some} and {many} executions were given up");
    // Buffers grow with the largest abort, not with their number.
    assert!(more - few < 64 << 10, "{few} and {more} bytes");
}
