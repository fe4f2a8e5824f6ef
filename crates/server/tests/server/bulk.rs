//! COPY into a table that the transaction has made or emptied takes any number of rows, however few a transaction may write.

use crate::common::{child, connect, run_for, serve, state};
use chiliad::{Database, Options, Scheme};
use std::process::Command;
use std::time::Duration;
use tokio_postgres::Client;

/// Far less than what is copied.
const TRANSACTION_BYTES: u64 = 16 << 20;

fn options() -> Options {
    Options::default().transaction_bytes_max(TRANSACTION_BYTES)
}

/// Copies so many rows, of about 400 bytes each.
async fn copy(client: &Client, table: &str, rows: u32) -> Result<u64, tokio_postgres::Error> {
    use tokio_postgres::CopyInSink;
    let sink: CopyInSink<std::io::Cursor<Vec<u8>>> =
        client.copy_in(&format!("COPY {table} FROM STDIN")).await?;
    let mut sink = std::pin::pin!(sink);
    let filler = "x".repeat(400);
    for piece in 0..rows.div_ceil(1000) {
        let ids = piece * 1000..rows.min((piece + 1) * 1000);
        let text: String = ids.map(|id| format!("{id}\t{filler}\n")).collect();
        send(&mut sink, text.into_bytes()).await?;
    }
    sink.finish().await
}

/// Sends one piece of a COPY.
async fn send(
    sink: &mut std::pin::Pin<&mut tokio_postgres::CopyInSink<std::io::Cursor<Vec<u8>>>>,
    piece: Vec<u8>,
) -> Result<(), tokio_postgres::Error> {
    use futures_util::SinkExt;
    sink.send(std::io::Cursor::new(piece)).await
}

async fn count(client: &Client, table: &str) -> i64 {
    let row = client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await;
    row.expect("counted").get(0)
}

#[test]
fn a_new_table_takes_more_than_a_transaction() {
    run_for(120, async {
        for scheme in [Scheme::Silo, Scheme::LockTable, Scheme::Mvcc, Scheme::Occ] {
            let db = Database::in_memory_with(options().scheme(scheme)).expect("opens");
            let running = serve(&db);
            let (ann, bob) = (connect(&running).await, connect(&running).await);
            ann.batch_execute("CREATE TABLE t (id int, v text); INSERT INTO t VALUES (1, 'a')")
                .await
                .expect("made");
            // Into a table of all it is the transaction's own rows that are too many.
            let refused = copy(&ann, "t", 60_000).await.expect_err("too many");
            assert!(
                matches!(&*state(&refused), "53200" | "54000" | "53400"),
                "{scheme}: {refused:?}"
            );
            // Emptied, alone at the begin of a transaction, under every scheme.
            ann.batch_execute("BEGIN; TRUNCATE t").await.expect("emptied");
            assert_eq!(copy(&ann, "t", 60_000).await.expect("copied"), 60_000, "{scheme}");
            assert_eq!(count(&bob, "t").await, 1, "{scheme}: nobody sees them yet");
            ann.batch_execute("ROLLBACK").await.expect("rolled back");
            assert_eq!(count(&ann, "t").await, 1, "{scheme}");
            ann.batch_execute("BEGIN; CREATE TABLE u (id int PRIMARY KEY, v text)")
                .await
                .expect("made");
            assert_eq!(copy(&ann, "u", 60_000).await.expect("copied"), 60_000, "{scheme}");
            let twice = copy(&ann, "u", 2).await.expect_err("keys are taken");
            assert_eq!(state(&twice), "23505", "{scheme}");
            ann.batch_execute("ROLLBACK; BEGIN; CREATE TABLE u (id int PRIMARY KEY, v text)")
                .await
                .expect("made");
            assert_eq!(copy(&ann, "u", 60_000).await.expect("copied"), 60_000, "{scheme}");
            assert_eq!(count(&ann, "u").await, 60_000, "{scheme}: its own session sees them");
            ann.batch_execute("INSERT INTO u VALUES (-1, 'last'); COMMIT")
                .await
                .expect("committed");
            assert_eq!(count(&bob, "u").await, 60_001, "{scheme}");
            running.shutdown();
        }
    });
}

/// A savepoint that is set after the table was made must be able to take the rows back: they are the transaction's own.
#[test]
fn a_savepoint_takes_copied_rows_back() {
    run_for(60, async {
        let db = Database::in_memory_with(options()).expect("opens");
        let running = serve(&db);
        let client = connect(&running).await;
        client
            .batch_execute("BEGIN; CREATE TABLE t (id int PRIMARY KEY, v text); SAVEPOINT s")
            .await
            .expect("made");
        assert_eq!(copy(&client, "t", 1000).await.expect("copied"), 1000);
        client.batch_execute("ROLLBACK TO s").await.expect("back");
        assert_eq!(count(&client, "t").await, 0);
        // Made after the savepoint, the table goes with its rows.
        client.batch_execute("CREATE TABLE u (id int PRIMARY KEY, v text)").await.expect("made");
        assert_eq!(copy(&client, "u", 60_000).await.expect("copied"), 60_000);
        client.batch_execute("ROLLBACK TO s; COMMIT").await.expect("committed");
        assert_eq!(count(&client, "t").await, 0);
        assert!(client.batch_execute("SELECT * FROM u").await.is_err());
        running.shutdown();
    });
}

/// The tables of pgbench at scale 10 by its own program, more than the server keeps of a transaction by far, and durable
/// with the commit.
#[test]
fn pgbench_loads_a_scale_beyond_a_transaction() {
    if Command::new("pgbench").arg("--version").output().is_err() {
        println!("skipped: pgbench is not installed");
        return;
    }
    run_for(500, async {
        let path = child::empty_place("bulk");
        let mut served = child::start("bulk::serves_until_it_is_killed", &path);
        let port = served.port().to_string();
        let arguments =
            ["-h", "127.0.0.1", "-p", &port, "-U", "ann", "-i", "-q", "-s", "10", "test"];
        let output = Command::new("pgbench").args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        tokio::time::sleep(Duration::from_millis(50)).await;
        served.kill();
        let (db, running, client) = child::reopen(&path).await;
        assert_eq!(count(&client, "pgbench_accounts").await, 1_000_000);
        assert_eq!(count(&client, "pgbench_tellers").await, 100);
        let row =
            client.query_one("SELECT bid FROM pgbench_accounts WHERE aid = 999999", &[]).await;
        assert_eq!(row.expect("a row").get::<_, i32>(0), 10);
        running.shutdown();
        drop((client, db));
        std::fs::remove_dir_all(&path).expect("removed");
    });
}

/// The process that is killed: nothing unless it is one.
#[test]
fn serves_until_it_is_killed() {
    child::serve_if_asked(options());
}
