//! Bodies keep the rules of tasks, or the run ends by name.

use super::kit::{Closures, child, complete, config, task, words};
use chiliad_machine::tasks::{CHILDREN_MAX, LinePool, Lines, Task, Violation};
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Cause, Hardware, Outcome, Run, Sim, TaskOptions, TaskVerdict, Verdict};

/// How a run of one task ends whose body is `body`, on four cores.
fn alone(body: &dyn Fn(&Hardware, &Task)) -> Outcome {
    let mut run = Run::new(config(Description::tiled(4), 1));
    let pool = run.outside(LinePool::<Sim>::default);
    let program = Closures { run: body };
    let outcome = run.go_tasks(4, &pool, &program, &[task(0, 5, 0)], TaskOptions::default());
    run.outside(|| drop(pool));
    outcome
}

fn violation(outcome: &Outcome) -> Violation {
    let Verdict::Task(verdict) = &outcome.verdict else { panic!("{}", outcome.verdict) };
    let TaskVerdict::Violation(violation) = **verdict else { panic!("{verdict}") };
    violation
}

#[test]
fn children_that_must_not_be_are_named() {
    let early = alone(&|tasks, task| child(tasks, 1, task.timestamp - 1, &[]));
    let (task, child_name) = ("closure", "closure");
    let (timestamp, child_timestamp) = (5, 4);
    let expected =
        Violation::ChildBeforeParent { task, child: child_name, timestamp, child_timestamp };
    assert_eq!(violation(&early), expected);
    // They are verdicts only when the task is the earliest: it was speculative before.
    assert_eq!(early.tasks.expect("tasks").aborted[Cause::Exception as usize], 1);
    let ninth = alone(&|tasks, task| {
        if task.word(0) == 0 {
            (0..=CHILDREN_MAX as u64).for_each(|at| child(tasks, 1, 5 + at, &[1]));
        }
    });
    assert_eq!(violation(&ninth), Violation::TooManyChildren { task });
    let sixth = alone(&|tasks, _| child(tasks, 1, 5, &[0; 6]));
    assert_eq!(violation(&sixth), Violation::TooManyWords { task, child: child_name });
}

#[test]
fn what_no_task_may_do_is_a_verdict_at_once() {
    for (body, what) in [
        ((|| Sim::park()) as fn(), "to park"),
        (|| _ = Sim::now(), "a look at the clock"),
        (|| Sim::heavy_fence(), "a fence"),
        (|| Sim::enter_section(), "a section"),
        (|| Sim::pause(), "to pause"),
        (|| _ = Sim::random(), "a random number"),
    ] {
        let outcome = alone(&|_, _| body());
        let Verdict::Task(verdict) = &outcome.verdict else { panic!("{}", outcome.verdict) };
        assert_eq!(**verdict, TaskVerdict::Forbidden(what));
        assert_eq!(outcome.tasks.expect("tasks").aborted, [0; Cause::COUNT]);
    }
}

/// A trap, a panic, and a loop of a task that is wrong about everything before it: each is undone, waits, and is well when
/// it is the earliest. Without the earlier task each is a verdict.
#[test]
fn exceptions_count_only_when_they_happen_to_the_earliest() {
    for kind in 0..3 {
        let mut run = Run::new(config(Description::tiled(2), 1));
        let words = words(&run, 2);
        let body = |tasks: &Hardware, task: &Task| {
            if task.word(0) == 0 {
                Sim::work(chiliad_machine::Cost::ALL[0], 20_000);
                words[8].store(1, Ordering::Relaxed);
                return;
            }
            words[0].fetch_add(1, Ordering::Relaxed);
            while words[8].load(Ordering::Relaxed) == 0 {
                match kind {
                    0 => tasks.trap("too early"),
                    1 => panic!("too early"),
                    _ => {}
                }
            }
        };
        let program = Closures { run: &body };
        let options = TaskOptions { accesses_max: 500, ..TaskOptions::default() };
        let outcome = complete(&mut run, 2, &program, &[task(0, 1, 0), task(0, 2, 1)], options);
        let tasks = outcome.tasks.expect("tasks");
        assert!(tasks.aborted[Cause::Exception as usize] >= 1, "{kind}: {tasks:?}");
        assert_eq!(tasks.committed, 2);
        run.outside(|| assert_eq!(words[0].load(Ordering::Relaxed), 1, "once in the end"));
    }
    let trapped = alone(&|tasks, _| tasks.trap("always"));
    let said = trapped.verdict.to_string();
    assert!(said.contains("panicked: task closure: always"), "{said}");
    let panicked = alone(&|_, _| panic!("always"));
    assert!(matches!(panicked.verdict, Verdict::CorePanicked(_)), "{}", panicked.verdict);
}

/// Memory that a speculative task obtains is zero whenever it runs, and comes back however often it is aborted.
#[test]
fn aborted_tasks_give_their_memory_back() {
    let mut run = Run::new(config(Description::tiled(4), 3));
    let words = words(&run, 1);
    let body = |tasks: &Hardware, task: &Task| {
        let block = tasks.alloc(2).expect("memory");
        // SAFETY: the block has sixteen words, and is this task's.
        let own = unsafe { std::slice::from_raw_parts(block.as_ptr(), 16) };
        assert!(own.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        own[3].store(task.timestamp, Ordering::Relaxed);
        words[0].fetch_add(1, Ordering::Relaxed);
        if task.timestamp.is_multiple_of(2) {
            // SAFETY: taken above with as many lines; nobody else has a way to it.
            unsafe { tasks.free(block, 2) };
        }
    };
    let pool = run.outside(LinePool::<Sim>::default);
    let first: Vec<Task> = (0..200).map(|at| task(0, at, 0)).collect();
    let program = Closures { run: &body };
    let outcome = run.go_tasks(16, &pool, &program, &first, TaskOptions::default());
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    let tasks = outcome.tasks.expect("tasks");
    assert!(tasks.aborted[Cause::Data as usize] > 10, "{tasks:?}");
    assert_eq!(pool.taken(), 2 * 100);
    run.outside(|| drop(pool));
}
