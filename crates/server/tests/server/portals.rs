//! Portals of the protocol and cursors of SQL are one namespace, as in PostgreSQL: each is executed, fetched from and
//! closed by either kind of message.

use crate::common::raw::Raw;
use crate::common::serve;
use chiliad::Database;
use chiliad_server::Running;

const NUMBERS: &str = "SELECT n FROM generate_series(1, 9) AS g(n)";

/// A connection, within a transaction block.
fn in_block(running: &Running) -> Raw {
    let mut raw = Raw::connect(running);
    assert_eq!(raw.query("BEGIN").told(), ["C BEGIN"]);
    raw
}

fn with_server(test: impl FnOnce(&Running)) {
    let db = Database::in_memory().expect("opens");
    let running = serve(&db);
    test(&running);
    running.shutdown();
}

#[test]
fn statements_fetch_from_portals_that_are_bound() {
    with_server(|running| {
        let mut raw = in_block(running);
        raw.bind("p", NUMBERS, false).execute("p", 2).sync();
        assert_eq!(raw.told(), ["1", "2", "D 1", "D 2", "s"]);
        assert_eq!(raw.query("MOVE FORWARD 3 IN p").told(), ["C MOVE 3"]);
        assert_eq!(raw.query("FETCH 1 FROM \"p\"").told(), ["T 1", "D 6", "C FETCH 1"]);
        assert_eq!(raw.execute("p", 2).sync().told(), ["D 7", "D 8", "s"]);
        assert_eq!(raw.query("FETCH ALL IN p").told(), ["T 1", "D 9", "C FETCH 1"]);
        assert_eq!(raw.execute("p", 0).sync().told(), ["C SELECT 0"]);
        // One that was not run is run by FETCH; each kind of message has formats of its own.
        raw.bind("q", NUMBERS, true).sync();
        assert_eq!(raw.told(), ["1", "2"]);
        assert_eq!(raw.query("FETCH q").told(), ["T 1", "D 1", "C FETCH 1"]);
        assert_eq!(raw.execute("q", 1).sync().told(), ["D [00, 00, 00, 02]", "s"]);
        raw.bind("", "FETCH 2 FROM q", true).message(b'D', b"P\0").execute("", 0).sync();
        let told = raw.told();
        assert_eq!(
            told,
            ["1", "2", "T 1", "D [00, 00, 00, 03]", "D [00, 00, 00, 04]", "C FETCH 2"]
        );
        assert_eq!(raw.query("CLOSE q; COMMIT").told(), ["C CLOSE CURSOR", "C COMMIT"]);
        assert_eq!(raw.execute("p", 0).sync().told(), ["E 34000"]);
    });
}

#[test]
fn declared_cursors_are_executed_and_closed_by_messages() {
    with_server(|running| {
        let mut raw = in_block(running);
        let declare = format!("DECLARE c CURSOR FOR {NUMBERS}");
        assert_eq!(raw.query(&declare).told(), ["C DECLARE CURSOR"]);
        raw.message(b'D', b"Pc\0").execute("c", 2).sync();
        assert_eq!(raw.told(), ["T 1", "D 1", "D 2", "s"]);
        assert_eq!(raw.query("FETCH c").told(), ["T 1", "D 3", "C FETCH 1"]);
        assert_eq!(raw.query("MOVE 5 IN c").told(), ["C MOVE 5"]);
        assert_eq!(raw.execute("c", 5).sync().told(), ["D 9", "C SELECT 1"]);
        // Close of a portal closes it, and its name is free.
        assert_eq!(raw.message(b'C', b"Pc\0").sync().told(), ["3"]);
        raw.bind("c", NUMBERS, false).sync();
        assert_eq!(raw.told(), ["1", "2"]);
        assert_eq!(raw.query(&declare).told(), ["E 42P03"]);
        assert_eq!(raw.query("ROLLBACK").told(), ["C ROLLBACK"]);
        assert_eq!(raw.query("BEGIN").query(&declare).told(), ["C BEGIN"]);
        assert_eq!(raw.hear().len(), 1);
        raw.bind("c", NUMBERS, false).sync();
        assert_eq!(raw.told(), ["1", "E 42P03"]);
        assert_eq!(raw.execute("c", 1).sync().told(), ["E 25P02"]);
    });
}

