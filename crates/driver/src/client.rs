//! One client's loop: make up a request, run it until it ends, count.
//!
//! This is all that stands between two transactions of a native run, so it reads no clock but for
//! the transactions chosen to be timed, allocates nothing, and writes to memory of its own but for
//! one count that the driver watches. Requests that may wait are another matter: see `deferral`.

use super::deferral::{Deferrals, Deferring, Queues};
use super::history::unwrap_recorder;
use super::open_loop::Arrivals;
use super::sampling::{Generator, Sampler, TIMED_ONE_IN};
use super::signals::{Phase, RunSignals, Signals};
use super::{Bell, Durability, Failure, Length, Plan, Retry, Tally};
use chiliad_api::{Attempt, Attempts, WaitLimit, retry};
use chiliad_checker::Recorder;
use chiliad_engine::{Error, Intent, Reason, Result, Running, Session};
use chiliad_machine::{Cost, Machine};
use chiliad_workload::{AnyClient, ClientId, Shape};
use core::ops::ControlFlow;
use std::collections::VecDeque;
use std::sync::Arc;

/// The counts and the recorder that a client returns.
pub struct ClientReport {
    pub(crate) tally: Tally,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) deferrals: Option<Deferrals>,
    /// When the client's last transaction ended, by the machine's clock.
    pub(crate) ended: u64,
}

/// Transactions in flight from which on the client asks whether the log has failed.
const IN_FLIGHT_CHECKED: usize = 100_000;

/// How a transaction ended.
enum Ended {
    /// In this epoch.
    Committed(u64),
    RolledBack,
    /// The run was over, or the request was given up, before it went through.
    Dropped,
}

/// A client on its session.
pub(crate) struct Client<'a, M: Machine> {
    session: Box<dyn Session<M>>,
    pub(super) requests: Box<dyn AnyClient + 'a>,
    pub(super) client_id: ClientId,
    /// Among the clients of this process.
    place: usize,
    pub(super) plan: &'a Plan,
    pub(super) signals: Arc<Signals>,
    pub(super) partitions: Vec<u32>,
    pub(super) random: Generator,
    pub(super) timed: Sampler,
    followed: Sampler,
    tally: Tally,
    committed: u64,
    /// Committed and not durable yet, oldest first.
    in_flight: VecDeque<InFlight>,
    /// The phase that it has seen last.
    pub(super) phase: Phase,
    bell: Arc<Bell>,
    /// Where requests that may wait are queued.
    pub(super) deferring: Option<Deferring<M>>,
}

/// A transaction that has committed and is not durable yet.
struct InFlight {
    epoch: u64,
    kind: usize,
    unsuccessful: bool,
    /// When it began, if it is timed.
    start: Option<u64>,
}

impl<'a, M: Machine> Client<'a, M> {
    /// A client that has done nothing yet.
    pub(crate) fn new(
        session: Box<dyn Session<M>>,
        requests: Box<dyn AnyClient + 'a>,
        kinds: usize,
        client_id: ClientId,
        plan: &'a Plan,
        run: &RunSignals,
        queues: Option<Arc<Queues<M>>>,
    ) -> Self {
        // What is slow anyway, or must miss no arrival, is timed in full.
        let timed_in_full = plan.rate.is_some() || plan.recording.is_some() || M::SIMULATED;
        Self {
            session,
            requests,
            client_id,
            place: plan.place(client_id),
            plan,
            signals: Arc::clone(&run.0),
            partitions: Vec::with_capacity(64),
            random: Generator::new(plan.seed, client_id.index),
            timed: Sampler::new(if timed_in_full { 1 } else { TIMED_ONE_IN }),
            followed: Sampler::new(plan.follow.unwrap_or(1)),
            tally: Tally::new(kinds),
            committed: 0,
            in_flight: VecDeque::new(),
            phase: Phase::Assemble,
            bell: Arc::clone(&run.1),
            deferring: queues.map(Deferring::new),
        }
    }

    /// Runs the transactions that come before all that counts. They take no time, so each has a microsecond
    /// of its own, and no client runs ahead of the machine's clock by what it draws.
    pub(crate) fn rehearse(&mut self) -> std::result::Result<(), Failure> {
        if self.plan.rehearsals == 0 {
            return Ok(());
        }
        let (begun, microsecond) = (M::now(), M::ticks_per_second() / 1_000_000);
        let turns = u64::from(self.plan.rehearsals);
        let first = self.client_id.index as u64 * turns;
        for turn in first..first + turns {
            let time = begun + turn * microsecond;
            while M::now() < time {
                M::park_until(time);
            }
            self.transaction(None).map_err(Failure::doing("rehearsing a transaction"))?;
        }
        self.tally.clear();
        Ok(())
    }

