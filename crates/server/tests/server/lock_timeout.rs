//! `lock_timeout` limits each wait for a lock, and nothing else; `statement_timeout` limits a statement, waiting or not.

use crate::common::local;
use crate::common::raw::Raw;
use chiliad::{Database, Durability, Options, Scheme};
use chiliad_server::{Running, Server};
use std::time::{Duration, Instant};

/// The schemes whose statements wait for each other.
const WAITING: [Scheme; 12] = [
    Scheme::WaitDie,
    Scheme::DlDetect,
    Scheme::Timestamp,
    Scheme::Mvcc,
    Scheme::Partitioned,
    Scheme::HStore,
    Scheme::LockTable,
    Scheme::LockTableGlobal,
    Scheme::LockTableBucket,
    Scheme::LockTableSli,
    Scheme::LockTableNoEbr,
    Scheme::LockTableRepeatableRead,
];

const UPDATE: &str = "UPDATE t SET n = n + 1 WHERE id = 1";

/// A statement that goes on until it is told to end, and looks at no row.
const ENDLESS: &str =
    "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b";

fn serve(db: Database) -> Running {
    let running = Server::builder(db).listen(local()).threads(1).start().expect("it starts");
    let tables = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)";
    Raw::connect(&running).query(tables).hear();
    running
}

fn in_memory(scheme: Scheme) -> Running {
    // Longer than any test: it is the session's own limits that end waits.
    let options = Options::default().scheme(scheme).wait_timeout(Duration::from_secs(600));
    serve(Database::in_memory_with(options).expect("opens"))
}

fn client(running: &Running, lock_timeout: u32, statement_timeout: u32) -> Raw {
    let mut raw = Raw::connect(running);
    let limits =
        format!("SET lock_timeout = {lock_timeout}; SET statement_timeout = {statement_timeout}");
    assert_eq!(raw.query(&limits).told(), ["C SET", "C SET"]);
    raw
}

/// A statement that waits for a row, or for its partition, which another client holds. What it is told, and after how long.
fn wait(scheme: Scheme, running: &Running, waits: &mut Raw) -> (Vec<String>, Duration) {
    let mut holds = client(running, 0, 0);
    // The older one waits under this scheme.
    let is_older = scheme == Scheme::WaitDie;
    if is_older {
        waits.query("BEGIN; SELECT n FROM t WHERE id = 2").hear();
    }
    assert_eq!(holds.query(&format!("BEGIN; {UPDATE}")).told(), ["C BEGIN", "C UPDATE 1"]);
    let begun = Instant::now();
    let told = waits.query(UPDATE).told();
    let waited = begun.elapsed();
    assert_eq!(holds.query("COMMIT").told(), ["C COMMIT"], "{scheme}");
    if is_older {
        assert_eq!(waits.query("COMMIT").told(), ["C ROLLBACK"], "{scheme}");
    }
    // The session goes on.
    assert_eq!(waits.query(UPDATE).told(), ["C UPDATE 1"], "{scheme}");
    assert_eq!(waits.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"], "{scheme}");
    (told, waited)
}

#[test]
fn a_statement_that_never_waits_takes_as_long_as_it_takes() {
    for scheme in WAITING {
        let running = in_memory(scheme);
        let mut raw = client(&running, 50, 0);
        let (mut first, mut rows) = (10, 2_000);
        loop {
            let last = first + rows - 1;
            let text = format!("INSERT INTO t SELECT g, 0 FROM generate_series({first}, {last}) g");
            let begun = Instant::now();
            assert_eq!(raw.query(&text).told(), [format!("C INSERT 0 {rows}")], "{scheme}");
            if begun.elapsed() >= Duration::from_millis(200) {
                break;
            }
            (first, rows) = (last + 1, rows * 2);
        }
        running.shutdown();
    }
}

#[test]
fn the_limit_that_is_reached_first_ends_a_wait() {
    for scheme in WAITING {
        let running = in_memory(scheme);
        for (lock, statement, code) in
            [(100, 0, "55P03"), (100, 60_000, "55P03"), (60_000, 100, "57014"), (0, 100, "57014")]
        {
            let mut waits = client(&running, lock, statement);
            let (told, waited) = wait(scheme, &running, &mut waits);
            assert_eq!(told, [format!("E {code}")], "{scheme}: {lock}, {statement}");
            let in_time = Duration::from_millis(90)..Duration::from_secs(50);
            assert!(in_time.contains(&waited), "{scheme}: {lock}, {statement}: {waited:?}");
        }
        running.shutdown();
    }
}

/// Where a savepoint is the first that needs a partition, it waits for it.
#[test]
fn a_savepoint_waits_no_longer_than_it_may() {
    for scheme in [Scheme::Partitioned, Scheme::HStore] {
        let running = in_memory(scheme);
        let (mut holds, mut waits) = (client(&running, 0, 0), client(&running, 100, 0));
        holds.query(&format!("BEGIN; {UPDATE}")).hear();
        assert_eq!(waits.query("BEGIN").told(), ["C BEGIN"], "{scheme}");
        assert_eq!(waits.query("SAVEPOINT s").told(), ["E 55P03"], "{scheme}");
        assert_eq!(waits.query("COMMIT").told(), ["C ROLLBACK"], "{scheme}");
        holds.query("COMMIT").hear();
        let told = waits.query(&format!("BEGIN; SAVEPOINT s; {UPDATE}; COMMIT")).told();
        assert_eq!(told, ["C BEGIN", "C SAVEPOINT", "C UPDATE 1", "C COMMIT"], "{scheme}");
        running.shutdown();
    }
}

#[test]
fn a_statement_that_computes_ends_by_its_own_limit() {
    for scheme in [Scheme::Silo, Scheme::LockTable] {
        let running = in_memory(scheme);
        let mut raw = client(&running, 20, 200);
        let begun = Instant::now();
        // The columns of its rows may be told before.
        let told = raw.query(ENDLESS).told();
        assert_eq!(told.last().map(String::as_str), Some("E 57014"), "{scheme}");
        assert!(begun.elapsed() >= Duration::from_millis(200), "{scheme}");
        assert_eq!(raw.query(UPDATE).told(), ["C UPDATE 1"], "{scheme}");
        running.shutdown();
    }
}

/// A commit waits for the disk for longer than a statement may wait for a lock.
#[test]
fn a_commit_that_waits_for_the_disk_is_not_ended() {
    let name = format!("chiliad-lock-timeout-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    _ = std::fs::remove_dir_all(&path);
    for scheme in [Scheme::LockTable, Scheme::DlDetect] {
        let options = Options::default().scheme(scheme).durability(Durability::Sync);
        let db = Database::open_with(&path, options).expect("opens");
        let running = serve(db.clone());
        let mut raw = client(&running, 1, 0);
        for _ in 0..50 {
            assert_eq!(raw.query(UPDATE).told(), ["C UPDATE 1"], "{scheme}");
            let told = raw.query(&format!("BEGIN; {UPDATE}; COMMIT")).told();
            assert_eq!(told, ["C BEGIN", "C UPDATE 1", "C COMMIT"], "{scheme}");
        }
        running.shutdown();
        drop(db);
        std::fs::remove_dir_all(&path).expect("removed");
    }
}
