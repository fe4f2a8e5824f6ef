//! A scheme in one file, for tests alone: what the guide (`docs/adding-a-scheme.md`) calls the least there is. One
//! transaction at a time has the whole database, from its begin to its end.
//!
//! It has no row in `list.rs`, and so no name by which it is chosen; the engine runs it nevertheless.

use crate::access::WriteSet;
use crate::arena::Arena;
use crate::collector::{self, Fate};
use crate::contract::{Abort, CommitPoint, Context, Needs, NoLockTable, Scheme, Step, Tables};
use crate::garbage::Due;
use crate::record_word;
use crate::scheme::parts::min_insert_tid::{self, MinInsertTids};
use crate::scheme::parts::{in_place, unlink};
use crate::version::{self, Version};
use crate::{Database, Options, TableSpec};
use chiliad_api::{Info, Intent, Isolation, Reason, Session, Transaction};
use chiliad_machine::{Line, Machine, Ordering, Word};
use chiliad_simulator::{Config, Run, Sim};
use chiliad_storage::{Change, RecordRef};
use std::rc::Rc;
use std::time::Duration;

/// One worker's part.
struct Alone {
    holds: bool,
    last: u64,
}

impl Alone {
    fn end<M: Machine>(&mut self, cx: &mut Context<'_, M, Self>) {
        cx.epochs.close_window(cx.heap.slot());
        if core::mem::take(&mut self.holds) {
            // Release pairs with the acquire in `begin`: the next holder sees all our writes.
            cx.shared.0.store(0, Ordering::Release);
        }
    }
}

impl<M: Machine> Scheme<M> for Alone {
    const INFO: Info = Info {
        name: "alone",
        summary: "one transaction at a time",
        isolation: Isolation::Serializable,
        strict: true,
        order_follows_reads: false,
        snapshots: false,
        needs_partitions: false,
        wait_timeout: Duration::MAX,
        source: "the guide",
    };
    const NEEDS: Needs = Needs { collects_before_release: true, ..Needs::NOTHING };

    /// One while a transaction is at work.
    type Shared = Line<M::Word>;
    type LeafHooks = MinInsertTids;
    type LockTable = NoLockTable;

    fn shared(_options: &Options) -> Self::Shared {
        Line(M::Word::new(0))
    }

    fn new() -> Self {
        Self { holds: false, last: 0 }
    }

    fn begin(&mut self, cx: &mut Context<'_, M, Self>, _intent: &Intent<'_>) -> Step<M, ()> {
        let mut wait = None;
        // Acquire pairs with the release in `end`.
        while cx.shared.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            if let Err(ended) = wait.get_or_insert_with(|| cx.limits.wait()).awake() {
                return Step::Abort(ended.into());
            }
        }
        self.holds = true;
        Step::Done(())
    }

    fn read(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        arena: &mut Arena,
        _writes: &WriteSet<M>,
    ) -> Step<M, Version> {
        let word = record.word().load(Ordering::Relaxed);
        match word & record_word::DEAD {
            0 => Step::Done(version::copy(record, word, arena, cx.stamped)),
            _ => Step::Redo,
        }
    }

    fn begin_insert(&mut self, _cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        record_word::begin_life(record.word(), 0);
    }

    fn after_insert(
        &mut self,
        _cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()> {
        min_insert_tid::apply(placed, changes);
        Step::Done(())
    }

    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>> {
        let overwritten = in_place::prepare(cx, writes)?;
        let epoch = cx.epochs.open_window(cx.heap.slot());
        let next = record_word::next(self.last.max(overwritten), epoch);
        self.last = next.ok_or(Abort::new(Reason::EpochFull))?;
        Ok(CommitPoint { epoch, order: self.last })
    }

    fn install(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        writes: &mut WriteSet<M>,
        index: usize,
        value: &[u8],
    ) {
        in_place::install(cx, point, &mut writes.entries[index], value);
    }

    fn release(&mut self, cx: &mut Context<'_, M, Self>) {
        self.end(cx);
    }

    fn abort(&mut self, cx: &mut Context<'_, M, Self>, _writes: &mut WriteSet<M>) {
        self.end(cx);
    }

    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, _budget: usize) {
        if !self.holds {
            return;
        }
        collector::sweep(self, cx, tables, usize::MAX, Due::ALL, |_, cx, garbage| {
            let found = garbage.record.word().load(Ordering::Relaxed);
            if record_word::is_absence(found, garbage.order) {
                unlink::unlink(cx, tables, garbage, found);
            }
            Fate::Gone
        });
    }
}

/// Transactions of each core.
const TURNS: u64 = 30;
const CORES: u64 = 3;

/// Each core adds to one counter, and to that of a row which it inserts and removes in turn.
fn count(seed: u64) {
    let mut run = Run::new(Config::new(seed));
    let (db, table) = run.outside(|| {
        let db = Database::<Sim, Alone>::open(Options::default()).expect("opens");
        let table = db.create_table(TableSpec::ordered("rows")).expect("created");
        db.worker().expect("a slot").load(table, b"counter", &0_u64.to_le_bytes()).expect("loads");
        (Rc::new(db), table)
    });
    for core in 0..CORES {
        let db = Rc::clone(&db);
        run.spawn(format!("counts {core}"), move || {
            let mut worker = db.worker().expect("a slot");
            for _ in 0..TURNS {
                let mut tx = worker.begin(&Intent::update()).expect("begins");
                let row = tx.get(table, b"counter").expect("reads").expect("loaded");
                let counter = tx.bytes(row).expect("its own").try_into().expect("a number");
                let next = u64::from_le_bytes(counter) + 1;
                tx.put(table, b"counter", &next.to_le_bytes()).expect("puts");
                if !tx.remove(table, b"comes and goes").expect("removes") {
                    tx.insert(table, b"comes and goes", b"").expect("inserts");
                }
                tx.commit().expect("nobody is in the way");
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "seed {seed}: {:?}", outcome.verdict);
    run.outside(|| {
        let mut worker = db.worker().expect("a slot");
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        let row = tx.get(table, b"counter").expect("reads").expect("loaded");
        let counted = tx.bytes(row).expect("its own").to_vec();
        tx.rollback();
        drop(worker);
        drop(db);
        assert_eq!(counted, (TURNS * CORES).to_le_bytes(), "seed {seed}");
    });
}

#[test]
fn a_scheme_of_one_file_keeps_transactions_apart() {
    for seed in 0..50 {
        count(seed);
    }
}
