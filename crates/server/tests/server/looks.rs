//! Under `silo` rows that a query has read count by the columns that it looks at, for its results and on its way to them:
//! changes of others do not refuse a block. The blocks here set a savepoint, so none is run again behind its client's back.

use crate::common::{connect, refusal, run_for, serve};
use chiliad::{Database, Options, Scheme};
use tokio_postgres::Client;

async fn with_two_clients(test: impl AsyncFn(Client, Client)) {
    let options = Options::default().scheme(Scheme::Silo);
    let running = serve(&Database::in_memory_with(options).expect("opens"));
    let setup = connect(&running).await;
    setup.batch_execute(TABLES).await.expect("made");
    test(connect(&running).await, connect(&running).await).await;
}

const TABLES: &str = "
    CREATE TABLE item (id int PRIMARY KEY, name text, n int, seen int, tag int);
    CREATE INDEX item_tag ON item (tag);
    CREATE TABLE box (id int PRIMARY KEY, item int, width int, height int);
    CREATE TABLE other (id int PRIMARY KEY, n int);
    INSERT INTO item VALUES (1, 'one', 10, 0, 5), (2, 'two', 20, 0, 5), (3, 'three', 30, 0, 6);
    INSERT INTO box VALUES (1, 1, 2, 3), (2, 2, 4, 5);
    INSERT INTO other VALUES (1, 0)";

/// A block reads, another client writes, and the block writes elsewhere and commits.
async fn block(ann: &Client, bob: &Client, read: &str, write: &str) -> Result<(), String> {
    ann.batch_execute(&format!("BEGIN; SAVEPOINT s; {read}")).await.expect("reads");
    bob.batch_execute(write).await.expect("writes");
    let then = "UPDATE other SET n = n + 1 WHERE id = 1; COMMIT";
    let done = ann.batch_execute(then).await;
    let state = |error: &tokio_postgres::Error| error.code().map(|it| it.code().to_owned());
    let refused = done.as_ref().err().and_then(state);
    ann.batch_execute("ROLLBACK").await.expect("over");
    refused.map_or(Ok(()), Err)
}

#[test]
fn a_block_is_refused_for_the_columns_that_it_has_looked_at() {
    // Queries, changes beside what they look at, and changes of that.
    let cases: [(&str, &[&str], &[&str]); 12] = [
        (
            "SELECT name FROM item WHERE id = 1",
            &["n = n + 1", "seen = 1, tag = 5"],
            &["name = 'x'"],
        ),
        ("SELECT id FROM item WHERE id = 1", &["n = n + 1", "name = 'y'"], &[]),
        ("SELECT name FROM item WHERE id = 1 FOR UPDATE", &["seen = 2"], &["name = 'z'"]),
        ("SELECT name FROM item WHERE id < 3", &["n = n + 1"], &["name = 'x', n = 0"]),
        ("SELECT name FROM item WHERE n > 0", &["seen = 3"], &["n = n + 1", "name = 'y'"]),
        ("SELECT name FROM item ORDER BY n LIMIT 1", &["seen = 4"], &["n = n + 1"]),
        ("SELECT seen FROM item WHERE tag = 5", &["n = 1", "name = 'y'"], &["seen = 9", "tag = 6"]),
        ("SELECT count(*) FROM item", &["n = n + 1", "seen = 8"], &[]),
        ("SELECT tag, sum(n) FROM item GROUP BY tag", &["seen = 5"], &["n = n + 1", "tag = 6"]),
        (
            "SELECT width FROM box, item WHERE item.id = box.item AND box.id = 1",
            &["n = n + 1", "name = 'x'"],
            &[],
        ),
        (
            "SELECT name FROM box JOIN item ON item.tag = width + 3 WHERE box.id = 1",
            &["n = n + 1", "seen = 6"],
            &["name = 'z'", "tag = tag + 1"],
        ),
        (
            "SELECT height FROM box WHERE width < (SELECT max(n) FROM item)",
            &["seen = 7", "name = 'y'"],
            &["n = n + 1"],
        ),
    ];
    run_for(60, async {
        for (read, beside, within) in cases {
            with_two_clients(async |ann, bob| {
                for set in beside {
                    let write = format!("UPDATE item SET {set} WHERE id = 1");
                    assert_eq!(block(&ann, &bob, read, &write).await, Ok(()), "{read}: {set}");
                }
                for set in within {
                    let write = format!("UPDATE item SET {set} WHERE id = 1");
                    let refused = block(&ann, &bob, read, &write).await;
                    assert_eq!(refused, Err("40001".into()), "{read}: {set}");
                }
            })
            .await;
        }
    });
}

#[test]
fn rows_that_go_or_move_are_missed() {
    run_for(60, async {
        for write in [
            "DELETE FROM item WHERE id = 1",
            "DELETE FROM item WHERE id = 1; INSERT INTO item VALUES (1, 'one', 10, 0, 5)",
            "UPDATE item SET id = 7 WHERE id = 1",
            "INSERT INTO item VALUES (1, 'x', 1, 1, 1) ON CONFLICT (id) DO UPDATE SET name = 'v'",
            "UPDATE item SET n = 1 WHERE id = 1; UPDATE item SET name = 'one' WHERE id = 1",
        ] {
            with_two_clients(async |ann, bob| {
                let read = "SELECT name FROM item WHERE id = 1";
                let refused = block(&ann, &bob, read, write).await;
                assert_eq!(refused, Err("40001".into()), "{write}");
            })
            .await;
        }
    });
}

/// A statement that fails leaves nothing behind of what it has looked at: what follows a savepoint looks at all.
#[test]
fn a_statement_that_fails_looks_at_nothing_more() {
    run_for(60, async {
        with_two_clients(async |ann, bob| {
            ann.batch_execute("BEGIN; SAVEPOINT s").await.expect("begins");
            let failed = refusal(&ann, "SELECT 1 / (n - 10) FROM item WHERE id = 1").await;
            assert_eq!(failed, "22012");
            let goes_on = "ROLLBACK TO s; UPDATE other SET n = seen FROM item WHERE item.id = 2";
            ann.batch_execute(goes_on).await.expect("goes on");
            bob.batch_execute("UPDATE item SET name = 'x' WHERE id = 2").await.expect("writes");
            assert_eq!(refusal(&ann, "COMMIT").await, "40001", "a change looks at whole rows");
        })
        .await;
    });
}
