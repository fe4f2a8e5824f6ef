//! Times of task units, computed by hand from the description.

use super::kit::{Closures, child, complete, config, lines_at, task};
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_simulator::description::{Description, TaskUnits};
use chiliad_simulator::{
    Cause, Hardware, Place, Run, SetKind, Sim, SimWord, TaskCounts, TaskOptions,
};
use std::cell::Cell;

/// Cycles of an instruction that dispatches, finishes or enqueues.
const INSTRUCTION: u64 = 5;

/// Precise sets, and tasks where their hints say.
fn options() -> TaskOptions {
    TaskOptions {
        sets: SetKind::Precise,
        place: Place::Hint,
        audit: true,
        ..TaskOptions::default()
    }
}

/// Cycles and counts of a run of `first` on `cores` cores of `machine`, with lines at homes of their own.
fn run(
    machine: Description,
    cores: usize,
    first: &[Task],
    body: impl Fn(&Hardware, &Task, &[&SimWord]),
) -> (u64, TaskCounts) {
    let tiles = cores.div_ceil(machine.cores_per_tile() as usize);
    let mut run = Run::new(config(machine, 1));
    let lines = lines_at(&run, tiles);
    let program = Closures { run: &|tasks, task| body(tasks, task, &lines) };
    let outcome = complete(&mut run, cores, &program, first, options());
    (outcome.timings.expect("timed").cycles, outcome.tasks.expect("tasks"))
}

/// A hint by which a task goes to tile `tile` of `tiles`, each of one core.
fn hint(tile: usize, tiles: usize) -> u64 {
    let found = Cell::new(None);
    for hint in 0.. {
        let first = Task::new(FunctionId(0), 0, &[], Some(hint)).expect("no words");
        run(Description::tiled(1), tiles, &[first], |_, _, _| {
            found.set(Some(Sim::core() as usize - 1))
        });
        if found.get() == Some(tile) {
            return hint;
        }
    }
    unreachable!("some hint leads to each tile")
}

/// A task at a tile of its own.
fn at(tile: usize, tiles: usize, timestamp: u64, word: u64) -> Task {
    Task::new(FunctionId(0), timestamp, &[word], Some(hint(tile, tiles))).expect("one word")
}

/// Cycles of a head between two tiles of a mesh of `tiles`; a task is six flits longer.
fn way(tiles: usize, from: usize, to: usize) -> u64 {
    let width = (1..).find(|width| width * width >= tiles).expect("a square");
    let hops = (from % width).abs_diff(to % width) + (from / width).abs_diff(to / width);
    2 * hops as u64
}

fn work(cycles: u32) {
    Sim::work(Cost::ALL[0], cycles);
}

#[test]
fn a_task_is_dispatched_and_finished() {
    let (cycles, tasks) = run(Description::tiled(4), 4, &[task(0, 1, 0)], |_, _, _| work(100));
    assert_eq!(cycles, INSTRUCTION + 100 + INSTRUCTION);
    assert_eq!((tasks.made, tasks.dispatched, tasks.committed), (1, 1, 1));
    // One core runs two after each other, two run them at once.
    let two = [task(0, 1, 0), task(0, 2, 0)];
    assert_eq!(
        run(Description::tiled(1), 1, &two, |_, _, _| work(100)).0,
        2 * (2 * INSTRUCTION + 100)
    );
    assert_eq!(run(Description::tiled(2), 2, &two, |_, _, _| work(100)).0, 2 * INSTRUCTION + 100);
}

/// A parent is finished when its child's tile has answered, however far that is; the child begins meanwhile.
#[test]
fn a_child_travels_and_is_acknowledged() {
    const TILES: usize = 16;
    for (from, to) in [(0, 15), (5, 6), (3, 12), (2, 2)] {
        let there = hint(to, TILES);
        let (cycles, tasks) =
            run(Description::tiled(1), TILES, &[at(from, TILES, 1, 0)], move |tasks, task, _| {
                if task.word(0) == 0 {
                    tasks.enqueue(task.function, 2, &[1], Some(there));
                }
            });
        let sent = 2 * INSTRUCTION;
        let (answered, ended) = if from == to {
            // The tile's core is its parent's until that is finished.
            (sent, sent + INSTRUCTION + 2 * INSTRUCTION)
        } else {
            let arrived = sent + way(TILES, from, to) + 6;
            (arrived + way(TILES, to, from), arrived + 2 * INSTRUCTION)
        };
        let finished = answered.max(sent + INSTRUCTION);
        assert_eq!(cycles, finished.max(ended), "{from} to {to}");
        assert_eq!((tasks.made, tasks.committed, tasks.squashed), (2, 2, 0));
    }
}

