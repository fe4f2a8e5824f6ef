//! Programs of tasks on the serial runtime: their order, what they may enqueue, and the memory that they take.

use chiliad_machine::tasks::{
    FunctionId, LinePool, Lines, Program, Serial, Task, Tasks, Ties, Violation,
};
use chiliad_machine::{Machine, Ordering, Plain, Word};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

const ROOT: FunctionId = FunctionId(0);
const CHILD: FunctionId = FunctionId(1);

/// A program that writes down which tasks ran, and whose root does what a test wants.
struct Told<'f, T> {
    root: &'f dyn Fn(&T, &Task),
    ran: RefCell<Vec<(u64, Vec<u64>)>>,
}

impl<T> Program<T> for Told<'_, T> {
    fn name(&self, function: FunctionId) -> &'static str {
        if function == ROOT { "root" } else { "child" }
    }
    fn run(&self, tasks: &T, task: &Task) {
        self.ran.borrow_mut().push((task.timestamp, task.words().to_vec()));
        if task.function == ROOT {
            (self.root)(tasks, task);
        }
    }
}

type Ran = Vec<(u64, Vec<u64>)>;

/// The tasks that ran, in order, where a root at timestamp 10 does `root`.
fn run(ties: Ties, root: &dyn Fn(&Serial<'_, Plain>, &Task)) -> Result<Ran, Violation> {
    let pool = LinePool::default();
    let serial = Serial::new(&pool, ties);
    let told = Told { root, ran: RefCell::default() };
    let first = Task::new(ROOT, 10, &[], None);
    let ran = serial.run(&told, first)?;
    let told = told.ran.into_inner();
    assert_eq!(ran, told.len() as u64);
    Ok(told)
}

#[test]
fn tasks_run_by_timestamp_and_then_as_they_were_enqueued() {
    let ran = run(Ties::Creation, &|tasks, _| {
        for (timestamp, word) in [(12, 1), (10, 2), (11, 3), (10, 4), (12, 5)] {
            tasks.enqueue(CHILD, timestamp, &[word, 0], Some(word));
        }
    });
    let ran = ran.expect("no violation");
    let order: Vec<_> = ran[1..].iter().map(|(at, words)| (*at, words[0])).collect();
    assert_eq!(order, [(10, 2), (10, 4), (11, 3), (12, 1), (12, 5)]);
    assert!(ran[1..].iter().all(|(_, words)| words.len() == 2));
}

#[test]
fn ties_that_are_drawn_come_in_every_order() {
    let orders: std::collections::BTreeSet<Vec<u64>> = (0..200)
        .map(|seed| {
            let ran = run(Ties::Drawn(seed), &|tasks, _| {
                for word in 0..3 {
                    tasks.enqueue(CHILD, 10, &[word], None);
                }
                tasks.enqueue(CHILD, 11, &[3], None);
            });
            ran.expect("no violation")[1..].iter().map(|(_, words)| words[0]).collect()
        })
        .collect();
    assert_eq!(orders.len(), 6);
    assert!(orders.iter().all(|order| order[3] == 3), "timestamps come first");
}

#[test]
fn a_child_before_its_parent_is_named() {
    let ran = run(Ties::Creation, &|tasks, _| {
        tasks.enqueue(CHILD, 10, &[], None);
        tasks.enqueue(CHILD, 9, &[], None);
    });
    let violation = ran.expect_err("a child before its parent");
    assert_eq!(
        violation.to_string(),
        "child before its parent: task root at 10 enqueued child at 9"
    );
}

#[test]
fn a_ninth_child_and_a_sixth_word_are_named() {
    let enqueue = |children: u64, words: usize| {
        run(Ties::Creation, &|tasks, _| {
            for _ in 0..children {
                tasks.enqueue(CHILD, 10, &[7; 9][..words], None);
            }
        })
    };
    assert_eq!(enqueue(8, 5).map(|ran| ran.len()), Ok(9));
    assert_eq!(enqueue(9, 5), Err(Violation::TooManyChildren { task: "root" }));
    let violation = Violation::TooManyWords { task: "root", child: "child" };
    assert_eq!(enqueue(1, 6), Err(violation));
}

#[test]
fn memory_of_tasks_is_zero_and_can_be_given_back() {
    let pool = LinePool::<Plain>::default();
    let serial = Serial::new(&pool, Ties::Creation);
    let told = Told {
        root: &|tasks: &Serial<'_, Plain>, task: &Task| {
            let block = tasks.alloc(2).expect("memory");
            // SAFETY: the block has 16 words, and is ours.
            let words: &[<Plain as Machine>::Word] =
                unsafe { NonNull::slice_from_raw_parts(block, 16).as_ref() };
            assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            words[15].store(1, Ordering::Relaxed);
            if task.timestamp < 5 {
                tasks.enqueue(ROOT, task.timestamp + 1, &[], None);
            }
            // SAFETY: taken above with as many lines; nobody has another way to it.
            unsafe { tasks.free(block, 2) };
        },
        ran: RefCell::default(),
    };
    assert_eq!(serial.run(&told, Task::new(ROOT, 0, &[], None)), Ok(6));
    assert_eq!(pool.taken(), 0);
}

#[test]
fn a_trap_names_the_task() {
    let pool = LinePool::<Plain>::default();
    let serial = Serial::new(&pool, Ties::Creation);
    let told = Told {
        root: &|tasks: &Serial<'_, Plain>, _: &Task| tasks.trap("a link that leads nowhere"),
        ran: RefCell::default(),
    };
    let first = Task::new(ROOT, 0, &[], None);
    let panic = catch_unwind(AssertUnwindSafe(|| serial.run(&told, first))).expect_err("a panic");
    assert_eq!(
        panic.downcast_ref::<String>().expect("text"),
        "task root: a link that leads nowhere"
    );
}
