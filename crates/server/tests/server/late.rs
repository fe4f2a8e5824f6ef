//! Under `silo` a block puts off a change of a row that many want, if nothing but the row's number depends on it: no client can
//! tell, except by what goes wrong later.

use crate::common::{connect, refusal, run_for, serve};
use chiliad::{Database, Options, Scheme};
use chiliad_server::Running;
use tokio_postgres::Client;

const TABLES: &str = "
    CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL, name text, low int CHECK (low < 5), tag int);
    CREATE INDEX counter_tag ON counter (tag);
    CREATE TABLE log (id serial PRIMARY KEY, n int);
    INSERT INTO counter VALUES (1, 0, 'one', 0, 0), (2, 0, 'two', 0, 0)";
const ADD: &str = "UPDATE counter SET n = n + 1 WHERE id = 1";

async fn served(scheme: Scheme) -> Running {
    let options = Options::default().scheme(scheme);
    let running = serve(&Database::in_memory_with(options).expect("opens"));
    connect(&running).await.batch_execute(TABLES).await.expect("made");
    running
}

/// Two clients of a server, who have both wanted to change the counter at the same time.
async fn with_two_clients(test: impl AsyncFn(Client, Client)) {
    let running = served(Scheme::Silo).await;
    let (ann, bob) = (connect(&running).await, connect(&running).await);
    ann.batch_execute(&format!("BEGIN; {ADD}")).await.expect("adds");
    bob.batch_execute(&format!("BEGIN; {ADD}; ROLLBACK")).await.expect("waits, and goes on");
    ann.batch_execute("ROLLBACK").await.expect("rolls back");
    test(ann, bob).await;
}

async fn n(client: &Client) -> i32 {
    let row = client.query_one("SELECT n FROM counter WHERE id = 1", &[]).await;
    row.expect("a row").get(0)
}