/// Cycles of a run in which a task at tile `writer` at last writes a line that so many of fourteen earlier tasks at tile
/// `reader` have read, which wait for their commit.
fn check(readers: u64, writer: usize, reader: usize, tiles: usize) -> u64 {
    let mut first: Vec<Task> = (1..=14).map(|place| at(reader, tiles, place, 1)).collect();
    // The earliest keeps the others from their commit: it is over after the last update before the write, and before
    // the writer is.
    let hold = if writer == reader { 22_250 } else { 22_050 };
    first.push(at(tiles - 1, tiles, 0, 0));
    first.push(at(writer, tiles, 100, 2));
    let (cycles, tasks) =
        run(Description::tiled(1), tiles, &first, |_, task, lines| match task.word(0) {
            0 => work(hold),
            1 if task.timestamp <= readers => _ = lines[0].load(Ordering::Relaxed),
            // As long as a look into the first cache.
            1 => work(2),
            _ => {
                work(21_000);
                lines[0].load(Ordering::Relaxed);
                work(1_000);
                lines[0].store(1, Ordering::Relaxed);
            }
        });
    assert_eq!(tasks.aborted, [0; Cause::COUNT]);
    assert_eq!(tasks.compared, readers);
    cycles
}

#[test]
fn each_virtual_time_takes_a_cycle_to_compare() {
    // In a tile the second cache's seven cycles hide a check of up to two.
    for readers in [2, 3, 5, 14] {
        assert_eq!(check(readers, 0, 0, 2) - check(1, 0, 0, 2), readers - 2, "{readers}");
    }
    // Elsewhere the answer to an invalidation hides one: nine cycles of the home's slice, and seven of the copy's cache.
    assert_eq!(check(5, 1, 2, 4), check(1, 1, 2, 4));
    assert_eq!(check(14, 1, 2, 4) - check(12, 1, 2, 4), 2);
}

/// An abort restores every word that was overwritten, and takes along what depended on it and no more.
#[test]
fn an_abort_takes_a_cycle_for_each_word() {
    let took = |words: u64, dependents: u64| {
        let mut first = vec![at(0, 4, 1, 0), at(1, 4, 2, 1)];
        first.extend((0..dependents).map(|it| at(2, 4, 3 + it, 2)));
        first.push(at(3, 4, 90, 3));
        let (cycles, tasks) =
            run(Description::tiled(1), 4, &first, |_, task, lines| match task.word(0) {
                0 => {
                    work(10_000);
                    lines[0].load(Ordering::Relaxed);
                }
                1 => (0..words)
                    .for_each(|word| lines[0].store(task.timestamp + word, Ordering::Relaxed)),
                2 => {
                    work(3_000);
                    lines[0].load(Ordering::Relaxed);
                }
                _ => _ = lines[1].load(Ordering::Relaxed),
            });
        assert_eq!(tasks.undone_words, words);
        assert_eq!(tasks.aborted, [1 + dependents, 0, 0, 0], "{tasks:?}");
        assert_eq!(tasks.largest_abort, 1 + dependents);
        assert_eq!(tasks.dispatched, 3 + dependents + 1 + dependents);
        cycles
    };
    let (few, many) = (took(100, 0), took(400, 0));
    // The earlier task waits for the words, and then the aborted one for its own, and writes them again, in its second
    // cache each.
    assert_eq!(many - few, 300 + 300 * 7);
    took(10, 3);
}

