//! sled: a log-structured tree, with transactions that hold one lock of the whole process.
//!
//! Its transactions read and write by key and have no ranges. What only reads is therefore read without a transaction,
//! each key and each range for itself, which is also what does not wait for writers: serializable where a transaction
//! reads one key.
//!
//! `none`: nothing is flushed, in the background neither. `sync`: each transaction flushes the log before it returns,
//! outside of the lock; and since on Linux the crate flushes by `sync_file_range`, which does not reach beyond the disk's own
//! cache, it then calls `fdatasync` on the crate's file. A tree for each table, cache for everything, no compression.

use super::{ALL, CACHE_BYTES};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, ReadOnly, ReadTx, Result,
    Setup, Store, Table, Tx, accept, copy,
};
use sled::transaction::{
    ConflictableTransactionError, TransactionError, Transactional, TransactionalTree,
    UnabortableTransactionError,
};
use sled::{Config, Db, Mode, Tree};
use std::cell::RefCell;
use std::fs::File;

pub const CANDIDATE: Candidate = Candidate {
    name: "sled",
    package: "sled",
    isolation: Isolation::OneRead,
    durabilities: ALL,
    open,
};

impl From<sled::Error> for Error {
    fn from(error: sled::Error) -> Self {
        Self::failed(error)
    }
}

impl From<UnabortableTransactionError> for Error {
    fn from(error: UnabortableTransactionError) -> Self {
        match error {
            UnabortableTransactionError::Conflict => Self::Conflict,
            UnabortableTransactionError::Storage(error) => Self::failed(error),
        }
    }
}

struct Forest {
    tables: Vec<Tree>,
    /// Its file, if transactions sync it.
    file: Option<File>,
    // Dropped after the trees that it keeps.
    _database: Db,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let database = Config::new()
        .path(setup.directory)
        .mode(Mode::HighThroughput)
        .cache_capacity(CACHE_BYTES as u64)
        .flush_every_ms(None)
        .open()?;
    let table = |number| database.open_tree(format!("t{number}"));
    let tables = (0..setup.tables).map(table).collect::<sled::Result<_>>()?;
    let syncs = setup.durability != Durability::None;
    let file = syncs.then(|| File::open(setup.directory.join("db"))).transpose();
    Ok(Box::new(Forest { tables, file: file.map_err(Error::failed)?, _database: database }))
}

impl Store for Forest {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own(self)))
    }

    fn settle(&self) -> Result<()> {
        for table in &self.tables {
            table.flush()?;
        }
        Ok(())
    }
}

struct Own<'s>(&'s Forest);

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let Forest { tables, file, .. } = self.0;
        if kind == Kind::ReadOnly {
            let verdict = body(&mut ReadOnly(Reading { tables }))?;
            return until_accepted(|| accept(verdict));
        }
        // The crate calls what it is given by a shared reference.
        let body = RefCell::new(body);
        until_accepted(|| {
            let ended = tables.as_slice().transaction(|trees: &Vec<TransactionalTree>| {
                if file.is_some() {
                    trees[0].flush();
                }
                let verdict = (body.borrow_mut())(&mut Writing { trees });
                verdict.and_then(accept).map_err(ConflictableTransactionError::Abort)
            });
            ended.map_err(|error| match error {
                TransactionError::Abort(error) => error,
                TransactionError::Storage(error) => error.into(),
            })?;
            file.as_ref().map_or(Ok(()), File::sync_data).map_err(Error::failed)
        })
    }
}

struct Writing<'t> {
    trees: &'t [TransactionalTree],
}

impl Tx for Writing<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(copy(self.trees[table].get(key)?.as_deref(), value))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.trees[table].insert(key, value)?;
        Ok(())
    }

    fn scan(
        &mut self,
        _: Table,
        _: &[u8],
        _: &[u8],
        _: usize,
        _: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        Err(Error::failed("sled's transactions have no ranges"))
    }
}

struct Reading<'s> {
    tables: &'s [Tree],
}

impl ReadTx for Reading<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        Ok(copy(self.tables[table].get(key)?.as_deref(), value))
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        for entry in self.tables[table].range::<&[u8], _>(low..high).take(limit) {
            let (key, value) = entry?;
            visit(&key, &value);
        }
        Ok(())
    }
}
