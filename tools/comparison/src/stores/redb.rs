//! redb: a copy-on-write B+tree with one writer at a time and readers beside it. Serializable, for
//! there is nothing to interleave: update transactions wait for each other from their begin on.
//!
//! `none`: in its memory backend, with commits that are not made durable. `sync`: a file, synced by
//! each commit. Cache for everything.

use super::{ALL, CACHE_BYTES};
use crate::retry::until_accepted;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, ReadOnly, ReadTx, Result,
    Setup, Store, Table, Tx, accept, copy,
};
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable,
    TableDefinition, WriteTransaction,
};

pub const CANDIDATE: Candidate = Candidate {
    name: "redb",
    package: "redb",
    isolation: Isolation::Serializable,
    durabilities: ALL,
    open,
};

type Bytes = &'static [u8];

/// Each error type of the crate converts into its general one, and that into ours.
fn failed(error: impl Into<redb::Error>) -> Error {
    Error::failed(error.into())
}

struct Tree {
    database: Database,
    names: Vec<String>,
    durability: redb::Durability,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    let (database, durability) = match setup.durability {
        Durability::None => {
            (builder.create_with_backend(InMemoryBackend::new()), redb::Durability::None)
        }
        Durability::Epoch | Durability::Sync => {
            (builder.create(setup.directory.join("data.redb")), redb::Durability::Immediate)
        }
    };
    let names = (0..setup.tables).map(|number| format!("t{number}")).collect();
    let tree = Tree { database: database.map_err(failed)?, names, durability };
    let tx = tree.database.begin_write().map_err(failed)?;
    for name in &tree.names {
        tx.open_table(definition(name)).map_err(failed)?;
    }
    tx.commit().map_err(failed)?;
    Ok(Box::new(tree))
}

fn definition(name: &str) -> TableDefinition<'_, Bytes, Bytes> {
    TableDefinition::new(name)
}

impl Store for Tree {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own(self)))
    }
}

struct Own<'s>(&'s Tree);

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let Tree { database, names, durability } = self.0;
        if kind == Kind::ReadOnly {
            let tx = database.begin_read().map_err(failed)?;
            let tables = names.iter().map(|_| None).collect();
            let verdict = body(&mut ReadOnly(Reading { tx: &tx, names, tables }))?;
            return until_accepted(|| accept(verdict));
        }
        until_accepted(|| {
            let mut tx = database.begin_write().map_err(failed)?;
            tx.set_durability(*durability).map_err(failed)?;
            let tables = names.iter().map(|_| None).collect();
            let mut writing = Writing { tx: &tx, names, tables };
            let verdict = body(&mut writing).and_then(accept);
            drop(writing);
            match verdict {
                Ok(()) => tx.commit().map_err(failed),
                Err(error) => tx.abort().map_err(failed).and(Err(error)),
            }
        })
    }
}

/// What both kinds of transaction read by.
fn get(from: &impl ReadableTable<Bytes, Bytes>, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
    let found = from.get(key).map_err(failed)?;
    Ok(copy(found.as_ref().map(|it| it.value()), value))
}

fn scan(
    from: &impl ReadableTable<Bytes, Bytes>,
    (low, high): (&[u8], &[u8]),
    limit: usize,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    for entry in from.range::<&[u8]>(low..high).map_err(failed)?.take(limit) {
        let (key, value) = entry.map_err(failed)?;
        visit(key.value(), value.value());
    }
    Ok(())
}

/// Tables are opened when they are first used, as an application would.
struct Writing<'t> {
    tx: &'t WriteTransaction,
    names: &'t [String],
    tables: Vec<Option<redb::Table<'t, Bytes, Bytes>>>,
}

impl<'t> Writing<'t> {
    fn table(&mut self, table: Table) -> Result<&mut redb::Table<'t, Bytes, Bytes>> {
        if self.tables[table].is_none() {
            let opened = self.tx.open_table(definition(&self.names[table])).map_err(failed)?;
            self.tables[table] = Some(opened);
        }
        Ok(self.tables[table].as_mut().expect("opened above"))
    }
}

impl Tx for Writing<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(self.table(table)?, key, value)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.table(table)?.insert(key, value).map_err(failed)?;
        Ok(())
    }

    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let table = self.table(table)?;
        let Some(mut found) = table.get_mut(key).map_err(failed)? else { return Ok(false) };
        let mut value = found.value().to_vec();
        change(&mut value);
        found.insert(value.as_slice()).map_err(failed)?;
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
        scan(self.table(table)?, (low, high), limit, visit)
    }
}

struct Reading<'t> {
    tx: &'t ReadTransaction,
    names: &'t [String],
    tables: Vec<Option<ReadOnlyTable<Bytes, Bytes>>>,
}

impl Reading<'_> {
    fn table(&mut self, table: Table) -> Result<&ReadOnlyTable<Bytes, Bytes>> {
        if self.tables[table].is_none() {
            let opened = self.tx.open_table(definition(&self.names[table])).map_err(failed)?;
            self.tables[table] = Some(opened);
        }
        Ok(self.tables[table].as_ref().expect("opened above"))
    }
}

impl ReadTx for Reading<'_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        get(self.table(table)?, key, value)
    }

    fn scan(
        &mut self,
        table: Table,
        low: &[u8],
        high: &[u8],
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        scan(self.table(table)?, (low, high), limit, visit)
    }
}
