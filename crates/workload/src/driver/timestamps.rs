//! Timestamps alone (thousand-cores.txt, figure 4-4): threads draw them and do nothing else.

use super::signals::{Phase, Signals};
use super::window::{Counted, Window};
use super::{Failure, Progress};
use chiliad_engine::{Clock, Error, TimestampSource, Timestamps};
use chiliad_machine::{Native, Shared};
use chiliad_storage::{Heap, LocalHeap};
use std::sync::Arc;
use std::time::Duration;

/// Timestamps between two looks at what the driver wants.
const BATCH: u64 = 256;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Where timestamps come from.
    pub kind: Timestamps,
    /// Threads, each on a core of its own where there are enough.
    pub threads: usize,
    /// The measured window.
    pub duration: Duration,
    /// Time before it.
    pub warmup: Duration,
}

/// What the threads share.
struct Shelf {
    source: Shared<Native, TimestampSource<Native>>,
    heap: Arc<Shared<Native, Heap<Native>>>,
}

/// Draws timestamps.
///
/// # Errors
/// When the machine has no such timestamps, or a thread fails.
pub fn run_drawing(drawing: &Drawing, progress: &dyn Progress) -> Result<Counted, Failure> {
    let refused = drawing.kind.check::<Native>();
    refused.map_err(|error| Failure::Engine { doing: "starting", error })?;
    let source = Shared::new(TimestampSource::new(drawing.kind));
    let shelf = Shelf { source, heap: Heap::new(u64::MAX) };
    let Drawing { threads, duration, warmup, .. } = *drawing;
    let window = Window { threads, warmup, duration };
    window.run(progress, |thread, signals| shelf.draw(thread, signals))
}

impl Shelf {
    fn draw(&self, thread: usize, signals: &Signals) -> Result<(), Failure> {
        let heap = LocalHeap::new(&self.heap)
            .ok_or(Failure::Engine { doing: "starting", error: Error::TooManyWorkers })?;
        let mut clock = Clock::new();
        let mut done = 0;
        while signals.phase() != Phase::Stop {
            for _ in 0..BATCH {
                std::hint::black_box(clock.draw(&self.source, &heap));
            }
            done += BATCH;
            signals.client(thread).set(done);
        }
        Ok(())
    }
}
