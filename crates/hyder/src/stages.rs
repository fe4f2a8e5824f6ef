//! The threads that play the stages of a server.

use crate::build::build;
use crate::maker::Maker;
use crate::pipeline::{Queue, Stage};
use crate::server::{PATIENCE, RETRIES_PER_SECOND, Server};
use chiliad_api::Error;
use chiliad_machine::{Machine, Ordering, Word};
use chiliad_storage::LocalHeap;

impl<M: Machine> Server<M> {
    /// A maker for a stage on a thread of its own; the server ends where there is no room for it.
    fn stage_maker(&self) -> Option<Maker<M>> {
        let heap = LocalHeap::new(&self.heap);
        if heap.is_none() {
            self.fail(Error::NO_SLOT);
        }
        heap.map(Maker::new)
    }

    /// The first stage of several threads, until `over`; builds overlays if no other thread does.
    pub fn run_front(&self, over: &dyn Fn() -> bool) {
        let Some(mut maker) = self.stage_maker() else { return };
        // Release pairs with the acquire in `roll_unless_others_do`.
        self.rolling.fetch_add(1, Ordering::Release);
        let builds = self.options.roll.pipeline <= 2;
        while !over() {
            let taken = self.front.lock().take();
            let Some(mut front) = taken else {
                M::yield_now();
                continue;
            };
            self.pipeline.feed(true);
            while !over() {
                if self.failure().is_some() {
                    M::park_until(M::now() + M::ticks_per_second() / RETRIES_PER_SECOND);
                    continue;
                }
                if self.pipeline.find(Queue::room).is_none() {
                    continue;
                }
                match front.step(&self.desk, PATIENCE) {
                    Ok(batches) => batches.into_iter().for_each(|mut batch| {
                        // Before the states are looked at: whatever is built on is no older.
                        let oldest = self.recent.oldest();
                        let stage = if builds {
                            build(&mut batch, &mut maker, &self.options.roll, &self.recent.all());
                            Stage::Built(batch)
                        } else {
                            Stage::Read(batch)
                        };
                        self.pipeline.push(oldest, stage);
                    }),
                    Err(error) => self.fail(error),
                }
                front.collect(&self.desk, &mut maker, self.pipeline.oldest());
            }
            *self.front.lock() = Some(front);
            self.pipeline.feed(false);
        }
        self.stage_ends();
    }

    /// Builds overlays until `over`.
    pub fn run_builder(&self, over: &dyn Fn() -> bool) {
        let Some(mut maker) = self.stage_maker() else { return };
        // Release pairs with the acquire in `roll_unless_others_do`.
        self.rolling.fetch_add(1, Ordering::Release);
        while !(over() && self.pipeline.is_over()) {
            let Some((number, mut batch)) = self.pipeline.find(Queue::take_read) else { continue };
            build(&mut batch, &mut maker, &self.options.roll, &self.recent.all());
            self.pipeline.built(number, batch);
        }
        self.stage_ends();
    }

    /// The last stage of several threads, until `over`.
    pub fn run_last(&self, over: &dyn Fn() -> bool) {
        // Release pairs with the acquire in `roll_unless_others_do`.
        self.rolling.fetch_add(1, Ordering::Release);
        // What the first stage has read is decided here, even if it was read before this thread got its stage.
        while !(over() && self.pipeline.is_over()) {
            let taken = self.last.lock().take();
            let Some(mut last) = taken else {
                M::yield_now();
                continue;
            };
            while !(over() && self.pipeline.is_over()) {
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
        }
        self.stage_ends();
    }

    fn stage_ends(&self) {
        // Release pairs with the acquire in `roll_unless_others_do`.
        self.rolling.fetch_add(u64::MAX, Ordering::Release);
        self.leave_it_to_sessions();
    }
}
