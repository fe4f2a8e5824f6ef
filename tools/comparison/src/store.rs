//! What a store has to offer to be compared: tables of bytes under bytes, and transactions on them.
//!
//! Every store sees the same keys, the same values and the same calls in the same order. An adapter
//! may use the store's best way to do a call, and nothing that an application could not use.

use crate::item::Item;
use std::fmt;
use std::path::Path;

/// Why an operation or a transaction came to nothing.
#[derive(Debug)]
pub enum Error {
    /// Refused because of other transactions: run it again.
    Conflict,
    /// The body asked for a rollback.
    RolledBack,
    /// The store failed, or a workload found what cannot be.
    Failed(String),
}

impl Error {
    /// A failure in one line.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::Failed(error.to_string().replace('\n', " "))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("the transaction was refused because of others"),
            Self::RolledBack => f.write_str("the transaction asked for its rollback"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// When a commit returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// In memory, or with everything switched off that waits for a disk.
    None,
    /// Chiliad: at once, with a handle that tells when the commit is on disk. Others: as for sync.
    Epoch,
    /// When it is on disk.
    Sync,
}

impl Durability {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Epoch => "epoch",
            Self::Sync => "sync",
        }
    }
}

/// What a store promises to transactions that run at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// As if one by one.
    Serializable,
    /// Serializable where a transaction that only reads reads one key; of several, each is read for itself. What writes
    /// has no ranges.
    OneRead,
    /// Each on a state of its own; write skew is possible.
    #[cfg_attr(not(feature = "rocksdb"), expect(dead_code, reason = "RocksDB's alone"))]
    Snapshot,
}

impl Isolation {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "serializable",
            Self::OneRead => "one read",
            Self::Snapshot => "snapshot",
        }
    }

    /// Whether transactions with these needs are serializable.
    pub fn serializes(self, needs: Needs) -> bool {
        match self {
            Self::Serializable => true,
            Self::OneRead => !needs.reads_many,
            Self::Snapshot => false,
        }
    }
}

/// What a workload asks of a store's transactions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// Some that only read read more than one key.
    pub reads_many: bool,
    /// Some that write read ranges as well.
    pub ranges_in_updates: bool,
}

/// A table, by its place among those that the workload asked for.
pub type Table = usize;

/// What is to be opened.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// An empty directory for this database alone.
    pub directory: &'a Path,
    /// How many tables there are.
    pub tables: usize,
    /// Whether the first table has rows of type [`Item`], and no others.
    pub items: bool,
    /// When commits return.
    pub durability: Durability,
}

/// Whether a transaction will write: known before it begins, as an application knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    ReadOnly,
    Update,
}

/// What becomes of a transaction whose body went through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Commit,
    RollBack,
}

/// A transaction in progress.
pub trait Tx {
    /// Copies the value under `key` to `value` and says whether there is one.
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// Writes a value, whether there was one or not.
    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()>;

    /// Writes a value under a key of which the caller knows that it has none.
    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(table, key, value)
    }

    /// Reads a value, has it changed and writes it back; says whether there was one.
    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let mut value = Vec::new();
        if !self.get(table, key, &mut value)? {
            return Ok(false);
        }
        change(&mut value);
        self.put(table, key, &value)?;
        Ok(true)
    }

    /// Visits the first `limit` keys from `low` up to, and without, `high`.
    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()>;

    /// The row under `key` of the first table; here and below, for stores of bytes, by serde and postcard.
    fn item(&mut self, key: u64) -> Result<Option<Item>> {
        let mut bytes = Vec::new();
        let there = self.get(0, &key.to_be_bytes(), &mut bytes)?;
        Ok(there.then(|| Item::from_bytes(&bytes)))
    }

    /// Inserts a row under a key that has none.
    fn insert_item(&mut self, key: u64, item: &Item) -> Result<()> {
        self.insert(0, &key.to_be_bytes(), &item.to_bytes())
    }

    /// Changes a row, and says whether there is one.
    fn change_item(&mut self, key: u64, change: &mut dyn FnMut(&mut Item)) -> Result<bool> {
        let Some(mut item) = self.item(key)? else { return Ok(false) };
        change(&mut item);
        self.put(0, &key.to_be_bytes(), &item.to_bytes())?;
        Ok(true)
    }

    /// Visits the first `limit` rows from `low` on.
    fn items(&mut self, low: u64, limit: usize, visit: &mut dyn FnMut(u64, Item)) -> Result<()> {
        self.scan(0, &low.to_be_bytes(), &[0xFF; 9], limit, &mut |key, value| {
            let key = key.try_into().expect("a key of eight bytes");
            visit(u64::from_be_bytes(key), Item::from_bytes(value));
        })
    }
}

