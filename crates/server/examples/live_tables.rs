//! An application that opens a port on its own tables: psql sees them with their columns and calls its procedure, while
//! the application writes.
//!
//! `cargo run --release -p chiliad-server --example live_tables`, then `psql -h 127.0.0.1 -p PORT -U anybody bank` with the
//! port that it says: `SELECT * FROM accounts`, `CALL transfer(1, 2, 30)`. Ctrl-D of the application's input ends it.

use chiliad::{Database, Error, Row, Table, Transaction};
use chiliad_server::{Server, SqlError};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Row, Clone, Debug)]
#[index(by_owner(owner))]
struct Account {
    owner: String,
    balance: i64,
}

type Accounts = Table<i64, Account>;

/// Moves an amount, if it is there.
fn transfer(
    tx: &mut Transaction<'_>,
    accounts: &Accounts,
    (from, to, amount): (i64, i64, i64),
) -> Result<(), SqlError> {
    let missing = |id| SqlError::new("P0002", format!("there is no account {id}"));
    let left = tx.update(accounts, &from, |account| {
        account.balance -= amount;
        account.balance
    })?;
    if left.ok_or_else(|| missing(from))? < 0 {
        return Err(SqlError::new("P0001", format!("account {from} has too little")));
    }
    tx.update(accounts, &to, |account| account.balance += amount)?.ok_or_else(|| missing(to))
}

/// The application's own work: interest for everybody, now and then.
fn pay_interest(db: &Database, accounts: &Accounts) -> Result<(), Error> {
    db.run(|tx| {
        for id in tx.scan(accounts, ..).keys()? {
            tx.update(accounts, &id, |account| account.balance += 1)?;
        }
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Database::in_memory()?;
    let accounts: Accounts = db.create_table("accounts")?;
    for (id, owner) in (1..).zip(["ann", "bob", "cid"]) {
        let account = Account { owner: owner.into(), balance: 100 };
        db.run(|tx| tx.insert(&accounts, &id, &account))?;
    }
    let server = Server::builder(db.clone())
        .listen("127.0.0.1:0".parse()?)
        .procedure("transfer", move |tx, arguments: (i64, i64, i64)| {
            transfer(tx, &accounts, arguments)
        })
        .start()?;
    println!("psql -h 127.0.0.1 -p {} -U anybody bank", server.addresses()[0].port());

    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let interest = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                pay_interest(&db, &accounts)?;
                std::thread::sleep(Duration::from_millis(100));
            }
            Ok::<_, Error>(())
        });
        // Until the end of its input.
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        over.store(true, Ordering::Relaxed);
        let paid = interest.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended?;
        paid.map_err(Box::<dyn std::error::Error>::from)
    })?;
    server.shutdown();
    Ok(())
}
