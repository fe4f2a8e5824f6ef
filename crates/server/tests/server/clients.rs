//! Clients of a server: an unmodified one of PostgreSQL's protocol, and hostile ones that send bytes.

use crate::common::{connect, connect_as, local, run_for, serve, state};
use chiliad::{Database, Durability, Options, Row, Scheme, Table};
use chiliad_server::{Server, Users};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tokio_postgres::{NoTls, SimpleQueryMessage};

fn run(test: impl Future<Output = ()>) {
    run_for(60, test);
}

#[test]
fn statements_with_parameters_and_without() {
    run(async {
        let db = Database::in_memory().expect("opens");
        let running = serve(&db);
        let client = connect(&running).await;
        client.batch_execute("CREATE TABLE t (id int PRIMARY KEY, name text NOT NULL, score float8, at timestamptz)").await.expect("made");
        let insert =
            client.prepare("INSERT INTO t VALUES ($1, $2, $3, now())").await.expect("prepared");
        for id in 0..100_i32 {
            let done =
                client.execute(&insert, &[&id, &format!("n{id}"), &(f64::from(id) / 2.0)]).await;
            assert_eq!(done.expect("inserted"), 1);
        }
        let row = client
            .query_one("SELECT name, score FROM t WHERE id = $1", &[&7_i32])
            .await
            .expect("a row");
        assert_eq!((row.get::<_, &str>(0), row.get::<_, f64>(1)), ("n7", 3.5));
        let rows = client
            .query(
                "SELECT id FROM t WHERE id >= $1 AND id < $2 ORDER BY id DESC LIMIT 3",
                &[&10_i32, &20_i32],
            )
            .await;
        let ids: Vec<i32> = rows.expect("rows").iter().map(|row| row.get(0)).collect();
        assert_eq!(ids, [19, 18, 17]);
        let row =
            client.query_one("SELECT count(*), sum(id), max(name) FROM t", &[]).await.expect("one");
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, &str>(2)),
            (100, 4950, "n99")
        );
        assert_eq!(
            client.execute("DELETE FROM t WHERE id >= $1", &[&50_i32]).await.expect("deleted"),
            50
        );
        let texts = client
            .simple_query("SELECT id, name FROM t WHERE id = 3; SELECT 1 + 1")
            .await
            .expect("two");
        let texts: Vec<&str> = texts
            .iter()
            .filter_map(|it| match it {
                SimpleQueryMessage::Row(row) => row.get(0),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["3", "2"]);
        for (text, expected) in [
            ("SELECT nosuch FROM t", "42703"),
            ("SELECT * FROM nosuch", "42P01"),
            ("SELEC 1", "42601"),
            ("INSERT INTO t VALUES (1, 'twice', 0, now())", "23505"),
            ("INSERT INTO t (id) VALUES (1000)", "23502"),
            ("SELECT 1 / 0", "22012"),
            ("SELECT 2147483647 + 1", "22003"),
            ("CREATE TABLE t (id int)", "42P07"),
            ("LISTEN x", "0A000"),
        ] {
            let refused = client.simple_query(text).await.expect_err(text);
            assert_eq!(state(&refused), expected, "{text}");
        }
        running.shutdown();
    });
}

