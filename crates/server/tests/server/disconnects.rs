//! Clients that go at the worst moment: nothing of what they had not committed is there, and what they had locked is free.

use crate::common::raw::Raw;
use crate::common::{local, until};
use chiliad::{Database, Options, Scheme};
use chiliad_server::{Running, Server};

const SCHEMES: [Scheme; 6] = [
    Scheme::Silo,
    Scheme::NoWait,
    Scheme::WaitDie,
    Scheme::DlDetect,
    Scheme::LockTable,
    Scheme::Mvcc,
];

const TABLES: &str = "CREATE TABLE t (id int PRIMARY KEY, n int UNIQUE);
    INSERT INTO t SELECT i, i FROM generate_series(1, 10) AS g(i)";

fn for_each_scheme(test: impl Fn(Scheme, &Running, &mut Raw)) {
    for scheme in SCHEMES {
        let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
        let running = Server::builder(db).listen(local()).threads(2).start().expect("it starts");
        let mut other = Raw::connect(&running);
        assert_eq!(other.query(TABLES).told(), ["C CREATE TABLE", "C INSERT 0 10"]);
        test(scheme, &running, &mut other);
        running.shutdown();
    }
}

/// All rows can be written, and there are the first ten alone.
#[track_caller]
fn is_as_before(raw: &mut Raw, running: &Running) {
    until("it has gone", || running.connections() == 1);
    let told = raw.query("SELECT count(*), sum(n) FROM t").told();
    assert_eq!(told, ["T 2", "D 10,55", "C SELECT 1"]);
    // Keys that the one who has gone had taken are free, and its rows are nobody's.
    let all = "BEGIN; UPDATE t SET n = n + 1000; INSERT INTO t VALUES (11, 11)";
    until("all is free", || {
        let told = raw.query(all).told();
        assert_eq!(raw.query("ROLLBACK").told(), ["C ROLLBACK"]);
        let is_refused = told.iter().any(|it| it.starts_with("E 40") || it == "E 55P03");
        assert!(is_refused || told == ["C BEGIN", "C UPDATE 10", "C INSERT 0 1"], "{told:?}");
        !is_refused
    });
}

#[test]
fn a_copy_that_is_not_ended_is_not_there() {
    for_each_scheme(|_, running, other| {
        let rows: String = (11..2000).map(|id| format!("{id}\t{id}\n")).collect();
        for (block, cut) in [("", "12"), ("BEGIN; UPDATE t SET n = -n;", ""), ("BEGIN;", "12\t12")]
        {
            let mut raw = Raw::connect(running);
            raw.query(&format!("{block} COPY t FROM STDIN"));
            raw.message(b'd', rows.as_bytes()).message(b'd', cut.as_bytes());
            // Half a message more.
            raw.bytes(b"d\0\0\x10\0half").send().expect("sent");
            while raw.next().expect("an answer").kind != b'G' {}
            drop(raw);
            is_as_before(other, running);
        }
    });
}

#[test]
fn locks_and_rows_of_an_open_transaction_go_with_its_client() {
    for_each_scheme(|_, running, other| {
        let statements = [
            "BEGIN; UPDATE t SET n = -n",
            "BEGIN; DELETE FROM t; INSERT INTO t VALUES (11, 11), (3, 3)",
            "BEGIN; SELECT * FROM t FOR UPDATE",
            "BEGIN; INSERT INTO t VALUES (11, 11); SAVEPOINT s; UPDATE t SET n = 99 WHERE id = 4",
            "BEGIN; UPDATE t SET n = -n; SELECT 1 / 0",
            "BEGIN; CREATE TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1)",
            "BEGIN; UPDATE t SET n = -n; DECLARE c CURSOR FOR SELECT * FROM t; FETCH 2 FROM c",
        ];
        for text in statements {
            let mut raw = Raw::connect(running);
            raw.query(text).hear();
            drop(raw);
            is_as_before(other, running);
        }
        // In the middle of a pipeline, before Sync.
        let mut raw = Raw::connect(running);
        raw.bind("", "UPDATE t SET n = -n", false).execute("", 0).message(b'H', b"");
        raw.send().expect("sent");
        while raw.next().expect("an answer").kind != b'C' {}
        drop(raw);
        is_as_before(other, running);
        // A statement of which half has come.
        let mut raw = Raw::connect(running);
        raw.query("BEGIN; UPDATE t SET n = -n").hear();
        raw.bytes(b"Q\0\0\0\x0eCOMMI").send().expect("sent");
        drop(raw);
        is_as_before(other, running);
    });
}

/// Many at once go while they work on the same rows as a client that stays: that one commits all the time.
#[test]
fn who_stays_commits_while_others_go() {
    for_each_scheme(|scheme, running, other| {
        for round in 0..10 {
            let mut going: Vec<Raw> = (0..8).map(|_| Raw::connect(running)).collect();
            for (number, raw) in going.iter_mut().enumerate() {
                let id = 1 + (number + round) % 10;
                let text = format!("BEGIN; UPDATE t SET n = n + 100 WHERE id = {id}; SELECT 1");
                // Not waited for: some go before they are answered, or while they wait for a lock.
                raw.query(&text).send().expect("sent");
            }
            drop(going);
            let update = "UPDATE t SET n = n WHERE id <= 10";
            until("the rows are free", || match other.query(update).told().as_slice() {
                [done] if done == "C UPDATE 10" => true,
                refused => {
                    let known = refused[0].starts_with("E 40") || refused[0] == "E 55P03";
                    assert!(known, "{scheme}: {refused:?}");
                    false
                }
            });
        }
        is_as_before(other, running);
    });
}
