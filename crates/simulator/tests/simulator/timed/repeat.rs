//! A timed run is a function of its configuration.

use super::kit::{complete, config, lines, mesh, read};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_simulator::description::{Description, Homes, Slack};
use chiliad_simulator::{Outcome, Run, Sim};

/// Cores that read, write and add here and there, and wait for each other.
fn busy(seed: u64) -> Outcome {
    let machine = Description { homes: Homes::Hashed, slack: Slack::of(16), ..mesh() };
    let mut run = Run::new(config(machine, seed));
    let lines = lines(&run, 50);
    for core in 0..20 {
        let lines = lines.clone();
        run.spawn(format!("core {core}"), move || {
            for _ in 0..50 {
                let line = lines[Sim::random() as usize % lines.len()];
                match Sim::random() % 4 {
                    0 => _ = line.fetch_add(1, Ordering::Relaxed),
                    1 => line.store(core, Ordering::Relaxed),
                    2 => Sim::work(Cost::ALL[0], 20),
                    _ => read(line),
                }
                if Sim::random() % 16 == 0 {
                    Sim::park_until(Sim::now() + 100);
                }
            }
        });
    }
    complete(&mut run)
}

#[test]
fn equal_seeds_give_equal_times() {
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let (first, second) = (busy(seed), busy(seed));
        assert_eq!(first.timings, second.timings);
        assert_eq!(first.trace_hash, second.trace_hash);
        assert_eq!((first.events, first.switches), (second.events, second.switches));
        let there = std::thread::spawn(move || busy(seed).trace_hash).join().expect("no panic");
        assert_eq!(first.trace_hash, there, "on another thread");
        hashes.insert(first.trace_hash);
    }
    assert_eq!(hashes.len(), 20);
}
