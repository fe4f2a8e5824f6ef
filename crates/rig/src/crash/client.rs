//! One client: commits, goes on, and learns later what has become durable.

use crate::clients::ledger::{Ledger, Stalls};
use chiliad_api::{Attempt, Attempts, Backoff, WaitLimit, retry};
use chiliad_driver::Generator;
use chiliad_engine::{
    Committed, Error, Intent, READER_NOT_HELD_BACK, Result, Running, Session, Store,
};
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{FaultyDisk, Sim, stopping};
use chiliad_workload::random::Random;
use chiliad_workload::{AnyClient, ClientId, Shape};
use core::ops::ControlFlow;
use std::collections::VecDeque;

/// State shared by the clients of one incarnation.
pub(super) struct Shared {
    pub ledger: Ledger,
    pub disk: FaultyDisk,
    /// Transactions of each client.
    pub transactions: u32,
    /// Looks that a client takes, when it has done its share, at what has become durable.
    pub looks: u32,
    /// Time between two of them.
    pub pause: Ticks,
    /// One commit in so many loses its core, for so long at most.
    pub stalls: Option<(u32, Ticks)>,
}

/// A client at work.
struct Client<'a> {
    store: &'a dyn Store<Sim>,
    session: Box<dyn Session<Sim>>,
    shared: &'a Shared,
    number: usize,
    random: Generator,
    /// Committed and not acknowledged: the attempt, and the epoch.
    waiting: VecDeque<(usize, u64)>,
}

/// Runs a client to its end: it has done its share, or nothing becomes durable any more.
pub(super) fn run(
    store: &dyn Store<Sim>,
    requests: &mut dyn AnyClient,
    client_id: ClientId,
    shared: &Shared,
) -> Result<()> {
    let mut session = store.session()?;
    let stalls = shared.stalls.map(|(one_in, ticks)| {
        let random = Random::new(client_id.seed, 0x57a1_0000 + client_id.index as u64);
        Stalls { random, one_in, ticks }
    });
    let (number, recorder) = shared.ledger.recorder(stalls);
    session.set_recorder(recorder);
    let random = Generator::new(client_id.seed, client_id.index);
    let waiting = VecDeque::new();
    let mut client = Client { store, session, shared, number, random, waiting };
    let mut partitions = Vec::new();
    for _ in 0..shared.transactions {
        partitions.clear();
        let shape = requests.next(&mut partitions);
        let request = InHand { client: &mut client, requests, shape, partitions: &partitions };
        match retry(request) {
            Err(Error::LogFailed(_)) => return Ok(()),
            other => other?,
        }
        if client.power_is_lost() {
            return Ok(());
        }
    }
    for _ in 0..shared.looks {
        Sim::park_until(Sim::now() + shared.pause);
        if client.power_is_lost() {
            break;
        }
    }
    Ok(())
}

impl Client<'_> {
    /// Runs a request once.
    fn attempt(&mut self, requests: &mut dyn AnyClient, intent: &Intent<'_>) -> Result<Committed> {
        let mut tx = Running::begin(&mut *self.session, intent)?;
        match requests.execute(&mut tx) {
            Ok(()) => tx.commit(),
            Err(error) => Err(tx.fail(error)),
        }
    }

    /// Learns what has become durable, unless power is lost: no client reads it then.
    fn power_is_lost(&mut self) -> bool {
        let durable = self.store.durable_epoch();
        if self.shared.disk.is_off() {
            return true;
        }
        // A snapshot's epoch may lie before those of transactions in front of it.
        self.waiting.retain(|&(attempt, epoch)| {
            if epoch <= durable {
                self.shared.ledger.acknowledge(attempt);
            }
            epoch > durable
        });
        false
    }
}

/// The attempts of a request in hand.
struct InHand<'c, 'a> {
    client: &'c mut Client<'a>,
    requests: &'c mut dyn AnyClient,
    shape: Shape,
    partitions: &'c [u32],
}

impl Attempts for InHand<'_, '_> {
    type Outcome = Result<()>;
    type Abort = ();

    fn attempt(&mut self, retries: u32) -> Attempt<Result<()>, ()> {
        let Shape { read_only, snapshot, .. } = self.shape;
        let partitions = self.partitions;
        let intent = Intent { read_only, snapshot, partitions, retries, ..Intent::default() };
        let committed = match self.client.attempt(self.requests, &intent) {
            Ok(committed) => committed,
            Err(Error::RolledBack) => return Attempt::Over(Ok(())),
            Err(error) if error.is_retryable() => return Attempt::Aborted(()),
            Err(error) => return Attempt::Over(Err(error)),
        };
        let Client { shared, number, waiting, .. } = &mut *self.client;
        let attempt = shared.ledger.current(*number);
        waiting.push_back((attempt, committed.epoch));
        if read_only && Sim::fault(&READER_NOT_HELD_BACK) && !shared.disk.is_off() {
            shared.ledger.acknowledge(attempt);
        }
        Attempt::Over(Ok(()))
    }

    fn aborted(&mut self, (): (), _: u32) -> ControlFlow<Result<()>> {
        // The run is over before the request is.
        if stopping() { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
    }

    fn back_off(&mut self, aborts: u32) {
        let random = &mut self.client.random;
        Backoff::Exponential.wait::<Sim>(aborts, |below| random.below(below), &WaitLimit::NONE);
    }
}
