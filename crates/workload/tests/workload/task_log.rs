//! The log of tasks on simulated hardware, cut short anywhere: what it recovers is what the first requests leave one after
//! another, as many as had been drained, at least.

use crate::graphs::{Rows, load, requests, rows};
use chiliad_api::{Intent, Running, Store};
use chiliad_machine::Plain;
use chiliad_simulator::description::{Description, TaskUnits};
use chiliad_simulator::{Config, Hardware, Run, Sim, TaskOptions};
use chiliad_swarm::{Graph, Recovered, Swarm, TaskLog, recover};
use chiliad_workload::Workload;
use chiliad_workload::bidding::tasks::BiddingTasks;
use chiliad_workload::bidding::{Bidding, BiddingOptions};
use chiliad_workload::tasks::{GraphOptions, RANGE, TaskLogOptions, first};
use chiliad_workload::tpcc::tasks::TpccTasks;
use chiliad_workload::tpcc::{Mix, Tpcc, TpccOptions};
use chiliad_workload::tpce::tasks::TpceTasks;
use chiliad_workload::tpce::{Tpce, TpceOptions};

type Tables = Vec<(String, Rows)>;

/// What reached the disk by a cycle.
struct Drained {
    cycle: u64,
    bytes: Vec<u8>,
}

/// A run whose log is drained whenever virtual time has passed something.
struct Logged {
    seed: u64,
    cores: usize,
    count: usize,
    options: GraphOptions,
}

impl Logged {
    fn start(&self) -> Run {
        let tasks = TaskUnits { gvt_period: 100, ..TaskUnits::YAN };
        Run::new(Config {
            machine: Some(Description { tasks: Some(tasks), ..Description::tiled(4) }),
            region_bytes: 256 << 20,
            stack_bytes: 128 << 10,
            events_max: 500_000_000,
            ..Config::new(self.seed)
        })
    }

    /// Runs a graph of the workload's requests: what was drained, in its order, the end of the run last; and whether a task
    /// found a slot taken.
    fn run<G: Graph<Hardware>>(
        &self,
        run: &mut Run,
        mut swarm: Swarm<Sim>,
        graph: G,
        log: impl Fn(&G) -> Option<&TaskLog<Sim>>,
    ) -> (Vec<Drained>, bool) {
        let bodies = run.outside(|| swarm.bodies(graph)).unwrap();
        let log = log(bodies.graph()).expect("a graph that logs");
        let mut drained = Vec::new();
        let tasks = [first(self.count as u64)];
        let mut drain = |cycle, passed| {
            let mut bytes = Vec::new();
            bodies.drain(log, passed, &mut bytes);
            drained.push(Drained { cycle, bytes });
        };
        let outcome = run.go_tasks_beside(
            self.cores,
            bodies.pool(),
            (&bodies, &tasks),
            TaskOptions::default(),
            &mut |passed| drain(passed.cycle, passed.timestamp),
        );
        assert!(outcome.verdict.is_completed(), "seed {}: {}", self.seed, outcome.verdict);
        run.outside(|| drain(u64::MAX, u64::MAX));
        run.outside(move || drop(bodies));
        run.outside(move || drop(swarm));
        (drained, outcome.marks.contains("slot of the log passed over"))
    }
}

/// The rows after each number of requests, one after another.
fn prefixes<W: Workload>(workload: &W, logged: &Logged) -> Vec<Tables> {
    let (swarm, tables) = load::<Plain, _>(workload, logged.seed);
    let mut states = vec![rows(&swarm)];
    for mut client in requests(workload, &tables, logged.count, logged.seed) {
        let mut session = swarm.session().unwrap();
        let mut running = Running::begin(&mut *session, &Intent::update()).unwrap();
        match workload.execute(&mut client, &mut running) {
            Ok(()) => drop(running.commit().unwrap()),
            Err(error) => drop(running.fail(error)),
        }
        drop(session);
        states.push(rows(&swarm));
    }
    states
}

/// Compares what a log that was cut short recovers: how many transactions that are. `known` is what was compared last.
fn cut<W: Workload>(
    workload: &W,
    logged: &Logged,
    states: &[Tables],
    log: &[u8],
    known: &mut Option<Recovered>,
) -> usize {
    let recovered = recover(log, RANGE);
    let finished = recovered.finished.len();
    if known.as_ref() == Some(&recovered) {
        return finished;
    }
    let meant: Vec<u64> = (0..finished as u64).collect();
    assert_eq!(recovered.finished, meant, "the first ones have finished");
    let (mut swarm, _) = load::<Plain, _>(workload, logged.seed);
    swarm.replay(&recovered.changes).unwrap();
    assert!(
        rows(&swarm) == states[finished],
        "other rows after {finished} of seed {}",
        logged.seed
    );
    *known = Some(recovered);
    finished
}

