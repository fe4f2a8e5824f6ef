//! Chiliad, by its embedding facade: ordered raw tables, default options, one worker a client.
//!
//! `none`: in memory. `sync`: in a directory, each call waits until its transaction is on disk.
//! `epoch`: transactions are submitted and their results held back, those of reads too, until
//! everything that they wrote and read is on disk; the client goes on meanwhile.

use super::ALL;
use crate::item::Item;
use crate::store::{
    Body, Candidate, Client, Durability, Error, Isolation, Kind, Ran, Result, Setup, Store, Table,
    Tx, accept,
};
use chiliad::raw::{Range, TableId, TableSpec, Transaction as _};
use chiliad::{Database, Options, Pending, RunOptions, Transaction, Worker};
use std::collections::VecDeque;

pub const CANDIDATE: Candidate = Candidate {
    name: "chiliad",
    package: "chiliad",
    isolation: Isolation::Serializable,
    durabilities: ALL,
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

struct Main {
    database: Database,
    tables: Tables,
    durability: Durability,
}

/// The raw tables, or the one of typed rows.
struct Tables {
    raw: Vec<TableId>,
    items: Option<chiliad::Table<u64, Item>>,
}

fn open(setup: &Setup<'_>) -> Result<Box<dyn Store>> {
    let within = |durability| {
        Database::open_with(setup.directory, Options::default().durability(durability))
    };
    let database = match setup.durability {
        Durability::None => Database::in_memory(),
        Durability::Epoch => within(chiliad::Durability::Epoch),
        Durability::Sync => within(chiliad::Durability::Sync),
    }?;
    let table = |number| database.create_table_raw(TableSpec::ordered(&format!("t{number}")));
    let tables = match setup.items {
        true => Tables { raw: Vec::new(), items: Some(database.create_table("items")?) },
        false => Tables {
            raw: (0..setup.tables).map(table).collect::<chiliad::Result<_>>()?,
            items: None,
        },
    };
    Ok(Box::new(Main { database, tables, durability: setup.durability }))
}

impl Store for Main {
    fn client(&self) -> Result<Box<dyn Client + '_>> {
        let worker = self.database.worker()?;
        let tables = &self.tables;
        Ok(match self.durability {
            Durability::None | Durability::Sync => Box::new(Waiting { worker, tables }),
            Durability::Epoch => Box::new(Ahead { worker, tables, pending: VecDeque::new() }),
        })
    }
}

/// Each call waits for what its column promises.
struct Waiting<'s> {
    worker: Worker,
    tables: &'s Tables,
}

impl Client for Waiting<'_> {
    fn run(&mut self, kind: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let options = match kind {
            Kind::ReadOnly => RunOptions::default().read_only(),
            Kind::Update => RunOptions::default(),
        };
        let mut attempts = 0;
        let tables = self.tables;
        let result = self.worker.run_with(&options, |tx| {
            attempts += 1;
            accept(body(&mut Running { tx, tables })?)
        });
        match result {
            Ok(()) | Err(Error::RolledBack) => Ok(Ran::at_once(attempts - 1)),
            Err(error) => Err(error),
        }
    }
}

/// Goes on while results are held back.
struct Ahead<'s> {
    worker: Worker,
    tables: &'s Tables,
    /// The oldest first; they become durable in that order.
    pending: VecDeque<Pending<()>>,
}

impl Client for Ahead<'_> {
    fn run(&mut self, _: Kind, body: &mut Body<'_>) -> Result<Ran> {
        let mut attempts = 0;
        let mut ended = Ok(());
        let tables = self.tables;
        let submitted = self.worker.submit(|tx| {
            attempts += 1;
            ended = body(&mut Running { tx, tables }).and_then(accept);
            // Any error rolls back; which one it was is in `ended`.
            ended.as_ref().map_err(|_| chiliad::Error::TransactionOver).copied()
        });
        let refused = attempts - 1;
        match (ended, submitted) {
            (Err(Error::RolledBack), _) => Ok(Ran::at_once(refused)),
            (Err(error), _) => Err(error),
            (Ok(()), submitted) => {
                self.pending.push_back(submitted?);
                Ok(Ran { refused, durable: false })
            }
        }
    }

    fn durable(&mut self, wait: bool) -> Result<usize> {
        let mut count = 0;
        if wait && let Some(oldest) = self.pending.pop_front() {
            oldest.wait()?;
            count = 1;
        }
        while let Some(oldest) = self.pending.front()
            && oldest.is_durable()?
        {
            self.pending.pop_front();
            count += 1;
        }
        Ok(count)
    }
}

struct Running<'t, 'w> {
    tx: &'t mut Transaction<'w>,
    tables: &'t Tables,
}

impl Running<'_, '_> {
    fn table(&self) -> Result<chiliad::Table<u64, Item>> {
        self.tables.items.ok_or_else(|| Error::failed("the workload has no items"))
    }
}

impl Tx for Running<'_, '_> {
    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let raw = self.tx.raw();
        let Some(row) = raw.get(self.tables.raw[table], key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(raw.bytes(row)?);
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tx.raw().put(self.tables.raw[table], key, value)?)
    }

    fn insert(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.tx.raw().insert(self.tables.raw[table], key, value)?)
    }

    fn update(
        &mut self,
        table: Table,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<bool> {
        let Some(row) = self.tx.raw().get(self.tables.raw[table], key)? else { return Ok(false) };
        change(self.tx.raw().modify(row)?);
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
        let raw = self.tx.raw();
        let scanned = raw.scan(self.tables.raw[table], range)?;
        for &entry in raw.entries(scanned)? {
            visit(raw.key(entry)?, raw.bytes(entry.row)?);
        }
        Ok(())
    }

    fn item(&mut self, key: u64) -> Result<Option<Item>> {
        let items = self.table()?;
        Ok(self.tx.get(&items, &key)?)
    }

    fn insert_item(&mut self, key: u64, item: &Item) -> Result<()> {
        let items = self.table()?;
        Ok(self.tx.insert(&items, &key, item)?)
    }

    fn change_item(&mut self, key: u64, change: &mut dyn FnMut(&mut Item)) -> Result<bool> {
        let items = self.table()?;
        Ok(self.tx.update(&items, &key, |item| change(item))?.is_some())
    }

    fn items(&mut self, low: u64, limit: usize, visit: &mut dyn FnMut(u64, Item)) -> Result<()> {
        let items = self.table()?;
        Ok(self.tx.scan(&items, low..).limit(limit).for_each(|key, item| {
            visit(key, item);
            Ok(())
        })?)
    }
}