async fn does(client: &Client, text: &str) {
    client.batch_execute(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

#[test]
fn a_change_is_made_when_its_block_commits() {
    run_for(60, async {
        with_two_clients(async |ann, bob| {
            does(&ann, "BEGIN").await;
            assert_eq!(ann.execute(ADD, &[]).await.expect("one row"), 1);
            // Columns beside do not bring it forward, and nobody is in the way of the other block.
            does(&ann, "SELECT name FROM counter WHERE id = 1").await;
            does(&bob, &format!("BEGIN; {ADD}; INSERT INTO log (n) VALUES (1); COMMIT")).await;
            assert_eq!(n(&bob).await, 1);
            does(&ann, "COMMIT").await;
            assert_eq!(n(&bob).await, 2);
            // The block sees what it has done itself.
            does(&ann, &format!("BEGIN; {ADD}")).await;
            assert_eq!((n(&ann).await, n(&bob).await), (3, 2));
            does(&ann, "COMMIT").await;
            // In the order of its statements.
            let set = "UPDATE counter SET n = 10 WHERE id = 1";
            does(&ann, &format!("BEGIN; {ADD}; {set}; {ADD}; COMMIT")).await;
            assert_eq!(n(&bob).await, 11);
            for whole in [
                "UPDATE counter SET n = n * 2",
                "UPDATE counter SET n = n * 2 WHERE id = 1 RETURNING n",
                "UPDATE counter SET n = n * 2 WHERE id = 1 AND n > 0",
                "INSERT INTO counter VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET n = counter.n * 2",
                "WITH c AS (SELECT n FROM counter WHERE id = 1) SELECT * FROM c",
            ] {
                let before = n(&bob).await;
                does(&ann, &format!("BEGIN; {ADD}; {whole}; COMMIT")).await;
                let factor = if whole.starts_with("WITH") { 1 } else { 2 };
                assert_eq!(n(&bob).await, (before + 1) * factor, "{whole}");
            }
        })
        .await;
    });
}

#[test]
fn what_is_taken_back_is_not_made() {
    run_for(60, async {
        with_two_clients(async |ann, bob| {
            does(&ann, &format!("BEGIN; {ADD}; ROLLBACK")).await;
            assert_eq!(n(&bob).await, 0);
            does(&ann, &format!("BEGIN; {ADD}; SAVEPOINT s; {ADD}; ROLLBACK TO s; COMMIT")).await;
            assert_eq!(n(&bob).await, 1, "what came before the savepoint stays");
            does(&ann, &format!("BEGIN; {ADD}")).await;
            assert_eq!(refusal(&ann, "SELECT 1 / 0").await, "22012");
            does(&ann, "COMMIT").await;
            assert_eq!(n(&bob).await, 1, "a block that has failed does nothing");
            does(&ann, "BEGIN READ ONLY").await;
            assert_eq!(refusal(&ann, ADD).await, "25006");
            does(&ann, "ROLLBACK").await;
            does(&ann, &format!("BEGIN; {ADD}")).await;
            drop(ann);
            does(&bob, ADD).await;
            assert_eq!(n(&bob).await, 2, "a client that goes leaves nothing");
        })
        .await;
    });
}

#[test]
fn errors_come_with_their_statement_unless_they_come_of_others() {
    run_for(60, async {
        with_two_clients(async |ann, bob| {
            does(&bob, "UPDATE counter SET n = 2147483647 WHERE id = 1").await;
            for (change, state) in [
                (ADD, "22003"),
                ("UPDATE counter SET n = n + NULL WHERE id = 1", "23502"),
                ("UPDATE counter SET low = low + 7 WHERE id = 1", "23514"),
                ("UPDATE counter SET n = n / 0 WHERE id = 1", "22012"),
            ] {
                does(&ann, "BEGIN").await;
                assert_eq!(refusal(&ann, change).await, state, "{change}");
                does(&ann, "ROLLBACK").await;
            }
            let none = "UPDATE counter SET n = n + 1 WHERE id = 9";
            assert_eq!(ann.execute(none, &[]).await.expect("no row"), 0);
            // What nobody could know when the statement was answered.
            does(&bob, "UPDATE counter SET n = 2147483645 WHERE id = 1").await;
            does(&ann, &format!("BEGIN; INSERT INTO log (n) VALUES (7); {ADD}")).await;
            does(&bob, "UPDATE counter SET n = n + 2 WHERE id = 1").await;
            assert_eq!(refusal(&ann, "COMMIT").await, "22003");
            let logged = bob.query_one("SELECT count(*) FROM log", &[]).await.expect("counts");
            assert_eq!((n(&bob).await, logged.get(0)), (2_147_483_647, 0_i64), "nothing is done");
            // The row that was changed goes.
            does(&bob, "UPDATE counter SET n = 0 WHERE id = 1").await;
            does(&ann, &format!("BEGIN; {ADD}")).await;
            does(&bob, "DELETE FROM counter WHERE id = 1").await;
            assert_eq!(refusal(&ann, "COMMIT").await, "40001");
            // And comes back: the block that has changed it comes after.
            does(&bob, "INSERT INTO counter VALUES (1, 5)").await;
            does(&ann, &format!("BEGIN; {ADD}")).await;
            does(&bob, "DELETE FROM counter WHERE id = 1; INSERT INTO counter VALUES (1, 7)").await;
            does(&ann, "COMMIT").await;
            assert_eq!(n(&bob).await, 8);
        })
        .await;
    });
}

/// Sums are right and nobody is refused, whatever clients do between a change and its commit, under every scheme by which a
/// block waits instead of being refused.
#[test]
fn many_blocks_add_to_one_row() {
    run_for(120, async {
        for scheme in [Scheme::Silo, Scheme::LockTable] {
            let running = served(scheme).await;
            let mut tasks = tokio::task::JoinSet::new();
            for client in 0..8 {
                let mine = connect(&running).await;
                tasks.spawn(async move {
                    for round in 0..40 {
                        let between = ["SELECT name FROM counter WHERE id = 1", "SELECT 1"];
                        let between = between[(client + round) % 2];
                        let read =
                            if round % 8 == 7 { "SELECT n FROM counter WHERE id = 1" } else { "" };
                        let block = format!(
                            "BEGIN; {ADD}; {between}; INSERT INTO log (n) VALUES (1); {read}"
                        );
                        does(&mine, &block).await;
                        does(&mine, "COMMIT").await;
                    }
                });
            }
            while let Some(done) = tasks.join_next().await {
                done.expect("all went through");
            }
            let client = connect(&running).await;
            let logged = client.query_one("SELECT count(*) FROM log", &[]).await.expect("counts");
            assert_eq!((n(&client).await, logged.get(0)), (320, 320_i64), "{scheme}");
        }
    });
}
