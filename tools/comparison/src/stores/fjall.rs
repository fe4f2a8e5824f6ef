//! Fjall: a log-structured merge tree, with optimistic serializable transactions.
//!
//! `none`: the journal is written to without ever being flushed by a commit. `sync`: each commit
//! calls `fdatasync` on the journal before it returns (it has no group commit: commits are one after
//! another under a lock). A keyspace for each table, block cache for everything, no compression.

use super::{ALL, CACHE_BYTES};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, ReadOnly, ReadTx, Result,
    Setup, Store, Table, Tx, accept, copy,
};
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace,
    OptimisticWriteTx, PersistMode, Readable,
};

pub const CANDIDATE: Candidate = Candidate {
    name: "fjall",
    package: "fjall",
    isolation: Isolation::Serializable,
    durabilities: ALL,
    open,
};

impl From<fjall::Error> for Error {
    fn from(error: fjall::Error) -> Self {
        Self::failed(error)
    }
}

struct Tree {
    database: OptimisticTxDatabase,
    tables: Vec<OptimisticTxKeyspace>,
    persist: Option<PersistMode>,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let persist = match setup.durability {
        Durability::None => None,
        Durability::Epoch | Durability::Sync => Some(PersistMode::SyncData),
    };
    let database = OptimisticTxDatabase::builder(setup.directory)
        .cache_size(CACHE_BYTES as u64)
        .manual_journal_persist(persist.is_none())
        .journal_compression(CompressionType::None)
        .open()?;
    let options = || {
        KeyspaceCreateOptions::default()
            .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
    };
    let table = |number| database.keyspace(&format!("t{number}"), options);
    let tables = (0..setup.tables).map(table).collect::<fjall::Result<_>>()?;
    Ok(Box::new(Tree { database, tables, persist }))
}

impl Store for Tree {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own(self)))
    }

    fn settle(&self) -> Result<()> {
        for table in &self.tables {
            table.inner().rotate_memtable_and_wait()?;
            table.inner().major_compact()?;
        }
        Ok(())
    }
}

struct Own<'s>(&'s Tree);

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let Tree { database, tables, persist } = self.0;
        if kind == Kind::ReadOnly {
            let verdict = body(&mut ReadOnly(Reading { snapshot: database.read_tx(), tables }))?;
            return until_accepted(|| accept(verdict));
        }
        until_accepted(|| {
            let tx = database.write_tx()?.durability(*persist);
            let mut running = Writing { tx, tables };
            accept(body(&mut running)?)?;
            running.tx.commit()?.map_err(|_| Error::Conflict)
        })
    }
}

/// What both kinds of transaction read by.
fn get(
    from: &impl Readable,
    table: &OptimisticTxKeyspace,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<bool> {
    Ok(copy(from.get(table, key)?.as_deref(), value))
}

fn scan(
    from: &impl Readable,
    table: &OptimisticTxKeyspace,
    (low, high): (&[u8], &[u8]),
    limit: usize,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    for guard in from.range(table, low..high).take(limit) {
        let (key, value) = guard.into_inner()?;
        visit(&key, &value);
    }
    Ok(())
}

struct Writing<'s> {
    tx: OptimisticWriteTx,
    tables: &'s [OptimisticTxKeyspace],
}

impl Tx for Writing<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(&self.tx, &self.tables[table], key, value)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.tx.insert(&self.tables[table], key, value);
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(&self.tx, &self.tables[table], (low, high), limit, visit)
    }
}

struct Reading<'s> {
    snapshot: fjall::Snapshot,
    tables: &'s [OptimisticTxKeyspace],
}

impl ReadTx for Reading<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(&self.snapshot, &self.tables[table], key, value)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(&self.snapshot, &self.tables[table], (low, high), limit, visit)
    }
}
