//! Graphs of tasks on simulated hardware that runs them ahead of their turn: rows and answers are those of the same requests
//! run one after another, and no task breaks a rule.

use crate::graphs::{After, by_statements, check, load, requests, rows, same};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Hardware, Outcome, Run, Sim, TaskOptions};
use chiliad_swarm::{Graph, Swarm};
use chiliad_workload::Workload;
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{self, Bidding, BiddingOptions};
use chiliad_workload::tasks::{GraphOptions, first};
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{self, Mix, Tpcc, TpccOptions};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{self, Tpce, TpceOptions};

/// A run of so many requests on so many cores.
#[derive(Clone, Copy, Debug)]
struct OnHardware {
    cores: usize,
    count: usize,
    seed: u64,
    options: GraphOptions,
}

impl OnHardware {
    /// Runs a graph on a database that was loaded, and returns the answers that `shown` gives.
    fn run<W: Workload, G: Graph<Hardware>, A>(
        self,
        run: &mut Run,
        workload: &W,
        mut swarm: Swarm<Sim>,
        graph: G,
        shown: impl Fn(&G, usize) -> Option<A>,
    ) -> (After<A>, Outcome) {
        let bodies = run.outside(|| swarm.bodies(graph)).unwrap();
        let (tasks, options) = ([first(self.count as u64)], TaskOptions::default());
        let outcome = run.go_tasks(self.cores, bodies.pool(), &bodies, &tasks, options);
        assert!(outcome.verdict.is_completed(), "{self:?}: {}", outcome.verdict);
        let answers = run.outside(move || {
            (0..self.count).map(|request| shown(bodies.graph(), request)).collect()
        });
        let after = run.outside(move || {
            check(workload, &swarm);
            After { tables: rows(&swarm), answers }
        });
        (after, outcome)
    }

    fn start(self) -> Run {
        Run::new(Config {
            machine: Some(Description::tiled(4)),
            region_bytes: 256 << 20,
            stack_bytes: 128 << 10,
            events_max: 500_000_000,
            ..Config::new(self.seed)
        })
    }

    fn tpcc(self, tpcc: &Tpcc) -> (After<u64>, Outcome) {
        let mut run = self.start();
        let (swarm, tables) = run.outside(|| load(tpcc, self.seed));
        let clients = requests(tpcc, &tables, self.count, self.seed);
        let graph = run.outside(|| TpccTasks::with(&clients, &self.options));
        self.run(&mut run, tpcc, swarm, graph, TpccTasks::shown)
    }

    fn tpce(self, tpce: &Tpce) -> (After<u64>, Outcome) {
        let mut run = self.start();
        let (swarm, tables) = run.outside(|| load(tpce, self.seed));
        let clients = requests(tpce, &tables, self.count, self.seed);
        let graph = run.outside(|| TpceTasks::with(&clients, &self.options));
        self.run(&mut run, tpce, swarm, graph, TpceTasks::shown)
    }

    fn bidding(self, bidding: &Bidding) -> (After<bidding::Shown>, Outcome) {
        let mut run = self.start();
        let (swarm, tables) = run.outside(|| load(bidding, self.seed));
        let clients = requests(bidding, &tables, self.count, self.seed);
        let graph = run.outside(|| BiddingTasks::new(&clients));
        let shown = |graph: &BiddingTasks<'_, Sim>, request| Some(graph.shown(request));
        self.run(&mut run, bidding, swarm, graph, shown)
    }
}

#[test]
fn tpcc_on_hardware_is_tpcc_one_request_after_another() {
    for (seed, cores, joins) in
        [(0, 1, false), (1, 4, true), (2, 16, false), (3, 64, false), (3, 64, true)]
    {
        let mix = if seed == 3 { Mix::Np } else { Mix::Standard };
        let tpcc = Tpcc::new(TpccOptions { mix, ..TpccOptions::micro() }).unwrap();
        let options = GraphOptions { joins, ..GraphOptions::default() };
        let run = OnHardware { cores, count: 150, seed, options };
        let (after, outcome) = run.tpcc(&tpcc);
        same(
            &after,
            &by_statements(&tpcc, run.count, seed, tpcc::Client::shown),
            &format!("{run:?}"),
        );
        let tasks = outcome.tasks.expect("a run of tasks");
        assert!(cores == 1 || tasks.aborted[0] > 0, "{run:?}: no task ran too early: {tasks:?}");
    }
}

#[test]
fn bidding_on_hardware_is_bidding_one_request_after_another() {
    for (seed, cores) in [(0, 1), (1, 16), (2, 64)] {
        let bidding = Bidding::new(BiddingOptions::micro()).unwrap();
        let run = OnHardware { cores, count: 300, seed, options: GraphOptions::default() };
        let (after, _) = run.bidding(&bidding);
        let expected = by_statements(&bidding, run.count, seed, bidding::Client::shown);
        same(&after, &expected, &format!("{run:?}"));
    }
}

#[test]
fn tpce_on_hardware_is_tpce_one_request_after_another() {
    for (seed, cores, scan_partitions) in [(0, 1, 4), (1, 16, 2), (2, 64, 16)] {
        let tpce = Tpce::new(TpceOptions::micro()).unwrap();
        let options = GraphOptions {
            joins: cores == 64,
            scan_partitions: Some(scan_partitions),
            ..GraphOptions::default()
        };
        let run = OnHardware { cores, count: 150, seed, options };
        let (after, outcome) = run.tpce(&tpce);
        let expected = by_statements(&tpce, run.count, seed, tpce::Client::shown);
        same(&after, &expected, &format!("{run:?}"));
        let tasks = outcome.tasks.expect("a run of tasks");
        assert!(cores == 1 || tasks.aborted[0] > 0, "{run:?}: no task ran too early: {tasks:?}");
    }
}
