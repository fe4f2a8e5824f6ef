//! Whole transactions as tasks: executions that hardware gives up leave nothing of their statements on the host, however many
//! there are. What a procedure owns besides is its own.

use chiliad_api::{Result, Store, TableId, TableSpec, Transaction};
use chiliad_machine::tasks::{FunctionId, Task, Tasks};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Run, Sim, TaskOptions};
use chiliad_swarm::{Graph, Swarm, View, Whole};
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

const TABLE: TableId = TableId(0);
const TRANSACTION: FunctionId = FunctionId(0);

/// Transactions that all change two rows, in place and as a whole, insert one and remove it, and roll back now and then.
struct Contended(Whole<u64, u64>);

fn body(request: u64, tx: &mut dyn Transaction) -> Result<u64> {
    let row = tx.get_for_update(TABLE, b"one")?.expect("it is loaded");
    let bytes = tx.modify(row)?;
    bytes[0] = bytes[0].wrapping_add(1);
    let shown = u64::from(bytes[0]);
    let own = request.to_be_bytes();
    tx.insert(TABLE, &own, &[7; 40])?;
    let other = tx.get(TABLE, b"two")?.expect("it is loaded");
    let mut value = [0; 64];
    value.copy_from_slice(tx.bytes(other)?);
    value[1] = value[1].wrapping_add(1);
    tx.update(other, &value)?;
    let inserted = tx.get(TABLE, &own)?.expect("inserted above");
    tx.remove_row(inserted)?;
    if request.is_multiple_of(3) { Err(chiliad_api::Error::RolledBack) } else { Ok(shown) }
}

impl<T: Tasks> Graph<T> for Contended {
    fn name(&self, _: FunctionId) -> &'static str {
        "transaction"
    }

    fn run(&self, view: &mut View<'_, T>, task: &Task) {
        self.0.run(view, task.word(0) as usize, |request, tx| body(*request, tx));
    }
}

/// Bytes that so many transactions leave in use, and executions of them that were given up.
fn left(transactions: u64) -> (i64, u64) {
    let before = IN_USE.load(Relaxed);
    let aborted = {
        let mut run = Run::new(Config {
            machine: Some(Description::tiled(4)),
            region_bytes: 64 << 20,
            stack_bytes: 128 << 10,
            events_max: 100_000_000,
            ..Config::new(1)
        });
        let mut swarm = run.outside(|| {
            let swarm = Swarm::<Sim>::new();
            let table = swarm.create_table(TableSpec::ordered("t")).expect("a table");
            assert_eq!(table, TABLE);
            let mut session = swarm.session().expect("a session");
            for key in [b"one", b"two"] {
                session.load(TABLE, key, &[0; 64]).expect("a row");
            }
            drop(session);
            swarm
        });
        let graph = Contended(Whole::new(0..transactions));
        let bodies = run.outside(|| swarm.bodies(graph)).expect("no session");
        let task = |at| Task::new(TRANSACTION, at, &[at], None).expect("a word");
        let tasks: Vec<_> = (0..transactions).map(task).collect();
        let outcome = run.go_tasks(16, bodies.pool(), &bodies, &tasks, TaskOptions::default());
        assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
        let committed = transactions - transactions.div_ceil(3);
        let answers = (0..transactions).map(|request| bodies.graph().0.answer(request as usize));
        assert_eq!(answers.flatten().count() as u64, committed);
        run.outside(move || drop(bodies));
        run.outside(move || {
            assert_eq!(swarm.rows(TABLE).expect("a table")[0].1[0], committed as u8);
            drop(swarm);
        });
        outcome.tasks.expect("a run of tasks").aborted.iter().sum()
    };
    (IN_USE.load(Relaxed) - before, aborted)
}

#[test]
fn executions_that_are_given_up_leave_nothing() {
    // What is kept for the next run, whatever it is, is there from the first on.
    left(60);
    let (few, some) = left(60);
    let (most, many) = left(600);
    assert!(many > some + 500, "{some} and {many} executions were given up");
    assert_eq!(few, most, "bytes left by {some} and by {many} executions that were given up");
}
