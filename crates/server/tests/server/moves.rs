//! Connections that go from thread to thread, from outside.

use crate::common::{connect, local, rows, run_for};
use chiliad::{Database, Options, Scheme};
use chiliad_server::Server;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

/// Under every scheme: statements of one block, a cursor and a prepared statement, each message on another thread than the
/// one before.
#[test]
fn a_session_moves_with_all_it_has() {
    run_for(120, async {
        for scheme in Scheme::ALL.into_iter().filter(|it| it.info().has_transactions()) {
            let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
            let running = Server::builder(db).threads(3).listen(local()).restless().start();
            let running = running.expect("it starts");
            let client = connect(&running).await;
            client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, n int)").await.expect("made");
            if matches!(scheme, Scheme::Partitioned | Scheme::HStore) {
                // They serve procedures alone.
                continue;
            }
            let add = client.prepare("INSERT INTO t VALUES ($1, $2)").await.expect("prepared");
            for block in 0..20 {
                client.batch_execute("BEGIN").await.expect("begun");
                for id in block * 10..block * 10 + 10 {
                    client.execute(&add, &[&id, &block]).await.expect("inserted");
                }
                client.batch_execute("SAVEPOINT s; DELETE FROM t").await.expect("deleted");
                client.batch_execute("ROLLBACK TO s").await.expect("undone");
                let scroll = "DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id";
                client.batch_execute(scroll).await.expect("declared");
                let mut fetched = 0;
                while let many = rows(&client, "FETCH 7 FROM c").await.len()
                    && many > 0
                {
                    fetched += many;
                }
                assert_eq!(fetched as i32, block * 10 + 10, "{scheme}");
                client.batch_execute("COMMIT").await.expect("committed");
            }
            assert_eq!(rows(&client, "SELECT count(*) FROM t").await, ["200"], "{scheme}");
        }
    });
}

/// All threads are told of a job that has ended, some of them late: a session that has moved there meanwhile, and waits for another job,
/// does not take that one's end for its own.
#[test]
fn each_change_of_tables_waits_for_its_own_end() {
    run_for(120, async {
        let db = Database::in_memory().expect("opens");
        let running = Server::builder(db).threads(4).listen(local()).restless().start();
        let running = running.expect("it starts");
        let client = connect(&running).await;
        let table = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, i % 7 FROM generate_series(1, 50) i";
        client.batch_execute(table).await.expect("made");
        for _ in 0..150 {
            client.batch_execute("CREATE INDEX t_n ON t (n)").await.expect("added");
            let block = "BEGIN; CREATE TABLE c (id int PRIMARY KEY, n int); CREATE INDEX c_n ON c (n); COMMIT";
            client.batch_execute(block).await.expect("made in a block");
            client.batch_execute("DROP TABLE c").await.expect("dropped");
            client.batch_execute("DROP INDEX t_n").await.expect("dropped");
        }
    });
}

/// The threads that calls of one client run on: all of them where connections are restless, one where they are not.
#[test]
fn calls_of_one_client_run_on_all_threads_in_turn() {
    run_for(60, async {
        for (restless, expected) in [(true, 3), (false, 1)] {
            let seen: Arc<Mutex<HashSet<ThreadId>>> = Arc::default();
            let sees = Arc::clone(&seen);
            let server = Server::builder(Database::in_memory().expect("opens")).threads(3);
            let server = server.listen(local()).procedure("look", move |_, _: (i64, i64)| {
                sees.lock().expect("no panic").insert(thread::current().id());
                Ok(())
            });
            let server = if restless { server.restless() } else { server };
            let running = server.start().expect("it starts");
            let client = connect(&running).await;
            for _ in 0..12 {
                client.batch_execute("CALL look(1, 2)").await.expect("called");
            }
            assert_eq!(seen.lock().expect("no panic").len(), expected);
            running.shutdown();
        }
    });
}
