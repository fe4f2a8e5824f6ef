//! A block that its scheme refuses goes on where its client cannot tell, and is refused where it can.

use crate::common::{connect, refusal, run_for, serve, state};
use chiliad::{Database, Options, Scheme};
use chiliad_server::Running;
use std::time::Duration;
use tokio_postgres::Client;

/// How long a scheme that locks has a transaction wait.
const LOCK: Duration = Duration::from_millis(50);

async fn served(scheme: Scheme) -> Running {
    let options = Options::default().scheme(scheme).wait_timeout(LOCK);
    let running = serve(&Database::in_memory_with(options).expect("opens"));
    let setup = connect(&running).await;
    let text = "CREATE TABLE item (id int PRIMARY KEY, name text, n int, read int); \
                INSERT INTO item VALUES (1, 'one', 0, 0), (2, 'two', 0, 0), (3, 'three', 0, 0)";
    setup.batch_execute(text).await.expect("made");
    running
}

async fn number(client: &Client, id: i32) -> i32 {
    let row = client.query_one("SELECT n FROM item WHERE id = $1", &[&id]).await;
    row.expect("a row").get(0)
}

/// Schemes under which a reader does not keep others from writing what it has read.
const OPTIMISTIC: [Scheme; 3] = [Scheme::Silo, Scheme::GlobalTid, Scheme::Occ];

/// Runs a test with two clients of a server, under each of these schemes.
fn with_two_clients(test: impl AsyncFn(Scheme, Client, Client)) {
    run_for(60, async {
        for scheme in OPTIMISTIC {
            let running = served(scheme).await;
            test(scheme, connect(&running).await, connect(&running).await).await;
        }
    });
}

#[test]
fn a_block_goes_on_where_its_client_cannot_tell() {
    with_two_clients(async |scheme, ann, bob| {
        ann.batch_execute("BEGIN").await.expect("begins");
        let name = ann.query_one("SELECT name FROM item WHERE id = 1", &[]).await.expect("read");
        assert_eq!(name.get::<_, &str>(0), "one", "{scheme}");
        let add = "UPDATE item SET n = n + 1 WHERE id = 1";
        // The row that was read changes, but for what was read of it.
        bob.batch_execute(add).await.expect("written");
        assert_eq!(ann.execute(add, &[]).await.expect("resumed"), 1, "{scheme}");
        bob.batch_execute(add).await.expect("written");
        ann.batch_execute("COMMIT").await.expect("resumed");
        assert_eq!(number(&bob, 1).await, 3, "{scheme}");
    });
}

#[test]
fn a_block_that_would_say_something_else_is_refused() {
    let there_and_back =
        "UPDATE item SET name = 'x' WHERE id = 1; UPDATE item SET name = 'one' WHERE id = 1";
    with_two_clients(async |scheme, ann, bob| {
        for (read, write) in [
            ("SELECT n FROM item WHERE id = 1", "UPDATE item SET n = n + 1 WHERE id = 1"),
            // It says how many rows it has changed.
            ("UPDATE item SET name = 'x' WHERE n = 0", "UPDATE item SET n = 7 WHERE id = 2"),
            ("SELECT count(*) FROM item", "INSERT INTO item SELECT max(id) + 1 FROM item"),
            // What cannot be done again.
            ("SAVEPOINT s; SELECT name FROM item WHERE id = 1", there_and_back),
            ("DECLARE c CURSOR FOR SELECT name FROM item WHERE id = 1; FETCH c", there_and_back),
        ] {
            ann.batch_execute("BEGIN").await.expect("begins");
            ann.batch_execute(read).await.expect("read");
            bob.batch_execute(write).await.expect("written");
            let then = "UPDATE item SET n = n + 1 WHERE id = 3; COMMIT";
            assert_eq!(refusal(&ann, then).await, "40001", "{scheme}: {read}");
            ann.batch_execute("ROLLBACK").await.expect("rolled back");
        }
        assert_eq!(number(&bob, 3).await, 0, "{scheme}: what was refused has done nothing");
    });
}

