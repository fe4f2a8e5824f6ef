//! The stages on threads of their own: batches in the order of the log, from the first stage to the last.
//!
//! One thread reads and numbers; others build overlays, of any batch that was read; one decides them in order. With two
//! threads the first builds, too.

use crate::batch::Batch;
use crate::nap::nap;
use chiliad_machine::{Latch, Machine, WorkerId};
use std::collections::VecDeque;

/// Batches between the first stage and the last, at most: what was read and not decided takes memory, and is built on
/// states that are older the longer it waits.
const DEPTH: usize = 8;

/// Where a batch is.
pub enum Stage<M: Machine> {
    Read(Batch<M>),
    /// A thread builds its overlays.
    Building,
    Built(Batch<M>),
    /// The last stage has it.
    Deciding,
}

/// The batches on their way.
pub struct Queue<M: Machine> {
    /// With the label of the oldest state that may be built on.
    batches: VecDeque<(u64, Stage<M>)>,
    /// The number of the first of them.
    first: u64,
    /// The first stage is at work.
    is_fed: bool,
    /// Threads that sleep until something changes.
    idle: Vec<WorkerId>,
}

/// Batches on their way through the stages.
pub struct Pipeline<M: Machine>(Latch<M, Queue<M>>);

impl<M: Machine> Pipeline<M> {
    pub fn new() -> Self {
        let (batches, idle) = (VecDeque::new(), Vec::new());
        Self(Latch::new(Queue { batches, first: 0, is_fed: false, idle }))
    }

    /// Nothing is on its way, and nothing will be.
    pub fn is_over(&self) -> bool {
        let queue = self.0.lock();
        queue.batches.is_empty() && !queue.is_fed
    }

    /// The first stage begins, or ends.
    pub fn feed(&self, is_fed: bool) {
        self.change(|queue| queue.is_fed = is_fed);
    }

    /// A batch was read; intentions in it are built on states from `oldest` on.
    pub fn push(&self, oldest: u64, stage: Stage<M>) {
        self.change(|queue| queue.batches.push_back((oldest, stage)));
    }

    /// Batch `number` is built.
    pub fn built(&self, number: u64, batch: Batch<M>) {
        self.change(|queue| {
            let at = (number - queue.first) as usize;
            queue.batches[at].1 = Stage::Built(batch);
        });
    }

    /// The first `batches` batches are decided.
    pub fn decided(&self, batches: usize) {
        self.change(|queue| {
            queue.batches.drain(..batches);
            queue.first += batches as u64;
        });
    }

    /// Changes the queue, and wakes those that wait for that.
    fn change<R>(&self, change: impl FnOnce(&mut Queue<M>) -> R) -> R {
        let mut queue = self.0.lock();
        let outcome = change(&mut queue);
        let idle = core::mem::take(&mut queue.idle);
        drop(queue);
        idle.into_iter().for_each(M::unpark);
        outcome
    }

    /// Returns what `look` finds; where that is nothing, sleeps until something changes.
    pub fn find<R>(&self, look: impl FnOnce(&mut Queue<M>) -> Option<R>) -> Option<R> {
        let mut queue = self.0.lock();
        let found = look(&mut queue);
        if found.is_none() {
            queue.idle.push(M::worker());
            drop(queue);
            // Somebody may want all threads to end meanwhile.
            nap::<M>();
            self.0.lock().idle.retain(|&worker| worker != M::worker());
        }
        found
    }

    /// The label of the oldest state that a batch may be built on.
    pub fn oldest(&self) -> u64 {
        self.0.lock().batches.iter().map(|(oldest, _)| *oldest).min().unwrap_or(u64::MAX)
    }
}

impl<M: Machine> Queue<M> {
    /// Whether there is room for further batches.
    pub fn room(&mut self) -> Option<()> {
        (self.batches.len() < DEPTH).then_some(())
    }

    /// The first batch that nobody builds, and its number.
    pub fn take_read(&mut self) -> Option<(u64, Batch<M>)> {
        let at = self.batches.iter().position(|(_, stage)| matches!(stage, Stage::Read(_)))?;
        match core::mem::replace(&mut self.batches[at].1, Stage::Building) {
            Stage::Read(batch) => Some((self.first + at as u64, batch)),
            _ => None,
        }
    }

    /// The batches that can be decided now.
    pub fn take_built(&mut self) -> Option<Vec<Batch<M>>> {
        let mut taken = Vec::new();
        for (_, stage) in &mut self.batches {
            match core::mem::replace(stage, Stage::Deciding) {
                Stage::Built(batch) => taken.push(batch),
                other => {
                    *stage = other;
                    break;
                }
            }
        }
        (!taken.is_empty()).then_some(taken)
    }
}
