//! The oracle of a run of tasks: it executes the same requests as statements, one after another, on a database of its own.

use super::graph::Ordered;
use super::{Requests, load};
use crate::Failure;
use chiliad_api::{Error, Intent, Result, Running, Store, TableId};
use chiliad_machine::{Machine, Plain};
use chiliad_swarm::Swarm;

/// The name of each table and its rows, by key.
pub(super) type Rows = Vec<(String, Vec<(Vec<u8>, Vec<u8>)>)>;

/// All rows of a database.
pub(super) fn rows<M: Machine>(swarm: &Swarm<M>) -> core::result::Result<Rows, Failure> {
    let tables = swarm.tables().into_iter();
    let rows: Result<Rows> =
        tables.map(|(table, spec)| Ok((spec.name, swarm.rows(table)?))).collect();
    rows.map_err(Failure::doing("reading the rows"))
}

/// What differs between the rows and answers of tasks and those of the same requests one after another: the first
/// answer, and the first row of each table.
pub(super) fn differences<W: Ordered>(
    workload: &W,
    requests: &Requests<'_>,
    rows: &Rows,
    answers: &[Option<W::Answer>],
) -> core::result::Result<Vec<String>, Failure> {
    let (swarm, tables) = load::<Plain, W>(workload)?;
    let expected = execute(workload, requests, &swarm, &tables);
    let expected = expected.map_err(Failure::doing("executing the requests one after another"))?;
    let mut found = Vec::new();
    if let Some(request) = (0..requests.count).find(|&it| expected[it] != answers[it]) {
        found.push(format!("request {request} has another answer than one after another"));
    }
    for ((name, one), (_, two)) in rows.iter().zip(&self::rows(&swarm)?) {
        let differs = (0..one.len().max(two.len())).find(|&at| one.get(at) != two.get(at));
        if let Some(at) = differs {
            found.push(format!("row {at} of {name} is another one than one after another"));
        }
    }
    Ok(found)
}

/// The answers to the requests one after another.
fn execute<W: Ordered>(
    workload: &W,
    requests: &Requests<'_>,
    swarm: &Swarm<Plain>,
    tables: &[TableId],
) -> Result<Vec<Option<W::Answer>>> {
    let mut session = swarm.session()?;
    let (mut clients, _) = requests.draw(workload, tables);
    let run = |client: &mut W::Client| {
        let mut running = Running::begin(&mut *session, &Intent::update())?;
        let outcome = match workload.execute(client, &mut running) {
            Ok(()) => running.commit().map(|_| ()),
            Err(error) => Err(running.fail(error)),
        };
        match outcome {
            Ok(()) => Ok(Some(W::shown(client))),
            Err(Error::RolledBack) => Ok(None),
            Err(error) => Err(error),
        }
    };
    clients.iter_mut().map(run).collect()
}
