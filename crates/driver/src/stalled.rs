//! A transaction that begins, reads, and does not end before the run does (Jung et al., 2014,
//! 5.3.3): one client more, on a thread or a core beside the others, which counts nothing, records
//! nothing and times nothing. In the end it rolls back.
//!
//! Its reads stay locked, or its partition taken, where the scheme does such things; a transaction that waits for
//! that waits until the run is over.

use super::sampling::Generator;
use super::signals::Signals;
use super::{Length, Plan};
use chiliad_api::{Attempt, Attempts, WaitLimit, retry};
use chiliad_engine::{Intent, Result, Running, Session};
use chiliad_machine::{Machine, Ticks};
use chiliad_workload::{AnyClient, Shape};
use core::ops::ControlFlow;
use std::time::Duration;

/// How often it looks whether the run has ended before its time.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The interval of looks when its time is over.
const LOOK_INTERVAL_AT_END: Duration = Duration::from_micros(10);

/// The transaction on its session.
pub(crate) struct Stalled<'a, M: Machine> {
    session: Box<dyn Session<M>>,
    client: Box<dyn AnyClient + 'a>,
    plan: &'a Plan,
    signals: &'a Signals,
}

impl<'a, M: Machine> Stalled<'a, M> {
    /// One that has not begun.
    pub(crate) fn new(
        session: Box<dyn Session<M>>,
        client: Box<dyn AnyClient + 'a>,
        plan: &'a Plan,
        signals: &'a Signals,
    ) -> Self {
        Self { session, client, plan, signals }
    }

    /// Waits for its time, begins, reads, and waits for the end of the run.
    pub(crate) fn run(mut self) -> Result<()> {
        self.signals.await_clients_to_stall::<M>();
        M::clocked(true);
        let window = self.signals.begun() + ticks::<M>(self.plan.warmup);
        let begin = window + ticks::<M>(self.plan.stalled_at.unwrap_or_default());
        let end = match self.plan.length {
            Length::Time(time) => window + ticks::<M>(time),
            Length::Transactions(_) => Ticks::MAX,
        };
        let mut partitions = Vec::new();
        let shape = self.client.next_stalled(&mut partitions);
        let random = Generator::new(self.plan.seed, self.plan.workers());
        sleep::<M>(self.signals, begin);
        retry(Staying { transaction: &mut self, shape, partitions, end, random })
    }

    /// Begins and reads; where that succeeds, stays until the run is over.
    fn attempt(
        &mut self,
        shape: Shape,
        partitions: &[u32],
        retries: u32,
        end: Ticks,
    ) -> Result<()> {
        let Shape { read_only, snapshot, .. } = shape;
        let intent = Intent { read_only, snapshot, partitions, retries, ..Intent::default() };
        let mut tx = Running::begin(&mut *self.session, &intent)?;
        let read = self.client.execute(&mut tx);
        if read.is_ok() {
            sleep::<M>(self.signals, end);
            while !self.signals.is_over() {
                M::park_until(M::now() + ticks::<M>(LOOK_INTERVAL_AT_END));
            }
        }
        tx.rollback();
        read
    }
}

/// The attempts of the transaction that is to stay.
struct Staying<'s, 'a, M: Machine> {
    transaction: &'s mut Stalled<'a, M>,
    shape: Shape,
    partitions: Vec<u32>,
    /// Until then.
    end: Ticks,
    random: Generator,
}

impl<M: Machine> Attempts for Staying<'_, '_, M> {
    type Outcome = Result<()>;
    type Abort = ();

    fn attempt(&mut self, aborts: u32) -> Attempt<Result<()>, ()> {
        if self.transaction.signals.is_over() {
            return Attempt::Over(Ok(()));
        }
        match self.transaction.attempt(self.shape, &self.partitions, aborts, self.end) {
            Err(error) if error.is_retryable() => Attempt::Aborted(()),
            ended => Attempt::Over(ended),
        }
    }

    fn aborted(&mut self, (): (), _: u32) -> ControlFlow<Result<()>> {
        ControlFlow::Continue(())
    }

    fn back_off(&mut self, aborts: u32) {
        let backoff = self.transaction.plan.backoff;
        backoff.wait::<M>(aborts, |below| self.random.below(below), &WaitLimit::NONE);
    }
}

/// Sleeps until `time` or until the run is over.
fn sleep<M: Machine>(signals: &Signals, time: Ticks) {
    while !signals.is_over() {
        let now = M::now();
        if now >= time {
            return;
        }
        M::park_until(time.min(now + ticks::<M>(LOOK_INTERVAL)));
    }
}

/// A time in ticks of the machine, at least one.
fn ticks<M: Machine>(time: Duration) -> Ticks {
    M::ticks(time).min(Ticks::MAX / 4)
}
