//! The oracle: one client's requests, the same on any engine, and what each engine has at the end.
//!
//! One client meets nobody, so all engines must answer it alike, whatever orders their transactions.

use chiliad_api::{
    Error, Intent, Range, Result, Row, Running, Session, Store, TableId, Transaction, Writes,
};
use chiliad_machine::Interleaved;
use chiliad_workload::{AnyClient, AnyWorkload, ClientId, WholeRows};
use std::collections::BTreeMap;

const SEED: u64 = 11;

/// Refusals of a request in a row from which on something is wrong.
const RETRIES_MAX: u32 = 100;

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    Committed {
        /// It found nothing to act on.
        unsuccessful: bool,
    },
    RolledBack,
}

/// The rows of each table, and of each secondary index under the keys of the index, in order.
pub type Contents = BTreeMap<String, Vec<(Vec<u8>, Vec<u8>)>>;

/// A database of any engine with a workload's tables and rows.
pub struct Subject<'a> {
    store: Box<dyn Store<Interleaved>>,
    workload: &'a dyn AnyWorkload,
    tables: Vec<TableId>,
}

impl<'a> Subject<'a> {
    /// Creates and loads the tables of `workload` in an empty database.
    pub fn load(store: Box<dyn Store<Interleaved>>, workload: &'a dyn AnyWorkload) -> Result<Self> {
        let specs = workload.tables();
        let create = specs.iter().map(|spec| store.create_table(spec.clone()));
        let tables = create.collect::<Result<Vec<_>>>()?;
        let mut session = store.session()?;
        let mut whole = WholeRows::new(&specs, &tables, |table, key, parts| {
            session.load_parts(table, key, parts)
        });
        for part in 0..workload.load_parts() {
            let insert = &mut |table, key: &[u8], row: &[u8]| whole.part(table, key, row);
            workload.load(&tables, part, SEED, insert)?;
        }
        // A session hands over the last of the rows when it ends.
        drop(session);
        for (_, spec) in store.tables() {
            if spec.writes == Writes::Loads {
                store.seal(&spec.name)?;
            }
        }
        store.reach_snapshot();
        Ok(Self { store, workload, tables })
    }

    /// Runs the first requests of a client, one after the other.
    pub fn run(&self, requests: usize) -> Result<Vec<Ended>> {
        let client_id = ClientId::apart(0, 1, SEED);
        let mut client = self.workload.any_client(&self.tables, client_id);
        let mut session = self.store.session()?;
        let mut partitions = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..requests {
            partitions.clear();
            let shape = client.next(&mut partitions);
            // Of the present: how old a snapshot is differs from engine to engine.
            let intent = Intent {
                read_only: shape.read_only || shape.snapshot,
                partitions: &partitions,
                ..Intent::default()
            };
            ends.push(attempts(&mut *session, &mut *client, intent)?);
            self.store.tick();
        }
        Ok(ends)
    }

    /// All rows. Those of hash tables are found by the keys that `keys` says there may be.
    pub fn contents(&self, keys: &dyn Fn(&str) -> Result<Vec<Vec<u8>>>) -> Result<Contents> {
        let mut session = self.store.session()?;
        let mut contents = Contents::new();
        let tables = self.store.tables().into_iter();
        for (table, spec) in tables.flat_map(|(id, spec)| spec.with_groups(id)) {
            // Asked before the transaction begins: the answer may need the turn that this takes. Groups have the keys of
            // their table.
            let keys = keys(spec.name.split('.').next().unwrap_or_default())?;
            let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
            let rows = match scan_both_ways(&mut tx, table, None) {
                Err(Error::NotOrdered) => look_all_up(&mut tx, table, &keys)?,
                rows => rows?,
            };
            contents.insert(spec.name.clone(), rows);
            for (number, index) in spec.secondary.iter().enumerate() {
                let rows = scan_both_ways(&mut tx, table, Some(number))?;
                contents.insert(format!("{}/{}", spec.name, index.name), rows);
            }
            tx.commit()?;
        }
        Ok(contents)
    }
}

/// Runs a request until it goes through.
fn attempts(
    session: &mut dyn Session<Interleaved>,
    client: &mut (dyn AnyClient + '_),
    intent: Intent<'_>,
) -> Result<Ended> {
    let mut retries = 0;
    loop {
        let mut tx = Running::begin(&mut *session, &Intent { retries, ..intent })?;
        let ended = match client.execute(&mut tx) {
            Ok(()) => tx.commit().map(|_| ()),
            Err(error) => {
                tx.rollback();
                Err(error)
            }
        };
        match ended {
            Ok(()) => return Ok(Ended::Committed { unsuccessful: client.unsuccessful() }),
            Err(Error::RolledBack) => return Ok(Ended::RolledBack),
            // Even alone a client may meet the end of an epoch; it does not meet it again and again.
            Err(error) if error.is_retryable() && retries < RETRIES_MAX => retries += 1,
            Err(error) => return Err(error),
        }
    }
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// All rows of a table, or of one of its indexes, upwards; downwards they must be the same.
fn scan_both_ways(tx: &mut dyn Transaction, table: TableId, index: Option<usize>) -> Result<Rows> {
    let mut scan = |range: Range<'_>| -> Result<Rows> {
        let scanned = match index {
            None => tx.scan(table, range)?,
            Some(index) => tx.scan_index(table, index, range)?,
        };
        let entries = tx.entries(scanned)?.iter();
        entries.map(|it| Ok((tx.key(*it)?.to_vec(), tx.bytes(it.row)?.to_vec()))).collect()
    };
    let upwards = scan(Range::all())?;
    let mut downwards = scan(Range::all().reverse())?;
    downwards.reverse();
    assert_eq!(upwards, downwards, "{table:?} {index:?}");
    Ok(upwards)
}

fn look_all_up(tx: &mut dyn Transaction, table: TableId, keys: &[Vec<u8>]) -> Result<Rows> {
    let mut rows = Vec::new();
    for key in keys {
        let found: Option<Row> = tx.get(table, key)?;
        if let Some(row) = found {
            rows.push((key.clone(), tx.bytes(row)?.to_vec()));
        }
    }
    Ok(rows)
}
