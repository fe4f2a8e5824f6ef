//! What fails or is killed while it loads a table, or gives it a key, has changed nothing.

use crate::common::raw::Raw;
use crate::common::{child, connect, run_for, serve, state, with_server};
use chiliad::{Database, Options};
use futures_util::SinkExt;
use std::io::Cursor;
use std::pin::pin;
use std::time::Duration;
use tokio_postgres::{Client, CopyInSink, Error};

/// Rows of two columns without a primary key, some thousands of them in one message.
async fn copy(client: &Client, rows: impl Iterator<Item = String>) -> Result<u64, Error> {
    let sink: CopyInSink<Cursor<Vec<u8>>> = client.copy_in("COPY t FROM STDIN").await?;
    let mut sink = pin!(sink);
    let rows: Vec<String> = rows.collect();
    for piece in rows.chunks(3000) {
        sink.send(Cursor::new(piece.concat().into_bytes())).await?;
    }
    sink.finish().await
}

fn numbered(ids: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    ids.map(|id| format!("{id}\tvalue {id}\n"))
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.expect(sql).get(0)
}

async fn count(client: &Client) -> i64 {
    number(client, "SELECT count(*) FROM t").await
}

/// Whether a row is found by its key.
async fn has_key(client: &Client) -> bool {
    let row = client.query_one("EXPLAIN SELECT * FROM t WHERE id = 1", &[]).await;
    row.expect("a plan").get::<_, &str>(0).contains("Key Lookup")
}

#[test]
fn a_copy_that_fails_in_its_midst_leaves_nothing() {
    with_server(120, async |_, running| {
        let (ann, bob) = (connect(running).await, connect(running).await);
        let made = "CREATE TABLE t (id int, v varchar(12)); INSERT INTO t VALUES (0, 'there')";
        ann.batch_execute(made).await.expect("made");
        for (bad, code) in [
            ("x\ty\n", "22P02"),
            ("1\n", "22P04"),
            ("1\ta\tb\n", "22P04"),
            ("1\tthirteen bytes\n", "22001"),
        ] {
            let rows = || numbered(0..15_000).chain([bad.to_owned()]).chain(numbered(0..5_000));
            let error = copy(&ann, rows()).await.expect_err("a bad row");
            let told = error.as_db_error().expect("the server's");
            assert_eq!(told.code().code(), code, "{told}");
            assert_eq!(told.detail(), Some("COPY t, line 15001"), "{bad}");
            assert_eq!(count(&ann).await, 1);
            // Into a table that the transaction has emptied rows are put beside it.
            ann.batch_execute("BEGIN; TRUNCATE t").await.expect("emptied");
            assert_eq!(state(&copy(&ann, rows()).await.expect_err("a bad row")), code);
            assert_eq!(state(&ann.query("SELECT 1", &[]).await.expect_err("failed")), "25P02");
            ann.batch_execute("COMMIT").await.expect("ended");
            assert_eq!((count(&ann).await, count(&bob).await), (1, 1));
        }
    });
}

/// Rows may come in any pieces: a message each, as pgbench sends them, and messages that end anywhere.
#[test]
fn rows_come_in_messages_of_any_size() {
    let db = Database::in_memory().expect("opens");
    let running = serve(&db);
    let mut raw = Raw::connect(&running);
    raw.query("CREATE TABLE t (id int, v text)").hear();
    let rows: Vec<u8> = numbered(0..3000).flat_map(String::into_bytes).collect();
    for (size, bad) in [(1, false), (7, false), (100, false), (40_000, false), (7, true)] {
        raw.query("TRUNCATE t").hear();
        raw.query("COPY t FROM STDIN");
        rows.chunks(size).for_each(|piece| _ = raw.message(b'd', piece));
        if bad {
            raw.message(b'd', b"none\tx\n");
            rows.chunks(size).for_each(|piece| _ = raw.message(b'd', piece));
        }
        raw.message(b'c', b"").hear();
        let expected = if bad { "0" } else { "3000" };
        let told = raw.query("SELECT count(*), max(id), max(v) FROM t").hear();
        let row = told.iter().find(|it| it.kind == b'D').expect("a row");
        let row = String::from_utf8_lossy(&row.body).into_owned();
        assert!(row.contains(expected) && bad != row.contains("value 999"), "{size}: {row:?}");
    }
    running.shutdown();
}

