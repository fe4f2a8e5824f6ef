//! Under `--durability sync` no client is told of a commit that a crash may take back, in an open block neither.

mod common;

use chiliad::{Database, Durability, Options, Pending, Scheme, Table};
use chiliad_server::Running;
use common::{connect, refusal, run_for, serve};
use std::time::Duration;
use tokio_postgres::Client;

/// A database whose epochs are so long that nothing becomes durable unless somebody asks for it.
fn open(name: &str, scheme: Scheme) -> (Database, Table<i64, i64>, std::path::PathBuf) {
    let path = std::env::temp_dir().join(format!("chiliad-{name}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&path);
    let options = Options::default().scheme(scheme).durability(Durability::Sync);
    let db = Database::open_with(&path, options.epoch(Duration::from_secs(10))).expect("opens");
    let marks = db.create_table("marks").expect("made");
    (db, marks, path)
}

const TABLE: &str = "CREATE TABLE stock (id bigint PRIMARY KEY, amount bigint);
    INSERT INTO stock SELECT i, 10 FROM generate_series(1, 9) AS g(i)";

/// Commits a statement whose client does not ask that it be durable. What is returned is durable when it is: of the same
/// epoch.
async fn put(writer: &Client, db: &Database, marks: &Table<i64, i64>, sql: &str) -> Pending<()> {
    for _ in 0..50 {
        writer.batch_execute(sql).await.expect("committed");
        let mark = db.submit(|tx| tx.put(marks, &1, &1)).expect("committed");
        tokio::time::sleep(Duration::from_millis(50)).await;
        if !mark.is_durable().expect("a log") {
            return mark;
        }
    }
    panic!("epochs go on ending, though nobody asks for it");
}

/// A client that writes and waits for nothing.
async fn writer(running: &Running) -> Client {
    let client = connect(running).await;
    client.batch_execute(TABLE).await.expect("made");
    client.batch_execute("SET synchronous_commit = off").await.expect("set");
    client
}

fn update(id: i64) -> String {
    format!("UPDATE stock SET amount = 11 WHERE id = {id}")
}

/// The schemes under which a server is of use, and whether their rows tell when they were committed.
const SCHEMES: [(Scheme, bool); 8] = [
    (Scheme::Silo, true),
    (Scheme::NoWait, true),
    (Scheme::WaitDie, true),
    (Scheme::DlDetect, true),
    (Scheme::LockTable, true),
    (Scheme::Mvcc, false),
    (Scheme::Timestamp, false),
    (Scheme::Occ, false),
];

#[test]
fn rows_read_in_a_block_are_told_when_they_are_durable() {
    run_for(300, async {
        for (scheme, knows) in SCHEMES {
            let (db, marks, path) = open("durable-replies", scheme);
            let running = serve(&db);
            let client = connect(&running).await;
            let writer = writer(&running).await;
            let read = |id: i64| format!("SELECT amount FROM stock WHERE id = {id}");
            let one = put(&writer, &db, &marks, &update(1)).await;
            let durable = |pending: &Pending<()>| pending.is_durable().expect("a log");
            client.batch_execute("BEGIN").await.expect("begins");
            // Rows that are long durable are told at once, where the scheme knows it.
            let rows = client.query(&read(7), &[]).await;
            assert_eq!(rows.expect("read").len(), 1, "{scheme}");
            assert_eq!(durable(&one), !knows, "{scheme}");
            // Both protocols, and a cursor.
            let rows = client.query(&read(1), &[]).await;
            assert_eq!(rows.expect("read")[0].get::<_, i64>(0), 11, "{scheme}");
            assert!(durable(&one), "{scheme}");
            let other = put(&writer, &db, &marks, &update(2)).await;
            client.batch_execute("COMMIT; BEGIN").await.expect("again");
            client.simple_query("SELECT * FROM stock").await.expect("read");
            assert!(durable(&other), "{scheme}");
            client.batch_execute("COMMIT; BEGIN").await.expect("again");
            let third = put(&writer, &db, &marks, &update(4)).await;
            let declare = format!("DECLARE c CURSOR FOR {}", read(4));
            client.batch_execute(&declare).await.expect("declared");
            assert!(durable(&third), "{scheme}");
            client.batch_execute("ROLLBACK").await.expect("over");
            running.shutdown();
            drop((client, writer, marks, db));
            std::fs::remove_dir_all(&path).expect("removed");
        }
    });
}

/// An error tells of what a statement has read, as rows do; the number of rows that it has written is the transaction's
/// own, and counts when that has committed.
#[test]
fn errors_are_told_when_what_they_tell_of_is_durable() {
    run_for(300, async {
        for (scheme, knows) in SCHEMES {
            let (db, marks, path) = open("durable-errors", scheme);
            let running = serve(&db);
            let client = connect(&running).await;
            let durable = |pending: &Pending<()>| pending.is_durable().expect("a log");
            let writer = writer(&running).await;
            for begin in ["", "BEGIN;"] {
                let id = 20 + begin.len() as i64;
                let sql = format!(
                    "DELETE FROM stock WHERE id = {id}; INSERT INTO stock VALUES ({id}, 1)"
                );
                let pending = put(&writer, &db, &marks, &sql).await;
                let insert = format!("{begin} INSERT INTO stock VALUES ({id}, 0)");
                assert_eq!(refusal(&client, &insert).await, "23505", "{scheme}");
                assert!(durable(&pending), "{scheme}, {insert}");
            }
            client.batch_execute("ROLLBACK; BEGIN").await.expect("again");
            let pending = put(&writer, &db, &marks, &update(5)).await;
            let more = "UPDATE stock SET amount = amount + 1 WHERE id = 5";
            client.batch_execute(more).await.expect("updated");
            assert!(!knows || !durable(&pending), "{scheme}: nobody was told of it");
            client.batch_execute("COMMIT").await.expect("committed");
            assert!(durable(&pending), "{scheme}");
            running.shutdown();
            drop((client, writer, marks, db));
            std::fs::remove_dir_all(&path).expect("removed");
        }
    });
}
