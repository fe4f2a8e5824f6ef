//! The same requests by one client of silo, and as graphs of tasks: answers and rows are equal.

#[path = "../../workload/tests/graphs/mod.rs"]
mod graphs;

use chiliad_api::{Error, IndexKind, Intent, Range, Running, TableId, Transaction};
use chiliad_engine::{Options, any};
use chiliad_machine::Plain;
use chiliad_machine::tasks::{Serial, Ties};
use chiliad_swarm::{Graph, Swarm};
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{self, Bidding, BiddingOptions};
use chiliad_workload::tasks::first;
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{self, Tpcc, TpccOptions};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{self, Tpce, TpceOptions};
use chiliad_workload::{WholeRows, Workload};
use graphs::{After, answer, load, requests, rows, same};

const REQUESTS: usize = 600;

/// What silo leaves. Rows of hash tables are asked for by the keys that the tasks have left there.
fn by_silo<W: Workload, A>(
    workload: &W,
    seed: u64,
    left: &After<A>,
    shown: impl Fn(&W::Client) -> A,
) -> After<A> {
    let base = any::open_native("silo", Options::default(), None).unwrap().store;
    let specs = workload.tables();
    let tables: Vec<TableId> =
        specs.iter().map(|spec| base.create_table(spec.clone()).unwrap()).collect();
    let mut session = base.session().unwrap();
    let specs = workload.tables();
    let mut whole =
        WholeRows::new(&specs, &tables, |table, key, parts| session.load_parts(table, key, parts));
    for part in 0..workload.load_parts() {
        let insert = &mut |table, key: &[u8], row: &[u8]| whole.part(table, key, row);
        workload.load(&tables, part, seed, insert).unwrap();
    }
    let mut clients = requests(workload, &tables, REQUESTS, seed);
    let answers = clients.iter_mut().map(|client| {
        let mut tx = Running::begin(&mut *session, &Intent::update()).unwrap();
        let outcome = workload.execute(client, &mut tx);
        match outcome {
            Ok(()) => answer(tx.commit().map(|_| shown(client))),
            Err(error) => {
                tx.rollback();
                answer(Err::<A, Error>(error))
            }
        }
    });
    let answers = answers.collect();
    let mut tx = Running::begin(&mut *session, &Intent::read_only()).unwrap();
    let mut found = Vec::new();
    for ((spec, &table), (name, left)) in specs.iter().zip(&tables).zip(&left.tables) {
        let rows = if spec.index == IndexKind::Ordered {
            let scanned = tx.scan(table, Range::all()).unwrap();
            let entries = tx.entries(scanned).unwrap().iter();
            let copy = entries
                .map(|it| (tx.key(*it).unwrap().to_vec(), tx.bytes(it.row).unwrap().to_vec()));
            copy.collect()
        } else {
            let keys = left.iter().map(|(key, _)| key);
            let row = keys.map(|key| {
                let row = tx.get(table, key).unwrap().expect("the row is in silo, too");
                (key.clone(), tx.bytes(row).unwrap().to_vec())
            });
            row.collect()
        };
        found.push((name.clone(), rows));
    }
    After { tables: found, answers }
}

/// The rows and answers that the tasks of a graph leave.
fn by_tasks<G, A>(
    mut swarm: Swarm<Plain>,
    graph: G,
    shown: impl Fn(&G, usize) -> Option<A>,
) -> After<A>
where
    G: for<'s> Graph<Serial<'s, Plain>>,
{
    let bodies = swarm.bodies(graph).unwrap();
    let serial = Serial::<Plain>::new(bodies.pool(), Ties::Drawn(7));
    serial.run(&bodies, [first(REQUESTS as u64)]).expect("no violation");
    let answers = (0..REQUESTS).map(|request| shown(bodies.graph(), request)).collect();
    drop(bodies);
    After { tables: rows(&swarm), answers }
}

#[test]
fn tpcc() {
    for seed in 0..4 {
        let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
        let (swarm, tables) = load(&tpcc, seed);
        let clients = requests(&tpcc, &tables, REQUESTS, seed);
        let after = by_tasks(swarm, TpccTasks::new(&clients), TpccTasks::shown);
        let silo = by_silo(&tpcc, seed, &after, tpcc::Client::shown);
        same(&silo, &after, &format!("seed {seed}"));
    }
}

#[test]
fn bidding() {
    for seed in 0..4 {
        let bidding = Bidding::new(BiddingOptions::micro()).unwrap();
        let (swarm, tables) = load(&bidding, seed);
        let clients = requests(&bidding, &tables, REQUESTS, seed);
        let shown = |graph: &BiddingTasks<'_, Plain>, request| Some(graph.shown(request));
        let after = by_tasks(swarm, BiddingTasks::new(&clients), shown);
        let silo = by_silo(&bidding, seed, &after, bidding::Client::shown);
        same(&silo, &after, &format!("seed {seed}"));
    }
}

#[test]
fn tpce() {
    for seed in 0..3 {
        let tpce = Tpce::new(TpceOptions::micro()).unwrap();
        let (swarm, tables) = load(&tpce, seed);
        let clients = requests(&tpce, &tables, REQUESTS, seed);
        let after = by_tasks(swarm, TpceTasks::new(&clients), TpceTasks::shown);
        let silo = by_silo(&tpce, seed, &after, tpce::Client::shown);
        same(&silo, &after, &format!("seed {seed}"));
    }
}