/// Copies what was found to `value`, and says whether there was anything.
pub fn copy(found: Option<&[u8]>, value: &mut Vec<u8>) -> bool {
    let Some(bytes) = found else { return false };
    value.clear();
    value.extend_from_slice(bytes);
    true
}

/// A transaction that said that it would not write.
pub trait ReadTx {
    /// As [`Tx::get`].
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool>;

    /// As [`Tx::scan`].
    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()>;
}

/// It refuses to, where the store's own type has no way to.
pub struct ReadOnly<T>(pub T);

impl<T: ReadTx> Tx for ReadOnly<T> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.0.get(table, key, value)
    }

    fn put(&mut self, _: Table, _: &[u8], _: &[u8]) -> Result<()> {
        Err(refused())
    }

    fn insert(&mut self, _: Table, _: &[u8], _: &[u8]) -> Result<()> {
        Err(refused())
    }

    fn update(&mut self, _: Table, _: &[u8], _: &mut dyn FnMut(&mut [u8])) -> Result<bool> {
        Err(refused())
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        self.0.scan(table, low, high, limit, visit)
    }
}

fn refused() -> Error {
    Error::failed("a read-only transaction tried to write")
}

/// The body of a transaction. It may be called more than once and hands on the errors of `Tx`.
pub type Body<'b> = dyn FnMut(&mut dyn Tx) -> Result<Verdict> + 'b;

/// How a transaction ended that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    /// The attempts that were refused and run again.
    pub refused: u64,
    /// Whether nothing is left to wait for; otherwise [`Client::durable`] tells.
    pub durable: bool,
}

impl Ran {
    /// Over and done with.
    pub fn at_once(refused: u64) -> Self {
        Self { refused, durable: true }
    }
}

/// What one thread uses.
pub trait Client {
    /// Runs a transaction until it commits or is rolled back by its own body.
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran>;

    /// How many of the transactions that ended as not yet durable have become so since the last
    /// call, the oldest first; waits for at least one if `wait`.
    fn durable(&mut self, wait: bool) -> Result<usize> {
        let _ = wait;
        Ok(0)
    }
}

/// An open database. Dropping it closes it.
pub trait Store: Send + Sync {
    /// One more client.
    fn client(&self) -> Result<Box<dyn Client + '_>>;

    /// Ends what loading has left to do in the background, so that it is not measured.
    fn settle(&self) -> Result<()> {
        Ok(())
    }
}

/// A store that can be compared.
pub struct Candidate {
    /// On the command line and in tables.
    pub name: &'static str,
    /// The crate, to find its version by.
    pub package: &'static str,
    /// What it promises, by its own documentation.
    pub isolation: Isolation,
    /// The columns that it can fill.
    pub durabilities: &'static [Durability],
    /// Opens an empty database.
    pub open: fn(&Setup<'_>) -> Result<Box<dyn Store>>,
}

impl Candidate {
    /// Whether it has such transactions at all.
    pub fn can(&self, durability: Durability, needs: Needs) -> bool {
        let has_ranges = self.isolation != Isolation::OneRead;
        self.durabilities.contains(&durability) && (has_ranges || !needs.ranges_in_updates)
    }
}

/// Hands a verdict on as an attempt's result: a rollback is the error that drops the transaction.
pub fn accept(verdict: Verdict) -> Result<()> {
    match verdict {
        Verdict::Commit => Ok(()),
        Verdict::RollBack => Err(Error::RolledBack),
    }
}