/// Children of what is aborted go with it, those on their way too.
#[test]
fn children_are_squashed() {
    for late in [100, 2_000] {
        let first = [at(0, 4, 1, 0), at(1, 4, 2, 1)];
        let (_, tasks) =
            run(Description::tiled(1), 4, &first, |tasks, task, lines| match task.word(0) {
                0 => {
                    work(late);
                    lines[0].store(7, Ordering::Relaxed);
                }
                1 => {
                    let seen = lines[0].load(Ordering::Relaxed);
                    (0..3).for_each(|it| child(tasks, 0, 3 + it, &[2 + seen]));
                }
                _ => work(500),
            });
        assert_eq!(tasks.committed, 2 + 3);
        assert_eq!(tasks.made, tasks.committed + tasks.squashed);
        assert_eq!(tasks.squashed, if late == 2_000 { 3 } else { tasks.squashed });
        assert_eq!(tasks.aborted[Cause::Data as usize], 1);
    }
}

/// A task that waits for an entry of the commit queue gets it when the earlier one has committed: when all tiles have heard
/// of an update that began a period after the start.
#[test]
fn commits_come_with_updates() {
    for tiles in [1, 4, 16] {
        let units = TaskUnits { commit_queue: 1, ..TaskUnits::YAN };
        let machine = Description { tasks: Some(units), ..Description::tiled(1) };
        let first = [at(0, tiles, 1, 0), at(0, tiles, 2, 0)];
        let (cycles, tasks) = run(machine, tiles, &first, |_, _, _| work(10));
        let width = (1..).find(|width| width * width >= tiles).expect("a square");
        let centre = (width - 1) / 2 * (width + 1);
        let lag = (0..tiles).map(|tile| way(tiles, tile, centre)).max().expect("tiles");
        assert_eq!(cycles, 200 + 2 * lag, "{tiles}");
        assert_eq!(tasks.aborted, [0; Cause::COUNT]);
    }
}

/// Six of ten tasks fit into a queue of eight; one comes back into the place that is left, and three when the others
/// have committed.
#[test]
fn tasks_come_back_from_memory() {
    let units = TaskUnits { queue: 8, ..TaskUnits::YAN };
    let machine = Description { tasks: Some(units), ..Description::tiled(1) };
    let first: Vec<Task> = (1..=10).map(|timestamp| task(0, timestamp, 0)).collect();
    let (cycles, tasks) = run(machine, 1, &first, |_, _, _| {});
    assert_eq!((tasks.spilled, tasks.refilled, tasks.committed), (4, 4, 10));
    assert_eq!(cycles, 200 + (INSTRUCTION + 3 * 10) + 3 * 2 * INSTRUCTION);
}

/// Filters of few bits name tasks that have not accessed a line, which costs comparisons and aborts, not results.
#[test]
fn false_matches_are_counted() {
    for (bits, some) in [(8, true), (256, false)] {
        let units = TaskUnits { filter_way_bits: bits, ..TaskUnits::YAN };
        let machine = Description { tasks: Some(units), ..Description::tiled(2) };
        let mut run = Run::new(config(machine, 1));
        let lines = lines_at(&run, 4);
        let body = |_: &Hardware, task: &Task| {
            for step in 0..20 {
                lines[(task.word(0) * 20 + step) as usize].store(1, Ordering::Relaxed);
            }
        };
        let first: Vec<Task> = (0..6).map(|at| task(0, at, at)).collect();
        let program = Closures { run: &body };
        let outcome = complete(&mut run, 8, &program, &first, TaskOptions::default());
        let tasks = outcome.tasks.expect("tasks");
        assert_eq!(tasks.false_matches > 0, some, "{bits}: {tasks:?}");
    }
}

/// All of the cores' time is accounted for.
#[test]
fn core_time_adds_up() {
    let first: Vec<Task> = (0..100).map(|at| task(0, at, at % 3)).collect();
    let (cycles, tasks) = run(Description::tiled(4), 16, &first, |_, task, lines| {
        lines[task.word(0) as usize].fetch_add(1, Ordering::Relaxed);
        work(200);
    });
    let time = tasks.core_time;
    assert_eq!(time.total(), 16 * cycles, "{time:?}");
    assert!(time.committed >= 100 * 210 && time.aborted > 0, "{time:?}");
}
