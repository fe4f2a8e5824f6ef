//! The state that the cores of a world share. It lies on the heap of the program that simulates, so hosts may all see it, and it
//! outlives them.

use super::plan::WorldPlan;
use crate::clients::ledger::Ledger;
use crate::clients::verdicts::Verdicts;
use chiliad_api::{Error, TableId};
use chiliad_hyder::Hyder;
use chiliad_machine::shared_log::Position;
use chiliad_machine::{Machine, Ticks};
use chiliad_simulator::{FaultyDisk, FaultyLog, Host, Sim};
use chiliad_workload::AnyWorkload;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// The answer to a client whose transaction has committed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub server: usize,
    /// Which incarnation of the server.
    pub incarnation: u32,
    pub start: Ticks,
    pub end: Ticks,
    /// Its label; of one that wrote nothing, that of the state that it has read.
    pub label: u64,
    pub wrote: bool,
}

/// A server, over all its incarnations.
pub(super) struct Place {
    pub disk: RefCell<FaultyDisk>,
    /// The server, once it has joined. One of an incarnation that has ended is never dropped: its memory is gone.
    pub hyder: RefCell<Option<ManuallyDrop<Hyder<Sim>>>>,
    pub incarnation: Cell<u32>,
    /// It has joined, and its host has not crashed since.
    pub is_up: Cell<bool>,
    /// Its label and digest, and the position after what it has read, as of its last look at the log.
    pub head: Cell<(u64, u64)>,
    pub next: Cell<Position>,
    /// It goes no further, whatever the reason is.
    pub has_failed: Cell<bool>,
    /// Its clients that are at work, and one while it is joining.
    pub busy: Cell<usize>,
    /// Transactions that each client has still to run.
    pub left: RefCell<Vec<u32>>,
    /// The log was trimmed beyond what it had read, or was full: it must begin again.
    pub is_left_behind: Cell<bool>,
}

impl Place {
    /// The server, which has joined.
    pub fn server(&self) -> Hyder<Sim> {
        let hyder = self.hyder.borrow();
        Hyder::clone(hyder.as_ref().expect("it has joined"))
    }
}

/// The state that the cores of a world share.
pub(super) struct Common {
    pub plan: WorldPlan,
    pub workload: Arc<dyn AnyWorkload>,
    pub tables: Vec<TableId>,
    pub log: FaultyLog,
    pub places: Vec<Place>,
    pub ledger: Ledger,
    pub accounts: RefCell<Vec<Account>>,
    pub verdicts: RefCell<Verdicts>,
    /// The names of cores of servers that have begun and not returned, with their servers.
    pub at_work: RefCell<BTreeSet<(usize, String)>>,
    /// The log has broken a promise.
    pub is_broken: Cell<bool>,
    /// A server has noticed.
    pub is_noticed: Cell<bool>,
    /// The label that the witness has told at least, and the position after the record by which it did.
    pub witnessed: Cell<Option<(u64, Position)>>,
    /// The world was ended, since the log broke its promises.
    pub is_given_up: Cell<bool>,
    /// Nobody makes checkpoints any more.
    pub is_over: Cell<bool>,
    /// Nobody works for a server any more.
    pub is_closing: Cell<bool>,
}

impl Common {
    /// The host of a server; that of chaos comes before.
    pub fn host(server: usize) -> Host {
        Host(server as u32 + 1)
    }

    /// Something went wrong on a server that is not the log's.
    pub fn complain(&self, server: usize, doing: &str, error: &Error) {
        if self.is_broken.get() {
            // What else goes wrong then is the log's doing: a server may have begun with what is left of it.
            self.notices(error);
            return;
        }
        let name = match error {
            Error::Diverged { .. } => "digest differs",
            Error::LogRefused { .. } => "cannot start",
            _ => "failed",
        };
        self.verdicts.borrow_mut().add(name, || format!("server {server}, {doing}: {error}"));
    }

    /// Notes that a server has noticed that the log broke its promises, if it has failed by that.
    fn notices(&self, error: &Error) {
        Sim::mark(match error {
            Error::Diverged { .. } => "servers noticed that they differ",
            Error::LogRefused { .. } => "broken log refused",
            _ => return,
        });
        self.is_noticed.set(true);
    }

    /// Notes that a server has failed because the log was trimmed beyond what it had read, or was full, if that is why.
    pub fn was_left_behind(&self, server: usize, error: &Error) -> bool {
        let was = is_left_behind(error) || is_full(error);
        if was {
            Sim::mark(if is_full(error) { "log full" } else { "server left behind" });
            self.places[server].is_left_behind.set(true);
        }
        was
    }
}

/// Whether the log had no room for what a server has appended: it begins again when there is.
pub(super) fn is_full(error: &Error) -> bool {
    matches!(error, Error::LogFailed(_)) && error.to_string().contains("full")
}

/// Whether the log was trimmed beyond what a server had read, which may happen to one that was stopped or cut off: it
/// begins again with a newer checkpoint.
pub(super) fn is_left_behind(error: &Error) -> bool {
    matches!(error, Error::LogFailed(_)) && error.to_string().contains("trimmed")
}

/// Sleeps for so long.
pub(super) fn sleep(ticks: Ticks) {
    let until = Sim::now() + ticks;
    while Sim::now() < until && !chiliad_simulator::stopping() {
        Sim::park_until(until);
    }
}
