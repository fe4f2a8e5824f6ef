//! A client's part in deferral: it queues what may wait, runs what waits for it between its own requests, and leaves nothing
//! when it goes.

use crate::client::Client;
use crate::deferral::faults::LEFT_BEHIND;
use crate::deferral::{ResultRecord, Waiting};
use crate::signals::Phase;
use chiliad_engine::Result;
use chiliad_machine::{Machine, Patience};
use chiliad_workload::Deferred;
use std::sync::Arc;

/// Requests of others that a client runs before it makes up its next one, at most: as many as a queue has room for.
const RUN_TOGETHER: usize = 64;

/// Bits of a request's number beneath the number of the client that made it up.
const NUMBER_BITS: u32 = 40;

impl<M: Machine> Client<'_, M> {
    /// The request in hand, if it is to wait.
    #[inline]
    pub(crate) fn to_be_deferred(&self) -> Option<Deferred> {
        // Rehearsals are run where they are made up: nobody looks at the queues yet.
        if self.deferring.is_none() || self.phase == Phase::Assemble {
            return None;
        }
        self.requests.deferred()
    }

    /// Queues a request that arrived at this time, or now; runs it where the queue takes no more.
    pub(crate) fn defer(&mut self, request: Deferred, arrival: Option<u64>) -> Result<()> {
        let queued = arrival.unwrap_or_else(M::now);
        let measured = self.phase == Phase::Measure;
        let Some(deferring) = &mut self.deferring else { return Ok(()) };
        let number = (self.client_id.index as u64) << NUMBER_BITS | deferring.made;
        deferring.made += 1;
        let waiting = Waiting { words: request.words, queued, number, measured };
        deferring.deferrals.queued_one(number);
        if deferring.queues.of(request.partition).put(&waiting) {
            return Ok(());
        }
        deferring.deferrals.run_at_once += 1;
        self.run_waiting(waiting)
    }

    /// Runs what waits in the client's own queue, unless a sibling does.
    #[inline]
    pub(crate) fn run_deferred(&mut self) -> Result<()> {
        let Some(deferring) = &self.deferring else { return Ok(()) };
        match deferring.queues.owned_by(self.client_id) {
            Some(queue) if queue.has_some() => self.run_queued(RUN_TOGETHER),
            _ => Ok(()),
        }
    }

    /// Takes requests out of the client's own queue and runs them, one after another: at most so many, and none while a
    /// sibling does.
    #[cold]
    fn run_queued(&mut self, most: usize) -> Result<()> {
        let Some(queues) = self.deferring.as_ref().map(|it| Arc::clone(&it.queues)) else {
            return Ok(());
        };
        let Some(claim) = queues.owned_by(self.client_id).and_then(|queue| queue.claim()) else {
            return Ok(());
        };
        for _ in 0..most {
            match claim.take() {
                Some(waiting) => self.run_waiting(waiting)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Where no sibling is left to do it, closes the client's own queue and runs what is in it. From here on whoever makes up a
    /// request of its partitions runs it.
    pub(crate) fn leave(&mut self) -> Result<()> {
        let Some(queues) = self.deferring.as_ref().map(|it| Arc::clone(&it.queues)) else {
            return Ok(());
        };
        let Some(queue) = queues.owned_by(self.client_id) else { return Ok(()) };
        if !queue.leave() || M::fault(&LEFT_BEHIND) {
            return Ok(());
        }
        queue.close();
        let mut patience = Patience::<M>::new();
        loop {
            self.run_queued(usize::MAX)?;
            if queue.is_drained() {
                return Ok(());
            }
            // Somebody is about to write one.
            patience.wait();
        }
    }

    /// Runs a request that has waited, until it is done, and takes note of the result.
    fn run_waiting(&mut self, waiting: Waiting) -> Result<()> {
        self.partitions.clear();
        let shape = self.requests.resume(waiting.words, &mut self.partitions);
        let start = self.timed.take(&mut self.random).then_some(waiting.queued);
        // Nobody else runs one of its partition meanwhile, so the sooner it is done the better. A transaction that is
        // refused begins again in the same way, and its end gives the turn back.
        M::keep_turn(true);
        self.carry_out(shape, start, Some(waiting.measured))?;
        let (now, begun) = (M::now(), self.signals.begun());
        let Some(deferring) = &mut self.deferring else { return Ok(()) };
        let outcome = self.requests.outcome();
        let delay_ns = Self::ns_between(waiting.queued, now);
        deferring.deferrals.completed_one(waiting.number, delay_ns, &outcome);
        if self.plan.deferral_records {
            deferring.deferrals.keep(ResultRecord {
                client: (waiting.number >> NUMBER_BITS) as usize,
                number: waiting.number & ((1 << NUMBER_BITS) - 1),
                words: waiting.words,
                queued_ns: Self::ns_between(begun, waiting.queued),
                completed_ns: Self::ns_between(begun, now),
                run_by: self.client_id.index,
                outcome,
            });
        }
        Ok(())
    }
}
