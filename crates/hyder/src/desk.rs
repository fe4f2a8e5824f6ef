//! State shared by the parts of a server: sessions hand over items here and find states and answers; the appender and
//! the roller take the items and leave the rest.

use crate::batch::Batch;
use crate::blocks::Block;
use crate::capture::Captures;
use crate::catalog::Catalog;
use crate::options::ServerOptions;
use crate::pending::{Answer, Outgoing, Pending};
use crate::progress::Progress;
use crate::recent::Recent;
use crate::record::Head;
use crate::state::{Published, StateRef};
use chiliad_api::{Error, Hold, Tally};
use chiliad_log::LogError;
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word, WorkerId};
use chiliad_storage::{Heap, Slot};
use std::sync::Arc;

/// A verdict for one of this server's items: the item's number, and what became of it.
pub type Answered = (u64, Answer);

/// The blocks that nobody needs once a state is published.
pub struct Garbage<M: Machine> {
    /// The label of the state.
    pub label: u64,
    /// Blocks that the last stage has replaced in making it.
    pub replaced: Vec<Block<M>>,
    /// The state before.
    pub before: Option<StateRef<M>>,
    /// The batches that were decided, with all that was built for them.
    pub batches: Vec<Batch<M>>,
}

/// Bits of a session's number among those of its server.
const SESSION_BITS: u32 = 16;

/// What the parts of a server share.
pub struct Desk<M: Machine> {
    pub options: ServerOptions,
    pub heap: Arc<Shared<M, Heap<M>>>,
    pub published: Published<M>,
    pub log: Arc<dyn SharedLog>,
    pub progress: Progress<M>,
    pub captures: Captures<M>,
    pub recent: Recent<M>,
    /// The first stage clears it away.
    pub garbage: Latch<M, Vec<Garbage<M>>>,
    /// Numbers of items given out.
    locals: M::Word,
    /// Numbers of sessions given out.
    sessions: M::Word,
    /// Which server it is, of all that have ever joined.
    ordinal: M::Word,
    /// Raised with each change of the catalog.
    catalog_version: M::Word,
    catalog: Latch<M, Arc<Catalog>>,
    pub pending: Latch<M, Pending>,
    /// What records say of their writer.
    head: Latch<M, Head>,
    failure: Latch<M, Option<Error>>,
    pub tally: Latch<M, Tally>,
}

impl<M: Machine> Desk<M> {
    /// A server's, which begins with this state and catalog and reads the log from `next` on.
    pub fn new(
        options: ServerOptions,
        heap: Arc<Shared<M, Heap<M>>>,
        log: Arc<dyn SharedLog>,
        next: Position,
        head: Head,
        (state, catalog): (StateRef<M>, Catalog),
    ) -> Self {
        Self {
            options,
            heap,
            published: Published::new(state),
            log,
            progress: Progress::new(next),
            captures: Captures::new(),
            recent: Recent::new(),
            garbage: Latch::new(Vec::new()),
            locals: M::Word::new(0),
            sessions: M::Word::new(0),
            ordinal: M::Word::new(0),
            // Sessions begin with the version before, and an empty catalog.
            catalog_version: M::Word::new(1),
            catalog: Latch::new(Arc::new(catalog)),
            pending: Latch::new(Pending::default()),
            head: Latch::new(head),
            failure: Latch::new(None),
            tally: Latch::new(Tally::default()),
        }
    }

    /// The server has joined, as the number `server` of the log and the `ordinal`-th of all servers.
    pub fn has_joined(&self, server: u64, ordinal: u64) {
        self.head.lock().server = server;
        self.ordinal.store(ordinal, Ordering::Relaxed);
    }

    /// The number of a new session: no other session of any server of the log has it, but for those that this server
    /// had 65,536 sessions ago.
    pub fn next_session(&self) -> u64 {
        let own = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        (self.ordinal.load(Ordering::Relaxed) << SESSION_BITS) | (own % (1 << SESSION_BITS))
    }

    /// The catalog, if it has changed since `version`, which is then its version.
    pub fn catalog_since(&self, version: &mut u64) -> Option<Arc<Catalog>> {
        // Acquire pairs with the release in `set_catalog`.
        let now = self.catalog_version.load(Ordering::Acquire);
        (now != *version).then(|| {
            *version = now;
            Arc::clone(&self.catalog.lock())
        })
    }

    /// The catalog of the newest state, or of one after it.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.lock())
    }

    /// The catalog of a state that is about to be published.
    pub fn set_catalog(&self, catalog: Catalog) {
        let mut place = self.catalog.lock();
        *place = Arc::new(catalog);
        let version = self.catalog_version.load(Ordering::Relaxed);
        // Release pairs with the acquire in `catalog_since`.
        self.catalog_version.store(version + 1, Ordering::Release);
    }

    /// Publishes a state, and returns the one before.
    pub fn publish(&self, state: StateRef<M>, digest: u64) -> Option<StateRef<M>> {
        let mut head = self.head.lock();
        (head.label, head.digest) = (state.label(), digest);
        drop(head);
        self.published.publish(state)
    }

    /// What a record says of this server now.
    pub fn head(&self) -> Head {
        *self.head.lock()
    }

    /// The oldest label that a session may read at.
    pub fn oldest_label(&self) -> u64 {
        self.published.oldest(self.heap.slots.iter().map(|(_, slot)| slot))
    }

    /// The sessions that read a state, with its label.
    pub fn holds(&self) -> Vec<Hold> {
        let snapshots = self
            .heap
            .slots
            .iter()
            .map(|(worker, slot)| (worker, slot.snapshot.load(Ordering::Relaxed)));
        let holds = snapshots.filter(|&(_, snapshot)| snapshot > 0).map(|(worker, snapshot)| {
            let mut hold = Hold::default();
            (hold.worker, hold.snapshot) = (worker, snapshot - 1);
            hold
        });
        holds.collect()
    }

    /// A slot for a session.
    pub fn slot(&self, number: u32) -> &Slot<M> {
        self.heap.slots.get(number)
    }

    /// The number of an item that is about to be handed over.
    pub fn next_local(&self) -> u64 {
        self.locals.fetch_add(1, Ordering::Relaxed)
    }

    /// What sessions have handed over.
    pub fn take_outgoing(&self) -> Vec<Outgoing> {
        self.pending.lock().take_outgoing()
    }

    /// Answers items, and wakes those that wait for them.
    pub fn answer(&self, answers: impl Iterator<Item = Answered>) {
        let mut answers = answers.peekable();
        if answers.peek().is_none() {
            return;
        }
        let mut pending = self.pending.lock();
        let woken: Vec<_> =
            answers.filter_map(|(local, answer)| pending.answer(local, answer)).collect();
        drop(pending);
        self.wake(woken);
    }

    /// Wakes workers, but for the caller.
    pub fn wake(&self, woken: Vec<WorkerId>) {
        let own = M::worker();
        woken.into_iter().filter(|&worker| worker != own).for_each(M::unpark);
    }

    /// Why the server rolls nothing forward any more.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().clone()
    }

    /// Decides nothing from now on, and tells all that wait.
    pub fn fail(&self, error: Error) {
        let mut failure = self.failure.lock();
        let error = failure.get_or_insert(error).clone();
        drop(failure);
        let woken = self.pending.lock().answer_all(&Answer::Failed(error));
        self.wake(woken);
    }
}

/// What the database says of a log that cannot be used any more.
pub fn log_failed(log: &dyn SharedLog, error: &SharedLogError) -> Error {
    Error::LogFailed(LogError::Io {
        doing: log.place(),
        kind: std::io::ErrorKind::Other,
        message: error.to_string(),
    })
}