#[test]
fn transactions_savepoints_and_their_refusals() {
    run(async {
        for scheme in [Scheme::Silo, Scheme::LockTable, Scheme::Mvcc, Scheme::DlDetect] {
            let options =
                Options::default().scheme(scheme).wait_timeout(Duration::from_millis(200));
            let db = Database::in_memory_with(options).expect("opens");
            let running = serve(&db);
            let mut client = connect(&running).await;
            client.batch_execute("CREATE TABLE a (id int PRIMARY KEY, n int); INSERT INTO a VALUES (1, 10), (2, 20)").await.expect("made");
            let tx = client.transaction().await.expect("begins");
            tx.execute("UPDATE a SET n = n + 1 WHERE id = 1", &[]).await.expect("updated");
            tx.batch_execute("SAVEPOINT s; DELETE FROM a; ROLLBACK TO s").await.expect("undone");
            let wrong = tx.simple_query("SELECT 1 / 0").await.expect_err("a division by zero");
            assert_eq!(state(&wrong), "22012", "{scheme}");
            let after = tx.simple_query("SELECT 1").await.expect_err("the transaction has failed");
            assert_eq!(state(&after), "25P02", "{scheme}");
            tx.batch_execute("ROLLBACK TO s").await.expect("a savepoint mends it");
            tx.commit().await.expect("commits");
            let row = client.query_one("SELECT sum(n) FROM a", &[]).await.expect("one");
            assert_eq!(row.get::<_, i64>(0), 31, "{scheme}");

            // One waits for the other, or is refused; neither keeps a third from its answer.
            let (mut other, third) = (connect(&running).await, connect(&running).await);
            let held = client.transaction().await.expect("begins");
            held.execute("UPDATE a SET n = 0 WHERE id = 2", &[]).await.expect("updated");
            let waits = tokio::spawn(async move {
                let tx = other.transaction().await?;
                tx.execute("UPDATE a SET n = n + 5 WHERE id = 2", &[]).await?;
                tx.commit().await
            });
            for _ in 0..20 {
                let row =
                    third.query_one("SELECT n FROM a WHERE id = 1", &[]).await.expect("answered");
                assert_eq!(row.get::<_, i32>(0), 11, "{scheme}");
            }
            let held = held.commit().await;
            let waited = waits.await.expect("no panic");
            for ended in [&held, &waited] {
                let fine = ended.as_ref().map_or_else(
                    |error| matches!(&*state(error), "40001" | "40P01" | "55P03" | "57014"),
                    |()| true,
                );
                assert!(fine, "{scheme}: {ended:?}");
            }
            running.shutdown();
        }
    });
}

#[derive(Row, Clone, Debug, PartialEq)]
struct Account {
    owner: String,
    balance: i64,
}

/// An application's live tables are tables of SQL, and its procedures are called.
#[test]
fn an_application_shares_its_tables() {
    run(async {
        let db = Database::in_memory().expect("opens");
        let accounts: Table<i64, Account> = db.create_table("accounts").expect("made");
        for id in 1..=3 {
            let row = Account { owner: format!("o{id}"), balance: 100 };
            db.run(|tx| tx.insert(&accounts, &id, &row)).expect("inserted");
        }
        let server = Server::builder(db.clone()).listen(local());
        let running = server
            .procedure("transfer", move |tx, (from, to, amount): (i64, i64, i64)| {
                tx.update(&accounts, &from, |row| row.balance -= amount)?;
                tx.update(&accounts, &to, |row| row.balance += amount)?;
                Ok(())
            })
            .start()
            .expect("it starts");
        let client = connect(&running).await;
        client.batch_execute("CALL transfer(1, 2, 30)").await.expect("called");
        client
            .batch_execute("UPDATE accounts SET owner = 'zoe' WHERE balance = 130")
            .await
            .expect("updated");
        let row = db.run(|tx| tx.get(&accounts, &2)).expect("read");
        assert_eq!(row, Some(Account { owner: "zoe".into(), balance: 130 }));
        let wrong = client.batch_execute("CALL nosuch(1)").await.expect_err("there is none");
        assert_eq!(state(&wrong), "42883");
        running.shutdown();
    });
}

/// What was answered is there after the server and the database have gone.
#[test]
fn commits_are_durable() {
    run(async {
        let path = std::env::temp_dir().join(format!("chiliad-server-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&path);
        let open = || Database::open_with(&path, Options::default().durability(Durability::Sync));
        let db = open().expect("opens");
        let running = serve(&db);
        let client = connect(&running).await;
        client.batch_execute("CREATE TABLE t (id serial PRIMARY KEY, v varchar(5) DEFAULT 'new', w numeric(6,2))").await.expect("made");
        for _ in 0..20 {
            client.batch_execute("INSERT INTO t (w) VALUES (1.5)").await.expect("inserted");
        }
        running.shutdown();
        drop(client);
        drop(db);
        let db = open().expect("opens again");
        let running = serve(&db);
        let client = connect(&running).await;
        let row = client
            .query_one("SELECT count(*), min(v), sum(w)::text FROM t", &[])
            .await
            .expect("one");
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, &str>(2)),
            (20, "new", "30.00")
        );
        running.shutdown();
        drop(client);
        drop(db);
        std::fs::remove_dir_all(&path).expect("removed");
    });
}