#[test]
fn a_key_that_rows_share_is_named_and_not_added() {
    with_server(120, async |_, running| {
        let client = connect(running).await;
        client.batch_execute("CREATE TABLE t (id int, v text)").await.expect("made");
        copy(&client, numbered(0..5000).chain(["4321\tagain\n".to_owned()])).await.expect("copied");
        const ADD: &str = "ALTER TABLE t ADD PRIMARY KEY (id)";
        // Alone it goes on beside others; in a block it belongs to that.
        for before in ["", "BEGIN; "] {
            let error = client.batch_execute(&format!("{before}{ADD}")).await.expect_err("shared");
            let told = error.as_db_error().expect("the server's");
            assert_eq!(told.code().code(), "23505", "{told}");
            assert_eq!(told.message(), "could not create unique index \"t_pkey\"");
            assert_eq!(told.detail(), Some("Key (id)=(4321) is duplicated."));
            client.batch_execute("ROLLBACK").await.expect("over");
            assert_eq!(count(&client).await, 5001);
            assert!(!has_key(&client).await);
        }
        // The table takes rows as before.
        client.batch_execute("DELETE FROM t WHERE v = 'again'").await.expect("deleted");
        client.batch_execute("INSERT INTO t VALUES (NULL, 'none')").await.expect("inserted");
        for before in ["", "BEGIN; "] {
            let error = client.batch_execute(&format!("{before}{ADD}")).await.expect_err("a null");
            let told = error.as_db_error().expect("the server's");
            assert_eq!(told.code().code(), "23502", "{told}");
            assert_eq!(told.message(), "column \"id\" of relation \"t\" contains null values");
            client.batch_execute("ROLLBACK").await.expect("over");
        }
        client.batch_execute("DELETE FROM t WHERE id IS NULL").await.expect("deleted");
        client.batch_execute(ADD).await.expect("added");
        assert!(has_key(&client).await);
        assert_eq!(count(&client).await, 5000);
        let sum = "SELECT count(*) FROM t WHERE v = 'value ' || id::text";
        assert_eq!(number(&client, sum).await, 5000, "each row has its own value");
    });
}

/// Loads a table and gives it a key, again and again, until the process is killed. Returns what was acknowledged last.
async fn work(client: Client, rows: u32) -> Acknowledged {
    let mut done = Acknowledged::Nothing;
    loop {
        let made = "DROP TABLE IF EXISTS t; CREATE TABLE t (id int, v text)";
        if client.batch_execute(made).await.is_err() {
            return done;
        }
        done = Acknowledged::Empty;
        let loaded = async {
            client.batch_execute("BEGIN; TRUNCATE t").await?;
            copy(&client, numbered(0..rows)).await?;
            client.batch_execute("COMMIT").await
        };
        if loaded.await.is_err() {
            return done;
        }
        done = Acknowledged::Loaded;
        if client.batch_execute("ALTER TABLE t ADD PRIMARY KEY (id)").await.is_err() {
            return done;
        }
        done = Acknowledged::Keyed;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Acknowledged {
    Nothing,
    Empty,
    Loaded,
    Keyed,
}

/// Kills a process at any moment of a COPY and of ADD PRIMARY KEY: each is done as a whole or not at all, and done if it was
/// acknowledged.
#[test]
fn a_crash_leaves_a_load_and_a_key_whole_or_not_there() {
    const ROWS: u32 = 20_000;
    run_for(600, async {
        let path = child::empty_place("loads");
        let mut seen = std::collections::BTreeSet::new();
        // A machine with other work is slower than the moments are apart: it gets more of them.
        for cycle in 0..96_u64 {
            if cycle >= 16 && seen.len() > 2 {
                break;
            }
            let mut served = child::start("loads::serves_until_it_is_killed", &path);
            let work = tokio::spawn(work(served.connect().await, ROWS));
            tokio::time::sleep(Duration::from_millis(20 + cycle * 61)).await;
            served.kill();
            let acknowledged = work.await.expect("no panic");
            let (_db, running, client) = child::reopen(&path).await;
            let is_there = client.query("SELECT 1 FROM t WHERE id = -1", &[]).await.is_ok();
            let found = match is_there {
                false => (0, false),
                true => (count(&client).await, has_key(&client).await),
            };
            assert!(found.0 == 0 || found.0 == i64::from(ROWS), "{acknowledged:?}: {found:?}");
            let expected = match acknowledged {
                // A drop that nobody has heard of, or none.
                Acknowledged::Nothing | Acknowledged::Keyed => true,
                Acknowledged::Empty => is_there && !found.1,
                Acknowledged::Loaded => found.0 > 0,
            };
            assert!(expected, "{acknowledged:?}: {found:?}");
            if found.0 > 0 {
                let own = "SELECT count(*) FROM t WHERE v = 'value ' || id::text";
                assert_eq!(number(&client, own).await, found.0, "each row has its own value");
            }
            seen.insert((acknowledged, found));
            running.shutdown();
        }
        assert!(seen.len() > 2, "kills at several moments: {seen:?}");
        std::fs::remove_dir_all(&path).expect("removed");
    });
}

/// The process that is killed: nothing unless it is one.
#[test]
fn serves_until_it_is_killed() {
    child::serve_if_asked(Options::default());
}
