//! Bank: transfers between accounts, of which every one can be looked up.
//!
//! A transfer changes two accounts, takes the next number of its client and writes a row of the
//! client's journal. Where the journal is long, the oldest row is folded into what the client has
//! settled. So, at any moment: the balances are the initial ones plus everything settled plus the
//! journals, and a client's journal has exactly the rows that its cursor says.

pub mod books;

use super::client::Client;
use super::said::Said;
use chiliad::{Database, Error, Key, Row, Table, Transaction};
use chiliad_workload::random::Random;

/// Accounts.
pub const ACCOUNTS: u32 = 64;
/// The initial balance of each account.
pub const INITIAL: i64 = 1_000_000;
/// Rows that a journal keeps: more than a client has unacknowledged.
const KEPT: u64 = 1_500;
const _: () = assert!(KEPT > 2 * super::client::WINDOW as u64);

/// Names of the tables.
pub const NAMES: [&str; 4] = ["crash_accounts", "crash_cursors", "crash_journal", "crash_settled"];

/// Which numbers of a client are in its journal: `first` and up to, but without, `next`.
#[derive(Row, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    pub first: u64,
    pub next: u64,
}

/// A client, and a number of its own.
#[derive(Key, Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub client: u32,
    pub number: u64,
}

/// A row of a journal.
#[derive(Row, Clone, Copy, PartialEq, Eq, Debug)]
#[index(by_payer(from))]
pub struct Transfer {
    pub from: u32,
    pub to: u32,
    pub amount: i64,
}

/// The tables.
#[derive(Clone, Copy)]
pub struct Tables {
    pub accounts: Table<u32, i64>,
    pub cursors: Table<u32, Cursor>,
    pub journal: Table<Entry, Transfer>,
    /// By client and account.
    pub settled: Table<(u32, u32), i64>,
}

impl Tables {
    /// Opens the tables; `None` if one is not there yet.
    pub fn open(db: &Database) -> chiliad::Result<Option<Self>> {
        let [accounts, cursors, journal, settled] = NAMES;
        let all = || {
            Ok(Self {
                accounts: db.table(accounts)?,
                cursors: db.table(cursors)?,
                journal: db.table(journal)?,
                settled: db.table(settled)?,
            })
        };
        match all() {
            Ok(tables) => Ok(Some(tables)),
            Err(Error::UnknownTable(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes what is not there yet: a kill may come anywhere.
    pub fn prepare(db: &Database) -> chiliad::Result<Self> {
        let [accounts, cursors, journal, settled] = NAMES;
        let tables = Self {
            accounts: make(db.create_table(accounts), || db.table(accounts))?,
            cursors: make(db.create_table(cursors), || db.table(cursors))?,
            journal: make(db.create_table(journal), || db.table(journal))?,
            settled: make(db.create_table(settled), || db.table(settled))?,
        };
        db.run(|tx| {
            if tx.contains(&tables.accounts, &0)? {
                return Ok(());
            }
            (0..ACCOUNTS).try_for_each(|account| tx.insert(&tables.accounts, &account, &INITIAL))
        })?;
        Ok(tables)
    }
}

fn make<T>(
    made: chiliad::Result<T>,
    open: impl FnOnce() -> chiliad::Result<T>,
) -> chiliad::Result<T> {
    match made {
        Err(Error::TableExists(_)) => open(),
        other => other,
    }
}

/// A client.
pub struct Teller {
    tables: Tables,
    client: u32,
    random: Random,
    transfer: Transfer,
}

impl Teller {
    /// Client number `index`.
    pub fn new(tables: Tables, index: usize, seed: u64) -> Self {
        let random = Random::new(seed, index as u64);
        let transfer = Transfer { from: 0, to: 0, amount: 0 };
        Self { tables, client: index as u32, random, transfer }
    }

    /// Folds a row of the journal into what is settled.
    fn settle(&self, tx: &mut Transaction<'_>, number: u64) -> chiliad::Result<()> {
        let Tables { journal, settled, .. } = self.tables;
        let key = Entry { client: self.client, number };
        let Some(row) = tx.fetch(&journal, &key)? else { return Ok(()) };
        for (account, change) in [(row.from, -row.amount), (row.to, row.amount)] {
            let key = (self.client, account);
            let before = tx.get(&settled, &key)?.unwrap_or(0);
            tx.put(&settled, &key, &(before + change))?;
        }
        tx.delete(row)
    }
}

impl Client for Teller {
    fn draw(&mut self) {
        let from = self.random.below(ACCOUNTS);
        let to = (from + 1 + self.random.below(ACCOUNTS - 1)) % ACCOUNTS;
        let amount = i64::from(self.random.range(1, 1000));
        self.transfer = Transfer { from, to, amount };
    }

    fn run(&mut self, tx: &mut Transaction<'_>, lines: &mut Vec<u8>) -> chiliad::Result<()> {
        let Transfer { from, to, amount } = self.transfer;
        let Tables { accounts, cursors, journal, .. } = self.tables;
        let client = self.client;
        tx.update(&accounts, &from, |balance| *balance -= amount)?;
        tx.update(&accounts, &to, |balance| *balance += amount)?;
        let mut cursor = tx.get(&cursors, &client)?.unwrap_or_default();
        let number = cursor.next;
        tx.insert(&journal, &Entry { client, number }, &self.transfer)?;
        cursor.next += 1;
        if cursor.next - cursor.first > KEPT {
            self.settle(tx, cursor.first)?;
            cursor.first += 1;
        }
        tx.put(&cursors, &client, &cursor)?;
        Said::Moved { client, number, from, to, amount }.write(lines);
        Ok(())
    }
}
