//! Many cores that need slots at the same moment do not wait for each other.

use chiliad_machine::{Machine, Shared};
use chiliad_simulator::description::Description;
use chiliad_simulator::{Config, Run, Sim, Verdict};
use chiliad_storage::{Heap, Kind, LocalHeap};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Slots that each core obtains: more than its first batches.
const SLOTS: usize = 129;

const CORES: usize = 512;

/// When all have begun.
const START: u64 = 100_000_000;

/// Cycles that each of some cores takes on average, all at once, to obtain slots which no one gives back.
fn cycles(cores: usize) -> u64 {
    let machine = Some(Description::mesh());
    let mut run = Run::new(Config { machine, region_bytes: 256 << 20, ..Config::new(1) });
    let heap = run.outside(|| Heap::<Sim>::new(u64::MAX));
    let total = Rc::new(Cell::new(0));
    for core in 0..cores {
        let (heap, total): (Arc<Shared<Sim, _>>, _) = (Arc::clone(&heap), Rc::clone(&total));
        run.spawn(format!("core {core}"), move || {
            let mut local = LocalHeap::new(&heap).expect("a slot");
            Sim::park_until(START);
            for _ in 0..SLOTS {
                local.alloc(Kind::Version, 128).expect("no limit");
            }
            total.set(total.get() + Sim::now() - START);
        });
    }
    assert!(matches!(run.go().verdict, Verdict::Completed));
    run.outside(|| drop(heap));
    total.get() / cores as u64
}

/// What is left is what a few atomic operations of each core on the same lines take, one after the other; waiting
/// for a latch by reading takes hundreds of times as long.
#[test]
fn a_crowd_waits_for_a_few_atomic_operations() {
    let crowd = cycles(CORES);
    assert!(crowd < CORES as u64 * 300, "{crowd} cycles");
}
