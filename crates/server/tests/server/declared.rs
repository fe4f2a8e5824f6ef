//! Cursors of SQL, conditions on rows, and indexes over columns of the primary key, from outside.

use crate::common::{connect, refusal, rows, with_server};

#[test]
fn cursors_show_the_rows_of_their_declaration() {
    with_server(60, async |_, running| {
        let client = connect(running).await;
        client
            .batch_execute(
                "CREATE TABLE t (id int PRIMARY KEY, v text);
                 INSERT INTO t SELECT i, 'n' || i::text FROM generate_series(1, 10) i",
            )
            .await
            .expect("made");
        assert_eq!(refusal(&client, "DECLARE c CURSOR FOR SELECT * FROM t").await, "25P01");
        client
            .batch_execute("BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT * FROM t ORDER BY id; DELETE FROM t WHERE id > 5")
            .await
            .expect("declared");
        assert_eq!(rows(&client, "FETCH c").await, ["1|n1"]);
        assert_eq!(rows(&client, "FETCH NEXT FROM c").await, ["2|n2"]);
        assert_eq!(rows(&client, "FETCH FORWARD 2 IN c").await, ["3|n3", "4|n4"]);
        assert_eq!(rows(&client, "FETCH 0 c").await, [""; 0]);
        client.batch_execute("MOVE 4 FROM c").await.expect("moved");
        assert_eq!(rows(&client, "FETCH ALL c; FETCH c").await, ["9|n9", "10|n10"]);
        for (sql, expected) in [("FETCH c", "25P02"), ("SELECT 1", "25P02")] {
            _ = client.batch_execute("FETCH nosuch").await;
            assert_eq!(refusal(&client, sql).await, expected, "{sql}");
        }
        client.batch_execute("ROLLBACK").await.expect("over");
        assert_eq!(refusal(&client, "FETCH c").await, "34000");
        // Held over the commit, and not over a rollback or the savepoint before it.
        client
            .batch_execute(
                "BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id; SAVEPOINT s;
                 DECLARE i CURSOR FOR SELECT 1; ROLLBACK TO s",
            )
            .await
            .expect("declared");
        assert_eq!(rows(&client, "FETCH h").await, ["1"]);
        client.batch_execute("COMMIT; DELETE FROM t").await.expect("committed");
        assert_eq!(rows(&client, "FETCH 2 h").await, ["2", "3"]);
        assert_eq!(refusal(&client, "FETCH i").await, "34000");
        assert_eq!(refusal(&client, "DECLARE h CURSOR WITH HOLD FOR SELECT 1").await, "42P03");
        client
            .batch_execute("CLOSE h; DECLARE k CURSOR WITH HOLD FOR SELECT 2")
            .await
            .expect("closed");
        assert_eq!(rows(&client, "FETCH k").await, ["2"]);
        client.batch_execute("CLOSE ALL").await.expect("closed");
        for (sql, expected) in [
            ("CLOSE k", "34000"),
            ("FETCH BACKWARD 1 FROM k", "0A000"),
            ("FETCH -1 FROM k", "0A000"),
            ("DECLARE k SCROLL CURSOR FOR SELECT 1", "0A000"),
            ("DECLARE k CURSOR FOR DELETE FROM t", "0A000"),
            ("DECLARE k", "42601"),
        ] {
            assert_eq!(refusal(&client, sql).await, expected, "{sql}");
        }
        // By the extended protocol, with parameters and in binary.
        client
            .batch_execute("INSERT INTO t VALUES (7, 'seven'), (8, 'eight'); BEGIN")
            .await
            .expect("begun");
        let declare = "DECLARE \"C 2\" CURSOR FOR SELECT id, v FROM t WHERE id > $1 ORDER BY id";
        client.execute(declare, &[&6_i32]).await.expect("declared");
        let found = client.query("FETCH FORWARD 5 FROM \"C 2\"", &[]).await.expect("fetched");
        let found: Vec<(i32, &str)> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(found, [(7, "seven"), (8, "eight")]);
    });
}