    /// Runs transactions until the run is over or the client has done its share, and what others have queued for it.
    pub(crate) fn run(&mut self) -> std::result::Result<(), Failure> {
        M::clocked(true);
        let has_done_its_share = self.run_own()?;
        self.leave().map_err(Failure::doing("running a deferred transaction"))?;
        if has_done_its_share {
            self.drain().map_err(Failure::doing("waiting for the disk"))?;
        }
        Ok(())
    }

    /// Runs transactions; whether the client has done its share, and the run was not over before.
    fn run_own(&mut self) -> std::result::Result<bool, Failure> {
        let mut left = self.share();
        if left == 0 {
            return Ok(false);
        }
        let mut arrivals = self.arrivals();
        loop {
            M::between();
            self.look();
            if self.phase == Phase::Stop {
                return Ok(false);
            }
            self.run_deferred().map_err(Failure::doing("running a deferred transaction"))?;
            let arrival = match &mut arrivals {
                None => None,
                Some(arrivals) => match arrivals.next::<M>(&mut self.random, &self.signals) {
                    Some(arrival) => Some(arrival),
                    None => {
                        self.look();
                        return Ok(false);
                    }
                },
            };
            self.transaction(arrival).map_err(Failure::doing("running a transaction"))?;
            if self.phase == Phase::Measure {
                left -= 1;
                if left == 0 {
                    return Ok(true);
                }
            }
        }
    }

    /// Looks which phase it is. What ends from here on counts in it.
    #[inline]
    fn look(&mut self) {
        let now = self.signals.phase();
        if now != self.phase {
            // A client without a core since before the window has done nothing in it.
            if now != Phase::Stop || self.phase != Phase::Measure {
                self.tally.clear();
            }
            self.phase = now;
        }
    }

    /// Waits until an epoch is durable, or never will be, and asks for its end.
    fn wait_durable(&self, epoch: u64) {
        let session = &self.session;
        session.hurry(epoch);
        self.bell.wait::<M>(|| session.durable_epoch() >= epoch || session.log_failure().is_some());
    }

    /// Waits until everything counts.
    fn drain(&mut self) -> Result<()> {
        if let Some(last) = self.in_flight.back() {
            self.wait_durable(last.epoch);
        }
        self.count_durable()?;
        self.session.log_failure().map_or(Ok(()), Err)
    }

    /// The transactions that this client contributes to the measured window.
    fn share(&self) -> u64 {
        match self.plan.length {
            Length::Time(_) => u64::MAX,
            Length::Transactions(all) => {
                let (of, index) = (self.client_id.of as u64, self.client_id.index as u64);
                all / of + u64::from(index < all % of)
            }
        }
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let rate = self.plan.rate? / self.client_id.of as f64;
        Some(Arrivals::new::<M>(rate))
    }

    /// Makes up one request and runs it to its end, unless it may wait.
    #[inline]
    fn transaction(&mut self, arrival: Option<u64>) -> Result<()> {
        self.partitions.clear();
        let shape = self.requests.next(&mut self.partitions);
        M::work(Cost::Request, 1);
        if M::SIMULATED {
            M::work(Cost::Draw, self.requests.draws());
        }
        if let Some(request) = self.to_be_deferred() {
            return self.defer(request, arrival);
        }
        let timed = self.timed.take(&mut self.random);
        let start = if timed { Some(arrival.unwrap_or_else(M::now)) } else { None };
        self.carry_out(shape, start, None)
    }

    /// Runs the request in hand to its end, and counts it; with the time at which its latency begins, if that is taken.
    /// `waited` is for a request that has waited, which must be done whatever the phase, and says whether it was made
    /// up in the window.
    #[inline]
    pub(super) fn carry_out(
        &mut self,
        shape: Shape,
        start: Option<u64>,
        waited: Option<bool>,
    ) -> Result<()> {
        // Looking at a simulated clock is an event.
        let followed = self.plan.follow.is_some()
            && self.signals.following()
            && self.followed.take(&mut self.random);
        if followed {
            self.session.sample_next();
        }
        let ended = retry(InHand { client: self, shape, waited: waited.is_some() })?;
        if followed {
            self.tally.add_parts(self.session.take_sample());
        }
        if M::SIMULATED && self.signals.is_over() {
            // The window was over before the transaction was.
            return Ok(());
        }
        if waited.is_some_and(|measured| !self.counts_waited(measured)) {
            return Ok(());
        }
        let has_committed = matches!(ended, Ended::Committed(_));
        match ended {
            Ended::Committed(epoch) => self.committed_in(epoch, shape.kind, start)?,
            Ended::RolledBack => self.tally.kinds[shape.kind].rolled_back += 1,
            Ended::Dropped => return Ok(()),
        }
        if let Some(start) = start {
            let now = M::now();
            self.tally.time(shape.kind, Self::ns_between(start, now));
            if M::SIMULATED && has_committed {
                self.signals.committed_at(now);
            }
        }
        Ok(())
    }

