//! The serial runtime: a queue of tasks by timestamp, on any machine. What it leaves in memory is what every runtime must.

use super::{CHILDREN_MAX, FunctionId, LinePool, Lines, Program, Task, Tasks, Violation};
use crate::Machine;
use core::cell::{Cell, RefCell};
use core::cmp::Reverse;
use core::ptr::NonNull;
use std::collections::BinaryHeap;

/// The order of tasks whose timestamps are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ties {
    /// The order in which they were enqueued.
    Creation,
    /// Some order of this seed: a program whose result depends on it is wrong.
    Drawn(u64),
}

/// Tasks that wait, by their places in the order: timestamp and tie.
#[derive(Default)]
struct Queue {
    /// Places, each with where its task is kept.
    places: BinaryHeap<Reverse<(u64, u64, usize)>>,
    kept: Vec<Option<Task>>,
    free: Vec<usize>,
    /// Tasks that were ever put into it.
    created: u64,
}

impl Queue {
    fn put(&mut self, task: Task, ties: Ties) {
        self.created += 1;
        let tie = match ties {
            Ties::Creation => self.created,
            Ties::Drawn(seed) => mix(seed ^ mix(self.created)),
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.kept.push(None);
            self.kept.len() - 1
        });
        self.kept[at] = Some(task);
        self.places.push(Reverse((task.timestamp, tie, at)));
    }

    fn take_first(&mut self) -> Option<Task> {
        let Reverse((_, _, at)) = self.places.pop()?;
        self.free.push(at);
        self.kept[at].take()
    }
}

/// The task that runs, and its children so far. They go to the queue when it is over, so that a body allocates nothing.
#[derive(Clone, Copy, Default)]
struct Running {
    task: Option<Task>,
    children: [Option<Task>; CHILDREN_MAX],
    enqueued: usize,
    /// A child that must not be, and whether it had too many words.
    refused: Option<(FunctionId, Refused)>,
}

impl Running {
    /// Begins with a task. Children of the one before stay where they are: to clear their places would take longer than a
    /// short task.
    fn begin(&mut self, task: Task) {
        (self.task, self.enqueued, self.refused) = (Some(task), 0, None);
    }
}

/// Why a child was refused.
#[derive(Clone, Copy)]
enum Refused {
    Before(u64),
    Ninth,
    SixthWord,
}

/// Runs tasks one after another.
pub struct Serial<'a, M: Machine> {
    pool: &'a LinePool<M>,
    ties: Ties,
    running: RefCell<Running>,
    /// The name of the function that runs.
    name: Cell<&'static str>,
}

impl<'a, M: Machine> Serial<'a, M> {
    /// A runtime whose tasks take their lines from `pool`.
    #[must_use]
    pub fn new(pool: &'a LinePool<M>, ties: Ties) -> Self {
        Self { pool, ties, running: RefCell::default(), name: Cell::new("") }
    }

    /// Runs `first` and all that descends from them, in the order of timestamps. Returns how many tasks ran.
    ///
    /// # Errors
    /// The first violation; no task ran after the one at fault.
    pub fn run(
        &self,
        program: &dyn Program<Self>,
        first: impl IntoIterator<Item = Task>,
    ) -> Result<u64, Violation> {
        let mut queue = Queue::default();
        first.into_iter().for_each(|task| queue.put(task, self.ties));
        let mut ran = 0;
        while let Some(task) = queue.take_first() {
            self.name.set(program.name(task.function));
            self.running.borrow_mut().begin(task);
            program.run(self, &task);
            ran += 1;
            let mut ended = self.running.borrow_mut();
            ended.task = None;
            if let Some((child, why)) = ended.refused {
                return Err(violation(program, &task, child, why));
            }
            let children = &ended.children[..ended.enqueued];
            children.iter().flatten().for_each(|&child| queue.put(child, self.ties));
        }
        Ok(ran)
    }
}

/// Names what a task did.
fn violation<T>(
    program: &dyn Program<T>,
    parent: &Task,
    child: FunctionId,
    why: Refused,
) -> Violation {
    let (task, child) = (program.name(parent.function), program.name(child));
    let timestamp = parent.timestamp;
    match why {
        Refused::Before(child_timestamp) => {
            Violation::ChildBeforeParent { task, child, timestamp, child_timestamp }
        }
        Refused::Ninth => Violation::TooManyChildren { task },
        Refused::SixthWord => Violation::TooManyWords { task, child },
    }
}

/// A number that looks random (the finalizer of MurmurHash3: Appleby, 2011); different for different ones.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

impl<M: Machine> Lines for Serial<'_, M> {
    type Machine = M;

    fn alloc(&self, lines: usize) -> Option<NonNull<M::Word>> {
        self.pool.take(lines)
    }

    unsafe fn free(&self, block: NonNull<M::Word>, lines: usize) {
        // SAFETY: the caller vouches for it; a task that runs alone commits whatever it does.
        unsafe { self.pool.give(block, lines) };
    }

    fn trap(&self, why: &'static str) -> ! {
        panic!("task {}: {why}", self.name.get())
    }
}

impl<M: Machine> Tasks for Serial<'_, M> {
    fn enqueue(&self, function: FunctionId, timestamp: u64, words: &[u64], hint: Option<u64>) {
        let mut running = self.running.borrow_mut();
        let now = running.task.expect("a task enqueues its children").timestamp;
        if running.refused.is_some() {
            return;
        }
        let enqueued = running.enqueued;
        match Task::new(function, timestamp, words, hint) {
            None => running.refused = Some((function, Refused::SixthWord)),
            Some(_) if timestamp < now => {
                running.refused = Some((function, Refused::Before(timestamp)));
            }
            Some(_) if enqueued == CHILDREN_MAX => {
                running.refused = Some((function, Refused::Ninth));
            }
            Some(task) => {
                running.children[enqueued] = Some(task);
                running.enqueued += 1;
            }
        }
    }
}
