//! A simulated shared log in timed runs: an append takes the time that it is said to take, and runs repeat.

use super::kit::{Notes, config, mesh};
use chiliad_machine::Machine;
use chiliad_simulator::{FaultyLog, LogFaults, Run, Sim};
use std::time::Duration;

/// Two servers append and read; the trace, the mean time of an append, and what is in the log.
fn two_servers(append_ticks_mean: u64) -> (u64, u64, Vec<(u64, Vec<u8>)>) {
    const EACH: u64 = 50;
    let log = FaultyLog::new(3, LogFaults { append_ticks_mean, ..LogFaults::default() });
    let mut run = Run::new(config(mesh(), 1));
    let notes = Notes::new();
    for number in 0..2_u8 {
        let (handle, notes) = (log.server(number.into()), notes.clone());
        run.spawn(format!("server {number}"), move || {
            let mut next = 1;
            for _ in 0..EACH {
                let begun = Sim::now();
                handle.append(&[&[number]]).unwrap();
                notes.note(Sim::now() - begun);
                next = handle.read(next, 1000, Duration::from_secs(1), &mut |_, _| {}).unwrap();
            }
        });
    }
    let outcome = run.go();
    assert!(outcome.verdict.is_completed(), "{}", outcome.verdict);
    let times = notes.take();
    assert_eq!(times.len() as u64, 2 * EACH);
    (outcome.trace_hash, times.iter().sum::<u64>() / (2 * EACH), log.contents())
}

#[test]
fn appends_take_their_time_and_runs_repeat() {
    let (short, long) = (two_servers(100), two_servers(10_000));
    assert!((7000..20_000).contains(&long.1) && short.1 < long.1 / 10, "{} {}", short.1, long.1);
    assert_eq!(long.2.len(), 100);
    assert_eq!(long, two_servers(10_000));
}
