//! Machines whose cores share no second cache: their times, to the cycle, are what they have been.
//!
//! Whoever changes the timing of such a machine on purpose changes these numbers and says so.

use super::kit::{complete, config, lines_of, mesh, read};
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_simulator::description::{
    Background, Cache, Coherence, Description, Homes, Network, Slack,
};
use chiliad_simulator::{Host, Run, Sim, stopping};

/// Two sockets whose cores have two caches and ask for lines ahead of use.
fn sockets() -> Description {
    Description {
        first: Cache { bytes: 1 << 10, ways: 2, cycles: 4 },
        second: Some(Cache { bytes: 4 << 10, ways: 4, cycles: 12 }),
        shared: Cache { bytes: 16 << 10, ways: 4, cycles: 30 },
        coherence: Coherence::Mesi,
        network: Network::Sockets {
            cores_per_socket: 6,
            within_cycles: 20,
            between_cycles: 100,
            bytes_per_cycle: 5,
        },
        prefetches: 4,
        hidden_cycles: 2,
        modify_cycles: 15,
        background: Background::Shared,
        ..Description::mesh()
    }
}

/// Cores of two hosts that read, write, add, copy, spin and sleep. Returns the digest and the cycles.
fn run(machine: Description) -> (u64, u64) {
    let mut run = Run::new(config(machine, 7));
    for host in [Host(0), Host(1)] {
        let lines = lines_of(&run, host, 200);
        let counter = lines_of(&run, host, 1)[0];
        for core in 0..12 {
            let lines = lines.clone();
            run.spawn_on(host, format!("core {core}"), move || {
                for round in 0..60 {
                    let at = Sim::random() as usize % lines.len();
                    let line = lines[at];
                    match Sim::random() % 6 {
                        0 => _ = line.fetch_add(1, Ordering::Relaxed),
                        1 => line.store(core, Ordering::Relaxed),
                        2 => Sim::work(Cost::ALL[0], 20),
                        3 => {
                            Sim::prefetch(std::ptr::from_ref(line).cast(), 3);
                            lines[at..].iter().take(5).for_each(|line| read(line));
                        }
                        4 if round % 8 == 0 => _ = Sim::park_until(Sim::now() + 100),
                        _ => read(line),
                    }
                }
                counter.fetch_add(1, Ordering::AcqRel);
                while counter.load(Ordering::Acquire) < core {
                    Sim::stall(true);
                }
            });
        }
    }
    run.spawn_daemon("background", || {
        let mut next = 500;
        while !stopping() {
            Sim::work(Cost::ALL[0], 40);
            Sim::park_until(next);
            next += 500;
        }
    });
    let outcome = complete(&mut run);
    (outcome.trace_hash, outcome.timings.expect("a timed run").cycles)
}

#[test]
fn cores_with_caches_of_their_own_keep_their_times() {
    let hashed = Description { homes: Homes::Hashed, slack: Slack::of(16), ..mesh() };
    let mesi = Description { coherence: Coherence::Mesi, ..mesh() };
    let kept = [hashed, mesi, sockets()].map(run);
    let then = [
        (4_410_615_146_298_640_103, 5395),
        (4_125_005_697_448_611_076, 5699),
        (9_271_727_534_320_867_535, 23049),
    ];
    assert_eq!(kept, then);
}
