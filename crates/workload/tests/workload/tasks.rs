//! Graphs of tasks: their rows and answers are those of the same requests run one after another, on SwarmDB's own
//! statements and on a sorted map, whatever the order of tasks with equal timestamps.

use crate::graphs::{After, answer, by_statements, check, load, requests, rows, same};
use crate::model::Model;
use chiliad_machine::Plain;
use chiliad_machine::tasks::{Serial, Ties};
use chiliad_swarm::{Graph, Swarm};
use chiliad_workload::Workload;
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{self, Bidding, BiddingOptions, Shown};
use chiliad_workload::tasks::{GraphOptions, TaskLogOptions, first};
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{Client, Mix, Scale, Tpcc, TpccOptions};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{self, Tpce, TpceOptions};

/// Runs them on a sorted map.
fn by_model<W: Workload, A>(
    workload: &W,
    count: usize,
    seed: u64,
    shown: impl Fn(&W::Client) -> A,
) -> After<A> {
    let mut model = Model::load(workload, seed);
    // The tables have the numbers of a database without secondary indexes in between.
    let mut clients = requests(workload, &model.ids(), count, seed);
    let mut run = |client: &mut W::Client| {
        answer(model.transaction(false, |tx| workload.execute(client, tx)).map(|()| shown(client)))
    };
    let answers = clients.iter_mut().map(&mut run).collect();
    let rows = |name: &str| model.rows(name).clone().into_iter().collect();
    let tables = workload.tables().into_iter();
    After { tables: tables.map(|spec| (spec.name.clone(), rows(&spec.name))).collect(), answers }
}

/// A run of requests as tasks: the requests, and the order of ties.
struct ByTasks {
    count: usize,
    seed: u64,
    ties: Ties,
    options: GraphOptions,
}

