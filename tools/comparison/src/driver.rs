//! Runs a workload on a store with many clients, for a time, and measures.
//!
//! A client is a thread that runs one transaction after another. Where commits are handed out
//! before they are durable it goes on meanwhile, up to [`PIPELINE`] of them; a transaction counts,
//! and its latency ends, when it is durable. What completes during the warm-up, or after the time
//! is up, is not counted.

use crate::store::{Result, Store};
use crate::workload::Workload;
use hdrhistogram::Histogram;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Transactions of a client that may be under way to the disk.
const PIPELINE: usize = 16_384;

/// How long, and with how many.
#[derive(Clone, Copy)]
pub struct Plan {
    pub clients: usize,
    pub warmup: Duration,
    pub duration: Duration,
    pub seed: u64,
}

/// The outcome.
pub struct Measured {
    pub seconds: f64,
    /// Transactions that ended, those included that their own logic rolled back.
    pub transactions: u64,
    /// Attempts that were refused and run again.
    pub aborts: u64,
    pub latency_ns: Histogram<u64>,
}

impl Measured {
    pub fn throughput_tps(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
}

/// What takes longer counts as this: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

const WARMUP: u8 = 0;
const MEASURE: u8 = 1;
const STOP: u8 = 2;

/// What one client counts.
struct Count {
    transactions: u64,
    aborts: u64,
    latency_ns: Histogram<u64>,
}

impl Count {
    fn new() -> Self {
        let latency_ns = Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("a valid range");
        Self { transactions: 0, aborts: 0, latency_ns }
    }

    fn ended(&mut self, began: Instant) {
        self.transactions += 1;
        self.latency_ns.saturating_record(began.elapsed().as_nanos() as u64);
    }
}

/// Runs a loaded workload.
pub fn measure(store: &dyn Store, workload: &dyn Workload, plan: Plan) -> Result<Measured> {
    let phase = AtomicU8::new(WARMUP);
    thread::scope(|scope| {
        let clients = (0..plan.clients as u64)
            .map(|number| {
                let phase = &phase;
                scope.spawn(move || {
                    let count = client(store, workload, number, plan.seed, phase);
                    if count.is_err() {
                        phase.store(STOP, Ordering::SeqCst);
                    }
                    count
                })
            })
            .collect::<Vec<_>>();
        thread::sleep(plan.warmup);
        let began = Instant::now();
        // Fails where a client did.
        let _ = phase.compare_exchange(WARMUP, MEASURE, Ordering::SeqCst, Ordering::SeqCst);
        thread::sleep(plan.duration);
        phase.store(STOP, Ordering::SeqCst);
        let seconds = began.elapsed().as_secs_f64();
        let mut all = Count::new();
        for client in clients {
            let count = client.join().expect("a client does not panic")?;
            all.transactions += count.transactions;
            all.aborts += count.aborts;
            all.latency_ns.add(count.latency_ns).expect("the same digits");
        }
        let Count { transactions, aborts, latency_ns } = all;
        Ok(Measured { seconds, transactions, aborts, latency_ns })
    })
}

fn client(
    store: &dyn Store,
    workload: &dyn Workload,
    number: u64,
    seed: u64,
    phase: &AtomicU8,
) -> Result<Count> {
    let mut client = store.client()?;
    let mut session = workload.session(number, seed);
    let mut count = Count::new();
    let mut pending = VecDeque::new();
    while phase.load(Ordering::SeqCst) != STOP {
        let kind = session.draw();
        let began = Instant::now();
        let ran = client.run(kind, &mut |tx| session.body(tx))?;
        let measuring = phase.load(Ordering::SeqCst) == MEASURE;
        if measuring {
            count.aborts += ran.refused;
        }
        if ran.durable {
            if measuring {
                count.ended(began);
            }
            continue;
        }
        pending.push_back(began);
        for began in pending.drain(..client.durable(pending.len() >= PIPELINE)?) {
            if measuring {
                count.ended(began);
            }
        }
    }
    // What is still under way is not counted, but the store is not closed over it.
    while !pending.is_empty() {
        pending.drain(..client.durable(true)?);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::{Count, PIPELINE, Plan, measure};
    use crate::store::{Body, Client, Kind, Ran, Result, Store, Tx, Verdict};
    use crate::workload::{Loader, Session, Workload};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// A store of which commits become durable only when somebody waits, and then all of them.
    #[derive(Default)]
    struct Late {
        runs: AtomicUsize,
        waits: AtomicUsize,
        pending: AtomicUsize,
    }

    impl Store for Late {
        fn client(&self) -> Result<Box<dyn Client + '_>> {
            Ok(Box::new(Waiting(self)))
        }
    }

    struct Waiting<'s>(&'s Late);

    impl Client for Waiting<'_> {
        fn run(&mut self, _: Kind, _: &mut Body<'_>) -> Result<Ran> {
            self.0.runs.fetch_add(1, Ordering::SeqCst);
            self.0.pending.fetch_add(1, Ordering::SeqCst);
            Ok(Ran { refused: 0, durable: false })
        }

        fn durable(&mut self, wait: bool) -> Result<usize> {
            if !wait {
                return Ok(0);
            }
            self.0.waits.fetch_add(1, Ordering::SeqCst);
            Ok(self.0.pending.swap(0, Ordering::SeqCst))
        }
    }

    struct Nothing;

    impl Workload for Nothing {
        fn tables(&self) -> usize {
            1
        }

        fn load(&self, _: &mut Loader<'_>) -> Result<()> {
            Ok(())
        }

        fn session(&self, _: u64, _: u64) -> Box<dyn Session + '_> {
            Box::new(Nothing)
        }
    }

    impl Session for Nothing {
        fn draw(&mut self) -> Kind {
            Kind::ReadOnly
        }

        fn body(&mut self, _: &mut dyn Tx) -> Result<Verdict> {
            Ok(Verdict::Commit)
        }
    }

    #[test]
    fn latencies_are_recorded_as_they_are() {
        let mut count = Count::new();
        count.ended(Instant::now().checked_sub(Duration::from_secs(1)).unwrap());
        let latency = Duration::from_nanos(count.latency_ns.max());
        assert!(latency >= Duration::from_secs(1) && latency < Duration::from_secs(60));
    }

    #[test]
    fn commits_that_become_durable_later_are_counted_then() {
        let store = Late::default();
        let plan = Plan {
            clients: 1,
            warmup: Duration::ZERO,
            duration: Duration::from_millis(50),
            seed: 1,
        };
        let measured = measure(&store, &Nothing, plan).unwrap();
        let (runs, waits) = (store.runs.into_inner(), store.waits.into_inner());
        // Full pipelines are waited for, and in the end what is left.
        assert_eq!(waits, runs.div_ceil(PIPELINE));
        assert_eq!(measured.transactions % PIPELINE as u64, 0);
        assert!(measured.transactions <= runs as u64);
        assert_eq!(store.pending.into_inner(), 0);
    }
}
