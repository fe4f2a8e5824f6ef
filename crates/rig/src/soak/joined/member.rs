//! A server with its clients: how it joins, works and leaves.

use super::metered::{Appended, MeteredLog};
use super::order::JoinedOrder;
use super::work::{Before, Client, Draft, Tables, since};
use crate::clients::entered::enter;
use chiliad::{Database, Error, Options, RunOptions};
use chiliad_checker::{Recorder, Stamp};
use chiliad_host::Stop;
use chiliad_host::threads::{refused, start};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Transactions in flight of each client that runs as many as it can.
const IN_FLIGHT: usize = 64;

/// Transactions that such a client runs before it looks whether it is to stop.
const BATCH: usize = 256;

/// The longest that a client lags behind its pace and still makes up for it.
const LAG_MAX: Duration = Duration::from_secs(1);

/// The part of the log that a server has read to be as far as the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct CaughtUp {
    pub bytes: u64,
    pub time: Duration,
}

/// A server.
pub struct Member {
    clients: Vec<Client>,
    joined: Option<(Database, Tables)>,
}

/// How fast clients work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Each begins a transaction once in this time.
    Every(Duration),
    /// As fast as they can.
    Full,
}

/// A round, as its clients see it.
pub struct Shift<'a> {
    pub pace: Pace,
    /// The rows when it began.
    pub before: &'a Before,
    pub stop: &'a AtomicBool,
    /// When the soak began.
    pub begun: Instant,
}

impl Member {
    /// Server number `number`, which has not joined yet.
    pub fn new(number: usize, order: &JoinedOrder<'_>) -> Self {
        let all = (order.servers + 1) * order.threads;
        let first = number * order.threads;
        let client = |number| Client::new(number as u32, all as u32, order.records, order.seed);
        Self { clients: (first..first + order.threads).map(client).collect(), joined: None }
    }

    /// Its database, while it is there.
    pub fn database(&self) -> Option<&Database> {
        self.joined.as_ref().map(|(db, _)| db)
    }

    /// The tables, while it is there.
    pub fn tables(&self) -> Option<&Tables> {
        self.joined.as_ref().map(|(_, tables)| tables)
    }

    /// Joins, and reads as much of the log as there is; the first of all creates the tables.
    pub fn join(
        &mut self,
        order: &JoinedOrder<'_>,
        appended: &Arc<Appended>,
        is_first: bool,
    ) -> Result<CaughtUp, Stop> {
        let log = Arc::new(MeteredLog::new((order.log)()?, Arc::clone(appended)));
        let options = Options::default()
            .checkpoints(&order.checkpoints_in)
            .checkpoint_log_bytes(order.checkpoint_log_bytes);
        let joined = Database::join_log(Arc::clone(&log) as _, options);
        let (bytes, time) = log.has_read();
        let tables = |db: &Database| match is_first {
            true => Tables::create(db, order.records),
            false => {
                read_to_end(db)?;
                Tables::open(db)
            }
        };
        let db = joined.map_err(|error| Stop::Failed(format!("a server cannot join: {error}")))?;
        let tables = tables(&db).map_err(failed)?;
        self.joined = Some((db, tables));
        Ok(CaughtUp { bytes, time })
    }

    /// Leaves; what it had in memory goes.
    pub fn leave(&mut self) {
        self.joined = None;
    }

    /// Its clients work until they are to stop; returns what they have seen and done.
    pub fn work(&mut self, shift: &Shift<'_>) -> Result<Vec<Recorder>, Stop> {
        let Some((db, tables)) = &self.joined else { return Ok(Vec::new()) };
        let recorders = thread::scope(|scope| {
            let begin = |client| {
                let work = move || work(db, tables, client, shift);
                start(scope, work).map_err(refused)
            };
            let threads: Vec<_> = self.clients.iter_mut().map(begin).collect();
            threads.into_iter().map(|thread| ended(thread?.join())).collect::<Vec<_>>()
        });
        if recorders.iter().any(Result::is_err) {
            // Relaxed: nothing is handed over by it.
            shift.stop.store(true, Ordering::Relaxed);
        }
        recorders.into_iter().collect()
    }
}

/// The outcome of a thread that has ended.
pub fn ended<T>(joined: thread::Result<Result<T, Stop>>) -> Result<T, Stop> {
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A client, until it is to stop.
fn work(
    db: &Database,
    tables: &Tables,
    client: &mut Client,
    shift: &Shift<'_>,
) -> Result<Recorder, Stop> {
    let (batch, in_flight) = match shift.pace {
        Pace::Every(_) => (1, 1),
        Pace::Full => (BATCH, IN_FLIGHT),
    };
    let mut recorder: Option<Recorder> = None;
    let mut next = Instant::now();
    while !shift.stop.load(Ordering::Relaxed) {
        let drafts: Vec<_> = (0..batch).map(|_| client.draw()).collect();
        let recorder =
            recorder.get_or_insert_with(|| Recorder::new(drafts[0].attempt.client as u32));
        run(db, tables, client, drafts, in_flight, shift, recorder).inspect_err(|_| {
            shift.stop.store(true, Ordering::Relaxed);
        })?;
        if let Pace::Every(period) = shift.pace {
            let now = Instant::now();
            next = (next + period).max(now.checked_sub(LAG_MAX).unwrap_or(now));
            thread::sleep(next.saturating_duration_since(now));
        }
    }
    Ok(recorder.unwrap_or_else(|| Recorder::new(0)))
}

/// Runs transactions, and enters them.
fn run(
    db: &Database,
    tables: &Tables,
    client: &Client,
    drafts: Vec<Draft>,
    in_flight: usize,
    shift: &Shift<'_>,
    recorder: &mut Recorder,
) -> Result<(), Stop> {
    let options = RunOptions::default().in_flight(in_flight);
    let cells: Vec<_> = drafts.into_iter().map(std::cell::RefCell::new).collect();
    // A fiber that waits has only its own draft borrowed.
    let ran = db.run_each_with(&options, &cells, |tx, draft| {
        draft.borrow_mut().run(tx.raw(), client, tables, shift.begun)
    });
    let ended: Vec<Result<(), Error>> = ran.map_err(failed)?;
    for (ended, draft) in ended.into_iter().zip(cells) {
        ended.map_err(failed)?;
        let mut draft = draft.into_inner();
        draft.end(shift.begun);
        note(&mut draft, shift.before, recorder);
    }
    Ok(())
}

/// Enters a transaction that has committed.
pub fn note(draft: &mut Draft, before: &Before, to: &mut Recorder) {
    since(before, &mut draft.attempt);
    let attempt = &draft.attempt;
    for stamp in &draft.aborted {
        to.begin(Stamp(*stamp), attempt.start, attempt.snapshot);
        to.abort_bare(attempt.start);
    }
    to.begin(Stamp(attempt.stamp), attempt.start, attempt.snapshot);
    enter(to, attempt, |_| true);
    let (_, order) = attempt.place().unwrap_or_default();
    to.commit(attempt.end.unwrap_or(u64::MAX), order, 0);
}

/// The database has refused to do what it should.
pub fn failed(error: Error) -> Stop {
    Stop::Failed(error.to_string())
}

/// Reads all that any server has written.
pub fn read_to_end(db: &Database) -> chiliad::Result<()> {
    db.run_with(&RunOptions::default().linearizable(), |_| Ok::<_, Error>(()))
}
