//! What tests of graphs share: databases that are loaded, clients with a request each, and what a run leaves.

#![allow(dead_code, reason = "each test uses a part of it")]

use chiliad_api::{Error, Intent, Result, Running, Store, TableId, Transaction};
use chiliad_machine::{Machine, Plain};
use chiliad_swarm::Swarm;
use chiliad_workload::tasks::FirstRequests;
use chiliad_workload::{WholeRows, Workload};

pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The state after a run, and the answer to each request; `None` where it was rolled back.
#[derive(PartialEq, Debug)]
pub struct After<A> {
    pub tables: Vec<(String, Rows)>,
    pub answers: Vec<Option<A>>,
}

pub fn load<M: Machine, W: Workload>(workload: &W, seed: u64) -> (Swarm<M>, Vec<TableId>) {
    let swarm = Swarm::new();
    let specs = workload.tables();
    let create = |spec: &chiliad_api::TableSpec| swarm.create_table(spec.clone()).unwrap();
    let tables: Vec<_> = specs.iter().map(create).collect();
    let mut session = swarm.session().unwrap();
    let mut whole =
        WholeRows::new(&specs, &tables, |table, key, parts| session.load_parts(table, key, parts));
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], row: &[u8]| whole.part(table, key, row);
        workload.load(&tables, part, seed, insert).unwrap();
    }
    drop(session);
    for spec in specs.iter().filter(|spec| spec.writes == chiliad_api::Writes::Loads) {
        swarm.seal(&spec.name).unwrap();
    }
    (swarm, tables)
}

/// Clients with a request in hand each.
pub fn requests<W: Workload>(
    workload: &W,
    tables: &[TableId],
    count: usize,
    seed: u64,
) -> Vec<W::Client> {
    let first = FirstRequests { count, seed };
    (0..count).map(|request| first.client(workload, tables, request)).collect()
}

/// The outcome of a transaction as an answer.
pub fn answer<A>(outcome: Result<A>) -> Option<A> {
    match outcome {
        Ok(shown) => Some(shown),
        Err(Error::RolledBack) => None,
        Err(error) => panic!("{error}"),
    }
}

pub fn rows<M: Machine>(swarm: &Swarm<M>) -> Vec<(String, Rows)> {
    let tables = swarm.tables().into_iter();
    tables.map(|(id, spec)| (spec.name, swarm.rows(id).unwrap())).collect()
}

/// Runs one statement after the other on SwarmDB's store.
pub fn by_statements<W: Workload, A>(
    workload: &W,
    count: usize,
    seed: u64,
    shown: impl Fn(&W::Client) -> A,
) -> After<A> {
    let (swarm, tables) = load::<Plain, _>(workload, seed);
    let mut session = swarm.session().unwrap();
    let mut run = |client: &mut W::Client| {
        let mut running = Running::begin(&mut *session, &Intent::update())?;
        match workload.execute(client, &mut running) {
            Ok(()) => running.commit().map(|_| shown(client)),
            Err(error) => Err(running.fail(error)),
        }
    };
    let mut clients = requests(workload, &tables, count, seed);
    let answers = clients.iter_mut().map(|client| answer(run(client))).collect();
    drop(session);
    After { tables: rows(&swarm), answers }
}

/// Checks the conditions of a workload, in transactions of a session.
pub fn check<M: Machine, W: Workload>(workload: &W, swarm: &Swarm<M>) {
    let mut session = swarm.session().unwrap();
    let tables: Vec<_> =
        workload.tables().iter().map(|it| swarm.table(&it.name).unwrap()).collect();
    let run = &mut |body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>| {
        let mut running = Running::begin(&mut *session, &Intent::read_only())?;
        body(&mut running)?;
        running.commit().map(|_| ())
    };
    for condition in workload.conditions(&tables, run).unwrap() {
        assert_eq!(condition.failure, None, "{}", condition.name);
    }
}

/// Compares table by table, so that a failure names the row.
pub fn same<A: PartialEq + std::fmt::Debug>(one: &After<A>, two: &After<A>, what: &str) {
    for (request, (one, two)) in one.answers.iter().zip(&two.answers).enumerate() {
        assert_eq!(one, two, "answer {request}, {what}");
    }
    for ((name, one), (_, two)) in one.tables.iter().zip(&two.tables) {
        for (at, (one, two)) in one.iter().zip(two).enumerate() {
            assert_eq!(one, two, "row {at} of {name}, {what}");
        }
        assert_eq!(one.len(), two.len(), "rows of {name}, {what}");
    }
    assert_eq!(one.answers.len(), two.answers.len());
}
