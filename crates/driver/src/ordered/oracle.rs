//! The oracles of a run of tasks: each runs the same requests in their order, on a database of its own.
//!
//! - the serial runtime, which runs the same tasks one after another: what differs is the hardware's fault;
//! - SwarmDB's own statements: what differs may be the graph's;
//! - one client of silo: what differs may be SwarmDB's.

use super::asked::Asked;
use super::load::fill;
use super::{Formed, GENERATORS, Requests};
use crate::Failure;
use chiliad_api::{Error, Intent, Range, Result, Running, Session, Store, TableId, Transaction};
use chiliad_engine::{Options, SchemeName, any};
use chiliad_machine::tasks::{Serial, Ties};
use chiliad_machine::{Machine, Plain};
use chiliad_swarm::Swarm;
use chiliad_workload::tasks::{Answer, first_of};

/// Rows that are looked at in one transaction.
const ROWS_AT_A_TIME: usize = 1 << 12;

/// Requests between two steps of the epoch, where nobody else turns it.
const EPOCH_REQUESTS: usize = 1 << 10;

/// A table's name and its rows, by key.
type Table = (String, Vec<(Vec<u8>, Vec<u8>)>);

/// The state that a run of requests leaves.
#[derive(PartialEq)]
pub(super) struct After {
    pub(super) tables: Vec<Table>,
    /// By request; `None` where it was rolled back.
    pub(super) answers: Vec<Option<Answer>>,
}

/// All rows of a database.
pub(super) fn rows<M: Machine>(swarm: &Swarm<M>) -> core::result::Result<Vec<Table>, Failure> {
    let tables = swarm.tables().into_iter();
    let rows: Result<_> = tables.map(|(table, spec)| Ok((spec.name, swarm.rows(table)?))).collect();
    rows.map_err(Failure::doing("reading the rows"))
}

/// What differs between what tasks have left and what the oracles have: of each oracle the first answer, and the first row
/// of each table.
pub(super) fn differences(
    requests: &Requests<'_>,
    tasks: &After,
) -> core::result::Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    let after = serially(requests)?;
    compare(tasks, &after, "the serial runtime", &mut found);
    let after = by_statements(requests)?;
    compare(tasks, &after, "one after another", &mut found);
    let after = by_silo(requests, tasks)?;
    compare(tasks, &after, "one client of silo", &mut found);
    Ok(found)
}

fn compare(tasks: &After, after: &After, whose: &str, found: &mut Vec<String>) {
    let of = after.answers.iter().zip(&tasks.answers);
    if let Some((request, _)) = of.enumerate().find(|(_, (one, two))| one != two) {
        found.push(format!("request {request} has another answer than by {whose}"));
    }
    for ((name, one), (_, two)) in tasks.tables.iter().zip(&after.tables) {
        let differs = (0..one.len().max(two.len())).find(|&at| one.get(at) != two.get(at));
        if let Some(at) = differs {
            found.push(format!("row {at} of {name} is another one than by {whose}"));
        }
    }
}

/// SwarmDB with the rows of a workload.
fn loaded(formed: &Formed) -> core::result::Result<(Swarm<Plain>, Vec<TableId>), Failure> {
    let swarm = Swarm::new();
    let tables = fill(formed.workload(), &swarm)?;
    Ok((swarm, tables))
}

/// The same tasks, one after another.
fn serially(requests: &Requests<'_>) -> core::result::Result<After, Failure> {
    let count = requests.count;
    let (mut swarm, tables) = loaded(requests.formed)?;
    let asked = requests.ask(&tables);
    let bodies = swarm.bodies(asked.serially());
    let bodies = bodies.map_err(Failure::doing("making the program of tasks"))?;
    let serial = Serial::new(bodies.pool(), Ties::Creation);
    let ran = serial.run(&bodies, first_of(count as u64, GENERATORS));
    ran.map_err(|violation| Failure::Host(violation.to_string()))?;
    let answers = (0..count).map(|request| bodies.graph().answered(request)).collect();
    drop(bodies);
    Ok(After { tables: rows(&swarm)?, answers })
}