#[test]
fn users_have_passwords() {
    run(async {
        let db = Database::in_memory().expect("opens");
        let users = Users::parse("ann:pencil\n").expect("users");
        let server = Server::builder(db.clone()).listen(local());
        let running = server.users(users).max_connections(1).start().expect("it starts");
        let refused = |error: Option<tokio_postgres::Error>| state(&error.expect("refused"));
        assert_eq!(refused(connect_as(&running, "user=ann password=wrong").await.err()), "28P01");
        assert_eq!(refused(connect_as(&running, "user=bob password=pencil").await.err()), "28P01");
        let client = connect_as(&running, "user=ann password=pencil").await.expect("it lets in");
        assert_eq!(refused(connect_as(&running, "user=ann password=pencil").await.err()), "53300");
        client.batch_execute("SELECT 1").await.expect("it answers");
        running.shutdown();
    });
}

#[test]
fn a_statement_is_cancelled_from_outside() {
    run(async {
        let db = Database::in_memory().expect("opens");
        let running = serve(&db);
        let client = connect(&running).await;
        let token = client.cancel_token();
        let text =
            "SELECT count(*) FROM generate_series(1, 100000000) a, generate_series(1, 100000) b";
        let long = tokio::spawn(async move { client.simple_query(text).await.err() });
        tokio::time::sleep(Duration::from_millis(200)).await;
        token.cancel_query(NoTls).await.expect("sent");
        assert_eq!(state(&long.await.expect("no panic").expect("cancelled")), "57014");
        running.shutdown();
    });
}

/// Whatever a client sends, it ends alone: another one is answered afterwards.
#[test]
fn hostile_bytes_end_their_own_connection() {
    run(async {
        let db = Database::in_memory().expect("opens");
        let running = serve(&db);
        let startup = b"\0\0\0\x11\0\x03\0\0user\0ann\0\0";
        let mut inputs: Vec<Vec<u8>> = vec![
            vec![],
            vec![0; 3],
            vec![0xff; 64],
            // A length word of a gibibyte, before and after the login.
            [&0x4000_0000_u32.to_be_bytes()[..], &[0; 8]].concat(),
            [&startup[..], b"Q\x40\0\0\0"].concat(),
            // Lengths that cannot be.
            [&startup[..], b"Q\0\0\0\0"].concat(),
            [&startup[..], b"Q\0\0\0\x03"].concat(),
            [&startup[..], b"\x01\0\0\0\x04"].concat(),
            // A text without its end, one that is no UTF-8, a Bind of nothing, rows without COPY.
            [&startup[..], b"Q\0\0\0\x06ab"].concat(),
            [&startup[..], b"Q\0\0\0\x07\xff\xfe\0"].concat(),
            [&startup[..], b"B\0\0\0\x04"].concat(),
            [&startup[..], b"d\0\0\0\x08abcd"].concat(),
            // Half a TLS, and bytes before the handshake.
            b"\0\0\0\x08\x04\xd2\x16\x2f\x16\x03\x01".to_vec(),
            // Nested deep.
            [&startup[..], b"Q\0\0\x4e\x32SELECT ", &[b'('; 19_990][..]].concat(),
        ];
        let mut dice = 7_u64;
        for length in 1..200 {
            let mut bytes = startup.to_vec();
            for _ in 0..length {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bytes.push((dice >> 56) as u8);
            }
            inputs.push(bytes);
        }
        for input in inputs {
            let mut stream = TcpStream::connect(running.addresses()[0]).expect("connects");
            stream.set_read_timeout(Some(Duration::from_millis(2))).expect("set");
            // The server may have closed it by now.
            _ = stream.write_all(&input);
            _ = stream.read(&mut [0; 4096]);
        }
        let client = connect(&running).await;
        client.batch_execute("SELECT 1").await.expect("it answers");
        drop(client);
        for _ in 0..200 {
            if running.connections() == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(running.connections(), 0, "those that have gone hold no place");
        running.shutdown();
    });
}
