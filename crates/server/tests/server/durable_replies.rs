//! Under `--durability sync` no client is told of a commit that a crash may take back, in an open block neither.

use crate::common::{connect, refusal, run_for, serve};
use chiliad::{Database, Durability, Options, Pending, Scheme, Table};
use chiliad_server::Running;
use std::time::Duration;
use tokio_postgres::Client;

const TABLE: &str = "CREATE TABLE stock (id bigint PRIMARY KEY, amount bigint);
    INSERT INTO stock SELECT i, 10 FROM generate_series(1, 9) AS g(i)";

/// A served database whose epochs are so long that nothing becomes durable unless somebody asks for it.
pub(super) struct World {
    path: std::path::PathBuf,
    pub(super) db: Database,
    marks: Table<i64, i64>,
    running: Running,
    /// Waits for what it commits.
    pub(super) client: Client,
    /// Waits for nothing.
    pub(super) writer: Client,
}

impl World {
    pub(super) async fn new(name: &str, scheme: Scheme) -> Self {
        let name = format!("chiliad-{name}-{scheme}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = std::fs::remove_dir_all(&path);
        let options = Options::default().scheme(scheme).durability(Durability::Sync);
        let db = Database::open_with(&path, options.epoch(Duration::from_secs(10))).expect("opens");
        let marks = db.create_table("marks").expect("made");
        let running = serve(&db);
        let client = connect(&running).await;
        let writer = connect(&running).await;
        writer.batch_execute(TABLE).await.expect("made");
        writer.batch_execute("SET synchronous_commit = off").await.expect("set");
        Self { path, db, marks, running, client, writer }
    }

    /// Something that is durable when all is that was committed before.
    pub(super) fn mark(&self) -> Pending<()> {
        self.db.submit(|tx| tx.put(&self.marks, &1, &1)).expect("committed")
    }

    /// Commits a statement whose client does not ask that it be durable. What is returned is durable when it is: of the
    /// same epoch.
    pub(super) async fn put(&self, sql: &str) -> Pending<()> {
        for _ in 0..50 {
            self.writer.batch_execute(sql).await.expect("committed");
            let mark = self.mark();
            tokio::time::sleep(Duration::from_millis(50)).await;
            if !is_durable(&mark) {
                return mark;
            }
        }
        panic!("epochs go on ending, though nobody asks for it");
    }

    pub(super) fn end(self) {
        let Self { path, db, marks, running, client, writer } = self;
        running.shutdown();
        drop((client, writer, marks, db));
        std::fs::remove_dir_all(&path).expect("removed");
    }
}

pub(super) fn is_durable(pending: &Pending<()>) -> bool {
    pending.is_durable().expect("a log")
}

fn update(id: i64) -> String {
    format!("UPDATE stock SET amount = 11 WHERE id = {id}")
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

/// Runs a test under each scheme, all at once: most of their time is spent waiting for epochs.
fn under_each_scheme(test: impl AsyncFn(Scheme, bool) + Sync) {
    std::thread::scope(|scope| {
        for (scheme, knows) in SCHEMES {
            let test = &test;
            scope.spawn(move || run_for(300, test(scheme, knows)));
        }
    });
}

#[test]
fn rows_read_in_a_block_are_told_when_they_are_durable() {
    under_each_scheme(async |scheme, knows| {
        let world = World::new("durable-replies", scheme).await;
        let client = &world.client;
        let read = |id: i64| format!("SELECT amount FROM stock WHERE id = {id}");
        let one = world.put(&update(1)).await;
        client.batch_execute("BEGIN").await.expect("begins");
        // Rows that are long durable are told at once, where the scheme knows it.
        let rows = client.query(&read(7), &[]).await;
        assert_eq!(rows.expect("read").len(), 1, "{scheme}");
        assert_eq!(is_durable(&one), !knows, "{scheme}");
        // Both protocols, and a cursor.
        let rows = client.query(&read(1), &[]).await;
        assert_eq!(rows.expect("read")[0].get::<_, i64>(0), 11, "{scheme}");
        assert!(is_durable(&one), "{scheme}");
        let other = world.put(&update(2)).await;
        client.batch_execute("COMMIT; BEGIN").await.expect("again");
        client.simple_query("SELECT * FROM stock").await.expect("read");
        assert!(is_durable(&other), "{scheme}");
        client.batch_execute("COMMIT; BEGIN").await.expect("again");
        let third = world.put(&update(4)).await;
        let declare = format!("DECLARE c CURSOR FOR {}", read(4));
        client.batch_execute(&declare).await.expect("declared");
        assert!(is_durable(&third), "{scheme}");
        client.batch_execute("ROLLBACK").await.expect("over");
        world.end();
    });
}

/// An error tells of what a statement has read, as rows do; the number of rows that it has written is the transaction's
/// own, and counts when that has committed.
#[test]
fn errors_are_told_when_what_they_tell_of_is_durable() {
    under_each_scheme(async |scheme, knows| {
        let world = World::new("durable-errors", scheme).await;
        let client = &world.client;
        for begin in ["", "BEGIN;"] {
            let id = 20 + begin.len() as i64;
            let sql =
                format!("DELETE FROM stock WHERE id = {id}; INSERT INTO stock VALUES ({id}, 1)");
            let pending = world.put(&sql).await;
            let insert = format!("{begin} INSERT INTO stock VALUES ({id}, 0)");
            assert_eq!(refusal(client, &insert).await, "23505", "{scheme}");
            assert!(is_durable(&pending), "{scheme}, {insert}");
        }
        client.batch_execute("ROLLBACK; BEGIN").await.expect("again");
        let pending = world.put(&update(5)).await;
        let more = "UPDATE stock SET amount = amount + 1 WHERE id = 5";
        client.batch_execute(more).await.expect("updated");
        assert!(!knows || !is_durable(&pending), "{scheme}: nobody was told of it");
        client.batch_execute("COMMIT").await.expect("committed");
        assert!(is_durable(&pending), "{scheme}");
        world.end();
    });
}
