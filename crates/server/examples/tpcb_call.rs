//! TPC-B as a procedure: the five statements of pgbench's transaction as one message, one transaction of the server.
//!
//! `cargo run --release -p chiliad-server --example tpcb_call -- DIRECTORY DATA SCALE` loads its tables into a new data
//! directory and listens on the Unix socket `.s.PGSQL.5432` in the other one until its input ends. The script of pgbench is
//!
//! ```text
//! \set aid random(1, 100000 * :scale)
//! \set bid random(1, 1 * :scale)
//! \set tid random(1, 10 * :scale)
//! \set delta random(-5000, 5000)
//! CALL tpcb(:aid, :tid, :bid, :delta);
//! ```

use chiliad::{Database, Durability, Options, Row, Sequence, Table, Transaction};
use chiliad_server::{Server, SqlError};
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Row, Clone, Debug)]
struct Balance {
    balance: i64,
}

#[derive(Row, Clone, Debug)]
struct Change {
    teller: i64,
    branch: i64,
    account: i64,
    delta: i64,
    /// Microseconds from 1970.
    time: i64,
}

/// The tables of the bank.
struct Bank {
    accounts: Table<i64, Balance>,
    tellers: Table<i64, Balance>,
    branches: Table<i64, Balance>,
    history: Table<u64, Change>,
    numbers: Sequence,
}

impl Bank {
    fn new(db: &Database, scale: i64) -> Result<Self, chiliad::Error> {
        let table = |name: &str, rows: i64| {
            let table = db.create_table(name)?;
            db.bulk_load(&table, (1..=rows).map(|id| (id, Balance { balance: 0 })))?;
            Ok::<_, chiliad::Error>(table)
        };
        Ok(Self {
            accounts: table("accounts", 100_000 * scale)?,
            tellers: table("tellers", 10 * scale)?,
            branches: table("branches", scale)?,
            history: db.create_table("history")?,
            numbers: db.sequence("history numbers")?,
        })
    }

    fn tpcb(
        &self,
        tx: &mut Transaction<'_>,
        (account, teller, branch, delta): (i64, i64, i64, i64),
    ) -> Result<(), SqlError> {
        let rows = [(&self.accounts, account), (&self.tellers, teller), (&self.branches, branch)];
        for (table, id) in rows {
            let found = tx.update(table, &id, |row| row.balance += delta)?;
            found.ok_or_else(|| SqlError::new("P0002", format!("there is no row {id}")))?;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let change = Change { teller, branch, account, delta, time };
        Ok(tx.insert(&self.history, &self.numbers.next_key()?, &change)?)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, data, scale] = &words[..] else {
        return Err("needed: the directory of the socket, the data directory, the scale".into());
    };
    let db = Database::open_with(data, Options::default().durability(Durability::Sync))?;
    let bank = Bank::new(&db, scale.parse()?)?;
    let server = Server::builder(db).socket(directory).max_connections(10_000);
    let running =
        server.procedure("tpcb", move |tx, arguments| bank.tpcb(tx, arguments)).start()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    running.shutdown();
    Ok(())
}
