//! Chiliad, by its embedding facade: ordered raw tables, default options, one worker a client.
//!
//! It fills the column `none` only: the database lives in memory.

use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, Result, Setup, Store, Table,
    Tx, accept,
};
use chiliad::raw::{Range, TableId, TableSpec, Transaction as _, Untyped};
use chiliad::{Database, RunOptions, Worker};

pub const CANDIDATE: Candidate = Candidate {
    name: "chiliad",
    package: "chiliad",
    isolation: Isolation::Serializable,
    durabilities: &[Durability::None],
    open,
};

impl From<chiliad::Error> for Error {
    fn from(error: chiliad::Error) -> Self {
        match error {
            chiliad::Error::Conflict(_) => Self::Conflict,
            other => Self::failed(other),
        }
    }
}

struct Memory {
    database: Database,
    tables: Vec<TableId>,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let database = Database::in_memory()?;
    let table = |number| database.create_table_raw(TableSpec::ordered(&format!("t{number}")));
    let tables = (0..setup.tables).map(table).collect::<chiliad::Result<_>>()?;
    Ok(Box::new(Memory { database, tables }))
}

impl Store for Memory {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(Own { worker: self.database.worker()?, tables: &self.tables }))
    }
}

struct Own<'s> {
    worker: Worker,
    tables: &'s [TableId],
}

impl Client for Own<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let options = match kind {
            Kind::ReadOnly => RunOptions::default().read_only(),
            Kind::Update => RunOptions::default(),
        };
        let mut attempts = 0;
        let tables = self.tables;
        let result = self.worker.run_with(&options, |tx| {
            attempts += 1;
            accept(body(&mut Running { raw: tx.raw(), tables })?)
        });
        match result {
            Ok(()) | Err(Error::RolledBack) => Ok(Ran::at_once(attempts - 1)),
            Err(error) => Err(error),
        }
    }
}

struct Running<'t, 'w> {
    raw: &'t mut Untyped<'w>,
    tables: &'t [TableId],
}

impl Tx for Running<'_, '_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let Some(row) = self.raw.get(self.tables[table], key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(self.raw.bytes(row));
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.raw.put(self.tables[table], key, value)?)
    }

    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.raw.insert(self.tables[table], key, value)?)
    }

    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let Some(row) = self.raw.get(self.tables[table], key)? else { return Ok(false) };
        change(self.raw.modify(row)?);
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
        let range = Range::between(low, high).limit(limit);
        let scanned = self.raw.scan(self.tables[table], range)?;
        for &entry in self.raw.entries(scanned) {
            visit(self.raw.key(entry), self.raw.bytes(entry.row));
        }
        Ok(())
    }
}
