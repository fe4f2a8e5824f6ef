//! Procedures in Rust and in SQL, from outside.

use crate::common::{connect, local, refusal, run_for, serve, state, with_server};
use chiliad::{Database, Options, Scheme};
use chiliad_server::{OwnedDatum, Server};
use std::sync::{Arc, Mutex};
use tokio_postgres::Client;

const TRANSFER: &str =
    "CREATE PROCEDURE transfer(payer int, payee int, amount int) LANGUAGE sql AS $$
    UPDATE accounts SET balance = balance - amount WHERE id = payer;
    UPDATE accounts SET balance = balance + $3 WHERE id = payee;
    SELECT 1 / (balance - 1000) FROM accounts WHERE id = payee;
$$";

async fn balances(client: &Client) -> Vec<i32> {
    let rows = client.query("SELECT balance FROM accounts ORDER BY id", &[]).await.expect("read");
    rows.iter().map(|row| row.get(0)).collect()
}

async fn bank(client: &Client) {
    let tables = "CREATE TABLE accounts (id int PRIMARY KEY, balance int); INSERT INTO accounts VALUES (1, 100), (2, 100)";
    client.batch_execute(tables).await.expect("made");
    client.batch_execute(TRANSFER).await.expect("declared");
}

#[test]
fn a_body_is_one_transaction_under_every_scheme() {
    run_for(120, async {
        for scheme in Scheme::ALL.into_iter().filter(|it| it.info().has_transactions()) {
            let db = Database::in_memory_with(Options::default().scheme(scheme)).expect("opens");
            let running = serve(&db);
            let client = connect(&running).await;
            bank(&client).await;
            client.batch_execute("CALL transfer(1, 2, 30)").await.expect("called");
            assert_eq!(balances(&client).await, [70, 130], "{scheme}");
            // With parameters, of other types and of none.
            client
                .execute("CALL transfer($1::bigint, '2', $2)", &[&1_i64, &"5"])
                .await
                .expect("called");
            assert_eq!(balances(&client).await, [65, 135], "{scheme}");
            // Its third statement fails: nothing has happened.
            assert_eq!(refusal(&client, "CALL transfer(1, 2, 865)").await, "22012", "{scheme}");
            assert_eq!(balances(&client).await, [65, 135], "{scheme}");
            running.shutdown();
        }
    });
}

#[test]
fn a_declaration_belongs_to_its_transaction() {
    with_server(60, async |_, running| {
        let (client, other) = (connect(running).await, connect(running).await);
        bank(&client).await;
        client.batch_execute("BEGIN; CREATE OR REPLACE PROCEDURE transfer(int, int, int) LANGUAGE sql AS 'DELETE FROM accounts'").await.expect("replaced");
        other.batch_execute("CALL transfer(1, 2, 1)").await.expect("the old one");
        client.batch_execute("ROLLBACK; CALL transfer(1, 2, 1)").await.expect("called");
        assert_eq!(balances(&client).await, [98, 102]);
        client
            .batch_execute("BEGIN; DROP PROCEDURE transfer(int, int, int); SAVEPOINT s")
            .await
            .expect("dropped");
        assert_eq!(refusal(&client, "CALL transfer(1, 2, 1)").await, "42883");
        client
            .batch_execute("ROLLBACK TO s; COMMIT; DROP PROCEDURE IF EXISTS transfer")
            .await
            .expect("dropped");
        assert_eq!(refusal(&other, "CALL transfer(1, 2, 1)").await, "42883");
        // One that writes a table of its own transaction, and goes with it.
        client
            .batch_execute(
                "BEGIN; CREATE TABLE made (id int PRIMARY KEY);
                 CREATE PROCEDURE make(id int) LANGUAGE sql AS 'INSERT INTO made VALUES ($1)'; CALL make(4); COMMIT; CALL make(5)",
            )
            .await
            .expect("made");
        let count = client.query_one("SELECT sum(id) FROM made", &[]).await.expect("counted");
        assert_eq!(count.get::<_, i64>(0), 9);
        // Its body is compiled again for a table that has changed, and refused where there is none any more.
        client
            .batch_execute("DROP TABLE made; CREATE TABLE made (id text PRIMARY KEY)")
            .await
            .expect("made");
        client.batch_execute("CALL make(6)").await.expect("an int becomes a text");
        client.batch_execute("DROP TABLE made").await.expect("dropped");
        assert_eq!(refusal(&client, "CALL make(7)").await, "42P01");
    });
}

