//! RocksDB's `OptimisticTransactionDB`: a log-structured merge tree with optimistic transactions.
//!
//! Transactions read a snapshot taken at their begin, and a commit validates what it writes against
//! that snapshot: snapshot isolation. (`get_for_update` would validate points that are only read,
//! but nothing validates ranges, so that it never promises serializability.)
//!
//! `none`: in its memory environment, without the write-ahead log. `sync`: on disk, each write
//! synced, many at once by its own group commit. One column family with the table in front of the
//! key, block cache for everything, ten bloom bits a key, no compression, and write buffers kept as
//! long as validation may need them.

use super::{ALL, CACHE_BYTES, Prefixed};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, ReadOnly, ReadTx, Result,
    Setup, Store, Table, Tx, accept, copy,
};
use rocksdb::{
    BlockBasedOptions, Cache, DBAccess, DBCompressionType, Env, ErrorKind, OptimisticTransactionDB,
    OptimisticTransactionOptions, Options, ReadOptions, SnapshotWithThreadMode, Transaction,
    WriteOptions,
};

pub const CANDIDATE: Candidate = Candidate {
    name: "rocksdb",
    package: "rocksdb",
    isolation: Isolation::Snapshot,
    durabilities: ALL,
    open,
};

const WRITE_BUFFER_BYTES: usize = 256 << 20;

impl From<rocksdb::Error> for Error {
    fn from(error: rocksdb::Error) -> Self {
        match error.kind() {
            ErrorKind::Busy | ErrorKind::TryAgain => Self::Conflict,
            _ => Self::failed(error),
        }
    }
}

struct Tree {
    database: OptimisticTransactionDB,
    durability: Durability,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_compression_type(DBCompressionType::None);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_max_write_buffer_number(4);
    options.set_max_write_buffer_size_to_maintain(WRITE_BUFFER_BYTES as i64);
    if setup.durability == Durability::None {
        options.set_env(&Env::mem_env()?);
    }
    let database = OptimisticTransactionDB::open(&options, setup.directory)?;
    Ok(Box::new(Tree { database, durability: setup.durability }))
}

impl Store for Tree {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let mut write = WriteOptions::default();
        match self.durability {
            Durability::None => write.disable_wal(true),
            Durability::Epoch | Durability::Sync => write.set_sync(true),
        }
        let mut optimistic = OptimisticTransactionOptions::default();
        optimistic.set_snapshot(true);
        Ok(Box::new(Own { database: &self.database, write, optimistic, keys: Prefixed::default() }))
    }

    fn settle(&self) -> Result<()> {
        self.database.flush()?;
        self.database.compact_range(None::<&[u8]>, None::<&[u8]>);
        Ok(())
    }
}

struct Own<'s> {
    database: &'s OptimisticTransactionDB,
    write: WriteOptions,
    optimistic: OptimisticTransactionOptions,
    keys: Prefixed,
}

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        if kind == Kind::ReadOnly {
            let snapshot = self.database.snapshot();
            let mut reading = ReadOnly(Reading { snapshot, keys: &mut self.keys });
            let verdict = body(&mut reading)?;
            return until_accepted(|| accept(verdict));
        }
        until_accepted(|| {
            let tx = self.database.transaction_opt(&self.write, &self.optimistic);
            let mut writing = Writing { snapshot: tx.snapshot(), tx: &tx, keys: &mut self.keys };
            let verdict = body(&mut writing)?;
            drop(writing);
            accept(verdict)?;
            Ok(tx.commit()?)
        })
    }
}

/// What both kinds of transaction scan by.
fn scan<D: DBAccess>(
    snapshot: &SnapshotWithThreadMode<'_, D>,
    (low, high): (&[u8], &[u8]),
    limit: usize,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    let mut options = ReadOptions::default();
    options.set_iterate_upper_bound(high);
    let mut iterator = snapshot.raw_iterator_opt(options);
    iterator.seek(low);
    for _ in 0..limit {
        let Some((key, value)) = iterator.item() else { break };
        visit(&key[1..], value);
        iterator.next();
    }
    Ok(iterator.status()?)
}

struct Writing<'t, 'd> {
    tx: &'t Transaction<'d, OptimisticTransactionDB>,
    snapshot: SnapshotWithThreadMode<'t, Transaction<'d, OptimisticTransactionDB>>,
    keys: &'t mut Prefixed,
}

impl Tx for Writing<'_, '_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut options = ReadOptions::default();
        options.set_snapshot(&self.snapshot);
        let found = self.tx.get_pinned_opt(self.keys.key(table, key), &options)?;
        Ok(copy(found.as_deref(), value))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tx.put(self.keys.key(table, key), value)?)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(&self.snapshot, self.keys.range(table, low, high), limit, visit)
    }
}

struct Reading<'t> {
    snapshot: SnapshotWithThreadMode<'t, OptimisticTransactionDB>,
    keys: &'t mut Prefixed,
}

impl ReadTx for Reading<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let found = self.snapshot.get_pinned(self.keys.key(table, key))?;
        Ok(copy(found.as_deref(), value))
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(&self.snapshot, self.keys.range(table, low, high), limit, visit)
    }
}
