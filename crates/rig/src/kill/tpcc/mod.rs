//! TPC-C at a small scale: the workload's own tables, procedures and conditions.
//!
//! Beside its tables stands one row that says whether the load is complete. Where it is not, or where
//! there are so many orders that a cycle would take too long, the tables are dropped, made and loaded
//! anew.

pub mod books;
mod witness;

use super::client::{Client, Trouble};
use super::said::{Said, say};
use chiliad::raw::{TableId, Transaction as _};
use chiliad::{Database, Error, RunOptions, Table, Transaction};
use chiliad_workload::tpcc::schema::{Tables, district};
use chiliad_workload::tpcc::{self, Tpcc, TpccOptions};
use chiliad_workload::{ClientId, WholeRows, Workload};
use std::sync::Arc;
use witness::Witness;

/// The table with the row that says whether the load is complete.
const STATE: &str = "crash_state";
/// That row's key, and its value when it is.
const LOADED: (u32, u64) = (0, 1);
/// Orders above which the tables are loaded anew.
const ORDERS_MAX: usize = 12_000;

fn workload() -> Result<Tpcc, Error> {
    // Parts are loaded as transactions, whole or not at all.
    let read_only_tables = false;
    let options = TpccOptions { snapshot_reads: false, read_only_tables, ..TpccOptions::micro() };
    Tpcc::new(options).map_err(Error::InvalidOption)
}

/// Whether these are the tables of this workload.
pub fn is_ours(tables: &[String]) -> bool {
    let known: Vec<String> = match workload() {
        Ok(workload) => workload.tables().into_iter().map(|spec| spec.name).collect(),
        Err(_) => Vec::new(),
    };
    tables.is_empty()
        || tables.iter().any(|name| name == STATE)
            && tables.iter().all(|name| name == STATE || known.contains(name))
}

/// The workload and its tables in a database.
pub struct Load {
    workload: Arc<Tpcc>,
    tables: Vec<TableId>,
}

impl Load {
    /// The tables, if the load is complete.
    fn open(db: &Database) -> chiliad::Result<Option<Self>> {
        let state: Table<u32, u64> = match db.table(STATE) {
            Err(Error::UnknownTable(_)) => return Ok(None),
            state => state?,
        };
        let read_only = RunOptions::default().read_only();
        let (row, complete) = LOADED;
        if db.run_with(&read_only, |tx| tx.get(&state, &row))? != Some(complete) {
            return Ok(None);
        }
        let workload = Arc::new(workload()?);
        let specs = workload.tables();
        let tables = specs.iter().map(|spec| db.table_raw(&spec.name).map(|(id, _)| id));
        let tables = tables.collect::<chiliad::Result<Vec<_>>>()?;
        Ok(Some(Self { workload, tables }))
    }

    /// Opens the load, or loads anew.
    pub fn prepare(db: &Database, seed: u64) -> Result<Self, Trouble> {
        if let Some(load) = Self::open(db)? {
            if load.orders(db)? <= ORDERS_MAX {
                return Ok(load);
            }
            say(&Said::Resets)?;
        }
        let state: Table<u32, u64> = match db.create_table(STATE) {
            Err(Error::TableExists(_)) => db.table(STATE)?,
            state => state?,
        };
        let (row, complete) = LOADED;
        db.run(|tx| tx.remove(&state, &row))?;
        let workload = Arc::new(workload()?);
        let mut tables = Vec::new();
        for spec in workload.tables() {
            match db.drop_table(&spec.name) {
                Ok(()) | Err(Error::UnknownTable(_)) => tables.push(db.create_table_raw(spec)?),
                Err(error) => return Err(error.into()),
            }
        }
        for part in 0..workload.load_parts() {
            db.run(|tx| {
                let tx = tx.raw();
                let mut whole = WholeRows::new(&workload.tables(), &tables, |table, key, parts| {
                    tx.insert_parts(table, key, parts)
                });
                let mut insert =
                    |table: TableId, key: &[u8], row: &[u8]| whole.part(table, key, row);
                workload.load(&tables, part, seed, &mut insert)
            })?;
        }
        db.run(|tx| tx.put(&state, &row, &complete))?;
        Ok(Self { workload, tables })
    }

    /// How many orders there are.
    fn orders(&self, db: &Database) -> chiliad::Result<usize> {
        let tables = self.named();
        db.run_with(&RunOptions::default().read_only(), |tx| {
            let tx = tx.raw();
            let mut orders = 0;
            for w in 1..=self.workload.options().warehouses as u16 {
                for d in 1..=u8::MAX {
                    let key = tpcc::schema::key::district(w, d);
                    let Some(row) = tx.get(tables.district, &key)? else { break };
                    orders += district::D_NEXT_O_ID.get(tx.bytes(row)?) as usize - 1;
                }
            }
            Ok(orders)
        })
    }

    fn named(&self) -> Tables {
        self.workload.named(&self.tables)
    }
}

/// A client.
pub struct Terminal {
    workload: Arc<Tpcc>,
    tables: Tables,
    client: tpcc::Client,
    partitions: Vec<u32>,
}

impl Terminal {
    /// Client number `index` of `of`.
    pub fn new(load: &Load, index: usize, of: usize, seed: u64) -> Self {
        Self {
            workload: Arc::clone(&load.workload),
            tables: load.named(),
            client: load.workload.client(&load.tables, ClientId::apart(index, of, seed)),
            partitions: Vec::new(),
        }
    }
}

impl Client for Terminal {
    fn draw(&mut self) {
        self.partitions.clear();
        let _ = self.workload.next(&mut self.client, &mut self.partitions);
    }

    fn run(&mut self, tx: &mut Transaction<'_>, lines: &mut Vec<u8>) -> chiliad::Result<()> {
        let mut witness = Witness::new(tx.raw(), self.tables, lines);
        self.workload.execute(&mut self.client, &mut witness)
    }
}
