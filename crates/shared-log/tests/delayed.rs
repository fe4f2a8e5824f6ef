//! The log that delays another one, on simulated cores: nobody sees a record early, and others get between.

use chiliad_machine::Machine;
use chiliad_machine::shared_log::SharedLog;
use chiliad_shared_log::DelayedLog;
use chiliad_simulator::{Config, FaultyLog, LogFaults, Run, Sim};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How many records of another server come between the decision to append and the place in the log, on average of
/// some seeds; nobody may see the record before the delay is over.
fn records_between(ticks: u64) -> u64 {
    let per_second = Sim::ticks_per_second();
    let delay = Duration::from_nanos((ticks * 1_000_000_000).div_ceil(per_second));
    let mut between = 0;
    for seed in 0..20 {
        let log = FaultyLog::new(seed, LogFaults::default());
        let mut run = Run::new(Config::new(seed));
        let delayed = DelayedLog::<Sim>::new(log.server(1), delay);
        let fast: Arc<dyn SharedLog> = log.server(2);
        let (found, over) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
        let (result, done, truth) = (found.clone(), over.clone(), log.clone());
        run.spawn("is delayed", move || {
            let (begun, before) = (Sim::now(), truth.extent().end);
            delayed.append(&[b"delayed"]).unwrap();
            assert!(Sim::now() >= begun + ticks);
            let contents = truth.contents();
            let place = contents.iter().find(|it| it.1 == b"delayed").expect("it is there").0;
            result.set(place - before);
            done.set(true);
        });
        run.spawn("is not", move || {
            while !over.get() {
                fast.append(&[b"other"]).unwrap();
            }
        });
        let outcome = run.go();
        assert!(outcome.verdict.is_completed(), "seed {seed}: {}", outcome.verdict);
        between += found.get();
    }
    between / 20
}

#[test]
fn a_longer_delay_lets_more_records_of_others_between() {
    let (none, some, many) = (records_between(0), records_between(2000), records_between(20_000));
    assert!(none < 8 && some > 2 * none.max(4) && many > 4 * some, "{none} {some} {many}");
}