impl ByTasks {
    /// Runs the graph that `make` makes for clients, on a database that was loaded, and asks it for the answers.
    fn run<'c, W: Workload, G, A>(
        &self,
        workload: &W,
        (mut swarm, clients): (Swarm<Plain>, &'c [W::Client]),
        make: impl FnOnce(&'c [W::Client]) -> G,
        shown: impl Fn(&G, usize) -> Option<A>,
    ) -> After<A>
    where
        G: for<'s> Graph<Serial<'s, Plain>>,
    {
        let bodies = swarm.bodies(make(clients)).unwrap();
        let serial = Serial::<Plain>::new(bodies.pool(), self.ties);
        let ran = serial.run(&bodies, [first(self.count as u64)]).expect("no violation");
        assert!(ran > 3 * self.count as u64);
        let answers = (0..self.count).map(|request| shown(bodies.graph(), request)).collect();
        drop(bodies);
        check(workload, &swarm);
        After { tables: rows(&swarm), answers }
    }

    fn tpcc(&self, tpcc: &Tpcc) -> After<u64> {
        let (swarm, tables) = load(tpcc, self.seed);
        let clients = requests(tpcc, &tables, self.count, self.seed);
        let make = |clients| TpccTasks::with(clients, &self.options);
        self.run(tpcc, (swarm, &clients), make, TpccTasks::shown)
    }

    fn tpce(&self, tpce: &Tpce) -> After<u64> {
        let (swarm, tables) = load(tpce, self.seed);
        let clients = requests(tpce, &tables, self.count, self.seed);
        let make = |clients| TpceTasks::with(clients, &self.options);
        self.run(tpce, (swarm, &clients), make, TpceTasks::shown)
    }

    fn bidding(&self, bidding: &Bidding) -> After<Shown> {
        let (swarm, tables) = load(bidding, self.seed);
        let clients = requests(bidding, &tables, self.count, self.seed);
        let shown = |graph: &BiddingTasks<'_, Plain>, request| Some(graph.shown(request));
        self.run(bidding, (swarm, &clients), BiddingTasks::new, shown)
    }
}

/// How often under Miri, and how often else.
fn times(miri: u64, else_: u64) -> u64 {
    if cfg!(miri) { miri } else { else_ }
}

#[test]
fn tpcc_by_tasks_is_tpcc_one_request_after_another() {
    for seed in 0..times(1, 12) {
        let mix = if seed % 4 == 3 { Mix::Np } else { Mix::Standard };
        let tpcc = Tpcc::new(TpccOptions { mix, ..TpccOptions::micro() }).unwrap();
        let count = times(20, 400) as usize;
        let expected = by_statements(&tpcc, count, seed, Client::shown);
        same(&by_model(&tpcc, count, seed, Client::shown), &expected, "a sorted map");
        let rolled_back = expected.answers.iter().filter(|it| it.is_none()).count();
        assert!(cfg!(miri) || rolled_back > 3, "{rolled_back}");
        let ways = [(Ties::Creation, false), (Ties::Drawn(seed), false), (Ties::Drawn(seed), true)];
        for (ties, joins) in ways {
            let what = format!("{ties:?} of seed {seed}, joins {joins}");
            let options = GraphOptions { joins, ..GraphOptions::default() };
            same(&ByTasks { count, seed, ties, options }.tpcc(&tpcc), &expected, &what);
        }
    }
}

/// Orders at micro scale are short; these have up to fifteen lines, and a root with the most children that it may have.
#[test]
#[cfg_attr(miri, ignore = "a tenth of a population takes long")]
fn long_orders_have_no_more_children_than_tasks_may() {
    let options = TpccOptions { mix: Mix::Np, scale: Scale::Small, ..TpccOptions::micro() };
    let tpcc = Tpcc::new(options).unwrap();
    let (count, seed, ties) = (200, 1, Ties::Creation);
    let expected = by_statements(&tpcc, count, seed, Client::shown);
    for task_log in [None, Some(TaskLogOptions { slots: None })] {
        let options = GraphOptions { task_log, ..GraphOptions::default() };
        let run = ByTasks { count, seed, ties, options };
        same(&run.tpcc(&tpcc), &expected, &format!("{task_log:?}"));
    }
}

#[test]
fn bidding_by_tasks_is_bidding_one_request_after_another() {
    for seed in 0..times(1, 12) {
        let bidding = Bidding::new(BiddingOptions::micro()).unwrap();
        let count = times(30, 1000) as usize;
        let expected = by_statements(&bidding, count, seed, bidding::Client::shown);
        same(&by_model(&bidding, count, seed, bidding::Client::shown), &expected, "a sorted map");
        for ties in [Ties::Creation, Ties::Drawn(seed)] {
            let what = format!("{ties:?} of seed {seed}");
            let options = GraphOptions::default();
            same(&ByTasks { count, seed, ties, options }.bidding(&bidding), &expected, &what);
        }
    }
}

#[test]
fn tpce_by_tasks_is_tpce_one_request_after_another() {
    for (seed, scan_partitions) in (0..times(1, 6)).zip([4, 1, 3, 64, 9, 16]) {
        let options = TpceOptions { customers: 12, ..TpceOptions::micro() };
        let tpce = Tpce::new(options).unwrap();
        let count = times(20, 400) as usize;
        let expected = by_statements(&tpce, count, seed, tpce::Client::shown);
        same(&by_model(&tpce, count, seed, tpce::Client::shown), &expected, "a sorted map");
        let rolled_back = expected.answers.iter().filter(|it| it.is_none()).count();
        assert!(rolled_back < count / 40, "{rolled_back}");
        for ties in [Ties::Creation, Ties::Drawn(seed), Ties::Drawn(seed + 1000)] {
            let what = format!("{ties:?} of seed {seed}, {scan_partitions} parts");
            let scan_partitions = Some(scan_partitions);
            let joins = ties != Ties::Creation;
            let options = GraphOptions { joins, scan_partitions, ..GraphOptions::default() };
            same(&ByTasks { count, seed, ties, options }.tpce(&tpce), &expected, &what);
        }
    }
}

#[test]
fn names_of_functions() {
    let (_, tables) = load::<Plain, _>(&Tpcc::new(TpccOptions::micro()).unwrap(), 0);
    let tpcc = Tpcc::new(TpccOptions::micro()).unwrap();
    let clients = requests(&tpcc, &tables, 1, 0);
    let graph = TpccTasks::<Plain>::new(&clients);
    let name = |number| {
        let function = chiliad_machine::tasks::FunctionId(number);
        Graph::<Serial<'_, Plain>>::name(&graph, function)
    };
    assert_eq!((name(0), name(1), name(5)), ("generate", "root", "stocks"));
    assert_eq!((name(19), name(21), name(23)), ("deliver_customer", "log", "unknown"));
}