#[test]
fn conditions_hold_for_all_rows() {
    with_server(60, async |_, running| {
        let client = connect(running).await;
        client
            .batch_execute(
                "CREATE TABLE t (id int, n int CHECK (n > 0), m int CHECK (m <> 7), CONSTRAINT small CHECK (n + m < 100));
                 INSERT INTO t VALUES (1, 1, 1), (2, NULL, 500)",
            )
            .await
            .expect("made");
        for sql in [
            "INSERT INTO t VALUES (3, 0, 1)",
            "INSERT INTO t VALUES (3, 1, 7)",
            "INSERT INTO t SELECT 3, 60, 60",
            "UPDATE t SET n = n - 1 WHERE id = 1",
            "UPDATE t SET m = 99 WHERE id = 1",
        ] {
            assert_eq!(refusal(&client, sql).await, "23514", "{sql}");
        }
        let error =
            client.batch_execute("INSERT INTO t VALUES (3, 60, 60)").await.expect_err("refused");
        let message = error.as_db_error().map(|it| it.message().to_owned()).unwrap_or_default();
        assert!(message.contains("\"small\""), "{message}");
        // They stay through a key and an index that have rows written anew.
        client
            .batch_execute("ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX t_id ON t (n, id)")
            .await
            .expect("added");
        let upsert = "INSERT INTO t VALUES (1, 5, 5) ON CONFLICT (id) DO UPDATE SET n = -1";
        assert_eq!(refusal(&client, upsert).await, "23514");
        assert_eq!(rows(&client, "SELECT * FROM t ORDER BY id").await, ["1|1|1", "2|null|500"]);
        for (sql, expected) in [
            ("CREATE TABLE u (n int CHECK (nosuch > 0))", "42703"),
            ("CREATE TABLE u (n int CHECK (n + 1))", "42804"),
            ("CREATE TABLE u (n int CHECK (n IN (SELECT 1)))", "0A000"),
        ] {
            assert_eq!(refusal(&client, sql).await, expected, "{sql}");
        }
    });
}

#[test]
fn indexes_have_columns_of_the_key() {
    with_server(60, async |_, running| {
        let client = connect(running).await;
        // Declared with the table, added to one that has rows and an index, and within a transaction.
        client
            .batch_execute(
                "CREATE TABLE a (w int, d int, id int, name text, PRIMARY KEY (w, d, id), UNIQUE (w, name));
                 CREATE TABLE b (w int, d int, id int, name text, PRIMARY KEY (w, d, id));
                 CREATE INDEX b_name ON b (name);
                 INSERT INTO a SELECT i % 3, i % 7, i, 'n' || i::text FROM generate_series(1, 300) i;
                 INSERT INTO b SELECT w, d, id, name FROM a",
            )
            .await
            .expect("made");
        client.batch_execute("CREATE INDEX b_key ON b (w, d, name, id)").await.expect("added");
        client
            .batch_execute("BEGIN; SELECT 1; CREATE TABLE c (w int, id int, name text, PRIMARY KEY (w, id)); INSERT INTO c SELECT w, id, name FROM a; CREATE INDEX c_key ON c (name, w); COMMIT")
            .await
            .expect("added");
        for (sql, index) in [
            ("SELECT id FROM a WHERE w = 2 AND name = 'n200'", "a_w_name_key"),
            ("SELECT id FROM b WHERE w = 2 AND d = 4 AND name = 'n200'", "b_key"),
            ("SELECT id FROM b WHERE name = 'n200'", "b_name"),
            ("SELECT id FROM c WHERE name = 'n200' AND w = 2", "c_key"),
        ] {
            let plan = rows(&client, &format!("EXPLAIN {sql}")).await.join(" ");
            assert!(plan.contains(index), "{sql}: {plan}");
            assert_eq!(rows(&client, sql).await, ["200"], "{sql}");
        }
        // A change of the key is one of the index.
        client
            .batch_execute(
                "UPDATE b SET w = 9 WHERE id = 200; UPDATE b SET name = 'x' WHERE id = 201",
            )
            .await
            .expect("updated");
        assert_eq!(
            rows(&client, "SELECT id FROM b WHERE w = 9 AND d = 4 AND name = 'n200'").await,
            ["200"]
        );
        assert_eq!(
            rows(&client, "SELECT id FROM b WHERE w = 2 AND d = 4 AND name = 'n200'").await,
            [""; 0]
        );
        assert_eq!(
            rows(&client, "SELECT id FROM b WHERE w = 0 AND d = 5 AND name > 'w'").await,
            ["201"]
        );
        assert_eq!(refusal(&client, "INSERT INTO a VALUES (2, 0, 1000, 'n200')").await, "23505");
        assert_eq!(rows(&client, "SELECT * FROM a WHERE id = 3").await, ["0|3|3|n3"]);
    });
}
