//! Changes of tables within transactions, from outside: nobody sees them before the commit, a rollback undoes them, and a
//! crash leaves all or nothing.

use crate::common::{child, connect, refusal, run_for, serve, with_server};
use chiliad::{Database, Options, Scheme};
use std::time::Duration;
use tokio_postgres::{Client, SimpleQueryMessage};

/// The first column of a result, as text.
async fn column(client: &Client, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    let first = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("null").to_owned()),
        _ => None,
    };
    Ok(messages.iter().filter_map(first).collect())
}

async fn one(client: &Client, sql: &str) -> String {
    column(client, sql).await.expect(sql).concat()
}

/// The server's own tables.
const OWN: [&str; 3] = ["chiliad sql details", "chiliad sql changes", "chiliad sql procedures"];

/// The tables of a database, but for the server's own.
fn tables(db: &Database) -> Vec<String> {
    let names = db.tables().into_iter().map(|it| it.name);
    let mut names: Vec<String> = names.filter(|name| !OWN.contains(&name.as_str())).collect();
    names.sort();
    names
}

/// Waits until the database has these tables and no others: those that nobody needs are dropped in the background.
async fn expect_tables(db: &Database, expected: &[&str]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    for _ in 0..500 {
        if tables(db) == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(tables(db), expected);
}

#[test]
fn changes_are_seen_from_the_commit_on() {
    run_for(60, async {
        for scheme in [Scheme::Silo, Scheme::LockTable, Scheme::Mvcc, Scheme::Occ, Scheme::DlDetect]
        {
            let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
            let running = serve(&db);
            let (ann, bob) = (connect(&running).await, connect(&running).await);
            ann.batch_execute(
                "CREATE TABLE old (id int PRIMARY KEY, v text); INSERT INTO old VALUES (1, 'a');
                 CREATE TABLE gone (id int); CREATE INDEX old_v ON old (v)",
            )
            .await
            .expect("made");
            ann.batch_execute(
                "BEGIN; CREATE TABLE new (id serial PRIMARY KEY, v text UNIQUE, n int DEFAULT 7);
                 INSERT INTO new (v) VALUES ('x'), ('y'); TRUNCATE old; INSERT INTO old VALUES (5, 'z');
                 DROP TABLE gone; DROP INDEX old_v",
            )
            .await
            .expect("changed");
            // Its own session sees them, and nobody else does.
            assert_eq!(one(&ann, "SELECT sum(id * n) FROM new").await, "21", "{scheme}");
            assert_eq!(one(&ann, "SELECT id FROM old WHERE v = 'z'").await, "5", "{scheme}");
            assert_eq!(one(&bob, "SELECT id FROM old WHERE v = 'a'").await, "1", "{scheme}");
            assert_eq!(one(&bob, "SELECT count(*) FROM gone").await, "0", "{scheme}");
            assert_eq!(refusal(&bob, "SELECT * FROM new").await, "42P01", "{scheme}");
            ann.batch_execute("COMMIT").await.expect("committed");
            assert_eq!(one(&bob, "SELECT id FROM old").await, "5", "{scheme}");
            assert_eq!(one(&bob, "SELECT count(*) FROM new WHERE v > 'x'").await, "1", "{scheme}");
            assert_eq!(refusal(&bob, "SELECT * FROM gone").await, "42P01", "{scheme}");
            assert_eq!(
                refusal(&bob, "INSERT INTO new (v) VALUES ('x')").await,
                "23505",
                "{scheme}"
            );
            bob.batch_execute("INSERT INTO new (v) VALUES ('w')").await.expect("inserted");
            assert_eq!(one(&bob, "SELECT count(*) FROM new WHERE n = 7").await, "3", "{scheme}");
            // A name is free again when its table has gone.
            bob.batch_execute("CREATE TABLE gone (other text)").await.expect("made");
            expect_tables(&db, &["old", "new_id_seq", "new", "gone?row", "gone"]).await;
            running.shutdown();
        }
    });
}

#[test]
fn a_rollback_undoes_changes_and_so_do_savepoints() {
    with_server(60, async |db, running| {
        let client = connect(running).await;
        client
            .batch_execute(
                "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 1)",
            )
            .await
            .expect("made");
        for ending in ["ROLLBACK", "SELECT 1 / 0; COMMIT"] {
            client
                .batch_execute(
                    "BEGIN; CREATE TABLE a (id serial); INSERT INTO a DEFAULT VALUES; DROP TABLE t;
                     CREATE TABLE t (other text); INSERT INTO t VALUES ('x'); CREATE INDEX i ON t (other)",
                )
                .await
                .expect("changed");
            assert_eq!(one(&client, "SELECT other FROM t").await, "x");
            _ = client.batch_execute(ending).await;
            _ = client.batch_execute("COMMIT").await;
            assert_eq!(one(&client, "SELECT sum(id) FROM t").await, "3", "{ending}");
            assert_eq!(refusal(&client, "SELECT * FROM a").await, "42P01", "{ending}");
            expect_tables(db, &["t"]).await;
        }
        client
            .batch_execute(
                "BEGIN; CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1);
                 SAVEPOINT s; TRUNCATE a; INSERT INTO a VALUES (2), (3); DROP TABLE t; CREATE TABLE b (id int)",
            )
            .await
            .expect("changed");
        assert_eq!(refusal(&client, "SELECT * FROM t").await, "42P01");
        client.batch_execute("ROLLBACK TO s").await.expect("back");
        assert_eq!(one(&client, "SELECT id FROM a").await, "1");
        assert_eq!(one(&client, "SELECT count(*) FROM t").await, "2");
        assert_eq!(refusal(&client, "SELECT * FROM b").await, "42P01");
        client
            .batch_execute("ROLLBACK TO s; DROP TABLE a; RELEASE s; CREATE TABLE c (id int PRIMARY KEY); COMMIT")
            .await
            .expect("committed");
        expect_tables(db, &["t", "c"]).await;
        // A string of statements and a session that goes away are undone as a whole.
        assert_eq!(refusal(&client, "CREATE TABLE d (id int); SELECT 1 / 0").await, "22012");
        let other = connect(running).await;
        other.batch_execute("BEGIN; CREATE TABLE e (id int); TRUNCATE t").await.expect("changed");
        drop(other);
        expect_tables(db, &["t", "c"]).await;
        assert_eq!(one(&client, "SELECT count(*) FROM t").await, "2");
    });
}

#[test]
fn indexes_and_keys_within_a_transaction() {
    with_server(60, async |_, running| {
        let (ann, bob) = (connect(running).await, connect(running).await);
        ann.batch_execute(
            "CREATE TABLE t (id int, v int); INSERT INTO t SELECT i, i % 10 FROM generate_series(1, 1000) i",
        )
        .await
        .expect("made");
        ann.batch_execute(
            "BEGIN; SELECT 1; CREATE INDEX t_v ON t (v); ALTER TABLE t ADD UNIQUE (id)",
        )
        .await
        .expect("added");
        let plan =
            column(&ann, "EXPLAIN SELECT * FROM t WHERE v = 3").await.expect("explained").join(" ");
        assert!(plan.contains("t_v"), "{plan}");
        assert_eq!(one(&ann, "SELECT count(*) FROM t WHERE v = 3").await, "100");
        let plan =
            column(&bob, "EXPLAIN SELECT * FROM t WHERE v = 3").await.expect("explained").join(" ");
        assert!(!plan.contains("t_v"), "{plan}");
        assert_eq!(refusal(&ann, "INSERT INTO t VALUES (7, 7)").await, "23505");
        ann.batch_execute("ROLLBACK").await.expect("rolled back");
        ann.batch_execute(
            "BEGIN; SELECT 1; CREATE TABLE u (id int, v int); INSERT INTO u SELECT id, v FROM t;
                           ALTER TABLE u ADD PRIMARY KEY (id); CREATE INDEX u_v ON u (v); COMMIT",
        )
        .await
        .expect("committed");
        assert_eq!(one(&bob, "SELECT count(*) FROM u WHERE v = 3").await, "100");
        assert_eq!(refusal(&bob, "INSERT INTO u VALUES (7, 7)").await, "23505");
        assert_eq!(refusal(&ann, "BEGIN; SELECT 1; ALTER TABLE t ADD UNIQUE (v)").await, "23505");
        ann.batch_execute("ROLLBACK").await.expect("rolled back");
        // The copy that an index needs is refused where others have written what it has read.
        ann.batch_execute("BEGIN; SELECT 1; CREATE INDEX t_v ON t (v)").await.expect("added");
        bob.batch_execute("INSERT INTO t VALUES (2000, 0)").await.expect("inserted");
        assert_eq!(refusal(&ann, "COMMIT").await, "40001");
        assert_eq!(one(&bob, "SELECT count(*) FROM t").await, "1001");
        // Of two that declare one name the second is refused; of a table that others use, too.
        ann.batch_execute("BEGIN; CREATE TABLE twice (id int)").await.expect("changed");
        bob.batch_execute("CREATE TABLE twice (id int)").await.expect("made");
        assert_eq!(refusal(&ann, "COMMIT").await, "42P07");
        ann.batch_execute("BEGIN; INSERT INTO t VALUES (3000, 0)").await.expect("inserted");
        bob.batch_execute("TRUNCATE t").await.expect("emptied");
        assert_eq!(refusal(&ann, "COMMIT").await, "40001");
        assert_eq!(one(&bob, "SELECT count(*) FROM t").await, "0");
        assert_eq!(refusal(&bob, "CREATE TABLE \"chiliad sql x\" (id int)").await, "42939");
        assert_eq!(refusal(&bob, "BEGIN READ ONLY; TRUNCATE t").await, "25006");
    });
}

/// A change that waits for open transactions, and one of these that wants to change tables: neither waits for ever.
#[test]
fn changes_that_wait_for_each_other_are_refused() {
    with_server(60, async |_, running| {
        let (ann, bob) = (connect(running).await, connect(running).await);
        ann.batch_execute(
            "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1)",
        )
        .await
        .expect("made");
        ann.batch_execute("BEGIN; CREATE TABLE u (id int); SELECT * FROM t").await.expect("begun");
        let online = tokio::spawn(async move {
            bob.batch_execute("CREATE INDEX t_v ON t (v)").await.map(|()| bob)
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!online.is_finished(), "it waits for the open transaction");
        assert_eq!(refusal(&ann, "CREATE TABLE w (id int)").await, "55P03");
        ann.batch_execute("ROLLBACK").await.expect("rolled back");
        let bob = online.await.expect("no panic").expect("made");
        let plan = column(&bob, "EXPLAIN SELECT * FROM t WHERE v = 1").await.expect("explained");
        assert!(plan.concat().contains("t_v"), "{plan:?}");
    });
}

/// Kills a process that serves at any moment: the tables are those of one commit, none is left over, and none is lost that
/// was acknowledged.
#[test]
fn a_crash_leaves_all_changes_of_a_transaction_or_none() {
    run_for(180, async {
        let path = child::empty_place("schema");
        let (mut last, mut cut) = (0_u32, 0);
        for cycle in 0..12_u64 {
            let mut served = child::start("schema_changes::serves_until_it_is_killed", &path);
            let client = served.connect().await;
            // One that is open when the process dies.
            let idle = served.connect().await;
            idle.batch_execute(
                "BEGIN; CREATE TABLE never (id serial); INSERT INTO never DEFAULT VALUES",
            )
            .await
            .expect("begun");
            let work = tokio::spawn(async move {
                let mut done = last;
                loop {
                    let next = done + 1;
                    let sql = format!(
                        "BEGIN; CREATE TABLE t{next} (id serial, v int); CREATE INDEX i{next} ON t{next} (v);
                         INSERT INTO t{next} (v) VALUES ({next}), ({next}); DROP TABLE IF EXISTS t{done}; COMMIT"
                    );
                    if client.batch_execute(&sql).await.is_err() {
                        return done;
                    }
                    done = next;
                }
            });
            tokio::time::sleep(Duration::from_millis(100 + cycle * 37)).await;
            served.kill();
            let acknowledged = work.await.expect("no panic");
            let (db, running, client) = child::reopen(&path).await;
            let found = tables(&db);
            let number = found.iter().find_map(|it| it.strip_prefix('t')?.parse::<u32>().ok());
            let number = number.unwrap_or(0);
            assert!(
                number == acknowledged || number == acknowledged + 1,
                "{acknowledged}: {found:?}"
            );
            cut += u32::from(number == acknowledged + 1);
            if number > 0 {
                let expected =
                    [format!("t{number}_id_seq"), format!("t{number}?row"), format!("t{number}")];
                assert!(
                    found.len() == 3 && expected.iter().all(|it| found.contains(it)),
                    "{found:?}"
                );
                let sql = format!("SELECT sum(v) FROM t{number} WHERE v = {number}");
                assert_eq!(one(&client, &sql).await, (number * 2).to_string());
            }
            last = number;
            running.shutdown();
        }
        assert!(last > 0, "something was committed, {cut} of it not acknowledged");
        std::fs::remove_dir_all(&path).expect("removed");
    });
}

/// The process that is killed: nothing unless it is one.
#[test]
fn serves_until_it_is_killed() {
    child::serve_if_asked(Options::default());
}