/// As a driver does that declares a cursor with parameters (psycopg), and takes rows for the answer where there are any.
#[test]
fn a_portal_that_declares_a_cursor_returns_no_rows() {
    with_server(|running| {
        let mut raw = in_block(running);
        let declare = format!("DECLARE c CURSOR FOR {NUMBERS}");
        raw.bind("", &declare, false).message(b'D', b"P\0").execute("", 0).sync();
        assert_eq!(raw.told(), ["1", "2", "n", "C DECLARE CURSOR"]);
        // The cursor does, and the portal still does not.
        assert_eq!(raw.message(b'D', b"Pc\0").sync().told(), ["T 1"]);
        assert_eq!(raw.query("FETCH 2 FROM c").told(), ["T 1", "D 1", "D 2", "C FETCH 2"]);
        raw.bind("p", "DECLARE d CURSOR FOR SELECT 1", false).sync().hear();
        assert_eq!(raw.query("SAVEPOINT s").told(), ["C SAVEPOINT"]);
        assert_eq!(raw.query("FETCH p").told(), ["E 55000"]);
        assert_eq!(raw.query("ROLLBACK TO s").told(), ["C ROLLBACK"]);
        assert_eq!(raw.query("MOVE 1 IN p").told(), ["E 55000"]);
        assert_eq!(raw.query("ROLLBACK TO s").told(), ["C ROLLBACK"]);
        raw.execute("p", 3).message(b'D', b"Pp\0").message(b'D', b"Pd\0").sync();
        assert_eq!(raw.told(), ["C DECLARE CURSOR", "n", "T 1"]);
    });
}

#[test]
fn portals_end_with_their_transaction_or_savepoint() {
    with_server(|running| {
        let mut raw = in_block(running);
        let hold = format!("DECLARE h CURSOR WITH HOLD FOR {NUMBERS}");
        assert_eq!(raw.query(&hold).told(), ["C DECLARE CURSOR"]);
        raw.bind("before", NUMBERS, false).sync().hear();
        raw.query("SAVEPOINT s").hear();
        raw.bind("after", NUMBERS, false).sync().hear();
        assert_eq!(raw.query("ROLLBACK TO s").told(), ["C ROLLBACK"]);
        assert_eq!(raw.execute("before", 1).sync().told(), ["D 1", "s"]);
        assert_eq!(raw.query("COMMIT").told(), ["C COMMIT"]);
        // A cursor WITH HOLD outlives its transaction, and is executed without one.
        assert_eq!(raw.execute("h", 1).sync().told(), ["D 1", "s"]);
        assert_eq!(raw.query("FETCH h").told(), ["T 1", "D 2", "C FETCH 1"]);
        assert_eq!(raw.query("SELECT 1 / 0").told(), ["T 1", "E 22012"]);
        assert_eq!(raw.execute("h", 1).sync().told(), ["D 3", "s"]);
        assert_eq!(raw.query("CLOSE ALL").told(), ["C CLOSE CURSOR ALL"]);
        // A portal of a pipeline ends with it.
        raw.bind("p", NUMBERS, false).execute("p", 1).sync();
        assert_eq!(raw.told(), ["1", "2", "D 1", "s"]);
        assert_eq!(raw.query("FETCH p").told(), ["E 34000"]);
    });
}

#[test]
fn portals_without_rows_cannot_be_fetched_from() {
    with_server(|running| {
        let mut raw = Raw::connect(running);
        raw.query("CREATE TABLE t (id int PRIMARY KEY)").hear();
        for (text, rows_max, told) in
            [("INSERT INTO t VALUES (1)", 0, "C INSERT 0 1"), ("FETCH 1 FROM p", 0, "E 55000")]
        {
            raw.query("BEGIN").hear();
            raw.bind("p", text, false).execute("p", rows_max).sync();
            assert_eq!(raw.told().last().map(String::as_str), Some(told), "{text}");
            if told.starts_with('C') {
                assert_eq!(raw.execute("p", 0).sync().told(), ["E 55000"], "{text}");
            }
            raw.query("ROLLBACK").hear();
        }
        // Rows of a write are told in pieces; it writes once.
        raw.query("BEGIN").hear();
        let insert = "INSERT INTO t VALUES (1), (2), (3) RETURNING id";
        raw.bind("p", insert, false).execute("p", 2).sync();
        assert_eq!(raw.told(), ["1", "2", "D 1", "D 2", "s"]);
        assert_eq!(raw.query("FETCH 5 FROM p").told(), ["T 1", "D 3", "C FETCH 1"]);
        assert_eq!(raw.query("COMMIT").told(), ["C COMMIT"]);
        assert_eq!(raw.query("SELECT count(*) FROM t").told(), ["T 1", "D 3", "C SELECT 1"]);
        raw.query("BEGIN").hear();
        raw.bind("s", "SHOW ALL", false).execute("s", 3).sync();
        assert_eq!(raw.told().last().map(String::as_str), Some("s"));
        raw.bind("i", "INSERT INTO t VALUES (9)", false).sync().hear();
        assert_eq!(raw.query("FETCH i").told(), ["E 55000"]);
    });
}
