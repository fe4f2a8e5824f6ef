//! Workloads: what is loaded, and the transactions that clients run.
//!
//! A transaction is drawn before it begins, so that a body that is called again does the same.

pub mod rows;
pub mod tpcc;
pub mod ycsb;

use crate::item::Item;
use crate::store::{Error, Kind, Needs, Result, Store, Table, Tx, Verdict};

/// Rows per transaction while loading.
const LOAD_BATCH: usize = 10_000;

/// A workload, ready to be loaded.
pub trait Workload: Sync {
    /// How many tables it needs.
    fn tables(&self) -> usize;

    /// Whether its rows are items, in the first table.
    fn has_items(&self) -> bool {
        false
    }

    /// What its transactions ask of a store.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Hands out every row to be loaded.
    fn load(&self, rows: &mut Loader<'_>) -> Result<()>;

    /// The transactions of one client.
    fn session(&self, client: u64, seed: u64) -> Box<dyn Session + '_>;

    /// Compares what the store has, when all clients have ended, with what they have done since it was loaded.
    fn verify(&self, store: &dyn Store) -> Result<()> {
        let _ = store;
        Ok(())
    }
}

/// The transactions of one client.
pub trait Session {
    /// Draws the next transaction and says whether it will write.
    fn draw(&mut self) -> Kind;

    /// The transaction that was drawn.
    fn body(&mut self, tx: &mut dyn Tx) -> Result<Verdict>;
}

/// Loads rows, many in a transaction.
pub struct Loader<'s> {
    client: Box<dyn crate::store::Client + 's>,
    batch: Vec<Row>,
}

enum Row {
    Bytes { table: Table, key: Box<[u8]>, value: Box<[u8]> },
    Item { key: u64, item: Box<Item> },
}

impl Loader<'_> {
    /// Adds a row under a key that has none.
    pub fn row(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(Row::Bytes { table, key: key.into(), value: value.into() })
    }

    /// Adds an item under a key that has none.
    pub fn item(&mut self, key: u64, item: Item) -> Result<()> {
        self.add(Row::Item { key, item: Box::new(item) })
    }

    fn add(&mut self, row: Row) -> Result<()> {
        self.batch.push(row);
        if self.batch.len() < LOAD_BATCH { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let Self { client, batch } = self;
        let ran = client.run(Kind::Update, &mut |tx| {
            for row in batch.iter() {
                match row {
                    Row::Bytes { table, key, value } => tx.insert(*table, key, value)?,
                    Row::Item { key, item } => tx.insert_item(*key, item)?,
                }
            }
            Ok(Verdict::Commit)
        })?;
        batch.clear();
        if !ran.durable {
            client.durable(true)?;
        }
        Ok(())
    }
}

/// Loads everything and lets the store come to rest.
pub fn load(workload: &dyn Workload, store: &dyn Store) -> Result<()> {
    let mut loader = Loader { client: store.client()?, batch: Vec::with_capacity(LOAD_BATCH) };
    workload.load(&mut loader)?;
    loader.flush()?;
    store.settle()
}

/// A row that has to be there.
fn found(found: bool, what: &str) -> Result<()> {
    if found { Ok(()) } else { Err(Error::Failed(format!("the store has lost {what}"))) }
}
