//! A shared log that delays, doubles and loses appends, loses its leader and cuts servers off, as a seed says.
//!
//! It keeps the promises of [`chiliad_machine::shared_log`] and no other, until somebody makes it break them
//! ([`FaultyLog::roll_back`] and its neighbours). Its records live in the host's memory and outlive runs.
//!
//! - Everything is a function of the log's seed and the order of calls. What lasts a while lasts for so many calls of
//!   the log, from any caller: time begins anew with every run.
//! - A core of a run lets others run at every call, and an append takes simulated time; elsewhere a call is just
//!   performed. The mutex is never held while cores switch, nor while records are handed over.
//! - A server that crashes ([`FaultyLog::crash_server`]) leaves handles that can do nothing any more: what still holds
//!   one, a discarded core for instance, appends nothing.
//!
//! From the bottom up: `faults`, `records`, `shown` (what servers have seen), `state` (all of it), `server` (a handle). When others run says `device`,
//! for disks too.

mod faults;
mod records;
mod server;
mod shown;
mod state;

pub use faults::{LogCounters, LogFaults};
pub use shown::LogLooks;

use chiliad_machine::shared_log::{Position, SharedLog};
use server::ServerLog;
use state::{Caller, LogState};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated shared log. Clones are the same log.
///
/// ```
/// use chiliad_simulator::{FaultyLog, LogFaults};
///
/// let log = FaultyLog::new(1, LogFaults { acks_lost_one_in: 1, ..LogFaults::default() });
/// let server = log.server(0);
/// assert!(server.append(&[b"record"]).unwrap_err().may_pass());
/// assert_eq!(log.contents(), [(1, b"record".to_vec())]);
/// ```
#[derive(Clone)]
pub struct FaultyLog {
    seed: u64,
    state: Arc<Mutex<LogState>>,
}

impl fmt::Debug for FaultyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyLog").field("seed", &self.seed).finish_non_exhaustive()
    }
}

impl FaultyLog {
    /// An empty log. Its seed decides its identity and what becomes of each call.
    #[must_use]
    pub fn new(seed: u64, faults: LogFaults) -> Self {
        Self { seed, state: Arc::new(Mutex::new(LogState::new(seed, faults))) }
    }

    /// Another log with the same identity, and all records that this one ever had, those that were trimmed too; without
    /// faults, and nobody is cut off or deceived.
    #[must_use]
    pub fn untrimmed(&self) -> Self {
        let state = lock(&self.state).untrimmed(self.seed);
        Self { seed: self.seed, state: Arc::new(Mutex::new(state)) }
    }

    /// The log as a server has it, until that crashes. What the server was shown before counts no more.
    #[must_use]
    pub fn server(&self, server: u32) -> Arc<dyn SharedLog> {
        let incarnation = lock(&self.state).hand_out(server);
        Arc::new(ServerLog {
            state: Arc::clone(&self.state),
            caller: Caller { server, incarnation },
        })
    }

    /// A server has crashed: its handles so far can do nothing any more. Each record that it was appending is stored,
    /// is stored later, or never.
    pub fn crash_server(&self, server: u32) {
        lock(&self.state).crash_server(server);
    }

    /// Whether a server can append and trim, and whether it can read and look at the bounds, from now on: `true` is
    /// cut off. Of an append under way a suffix is lost, and the rest stored without the server learning it.
    pub fn cut(&self, server: u32, appends: bool, reads: bool) {
        let mut state = lock(&self.state);
        let link = state.link(server);
        (link.appends_cut, link.reads_cut) = (appends, reads);
    }

    /// Takes [`FaultyLog::cut`] back.
    pub fn heal(&self, server: u32) {
        self.cut(server, false, false);
    }

    /// The log loses its leader: of each append under way a suffix is lost, and appends and trims are refused for the
    /// next `calls` calls of the log. Reads go on.
    pub fn lose_leader(&self, calls: u64) {
        lock(&self.state).lose_leader(calls);
    }

    /// Switches faults on and off.
    pub fn set_faults(&self, faults: LogFaults) {
        lock(&self.state).faults = faults;
    }

    /// From now on the log has no room for another record, until [`FaultyLog::make_room`].
    pub fn fill(&self) {
        let mut state = lock(&self.state);
        state.faults.full_after_bytes = Some(state.records.bytes());
    }

    /// The log has room again.
    pub fn make_room(&self) {
        lock(&self.state).faults.full_after_bytes = None;
    }

    /// Broken promise: all records are gone, the next one is at position 1.
    pub fn empty(&self) {
        lock(&self.state).empty(false);
    }

    /// Broken promise: as [`FaultyLog::empty`], and the log has another identity.
    pub fn recreate(&self) {
        lock(&self.state).empty(true);
    }

    /// Broken promise: the log has another identity, and the records that it had.
    pub fn copy(&self) {
        lock(&self.state).become_another();
    }

    /// Broken promise: there are other records from `first` on, as many as there were.
    pub fn overwrite(&self, first: Position) {
        lock(&self.state).records.overwrite(first);
    }

    /// Broken promise: the records from `next` on are gone, and others will have their positions.
    pub fn roll_back(&self, next: Position) {
        lock(&self.state).records.roll_back(next);
    }

    /// Broken promise: one server sees another record at a position.
    pub fn deceive(&self, server: u32, position: Position, record: &[u8]) {
        lock(&self.state).records.deceive(server, position, record.into());
    }

    /// Broken promise: turns over bit `bit` of a record, for everybody; whether there is such a bit.
    #[must_use]
    pub fn flip(&self, position: Position, bit: u64) -> bool {
        lock(&self.state).records.flip(position, bit)
    }

    /// The events so far.
    #[must_use]
    pub fn counters(&self) -> LogCounters {
        lock(&self.state).counters
    }

    /// What a server was shown as it looked, by the last handle that was made for it.
    #[must_use]
    pub fn looks(&self, server: u32) -> LogLooks {
        lock(&self.state).looks(server)
    }

    /// The first position and the one after the last, without faults.
    #[must_use]
    pub fn extent(&self) -> Range<Position> {
        lock(&self.state).records.bounds()
    }

    /// All records that are there with their positions, without faults, as servers that are not deceived see them.
    #[must_use]
    pub fn contents(&self) -> Vec<(Position, Vec<u8>)> {
        let state = lock(&self.state);
        let all = state.records.everything();
        all.map(|(position, record)| (position, record.to_vec())).collect()
    }
}

/// The state. If a core panicked while it held the mutex, the run says so; the state is whole.
fn lock(state: &Mutex<LogState>) -> MutexGuard<'_, LogState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
