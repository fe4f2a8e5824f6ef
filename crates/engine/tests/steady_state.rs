//! Once warm, a transaction allocates nothing between begin and commit: what it needs is kept from
//! one to the next. A counting allocator looks on.

use chiliad_engine::{
    Database, Get, Intent, Options, Range, Session, Silo, Snapshots, TableId, TableSpec,
    Transaction, Tx, Worker,
};
use chiliad_machine::Native;
use core::ops::ControlFlow;
use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;

/// The system's allocator, with an eye on the thread that is being watched.
struct Counting;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending has no locals any more, and is not watched.
    let _ = WATCHED.try_with(|watched| {
        if watched.get() {
            COUNT.set(COUNT.get() + 1);
            BYTES.set(BYTES.get() + bytes as u64);
            if COUNT.get() == 1 {
                watched.set(false);
                eprintln!("the first allocation:\n{}", Backtrace::force_capture());
                watched.set(true);
            }
        }
    });
}

// SAFETY: as the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(place, layout) };
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type Db = Database<Native, Silo<Native>>;
type Step = fn(&mut Tx<'_, Native, Silo<Native>>, [TableId; 2], u64);

const ROWS: u64 = 2_000;
const TRANSACTIONS: u64 = 4_000;

/// A row that is there all the time.
fn key(turn: u64) -> [u8; 8] {
    (turn.wrapping_mul(0x9e37_79b9) % ROWS * 2).to_be_bytes()
}

/// A row that comes and goes.
fn passing(turn: u64) -> [u8; 8] {
    (turn / 2 * 7 % ROWS * 2 + 1).to_be_bytes()
}

fn get(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    for table in tables {
        let row = tx.get(table, &key(turn)).expect("reads").expect("present");
        assert_eq!(tx.bytes(row).expect("its own").len(), 100);
        assert!(tx.get(table, &(turn * 2 + 1 + 2 * ROWS).to_be_bytes()).expect("reads").is_none());
    }
}

fn get_many(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    let keys: [_; 20] = core::array::from_fn(|at| key(turn + at as u64));
    for table in tables {
        let gets = keys.each_ref().map(|key| Get::read(table, key));
        let mut rows = [None; 20];
        tx.get_many(&gets, &mut rows).expect("reads");
        assert!(rows.iter().all(Option::is_some));
    }
}

fn visit_many(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    let keys: [_; 60] = core::array::from_fn(|at| key(turn + at as u64));
    for table in tables {
        let mut bytes = 0;
        tx.visit_many(table, &keys.each_ref().map(|key| &key[..]), &mut |_, row| {
            bytes += row.len();
            ControlFlow::Continue(())
        })
        .expect("reads");
        assert_eq!(bytes, 60 * 100);
    }
}

fn modify(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    for table in tables {
        let row = tx.get(table, &key(turn)).expect("reads").expect("present");
        tx.modify(row).expect("modifies")[50] ^= 1;
        tx.put(table, &key(turn + 1), &[turn as u8; 100]).expect("puts");
    }
}

fn come_and_go(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    for table in tables {
        if turn.is_multiple_of(2) {
            tx.insert(table, &passing(turn), &[1; 60]).expect("inserts");
        } else {
            assert!(tx.remove(table, &passing(turn)).expect("removes"));
        }
    }
}

fn scan(tx: &mut Tx<'_, Native, Silo<Native>>, tables: [TableId; 2], turn: u64) {
    let low = key(turn);
    let upwards = tx.scan(tables[0], Range { limit: 30, ..Range::between(&low, &[0xff; 8]) });
    assert!(!tx.entries(upwards.expect("scans")).expect("its own").is_empty());
    let down = tx.scan(tables[0], Range::between(&[0; 8], &key(turn)).reverse().limit(10));
    assert!(down.expect("scans").len() <= 10);
}

/// Allocations between begin and commit in `count` transactions that take `steps` in turn.
fn allocations(
    db: &Db,
    worker: &mut Worker<Native, Silo<Native>>,
    tables: [TableId; 2],
    steps: &[Step],
    turns: std::ops::Range<u64>,
) -> u64 {
    COUNT.set(0);
    for turn in turns {
        for step in steps {
            WATCHED.set(turn >= TRANSACTIONS);
            let mut tx = worker.begin(&Intent::update()).expect("begins");
            step(&mut tx, tables, turn);
            tx.commit().expect("alone");
            WATCHED.set(false);
        }
        if turn % 100 == 0 {
            db.tick();
        }
    }
    COUNT.get()
}

/// After as many transactions again as are measured.
fn in_steady_state(snapshots: Snapshots, steps: &[Step]) -> u64 {
    let options = Options { snapshots, snapshot_every: 3, ..Options::default() };
    let db = Db::open(options).expect("opens");
    let specs = [TableSpec::ordered("ordered"), TableSpec::hash("hash", 2 * ROWS as usize)];
    let tables = specs.map(|spec| db.create_table(spec).expect("created"));
    let mut worker = db.worker().expect("a slot");
    for table in tables {
        for row in 0..ROWS {
            worker.load(table, &(row * 2).to_be_bytes(), &[7; 100]).expect("loads");
        }
    }
    allocations(&db, &mut worker, tables, steps, 0..TRANSACTIONS);
    allocations(&db, &mut worker, tables, steps, TRANSACTIONS..2 * TRANSACTIONS)
}

const MODES: [Snapshots; 2] = [Snapshots::Off, Snapshots::Always];

#[test]
fn reads_and_scans_allocate_nothing() {
    for snapshots in MODES {
        assert_eq!(
            in_steady_state(snapshots, &[get, get_many, visit_many, scan]),
            0,
            "{snapshots:?}"
        );
    }
}

#[test]
fn updates_allocate_nothing() {
    for snapshots in MODES {
        assert_eq!(in_steady_state(snapshots, &[get, modify, get_many]), 0, "{snapshots:?}");
    }
}

/// A removal keeps a copy of its key for the collector, one for each of the two tables in every
/// second transaction; besides these there is nothing.
#[test]
fn insertions_and_removals_allocate_nothing() {
    for snapshots in MODES {
        let count = in_steady_state(snapshots, &[come_and_go, get, modify, scan]);
        assert_eq!(count, 0, "{snapshots:?}");
    }
}

/// A visit of many rows takes what the read set and the gaps take of them, and no room for the rows themselves.
#[test]
fn a_visit_keeps_no_row() {
    const ROWS: u64 = 50_000;
    let db = Db::open(Options::default()).expect("opens");
    let table = db.create_table(TableSpec::ordered("rows")).expect("created");
    let mut worker = db.worker().expect("a slot");
    for row in 0..ROWS {
        worker.load(table, &row.to_be_bytes(), &[7; 200]).expect("loads");
    }
    let mut bytes_of = |read: fn(&mut Tx<'_, Native, Silo<Native>>, TableId) -> u64| {
        BYTES.set(0);
        let mut tx = worker.begin(&Intent::update()).expect("begins");
        WATCHED.set(true);
        let rows = read(&mut tx, table);
        WATCHED.set(false);
        tx.commit().expect("alone");
        assert_eq!(rows, ROWS);
        BYTES.get()
    };
    let visited = bytes_of(|tx, table| {
        let mut rows = 0;
        let mut count = |_: &[u8], row: &[u8]| {
            rows += u64::from(row.len() == 200);
            core::ops::ControlFlow::Continue(())
        };
        tx.visit(table, Range::all(), &mut count).expect("reads");
        rows
    });
    let scanned = bytes_of(|tx, table| tx.scan(table, Range::all()).expect("reads").len() as u64);
    // Memory that doubles: four times what is in use at the end is the most that was ever asked for.
    assert!(visited < ROWS * 96, "{visited} bytes");
    assert!(scanned > ROWS * 200, "{scanned} bytes");
}