#[test]
fn declarations_outlive_the_server() {
    run_for(60, async {
        let folder =
            std::env::temp_dir().join(format!("chiliad-procedures-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        for opened in 0..3 {
            let db = Database::open(&folder).expect("opens");
            let running = serve(&db);
            let client = connect(&running).await;
            if opened == 0 {
                bank(&client).await;
            }
            client.batch_execute("CALL transfer(2, 1, 10)").await.expect("called");
            assert_eq!(balances(&client).await, [110 + 10 * opened, 90 - 10 * opened]);
            running.shutdown();
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    });
}

#[test]
fn what_is_wrong_with_a_declaration_or_a_call_is_told() {
    run_for(60, async {
        let db = Database::in_memory().expect("opens");
        let server = Server::builder(db.clone()).listen(local()).threads(1);
        let server = server.procedure("in_rust", |_, (): ()| Ok(()));
        let running = server.start().expect("it starts");
        let client = connect(&running).await;
        bank(&client).await;
        let declare = |body: &str| format!("CREATE PROCEDURE p(a int) LANGUAGE sql AS '{body}'");
        for (sql, expected) in [
            (declare("SELECT * FROM nosuch"), "42P01"),
            (declare("SELECT nosuch FROM accounts"), "42703"),
            (declare("SELECT $2"), "42P02"),
            (declare("SELEC 1"), "42601"),
            (declare("COMMIT"), "0A000"),
            (declare("CREATE TABLE t (id int)"), "0A000"),
            (declare("CALL transfer(1, 2, a)"), "0A000"),
            ("CREATE PROCEDURE p() LANGUAGE plpgsql AS ''".into(), "0A000"),
            (TRANSFER.into(), "42723"),
            ("CREATE OR REPLACE PROCEDURE in_rust() LANGUAGE sql AS ''".into(), "42723"),
            ("DROP PROCEDURE nosuch".into(), "42883"),
            ("CALL nosuch()".into(), "42883"),
            ("CALL transfer(1, 2)".into(), "42883"),
            ("CALL transfer(1, 2, true)".into(), "42883"),
            ("CALL transfer(1, 2, 'x')".into(), "22P02"),
            ("CALL transfer(1, 2, 3000000000)".into(), "22003"),
            ("BEGIN READ ONLY; CREATE PROCEDURE p() LANGUAGE sql AS ''".into(), "25006"),
        ] {
            assert_eq!(refusal(&client, &sql).await, expected, "{sql}");
            client.batch_execute("ROLLBACK").await.expect("it goes on");
        }
        let long = declare(&format!("SELECT ''{}''", "x".repeat(2 << 20)));
        assert_eq!(refusal(&client, &long).await, "54000");
        assert_eq!(balances(&client).await, [100, 100]);
        running.shutdown();
    });
}

#[test]
fn arguments_in_rust_have_its_types() {
    run_for(60, async {
        let db = Database::in_memory().expect("opens");
        let calls: Arc<Mutex<Vec<String>>> = Arc::default();
        let (typed, any) = (Arc::clone(&calls), Arc::clone(&calls));
        let server = Server::builder(db.clone()).listen(local()).threads(1);
        let running = server
            .procedure("typed", move |_, all: (bool, i16, i64, f64, String, Option<Vec<u8>>)| {
                typed.lock().expect("fine").push(format!("{all:?}"));
                Ok(())
            })
            .procedure("any", move |_, all: Vec<OwnedDatum>| {
                any.lock().expect("fine").push(format!("{}", all.len()));
                Ok(())
            })
            .start()
            .expect("it starts");
        let client = connect(&running).await;
        for call in [
            "CALL typed(true, 1, 2, 3, 'four', NULL)",
            "CALL typed('t', '-1', 2, 0.5, 'four', '\\x0102')",
            "CALL any()",
            "CALL any(1, 'x', NULL)",
        ] {
            client.batch_execute(call).await.expect(call);
        }
        let expected = [
            "(true, 1, 2, 3.0, \"four\", None)",
            "(true, -1, 2, 0.5, \"four\", Some([1, 2]))",
            "0",
            "3",
        ];
        assert_eq!(*calls.lock().expect("fine"), expected);
        for (call, expected) in [
            ("CALL typed(true, 1, 2, 3, 'four')", "42883"),
            ("CALL typed(1, 1, 2, 3, 'four', NULL)", "42883"),
            ("CALL typed(true, 40000, 2, 3, 'four', NULL)", "22003"),
            ("CALL typed(NULL, 1, 2, 3, 'four', NULL)", "22004"),
        ] {
            let error = client.batch_execute(call).await.expect_err(call);
            assert_eq!(state(&error), expected, "{call}");
        }
        running.shutdown();
    });
}