#[test]
fn a_block_of_many_statements_goes_on_with_the_values_of_each() {
    with_two_clients(async |scheme, ann, bob| {
        let bump = "UPDATE item SET n = n + 1 WHERE id = 1";
        // The later blocks are kept in the memory of the first.
        for round in 1..=3 {
            let (name, id) = (format!("two of {round}"), 10 * round);
            ann.batch_execute("BEGIN").await.expect("begins");
            let of = "SELECT name FROM item WHERE id = $1";
            let one = ann.query_one(of, &[&1]).await.expect("read");
            assert_eq!(one.get::<_, &str>(0), "one", "{scheme}");
            let set = "UPDATE item SET name = $1, read = $2 WHERE id = $3";
            ann.execute(set, &[&name, &round, &2]).await.expect("written");
            let add = "INSERT INTO item VALUES ($1, 'a', 0, $2), ($3, 'b', $2, 0)";
            ann.execute(add, &[&id, &round, &(id + 1)]).await.expect("inserted");
            let two = ann.query_one(of, &[&2]).await.expect("read");
            assert_eq!(two.get::<_, &str>(0), name, "{scheme}");
            bob.batch_execute(bump).await.expect("written");
            ann.batch_execute("COMMIT").await.expect("resumed");
            let sum = "SELECT sum(n + 100 * read) FROM item WHERE id >= $1 AND id <= $1 + 1";
            let sum = bob.query_one(sum, &[&id]).await.expect("read");
            assert_eq!(sum.get::<_, i64>(0), i64::from(101 * round), "{scheme}");
        }
    });
}

/// Has a client read a number and write what it makes of it, beside an addition that reads nothing that is told.
async fn count(client: &mut Client) -> Result<(), tokio_postgres::Error> {
    let tx = client.transaction().await?;
    let row = tx.query_one("SELECT n FROM item WHERE id = 1", &[]).await?;
    let next = row.get::<_, i32>(0) + 1;
    tx.execute("UPDATE item SET read = read + 1 WHERE id = 2", &[]).await?;
    tx.execute("UPDATE item SET n = $1 WHERE id = 1", &[&next]).await?;
    tx.commit().await
}

/// Counts with several clients at once until each has succeeded so often: no count is lost, and none counts twice.
async fn count_at_once(scheme: Scheme) {
    const CLIENTS: i32 = 3;
    const TIMES: i32 = 5;
    let running = served(scheme).await;
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..CLIENTS {
        let mut client = connect(&running).await;
        clients.spawn(async move {
            let mut done = 0;
            while done < TIMES {
                match count(&mut client).await {
                    Ok(()) => done += 1,
                    Err(error) => {
                        let code = state(&error);
                        let is_refusal = matches!(&*code, "40001" | "40P01" | "55P03");
                        assert!(is_refusal, "{scheme}: {code}");
                    }
                }
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done.expect("it counts");
    }
    let client = connect(&running).await;
    let row = client.query_one("SELECT sum(n), sum(read) FROM item", &[]).await.expect("sums");
    let sums = (row.get::<_, i64>(0), row.get::<_, i64>(1));
    assert_eq!(sums, (i64::from(CLIENTS * TIMES), i64::from(CLIENTS * TIMES)), "{scheme}");
}

#[test]
fn no_scheme_loses_what_a_client_has_made_of_what_it_was_told() {
    run_for(240, async {
        let mut tasks = tokio::task::JoinSet::new();
        for scheme in Scheme::ALL {
            let info = scheme.info();
            if info.has_transactions() && info.is_serializable() {
                tasks.spawn(count_at_once(scheme));
            }
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("nothing is lost");
        }
    });
}

/// Blocks that tell nothing of the row that all of them change are all committed, without one that is refused.
#[test]
fn additions_in_blocks_are_never_refused() {
    run_for(60, async {
        for scheme in OPTIMISTIC {
            let running = served(scheme).await;
            let mut clients = tokio::task::JoinSet::new();
            for _ in 0..4 {
                let client = connect(&running).await;
                clients.spawn(async move {
                    for _ in 0..25 {
                        client.batch_execute("BEGIN").await.expect("begins");
                        for id in [1, 2] {
                            let add = "UPDATE item SET n = n + 1 WHERE id = $1 RETURNING name";
                            let row = client.query_one(add, &[&id]).await.expect("resumed");
                            assert_eq!(row.get::<_, &str>(0), ["one", "two"][id as usize - 1]);
                        }
                        client.batch_execute("COMMIT").await.expect("committed");
                    }
                });
            }
            while let Some(done) = clients.join_next().await {
                done.expect("it adds");
            }
            let client = connect(&running).await;
            assert_eq!(
                (number(&client, 1).await, number(&client, 2).await),
                (100, 100),
                "{scheme}"
            );
        }
    });
}
