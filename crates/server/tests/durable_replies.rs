//! Under `--durability sync` no client is told of a commit that a crash may take back, in an open block neither.

mod common;

use chiliad::{Database, Durability, Options, Pending, Row, Scheme, Table};
use common::{connect, refusal, run_for, serve};
use std::time::Duration;
use tokio_postgres::Client;

#[derive(Row, Clone, Debug)]
struct Stock {
    amount: i64,
}

/// The name of the table's key.
async fn key_of(client: &Client) -> String {
    let prepared = client.prepare("SELECT * FROM stock").await.expect("prepared");
    prepared.columns()[0].name().to_owned()
}

/// A database whose epochs are so long that nothing becomes durable unless somebody asks for it.
fn open(name: &str, scheme: Scheme) -> (Database, Table<i64, Stock>, std::path::PathBuf) {
    let path = std::env::temp_dir().join(format!("chiliad-{name}-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&path);
    let options = Options::default().scheme(scheme).durability(Durability::Sync);
    let db = Database::open_with(&path, options.epoch(Duration::from_secs(10))).expect("opens");
    let stock = db.create_table("stock").expect("made");
    for id in 1..=9 {
        db.run(|tx| tx.put(&stock, &id, &Stock { amount: 10 })).expect("put");
    }
    (db, stock, path)
}

/// Commits without asking that it be durable.
fn put(db: &Database, stock: &Table<i64, Stock>, id: i64) -> Pending<()> {
    let pending = db.submit(|tx| tx.put(stock, &id, &Stock { amount: 11 })).expect("committed");
    assert!(!pending.is_durable().expect("a log"), "nobody has asked for it");
    pending
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
            let (db, stock, path) = open("durable-replies", scheme);
            let running = serve(&db);
            let client = connect(&running).await;
            let key = key_of(&client).await;
            let read = |id: i64| format!("SELECT amount FROM stock WHERE {key} = {id}");
            let (one, other) = (put(&db, &stock, 1), put(&db, &stock, 2));
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
            let other = if durable(&other) { put(&db, &stock, 3) } else { other };
            client.simple_query("SELECT * FROM stock").await.expect("read");
            assert!(durable(&other), "{scheme}");
            client.batch_execute("COMMIT; BEGIN").await.expect("again");
            let third = put(&db, &stock, 4);
            let declare = format!("DECLARE c CURSOR FOR {}", read(4));
            client.batch_execute(&declare).await.expect("declared");
            assert!(durable(&third), "{scheme}");
            client.batch_execute("ROLLBACK").await.expect("over");
            running.shutdown();
            drop((client, stock, db));
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
            let (db, stock, path) = open("durable-errors", scheme);
            let running = serve(&db);
            let client = connect(&running).await;
            let durable = |pending: &Pending<()>| pending.is_durable().expect("a log");
            for begin in ["", "BEGIN;"] {
                let id = 20 + begin.len() as i64;
                let pending = put(&db, &stock, id);
                let insert = format!("{begin} INSERT INTO stock VALUES ({id}, 0)");
                assert_eq!(refusal(&client, &insert).await, "23505", "{scheme}");
                assert!(durable(&pending), "{scheme}, {insert}");
            }
            client.batch_execute("ROLLBACK; BEGIN").await.expect("again");
            let pending = put(&db, &stock, 5);
            let key = key_of(&client).await;
            let update = format!("UPDATE stock SET amount = amount + 1 WHERE {key} = 5");
            client.batch_execute(&update).await.expect("updated");
            assert!(!knows || !durable(&pending), "{scheme}: nobody was told of it");
            client.batch_execute("COMMIT").await.expect("committed");
            assert!(durable(&pending), "{scheme}");
            running.shutdown();
            drop((client, stock, db));
            std::fs::remove_dir_all(&path).expect("removed");
        }
    });
}