/// A crash at any cycle of a run loses what was not drained by then, and no byte more: at each byte of the log, or at some.
fn crash_anywhere<W: Workload>(workload: &W, logged: &Logged, drained: &[Drained], step: usize) {
    let states = prefixes(workload, logged);
    let mut log = Vec::new();
    let (mut at_least, mut cycle, mut known) = (0, 0, None);
    for Drained { cycle: at, bytes } in drained {
        assert!(*at >= cycle, "drains follow each other");
        cycle = *at;
        for end in (0..bytes.len()).step_by(step) {
            let torn = [&log[..], &bytes[..end]].concat();
            let finished = cut(workload, logged, &states, &torn, &mut known);
            assert!(finished >= at_least, "a commit that was drained is lost");
        }
        log.extend_from_slice(bytes);
        at_least = cut(workload, logged, &states, &log, &mut known);
    }
    assert_eq!(at_least, logged.count, "all have committed in the end");
}

fn options(joins: bool, slots: usize) -> GraphOptions {
    GraphOptions {
        joins,
        task_log: Some(TaskLogOptions { slots: Some(slots) }),
        ..GraphOptions::default()
    }
}

fn tpcc(logged: &Logged, mix: Mix, step: usize) {
    let tpcc = Tpcc::new(TpccOptions { mix, ..TpccOptions::micro() }).unwrap();
    let mut run = logged.start();
    let (swarm, tables) = run.outside(|| load(&tpcc, logged.seed));
    let clients = requests(&tpcc, &tables, logged.count, logged.seed);
    let graph = run.outside(|| TpccTasks::with(&clients, &logged.options));
    let (drained, _) = logged.run(&mut run, swarm, graph, TpccTasks::log);
    assert!(drained.len() > 3, "drains while the run goes on: {}", drained.len());
    crash_anywhere(&tpcc, logged, &drained, step);
}

fn tpce(logged: &Logged, step: usize) {
    let tpce = Tpce::new(TpceOptions::micro()).unwrap();
    let mut run = logged.start();
    let (swarm, tables) = run.outside(|| load(&tpce, logged.seed));
    let clients = requests(&tpce, &tables, logged.count, logged.seed);
    let graph = run.outside(|| TpceTasks::with(&clients, &logged.options));
    let (drained, _) = logged.run(&mut run, swarm, graph, TpceTasks::log);
    crash_anywhere(&tpce, logged, &drained, step);
}

/// Says whether a task found a slot taken.
fn bidding(logged: &Logged, step: usize) -> bool {
    let bidding = Bidding::new(BiddingOptions::micro()).unwrap();
    let mut run = logged.start();
    let (swarm, tables) = run.outside(|| load(&bidding, logged.seed));
    let clients = requests(&bidding, &tables, logged.count, logged.seed);
    let graph = run.outside(|| BiddingTasks::with(&clients, &logged.options));
    let (drained, was_taken) = logged.run(&mut run, swarm, graph, BiddingTasks::log);
    crash_anywhere(&bidding, logged, &drained, step);
    was_taken
}

#[test]
fn a_crash_at_any_cycle_of_a_small_run_recovers_a_prefix() {
    for seed in 0..2 {
        let logged = Logged { seed, cores: 8, count: 6, options: options(seed == 1, 1024) };
        tpcc(&logged, Mix::Standard, 1);
        let logged = Logged { seed, cores: 8, count: 10, options: options(false, 1024) };
        bidding(&logged, 1);
    }
}

#[test]
fn a_crash_somewhere_in_a_larger_run_recovers_a_prefix() {
    for seed in 10..13 {
        let logged = Logged { seed, cores: 16, count: 60, options: options(seed == 11, 2048) };
        tpcc(&logged, Mix::Standard, 997);
        tpce(&logged, 997);
    }
}

/// Few slots: those that are taken are passed over.
#[test]
fn a_log_with_few_slots_loses_nothing() {
    let was_taken = (20..24).filter(|&seed| {
        let logged = Logged { seed, cores: 16, count: 40, options: options(false, 64) };
        bidding(&logged, 331)
    });
    assert!(was_taken.count() > 0);
}
