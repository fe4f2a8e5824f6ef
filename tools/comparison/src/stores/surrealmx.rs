//! SurrealMX: in memory, multi-version, optimistic, with an append-only log.
//!
//! Update transactions are serializable (reads and scanned ranges are validated); read-only ones
//! read a snapshot. `none`: memory alone. `sync`: each commit is appended and synced before it
//! returns, many at once by its own group commit; no periodic snapshots. It has one key space.

use super::{ALL, Prefixed};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, Result, Setup, Store, Table,
    Tx, accept,
};
use surrealmx::{
    AolMode, Database, DatabaseOptions, FsyncMode, PersistenceOptions, SnapshotMode, Transaction,
};

pub const CANDIDATE: Candidate = Candidate {
    name: "surrealmx",
    package: "surrealmx",
    isolation: Isolation::Serializable,
    durabilities: ALL,
    open,
};

impl From<surrealmx::Error> for Error {
    fn from(error: surrealmx::Error) -> Self {
        match error {
            surrealmx::Error::KeyReadConflict | surrealmx::Error::KeyWriteConflict => {
                Self::Conflict
            }
            other => Self::failed(other),
        }
    }
}

struct Versioned(Database);

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let database = match setup.durability {
        Durability::None => Database::new(),
        Durability::Epoch | Durability::Sync => {
            let persistence = PersistenceOptions::new(setup.directory)
                .with_aol_mode(AolMode::SynchronousOnCommit)
                .with_fsync_mode(FsyncMode::EveryAppend)
                .with_snapshot_mode(SnapshotMode::Never);
            Database::new_with_persistence(DatabaseOptions::default(), persistence)
                .map_err(Error::failed)?
        }
    };
    Ok(Box::new(Versioned(database)))
}

impl Store for Versioned {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own { database: &self.0, keys: Prefixed::default(), value: Vec::new() }))
    }
}

struct Own<'s> {
    database: &'s Database,
    keys: Prefixed,
    value: Vec<u8>,
}

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        until_accepted(|| {
            let mut tx = match kind {
                Kind::ReadOnly => self.database.transaction(false),
                Kind::Update => {
                    self.database.transaction(true).with_serializable_snapshot_isolation()
                }
            };
            let mut running = Running { tx: &mut tx, keys: &mut self.keys, value: &mut self.value };
            let verdict = body(&mut running).and_then(accept);
            match (verdict, kind) {
                (Ok(()), Kind::Update) => Ok(tx.commit()?),
                (verdict, _) => {
                    tx.cancel()?;
                    verdict
                }
            }
        })
    }
}

struct Running<'t> {
    tx: &'t mut Transaction,
    keys: &'t mut Prefixed,
    value: &'t mut Vec<u8>,
}

impl Tx for Running<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let found = self.tx.with_value(self.keys.key(table, key), |bytes| {
            value.clear();
            value.extend_from_slice(bytes);
        })?;
        Ok(found.is_some())
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tx.set(self.keys.key(table, key), value)?)
    }

    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tx.put(self.keys.key(table, key), value)?)
    }

    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let key = self.keys.key(table, key);
        let found = self.tx.with_value(key, |bytes| {
            self.value.clear();
            self.value.extend_from_slice(bytes);
        })?;
        if found.is_none() {
            return Ok(false);
        }
        change(self.value);
        self.tx.set(key, self.value.as_slice())?;
        Ok(true)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let (low, high) = self.keys.range(table, low, high);
        self.tx.scan_with(low..high, None, Some(limit), |key, value| {
            visit(&key.as_ref()[1..], value);
            true
        })?;
        Ok(())
    }
}
