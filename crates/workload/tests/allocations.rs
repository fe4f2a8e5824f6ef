//! Bodies of tasks allocate nothing on the host: hardware abandons them at any access, and what they own then leaks.

mod graphs;

use chiliad_machine::tasks::{FunctionId, Lines, Program, Serial, Task, Tasks, Ties};
use chiliad_machine::{Machine, Native};
use chiliad_swarm::{Bodies, Graph, Swarm, View};
use chiliad_workload::Workload;
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{Bidding, BiddingOptions};
use chiliad_workload::tasks::first;
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{Tpcc, TpccOptions};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{Tpce, TpceOptions};
use graphs::{load, requests};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::NonNull;

/// The system's allocator, which counts allocations while the thread is watched.
struct Counting;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: it hands everything on to the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + u64::from(WATCHED.get()));
        // SAFETY: the caller vouches for the layout.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller vouches for the block.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The serial runtime, whose own allocations are not counted: memory of tasks is the machine's.
struct Unwatched<'s, 'p>(&'s Serial<'p, Native>);

impl Lines for Unwatched<'_, '_> {
    type Machine = Native;
    fn alloc(&self, lines: usize) -> Option<NonNull<<Native as Machine>::Word>> {
        let watched = WATCHED.replace(false);
        let block = self.0.alloc(lines);
        WATCHED.set(watched);
        block
    }
    unsafe fn free(&self, block: NonNull<<Native as Machine>::Word>, lines: usize) {
        let watched = WATCHED.replace(false);
        // SAFETY: the caller vouches for it.
        unsafe { self.0.free(block, lines) };
        WATCHED.set(watched);
    }
    fn trap(&self, why: &'static str) -> ! {
        self.0.trap(why)
    }
}

impl Tasks for Unwatched<'_, '_> {
    fn enqueue(&self, function: FunctionId, timestamp: u64, words: &[u64], hint: Option<u64>) {
        self.0.enqueue(function, timestamp, words, hint);
    }
}

/// A program whose bodies are watched.
struct Watched<'b, 's, G>(&'b Bodies<'s, Native, G>);

impl<'p, G> Program<Serial<'p, Native>> for Watched<'_, '_, G>
where
    G: for<'x> Graph<Unwatched<'x, 'p>>,
{
    fn name(&self, function: FunctionId) -> &'static str {
        Program::<Unwatched<'_, 'p>>::name(self.0, function)
    }
    fn run(&self, tasks: &Serial<'p, Native>, task: &Task) {
        WATCHED.set(true);
        self.0.run(&Unwatched(tasks), task);
        WATCHED.set(false);
    }
}

/// Allocations in the bodies of a graph of so many requests.
fn allocations<G>(swarm: &mut Swarm<Native>, graph: G, requests: u64) -> u64
where
    G: for<'x, 'p> Graph<Unwatched<'x, 'p>>,
{
    let before = COUNT.get();
    let bodies = swarm.bodies(graph).unwrap();
    let serial = Serial::new(bodies.pool(), Ties::Creation);
    let ran = serial.run(&Watched(&bodies), [first(requests)]).expect("no violation");
    assert!(ran > 3 * requests);
    COUNT.get() - before
}

fn allocations_of<'c, W: Workload, G>(
    (mut swarm, clients): (Swarm<Native>, &'c [W::Client]),
    make: impl FnOnce(&'c [W::Client]) -> G,
) -> u64
where
    G: for<'x, 'p> Graph<Unwatched<'x, 'p>>,
{
    allocations(&mut swarm, make(clients), clients.len() as u64)
}

#[test]
fn bodies_allocate_nothing() {
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let (swarm, tables) = load(&tpcc, 1);
    let clients = requests(&tpcc, &tables, 2000, 1);
    assert_eq!(allocations_of::<Tpcc, _>((swarm, &clients), TpccTasks::new), 0);
    let bidding = Bidding::new(BiddingOptions::micro()).unwrap();
    let (swarm, tables) = load(&bidding, 1);
    let clients = requests(&bidding, &tables, 2000, 1);
    assert_eq!(allocations_of::<Bidding, _>((swarm, &clients), BiddingTasks::new), 0);
    let tpce = Tpce::new(TpceOptions::micro()).unwrap();
    let (swarm, tables) = load(&tpce, 1);
    let clients = requests(&tpce, &tables, 1000, 1);
    assert_eq!(allocations_of::<Tpce, _>((swarm, &clients), TpceTasks::new), 0);
}

/// A graph that does what none may: each task owns a box for a while.
struct Boxes;

impl<T: Tasks> Graph<T> for Boxes {
    fn name(&self, _: FunctionId) -> &'static str {
        "box"
    }
    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        let left = Box::new(task.word(1) - task.word(0));
        if *std::hint::black_box(left) > 0 {
            view.enqueue(task.function, 0, &[task.word(0) + 1, task.word(1)], None);
        }
    }
}

#[test]
fn a_body_that_allocates_is_noticed() {
    let mut swarm = Swarm::new();
    let bodies = swarm.bodies(Boxes).unwrap();
    let serial = Serial::new(bodies.pool(), Ties::Creation);
    let before = COUNT.get();
    assert_eq!(serial.run(&Watched(&bodies), [first(9)]), Ok(10));
    assert_eq!(COUNT.get() - before, 10);
}