    /// Whether a request that has waited counts now that it is done: not after the window, and where the window is a number
    /// of requests, only if it is one of these.
    fn counts_waited(&self, measured: bool) -> bool {
        let one_of_them = measured || matches!(self.plan.length, Length::Time(_));
        self.phase != Phase::Stop && one_of_them
    }

    fn ns_since(start: u64) -> u64 {
        Self::ns_between(start, M::now())
    }

    pub(super) fn ns_between(start: u64, end: u64) -> u64 {
        let ticks = u128::from(end.saturating_sub(start));
        (ticks * 1_000_000_000 / u128::from(M::ticks_per_second())) as u64
    }

    /// Counts a committed transaction, now or when it will be durable.
    #[inline]
    fn committed_in(&mut self, epoch: u64, kind: usize, start: Option<u64>) -> Result<()> {
        let unsuccessful = self.requests.unsuccessful();
        if self.plan.durability == Durability::None {
            self.count(kind, unsuccessful);
            return Ok(());
        }
        self.in_flight.push_back(InFlight { epoch, kind, unsuccessful, start });
        if self.plan.durability == Durability::Sync {
            self.wait_durable(epoch);
        }
        self.count_durable()
    }

    /// Counts what has become durable.
    #[inline]
    fn count_durable(&mut self) -> Result<()> {
        let durable = self.session.durable_epoch();
        while let Some(first) = self.in_flight.front().filter(|it| it.epoch <= durable) {
            if let Some(start) = first.start {
                self.tally.durable_ns.saturating_record(Self::ns_since(start).max(1));
            }
            let (kind, unsuccessful) = (first.kind, first.unsuccessful);
            self.in_flight.pop_front();
            self.count(kind, unsuccessful);
        }
        match self.in_flight.len() > IN_FLIGHT_CHECKED {
            true => self.session.log_failure().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    #[inline]
    fn count(&mut self, kind: usize, unsuccessful: bool) {
        self.tally.kinds[kind].committed += 1;
        self.tally.kinds[kind].unsuccessful += u64::from(unsuccessful);
        self.committed += 1;
        self.signals.client(self.place).set(self.committed);
    }

    /// Runs the request in hand once.
    #[inline]
    fn attempt(&mut self, shape: Shape, retries: u32) -> Result<u64> {
        let intent = Intent {
            read_only: shape.read_only,
            snapshot: shape.snapshot,
            partitions: &self.partitions,
            retries,
            ..Intent::default()
        };
        let mut tx = Running::begin(&mut *self.session, &intent)?;
        // The session itself: `tx` would forward each operation to it.
        match self.requests.execute(tx.session()) {
            Ok(()) => tx.commit().map(|committed| committed.epoch),
            Err(error) => Err(tx.fail(error)),
        }
    }

    /// Ends the client; returns its counts and records.
    pub(crate) fn finish(mut self) -> ClientReport {
        let recorder = self.session.take_recorder().and_then(unwrap_recorder);
        let deferrals = self.deferring.map(|deferring| deferring.deferrals);
        ClientReport { tally: self.tally, recorder, deferrals, ended: M::now() }
    }
}

/// The attempts of a client's request in hand.
struct InHand<'c, 'a, M: Machine> {
    client: &'c mut Client<'a, M>,
    shape: Shape,
    /// It has waited, and is done whatever comes.
    waited: bool,
}

impl<M: Machine> Attempts for InHand<'_, '_, M> {
    type Outcome = Result<Ended>;
    type Abort = Reason;

    #[inline]
    fn attempt(&mut self, aborts: u32) -> Attempt<Result<Ended>, Reason> {
        let ended = self.client.attempt(self.shape, aborts);
        self.client.look();
        match ended {
            Ok(epoch) => Attempt::Over(Ok(Ended::Committed(epoch))),
            Err(Error::Conflict(reason)) => Attempt::Aborted(reason),
            Err(Error::RolledBack) => Attempt::Over(Ok(Ended::RolledBack)),
            Err(error) => Attempt::Over(Err(error)),
        }
    }

    fn aborted(&mut self, reason: Reason, _: u32) -> ControlFlow<Result<Ended>> {
        let client = &mut *self.client;
        let is_over = client.phase == Phase::Stop;
        if !(self.waited && is_over) {
            client.tally.kinds[self.shape.kind].aborted += 1;
            client.tally.reasons[reason.index()] += 1;
        }
        if self.waited {
            return ControlFlow::Continue(());
        }
        if client.plan.retry == Retry::New || is_over {
            return ControlFlow::Break(Ok(Ended::Dropped));
        }
        ControlFlow::Continue(())
    }

    fn back_off(&mut self, aborts: u32) {
        let Client { plan, random, .. } = &mut *self.client;
        plan.backoff.wait::<M>(aborts, |below| random.below(below), &WaitLimit::NONE);
    }
}
