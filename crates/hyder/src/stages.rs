//! The threads that play the stages of a server: one all of them, or several.

use crate::batch::Batch;
use crate::build::build;
use crate::maker::Maker;
use crate::nap::nap;
use crate::pipeline::{Queue, Stage};
use crate::progress::{Progress, Timed};
use crate::server::Server;
use chiliad_api::Error;
use chiliad_machine::{Latch, Machine, Ordering, Word};
use chiliad_storage::LocalHeap;
use core::time::Duration;

/// How long a thread waits for a record.
const PATIENCE: Duration = Duration::from_millis(10);

/// Takes the state of a stage once no other thread has it; `None` if the thread is to end first.
fn take<M: Machine, T>(place: &Latch<M, Option<T>>, is_over: impl Fn() -> bool) -> Option<T> {
    loop {
        let taken = place.lock().take();
        if taken.is_some() || is_over() {
            return taken;
        }
        M::yield_now();
    }
}

impl<M: Machine> Server<M> {
    /// Plays all stages, as one thread, until `over`.
    pub fn run_roller(&self, over: &dyn Fn() -> bool) {
        self.rolls(|| {
            while !over() {
                match self.failure() {
                    Some(_) => nap::<M>(),
                    None => _ = self.roll(PATIENCE),
                }
            }
        });
    }

    /// The first stage of several threads, until `over`; builds overlays if no other thread does.
    pub fn run_front(&self, over: &dyn Fn() -> bool) {
        let Some(mut maker) = self.stage_maker() else { return };
        self.rolls(|| {
            let Some(mut front) = take(&self.front, over) else { return };
            self.pipeline.feed(true);
            while !over() {
                if self.failure().is_some() {
                    nap::<M>();
                } else if self.pipeline.find(Queue::room).is_some() {
                    match front.step(&self.desk, PATIENCE) {
                        Ok(batches) => self.send_on(batches, &mut maker),
                        Err(error) => self.fail(error),
                    }
                    front.collect(&self.desk, &mut maker, self.pipeline.oldest());
                }
            }
            *self.front.lock() = Some(front);
            self.pipeline.feed(false);
        });
    }

    /// Hands batches over to those that build, or builds them.
    fn send_on(&self, batches: Vec<Batch<M>>, maker: &mut Maker<M>) {
        let roll = &self.options.roll;
        for mut batch in batches {
            // Before the states are looked at: whatever is built on is no older.
            let oldest = self.recent.oldest();
            let stage = match roll.pipeline {
                0..=2 => {
                    let start = Progress::<M>::start();
                    build(&mut batch, maker, roll, &self.recent.all());
                    self.progress.worked(Timed::Building, start);
                    Stage::Built(batch)
                }
                _ => Stage::Read(batch),
            };
            self.pipeline.push(oldest, stage);
        }
    }

    /// Builds overlays until `over`.
    pub fn run_builder(&self, over: &dyn Fn() -> bool) {
        let Some(mut maker) = self.stage_maker() else { return };
        self.rolls(|| {
            while !(over() && self.pipeline.is_over()) {
                if let Some((number, mut batch)) = self.pipeline.find(Queue::take_read) {
                    let start = Progress::<M>::start();
                    build(&mut batch, &mut maker, &self.options.roll, &self.recent.all());
                    self.progress.worked(Timed::Building, start);
                    self.pipeline.built(number, batch);
                }
            }
        });
    }

    /// The last stage of several threads, until `over`.
    pub fn run_last(&self, over: &dyn Fn() -> bool) {
        // What the first stage has read is decided here, even if it was read before this thread got its stage.
        let is_over = || over() && self.pipeline.is_over();
        self.rolls(|| {
            let Some(mut last) = take(&self.last, is_over) else { return };
            while !is_over() {
                let Some(batches) = self.pipeline.find(Queue::take_built) else { continue };
                let decided = batches.len();
                if self.failure().is_none()
                    && let Err(error) = last.step(&self.desk, batches)
                {
                    self.fail(error);
                }
                self.pipeline.decided(decided);
            }
            *self.last.lock() = Some(last);
        });
    }

    /// A maker for a stage on a thread of its own; the server ends where there is no room for it.
    fn stage_maker(&self) -> Option<Maker<M>> {
        let heap = LocalHeap::new(&self.heap);
        if heap.is_none() {
            self.fail(Error::NO_SLOT);
        }
        heap.map(Maker::new)
    }

    /// Sessions leave the stages alone while `work` goes on, and go on with what it has done for them afterwards.
    fn rolls(&self, work: impl FnOnce()) {
        // Release pairs with the acquires in `roll_unless_others_do` and `read_to_end`.
        self.rolling.fetch_add(1, Ordering::Release);
        work();
        // Release pairs with the acquires in `roll_unless_others_do` and `read_to_end`.
        self.rolling.fetch_add(u64::MAX, Ordering::Release);
        self.leave_it_to_sessions();
    }
}
