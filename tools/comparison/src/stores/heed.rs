//! LMDB by heed: a copy-on-write B+tree in a memory map, with one writer at a time and readers beside it.
//! Serializable, for update transactions wait for each other from their begin on.
//!
//! `none`: nothing is synced, and the map is written to in place (`MDB_NOSYNC`, `MDB_WRITEMAP`). `sync`: its defaults,
//! with which each commit writes its pages and syncs the file. A named database for each table.

use super::ALL;
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, ReadOnly, ReadTx, Result,
    Setup, Store, Table, Tx, accept, copy,
};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, RoTxn, RwTxn};
use std::ops::Bound;

pub const CANDIDATE: Candidate = Candidate {
    name: "heed",
    package: "heed",
    isolation: Isolation::Serializable,
    durabilities: ALL,
    open,
};

/// Address space, not memory: the file grows as it is filled.
const MAP_BYTES: usize = 64 << 30;

/// More than there are ever clients.
const READERS: u32 = 2048;

type Tree = Database<'static, Bytes, Bytes>;

impl From<heed::Error> for Error {
    fn from(error: heed::Error) -> Self {
        Self::failed(error)
    }
}

struct Map {
    env: Env,
    tables: Vec<Tree>,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_readers(READERS);
    options.max_dbs(u32::try_from(setup.tables).expect("a few tables"));
    if setup.durability == Durability::None {
        // SAFETY: nobody reads the file after a crash, and nobody else writes to the map.
        unsafe { options.flags(EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP) };
    }
    // SAFETY: the directory is this database's alone, and nothing changes its files but LMDB.
    let env = unsafe { options.open(setup.directory) }?;
    let tables = (0..setup.tables).map(|number| create(&env, &format!("t{number}")));
    let tables = tables.collect::<Result<_>>()?;
    Ok(Box::new(Map { env, tables }))
}

/// Makes one table, in a transaction of its own.
fn create(env: &Env, name: &str) -> Result<Tree> {
    let made = env.create_databases_and_commit(env.write_txn()?, |opener, tx| {
        let table = opener.create_database::<Bytes, Bytes>(tx, Some(name))?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(table))
    })?;
    match made {
        CommitOrAbort::Commit(table) => Ok(table),
        CommitOrAbort::Abort(()) => Err(Error::failed("a table was not created")),
    }
}

impl Store for Map {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own(self)))
    }
}

struct Own<'s>(&'s Map);

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let Map { env, tables } = self.0;
        if kind == Kind::ReadOnly {
            let tx = env.read_txn()?;
            let verdict = body(&mut ReadOnly(Reading { tx: &tx, tables }))?;
            return until_accepted(|| accept(verdict));
        }
        until_accepted(|| {
            let mut writing = Writing { tx: env.write_txn()?, tables };
            accept(body(&mut writing)?)?;
            Ok(writing.tx.commit()?)
        })
    }
}

/// What both kinds of transaction read by.
fn get(tx: &RoTxn<'_>, tree: Tree, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
    Ok(copy(tree.get(tx, key)?, value))
}

fn scan(
    tx: &RoTxn<'_>,
    tree: Tree,
    (low, high): (&[u8], &[u8]),
    limit: usize,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    let range = (Bound::Included(low), Bound::Excluded(high));
    for entry in tree.range(tx, &range)?.take(limit) {
        let (key, value) = entry?;
        visit(key, value);
    }
    Ok(())
}

struct Writing<'s> {
    tx: RwTxn<'s>,
    tables: &'s [Tree],
}

impl Tx for Writing<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(&self.tx, self.tables[table], key, value)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tables[table].put(&mut self.tx, key, value)?)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(&self.tx, self.tables[table], (low, high), limit, visit)
    }
}

struct Reading<'t> {
    tx: &'t RoTxn<'t>,
    tables: &'t [Tree],
}

impl ReadTx for Reading<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(self.tx, self.tables[table], key, value)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(self.tx, self.tables[table], (low, high), limit, visit)
    }
}
