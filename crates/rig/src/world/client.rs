//! A client of a server: runs requests, and tells what it was answered.

use super::aside::{self, Body};
use super::common::{Account, Common};
use chiliad_api::{
    Attempt, Attempts, Backoff, Committed, Error, IndexKind, Intent, Range, Result, Running,
    Session, Store, TableSpec, Transaction, WaitLimit, retry,
};
use chiliad_driver::Generator;
use chiliad_machine::Machine;
use chiliad_simulator::{Sim, stopping};
use chiliad_workload::random::Random;
use chiliad_workload::{AnyClient, ClientId, Shape};
use core::ops::ControlFlow;

/// One read-only request in so many is to see all that was acknowledged before; of the others one in so many more.
const NEWEST_ONE_IN: u32 = 2;
const NEWEST_WRITES_ONE_IN: u32 = 16;

/// Visits the table aside after one request in so many, where there is one.
const ASIDE_ONE_IN: u32 = 4;

/// A client at work.
struct Client<'a> {
    common: &'a Common,
    server: usize,
    session: Box<dyn Session<Sim>>,
    /// Its number in the ledger.
    number: usize,
    random: Generator,
}

/// Runs the requests that client `number` of a server has still to run.
pub(super) fn run(common: &Common, server: usize, number: usize) -> Result<()> {
    let place = &common.places[server];
    let incarnation = place.incarnation.get();
    let hyder = place.server();
    let mut session = hyder.session()?;
    let (in_ledger, recorder) = common.ledger.recorder(None);
    session.set_recorder(recorder);
    let of = common.plan.servers * common.plan.clients;
    let index = server * common.plan.clients + number;
    let seed = common.plan.config.seed.wrapping_add(u64::from(incarnation) << 32);
    let mut requests = common.workload.any_client(&common.tables, ClientId::apart(index, of, seed));
    let random = Generator::new(seed, index);
    let mut choices = Random::new(seed, 0x4e77 + index as u64);
    let mut client = Client { common, server, session, number: in_ledger, random };
    let mut partitions = Vec::new();
    while place.left.borrow()[number] > 0 {
        partitions.clear();
        let shape = requests.next(&mut partitions);
        let one_in = if shape.read_only { NEWEST_ONE_IN } else { NEWEST_WRITES_ONE_IN };
        let newest = choices.below(one_in) == 0;
        let (client, requests, partitions) = (&mut client, &mut *requests, &*partitions);
        retry(InHand { client, requests, shape, newest, partitions, incarnation })?;
        place.left.borrow_mut()[number] -= 1;
        if common.plan.aside && choices.below(ASIDE_ONE_IN) == 0 {
            let mut run =
                |body: &mut Body<'_>| client.run_once(incarnation, &Intent::default(), body);
            aside::visit(&hyder, &mut choices, &mut run)?;
        }
    }
    Ok(())
}

/// Reads a row of each table as the server has it, which may have failed.
pub(super) fn read(common: &Common, server: usize) -> Result<()> {
    let mut session = common.places[server].server().session()?;
    let mut tx = Running::begin(&mut *session, &Intent::read_only())?;
    let is_ordered = |spec: &TableSpec| spec.index == IndexKind::Ordered;
    for (spec, table) in common.workload.tables().iter().zip(&common.tables) {
        if is_ordered(spec) {
            tx.scan(*table, Range::all().limit(1))?;
        }
    }
    Sim::mark("read while the log is full");
    tx.commit().map(drop)
}

impl Client<'_> {
    /// Runs a transaction once, and tells what became of it.
    fn run_once(
        &mut self,
        incarnation: u32,
        intent: &Intent<'_>,
        body: &mut Body<'_>,
    ) -> Result<()> {
        let start = Sim::now();
        match self.attempt(intent, body) {
            Ok(Committed { order: label, wrote, .. }) => {
                let (server, end) = (self.server, Sim::now());
                let account = Account { server, incarnation, start, end, label, wrote };
                self.common.accounts.borrow_mut().push(account);
                Ok(())
            }
            Err(error) => {
                if matches!(error, Error::LogFailed(_) | Error::Diverged { .. }) {
                    // What was appended may commit on other servers.
                    self.common.ledger.leave_open(self.number);
                }
                Err(error)
            }
        }
    }

    fn attempt(&mut self, intent: &Intent<'_>, body: &mut Body<'_>) -> Result<Committed> {
        self.common.ledger.ask(self.number, intent.newest);
        let mut tx = Running::begin(&mut *self.session, intent)?;
        match body(&mut tx) {
            Ok(()) => tx.commit(),
            Err(error) => Err(tx.fail(error)),
        }
    }
}

/// The attempts of a request in hand.
struct InHand<'c, 'a> {
    client: &'c mut Client<'a>,
    requests: &'c mut dyn AnyClient,
    shape: Shape,
    newest: bool,
    partitions: &'c [u32],
    incarnation: u32,
}

impl Attempts for InHand<'_, '_> {
    type Outcome = Result<()>;
    type Abort = ();

    fn attempt(&mut self, retries: u32) -> Attempt<Result<()>, ()> {
        let Shape { read_only, snapshot, .. } = self.shape;
        let (partitions, newest) = (self.partitions, self.newest);
        // The newest state is none of the past.
        let snapshot = snapshot && !newest;
        let intent =
            Intent { read_only, snapshot, partitions, retries, newest, ..Intent::default() };
        let requests = &mut *self.requests;
        match self.client.run_once(self.incarnation, &intent, &mut |tx| requests.execute(tx)) {
            Ok(()) | Err(Error::RolledBack) => Attempt::Over(Ok(())),
            Err(error) if error.is_retryable() => Attempt::Aborted(()),
            Err(error) => Attempt::Over(Err(error)),
        }
    }

    fn aborted(&mut self, (): (), _: u32) -> ControlFlow<Result<()>> {
        // The run is over before the request is.
        if stopping() { ControlFlow::Break(Ok(())) } else { ControlFlow::Continue(()) }
    }

    fn back_off(&mut self, refusals: u32) {
        let random = &mut self.client.random;
        Backoff::Exponential.wait::<Sim>(refusals, |below| random.below(below), &WaitLimit::NONE);
    }
}
