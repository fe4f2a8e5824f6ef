//! Deliveries of TPC-C that wait for the client that owns the warehouse: each is done once, and has one result.

use chiliad_driver::{
    Deferral, Deferrals, Length, NativeReport, NoProgress, Plan, SimulatedPlan, SimulatedReport,
    explored, open_native, open_simulated, run_native, run_simulated, schemes, shares_log,
};
use chiliad_engine::{Info, Isolation, Options};
use chiliad_simulator::Schedule;
use chiliad_workload::WorkloadOptions;
use chiliad_workload::tpcc::{Delivery, Scale, TpccOptions};
use std::collections::BTreeSet;
use std::time::Duration;

/// Its place among the kinds of transaction.
const DELIVERY: usize = 3;

fn micro(warehouses: u32) -> TpccOptions {
    TpccOptions { warehouses, ..TpccOptions::micro() }
}

/// The engine's schemes with transactions that are serializable.
fn serializable() -> impl Iterator<Item = &'static Info> {
    let keeps = |info: &&Info| info.isolation == Isolation::Serializable;
    schemes().iter().filter(keeps).filter(|info| !shares_log(info))
}

fn plan(clients: usize, interleave: usize, length: Length) -> Plan {
    Plan {
        interleave,
        deferral: Deferral::Owner,
        deferral_records: true,
        conditions: true,
        ..Plan::new(clients, length, Duration::from_millis(1))
    }
}

fn natively(info: &Info, tpcc: TpccOptions, plan: &Plan) -> NativeReport {
    let options = Options { partitions: tpcc.warehouses, ..Options::default() };
    let target = open_native(info, &WorkloadOptions::Tpcc(tpcc), options, None).expect("opens");
    let report = run_native(&*target, plan, &NoProgress).expect("a run");
    let broken = report.conditions.iter().flatten().filter_map(|it| it.failure.clone());
    assert_eq!(broken.collect::<Vec<_>>(), Vec::<String>::new());
    report
}

fn simulated(info: &Info, seed: u64, mut plan: Plan) -> SimulatedReport {
    plan.seed = seed;
    let schedule =
        if seed.is_multiple_of(2) { Schedule::Random } else { Schedule::few_preemptions() };
    let config = explored::config(schedule, seed);
    let options = Options { partitions: 2, epoch: plan.epoch, ..Options::default() };
    let plan = SimulatedPlan { plan, config };
    let report =
        run_simulated(&plan, || open_simulated(info, &WorkloadOptions::Tpcc(micro(2)), options))
            .expect("a run");
    let verdict = &report.outcome.verdict;
    assert!(verdict.is_completed(), "{} of seed {seed}: {verdict}", info.name);
    report
}

/// Each request that was queued has one record, and it is of a delivery that can be.
fn check(deferrals: &Deferrals) {
    assert_eq!(deferrals.problem(), None);
    assert_eq!(deferrals.queued(), deferrals.records.len() as u64);
    let mut numbers = BTreeSet::new();
    for record in &deferrals.records {
        assert!(numbers.insert((record.client, record.number)), "two results: {record:?}");
        assert!(record.completed_ns >= record.queued_ns, "{record:?}");
        let delivery = Delivery::of(record.words);
        assert!((1..=2).contains(&delivery.warehouse), "{record:?}");
        assert!((1..=10).contains(&delivery.carrier), "{record:?}");
        // At micro scale there are three districts.
        assert_eq!(record.outcome.parts().count(), 3);
    }
    // A client's numbers have no gap.
    for &(client, number) in &numbers {
        assert!(number == 0 || numbers.contains(&(client, number - 1)));
    }
    let orders: u64 = deferrals.records.iter().map(|it| it.outcome.counts().0).sum();
    assert_eq!(deferrals.done, orders);
}

#[test]
fn each_delivery_of_a_number_of_transactions_is_done_once_and_counted_once() {
    for (info, interleave) in serializable().flat_map(|info| [(info, 1), (info, 4)]) {
        let report = natively(info, micro(1), &plan(2, interleave, Length::Transactions(400)));
        let deferrals = report.deferrals.as_ref().expect("some waited");
        check(deferrals);
        let tally = &report.tally;
        assert_eq!(tally.committed() + tally.rolled_back(), 400, "{}", info.name);
        assert_eq!(tally.kinds[DELIVERY].committed, deferrals.queued(), "{}", info.name);
        assert!(deferrals.queued() > 20, "{}", deferrals.queued());
        assert_eq!(deferrals.share_soon(), Some(1.0));
    }
}

/// Seven siblings share the only thread, and none of them runs while a delivery does: nobody is there to refuse it. Stocks are
/// as many as do not fit into a cache, so that other transactions do hand on.
#[test]
fn a_delivery_keeps_its_turn() {
    let small = TpccOptions { scale: Scale::Small, warehouses: 1, ..TpccOptions::default() };
    let report = natively(&schemes()[0], small, &plan(1, 8, Length::Transactions(4000)));
    let delivery = &report.tally.kinds[DELIVERY];
    assert!(delivery.committed > 100, "{}", delivery.committed);
    assert_eq!(delivery.aborted, 0);
}

#[test]
fn nothing_is_left_when_the_time_is_over() {
    let length = Length::Time(Duration::from_millis(200));
    let plan = Plan { warmup: Duration::from_millis(50), ..plan(3, 2, length) };
    let report = natively(&schemes()[0], micro(2), &plan);
    let deferrals = report.deferrals.expect("some waited");
    check(&deferrals);
    // Those of the warm-up are in the results, and not in the counts of the window.
    assert!(report.tally.kinds[DELIVERY].committed <= deferrals.completed());
}

#[test]
fn clients_run_their_own_deliveries_where_they_are_to() {
    let plan = Plan { deferral: Deferral::Inline, ..plan(2, 1, Length::Transactions(300)) };
    let report = natively(&schemes()[0], micro(1), &plan);
    assert!(report.deferrals.is_none());
    assert!(report.tally.kinds[DELIVERY].committed > 10);
}

#[test]
fn simulated_deliveries_are_done_once_whatever_the_order() {
    let mut run_at_once = 0;
    for (at, info) in serializable().enumerate() {
        for seed in 0..6 {
            let interleave = 1 + (seed as usize + at) % 2;
            let plan = plan(4, interleave, Length::Transactions(48 * interleave as u64));
            let report = simulated(info, seed, plan);
            let deferrals = report.deferrals.as_ref().expect("some waited");
            check(deferrals);
            assert_eq!(report.tally.kinds[DELIVERY].committed, deferrals.queued());
            let broken = report.conditions.iter().flatten().filter_map(|it| it.failure.clone());
            assert_eq!(broken.collect::<Vec<_>>(), Vec::<String>::new(), "{}", info.name);
            run_at_once += deferrals.run_at_once;
        }
    }
    assert!(run_at_once > 0, "no queue was ever full or closed");
}
