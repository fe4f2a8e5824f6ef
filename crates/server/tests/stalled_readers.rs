//! Clients that ask for much and read nothing: the others of their thread go on, what is kept for them has its limit, and
//! their locks go with them.

mod common;

use chiliad::{Database, Options, Scheme};
use chiliad_server::{Running, Server};
use common::raw::Raw;
use common::{local, resident, until};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows of a kibibyte.
const ROWS: usize = 32 << 10;
/// The schemes whose transactions hold locks while they are open, and one that holds none.
const SCHEMES: [Scheme; 5] =
    [Scheme::Silo, Scheme::NoWait, Scheme::WaitDie, Scheme::DlDetect, Scheme::LockTable];

/// One test at a time: they look at the memory of the process.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server on one thread.
fn serve(scheme: Scheme) -> Running {
    let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
    let running = Server::builder(db).listen(local()).threads(1).start().expect("it starts");
    let tables = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)";
    Raw::connect(&running).query(tables).hear();
    running
}

fn many_rows(rows: usize) -> String {
    format!("SELECT '{}', i FROM generate_series(1, {rows}) AS g(i)", "x".repeat(1000))
}

/// Updates a row, as often as it is refused because of one that holds it.
fn update_until_done(raw: &mut Raw, id: u32) {
    let text = format!("UPDATE t SET n = n + 1 WHERE id = {id}");
    until("the row is free", || match raw.query(&text).told().as_slice() {
        [done] if done == "C UPDATE 1" => true,
        refused => {
            assert!(refused[0].starts_with("E 40") || refused[0] == "E 55P03", "{refused:?}");
            false
        }
    });
}

#[test]
fn others_go_on_beside_a_client_that_reads_nothing() {
    let _turn = turn();
    for scheme in SCHEMES {
        let running = serve(scheme);
        let mut other = Raw::connect(&running);
        for result in [many_rows(ROWS), format!("COPY ({}) TO STDOUT", many_rows(ROWS))] {
            let mut stalled = Raw::connect(&running);
            stalled.query("BEGIN; UPDATE t SET n = n + 1 WHERE id = 1").hear();
            stalled.query(&result).send().expect("sent");
            for _ in 0..50 {
                assert_eq!(other.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
                update_until_done(&mut other, 2);
            }
            drop(stalled);
            // Whatever it held is free, and nothing of it was done.
            update_until_done(&mut other, 1);
            until("it has gone", || running.connections() == 1);
            let told = other.query("SELECT n FROM t WHERE id = 1").told();
            assert!(told[1] == "D 1" || told[1] == "D 2", "{scheme}: {told:?}");
        }
        running.shutdown();
    }
}

/// One that reads in the end gets everything, and in between others were served.
#[test]
fn a_slow_reader_gets_its_whole_result() {
    let _turn = turn();
    let running = serve(Scheme::Silo);
    let (mut slow, mut other) = (Raw::connect(&running), Raw::connect(&running));
    slow.query(&many_rows(ROWS)).send().expect("sent");
    let mut rows = 0;
    loop {
        match slow.next().expect("a message").kind {
            b'D' => rows += 1,
            b'Z' => break,
            _ => {}
        }
        if rows % 4096 == 0 {
            assert_eq!(other.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
        }
    }
    assert_eq!(rows, ROWS);
}

/// A result is kept once, and that of the next statement is not made before it is read: a pipeline whose results are many
/// times its own size costs no more than one of them. All of it goes with the client.
#[test]
fn what_is_kept_for_clients_that_read_nothing_has_a_limit() {
    let _turn = turn();
    let running = serve(Scheme::Silo);
    let mut other = Raw::connect(&running);
    // 4 MiB each, 400 MiB together.
    let query = many_rows(4 << 10);
    for round in 0..3 {
        let before = resident();
        let mut stalled: Vec<Raw> = (0..4).map(|_| Raw::connect(&running)).collect();
        for raw in &mut stalled {
            (0..100).for_each(|_| _ = raw.query(&query));
            raw.send().expect("sent");
        }
        for _ in 0..100 {
            assert_eq!(other.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
        }
        let grown = resident().saturating_sub(before);
        assert!(grown < 96 << 20, "round {round}: {grown} bytes more than before");
        drop(stalled);
        until("they have gone", || running.connections() == 1);
    }
    let told = other.query("SELECT count(*) FROM t").told();
    assert_eq!(told, ["T 1", "D 2", "C SELECT 1"]);
}

/// More than a session may keep is an error, not memory.
#[test]
fn a_result_beyond_the_limit_is_refused() {
    let _turn = turn();
    let running = serve(Scheme::Silo);
    let mut raw = Raw::connect(&running);
    for text in [many_rows(400 << 10), format!("COPY ({}) TO STDOUT", many_rows(400 << 10))] {
        let heard = raw.query(&text).hear();
        assert_eq!(heard.last().and_then(|it| it.sqlstate()).as_deref(), Some("53400"));
        assert_eq!(raw.query("SELECT 1").told(), ["T 1", "D 1", "C SELECT 1"]);
    }
}