/// The same requests as statements.
fn by_statements(requests: &Requests<'_>) -> core::result::Result<After, Failure> {
    let (swarm, tables) = loaded(requests.formed)?;
    let asked = requests.ask(&tables);
    let answers = execute(&*asked, &swarm, &tables, requests.count)?;
    Ok(After { tables: rows(&swarm)?, answers })
}

/// The same requests by one client of silo. Of a table that cannot be scanned the rows are looked up that the tasks have left.
fn by_silo(requests: &Requests<'_>, tasks: &After) -> core::result::Result<After, Failure> {
    let opened = any::open_native(SchemeName::default().name(), Options::default(), None);
    let store = opened.map_err(Failure::doing("opening silo"))?.store;
    let tables = fill(requests.formed.workload(), &*store)?;
    let asked = requests.ask(&tables);
    let answers = execute(&*asked, &*store, &tables, requests.count)?;
    let reading = || Failure::doing("reading the rows of silo");
    let mut session = store.session().map_err(reading())?;
    let mut left = Vec::new();
    let specs = store.tables();
    for (name, known) in &tasks.tables {
        let of_this_name = specs.iter().find(|(_, spec)| spec.name == *name);
        let &(table, ref spec) = of_this_name.expect("both have the workload's tables");
        let is_hashed = spec.index == chiliad_api::IndexKind::Hash;
        let rows = if is_hashed {
            looked_up(&mut *session, table, known)
        } else {
            scanned(&mut *session, table)
        };
        left.push((name.clone(), rows.map_err(reading())?));
    }
    Ok(After { tables: left, answers })
}

/// The answers to the requests one after another.
fn execute<M: Machine>(
    asked: &dyn Asked,
    store: &(impl Store<M> + ?Sized),
    tables: &[TableId],
    count: usize,
) -> core::result::Result<Vec<Option<Answer>>, Failure> {
    let executing = || Failure::doing("executing the requests one after another");
    let mut session = store.session().map_err(executing())?;
    let mut run = |request: usize| {
        if request.is_multiple_of(EPOCH_REQUESTS) {
            store.tick();
        }
        let mut running = Running::begin(&mut *session, &Intent::update())?;
        match asked.execute(tables, request, &mut running) {
            Ok(answer) => running.commit().map(|_| Some(answer)),
            Err(error) => match running.fail(error) {
                Error::RolledBack => Ok(None),
                error => Err(error),
            },
        }
    };
    (0..count).map(&mut run).collect::<Result<_>>().map_err(executing())
}

/// The rows of a table that has an order.
fn scanned<M: Machine>(
    session: &mut dyn Session<M>,
    table: TableId,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let mut running = Running::begin(session, &Intent::read_only())?;
        let low = match rows.last() {
            Some((key, _)) => core::ops::Bound::Excluded(&key[..]),
            None => core::ops::Bound::Unbounded,
        };
        let range = Range { low, ..Range::all().limit(ROWS_AT_A_TIME) };
        let scanned = running.scan(table, range)?;
        let entries = running.entries(scanned)?.iter();
        let read = entries
            .map(|&entry| Ok((running.key(entry)?.to_vec(), running.bytes(entry.row)?.to_vec())));
        let read = read.collect::<Result<Vec<_>>>()?;
        running.commit()?;
        let is_last = read.len() < ROWS_AT_A_TIME;
        rows.extend(read);
        if is_last {
            return Ok(rows);
        }
    }
}

/// Those of some rows of a table that are there, with the values that they have.
fn looked_up<M: Machine>(
    session: &mut dyn Session<M>,
    table: TableId,
    known: &[(Vec<u8>, Vec<u8>)],
) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut rows = Vec::new();
    for known in known.chunks(ROWS_AT_A_TIME) {
        let mut running = Running::begin(session, &Intent::read_only())?;
        for (key, _) in known {
            if let Some(row) = running.get(table, key)? {
                rows.push((key.clone(), running.bytes(row)?.to_vec()));
            }
        }
        running.commit()?;
    }
    Ok(rows)
}
