//! A worker: runs one transaction at a time, and owns everything that is reused between them.

use crate::access::{Access, WriteSet};
use crate::arena::{Arena, Piece};
use crate::breakdown::Clockwork;
use crate::contract::{Context, Garbage, Refusal, Scheme, Step, Why};
use crate::key_pool::KeyPool;
use crate::options::Snapshots;
use crate::shared::Inner;
use crate::tables::catalog::View;
use crate::tables::dropped::hide_view;
use crate::wait::Limits;
use chiliad_api::Running;
use chiliad_api::{
    Entry, Error, Intent, Numbers, Outer, Part, Reason, Recorder, Result, Row, Stamp, TableId,
    Tally,
};
use chiliad_log::BufferRef;
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Changes, Cursor, Flight, LeafRun, LocalHeap, RecordRef};
use std::sync::Arc;

/// Transactions between two hand-overs of the tally, where it can be had without waiting.
const TALLY_EVERY: u64 = 256;
/// Items of garbage looked at after each transaction: more than one makes on average.
const COLLECT_BUDGET: usize = 16;

/// Runs one transaction at a time on a database. Any thread may use it, one at a time.
pub struct Worker<M: Machine, S: Scheme<M>> {
    pub(crate) view: View<M>,
    pub(crate) core: Core<M, S>,
}

/// Whether the worker has a transaction in hand.
pub(crate) enum State {
    Idle,
    Active,
    /// It failed with this and can only be rolled back.
    Lost(Error),
}

/// The worker without its view of the catalog, so that a table can be held while it works.
pub(crate) struct Core<M: Machine, S: Scheme<M>> {
    pub inner: Arc<Inner<M, S>>,
    pub heap: LocalHeap<M>,
    pub scheme: S,
    pub arena: Arena,
    pub accesses: Vec<Access<M>>,
    /// What the accesses are called outside.
    pub numbers: Numbers,
    pub writes: WriteSet<M>,
    pub entries: Vec<Entry>,
    pub run: LeafRun<M>,
    pub cursor: Cursor,
    /// Where the cursor was before the leaf that is being read, for schemes that wait.
    pub bookmark: Cursor,
    pub changes: Changes<M>,
    pub flight: Flight<M>,
    pub state: State,
    pub read_only: bool,
    pub in_past: bool,
    /// The last transaction went through, or was given up by its own logic.
    pub finished: bool,
    /// What is in hand is a load, which may write to read-only tables.
    pub loads: bool,
    /// The reclaim epoch at begin: see [`Core::commit`].
    pub begun_in: u64,
    /// When the transaction's waits end at the latest.
    pub limits: Limits<M>,
    /// Times that the scheme has waited in the middle of an operation, and so the pin has changed.
    pub waits: u64,
    /// Writes whose secondary index entries have to be brought in line.
    pub dirty: usize,
    pub stamped: bool,
    /// How much of a value its stamp covers.
    pub stamp_reach: usize,
    pub opacity: bool,
    pub snapshots: bool,
    pub recorder: Option<Box<dyn Recorder>>,
    /// What the transaction's versions are stamped with.
    pub stamp: Stamp,
    pub sequence: u64,
    serial: u64,
    pub tally: Tally,
    /// Which tables are closed to snapshots, by number.
    pub present_only: Vec<bool>,
    /// Which tables' writes are not logged, by number.
    pub unlogged: Vec<bool>,
    /// Where commits go that are logged.
    pub log: Option<BufferRef<M>>,
    /// Buffers for the keys of what is left to collect.
    pub keys: KeyPool,
    /// The table of the operation in hand.
    pub table: TableId,
    /// Lengths of rows seen last, by table, to know how many lines to ask for.
    pub row_bytes: Vec<u32>,
    /// Scratch for encoded keys.
    pub key: Vec<u8>,
    /// What a scan met, for the recorder: key, version, absent.
    pub met: Vec<(Piece, Stamp, bool)>,
    pub clockwork: Clockwork<M>,
}

/// A transaction in progress on a worker. Rolled back when dropped.
pub type Tx<'w, M, S> = Running<'w, M, Worker<M, S>>;

impl<M: Machine, S: Scheme<M>> Worker<M, S> {
    pub(crate) fn new(inner: Arc<Inner<M, S>>) -> Result<Self> {
        let heap = LocalHeap::new(&inner.heap).ok_or(Error::NO_SLOT)?;
        let options = &inner.options;
        let log = inner.words.durable.as_ref().map(|durable| durable.log.buffer());
        let core = Core {
            stamped: options.verify,
            stamp_reach: chiliad_api::stamp::reach(options.kept_payload),
            opacity: options.opacity,
            snapshots: S::INFO.snapshots && options.snapshots != Snapshots::Off,
            serial: inner.words.workers.fetch_add(1, Ordering::Relaxed) + 1,
            arena: Arena::new(options.supply.allocator()),
            inner,
            heap,
            scheme: S::new(),
            accesses: Vec::with_capacity(64),
            numbers: Numbers::new(),
            writes: WriteSet::new(),
            entries: Vec::new(),
            run: LeafRun::default(),
            cursor: Cursor::default(),
            bookmark: Cursor::default(),
            changes: Changes::new(),
            flight: Flight::default(),
            state: State::Idle,
            read_only: false,
            in_past: false,
            finished: false,
            loads: false,
            begun_in: 0,
            limits: Limits::new(),
            waits: 0,
            dirty: 0,
            recorder: None,
            stamp: 0,
            sequence: 0,
            tally: Tally::default(),
            present_only: Vec::new(),
            unlogged: Vec::new(),
            log,
            keys: KeyPool::default(),
            table: TableId(0),
            row_bytes: Vec::new(),
            key: Vec::new(),
            met: Vec::new(),
            clockwork: Clockwork::new(),
        };
        Ok(Self { view: View::new(), core })
    }

    /// Begins a transaction. It ends by [`Tx::commit`], [`Tx::rollback`] or by being dropped.
    ///
    /// # Errors
    /// A conflict, for schemes that can refuse this early; [`Error::InvalidOption`] for a partition
    /// that does not exist.
    #[inline]
    pub fn begin(&mut self, intent: &Intent<'_>) -> Result<Tx<'_, M, S>> {
        Tx::begin(self, intent)
    }

    pub(crate) fn start_with(&mut self, intent: &Intent<'_>) -> Result<()> {
        let partitions = self.core.inner.options.partitions;
        if S::INFO.needs_partitions && intent.partitions.iter().any(|&it| it >= partitions) {
            let given = intent.partitions;
            let what = format!("partitions {given:?}: 0 to {} are accepted", partitions - 1);
            return Err(Error::InvalidOption(what));
        }
        debug_assert!(matches!(self.core.state, State::Idle), "a worker has one transaction");
        self.core.limits.begin(intent);
        if !(intent.read_only || intent.snapshot) {
            self.core.wait_for_log()?;
        }
        M::begun(intent.retries > 0);
        self.catch_up();
        let begun = self.core.begin(intent);
        if begun.is_err() {
            hide_view(self.core.heap.slot());
            M::ended(false);
        }
        begun
    }

    /// Takes note of tables created and dropped, and shows that what is there now is in use.
    #[inline]
    pub(crate) fn catch_up(&mut self) {
        if self.view.show(&self.core.inner.words.catalog, self.core.heap.slot()) {
            self.core.present_only.clear();
            self.core.present_only.extend(self.view.present_only());
            self.core.unlogged.clear();
            self.core.unlogged.extend(self.view.unlogged());
        }
    }

    pub(crate) fn load_once(
        &mut self,
        outer: &[Outer],
        table: TableId,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        use chiliad_api::Transaction;
        let mut tx = self.begin(&Intent { loads: true, outer, ..Intent::update() })?;
        // Loaded rows count as versions from before the history.
        let worker = tx.session();
        worker.core.stamp = 0;
        worker.core.loads = true;
        let door = worker.view.door(table);
        if door.as_ref().is_some_and(|door| !door.enter()) {
            return Err(Error::ReadOnlyTable(tx.session().view.get(table)?.spec.name.clone()));
        }
        let loaded = match tx.insert(table, key, value) {
            Ok(()) => tx.commit().map(|_| ()),
            Err(error) => {
                tx.rollback();
                Err(error)
            }
        };
        if let Some(door) = door {
            door.leave();
        }
        loaded
    }

    /// The recorder in use.
    #[must_use]
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.core.recorder.as_deref()
    }

    /// Collects what this worker and those that have gone left behind. For a worker that is idle
    /// while others work; transactions do it by themselves.
    pub fn maintain(&mut self) {
        if let Some(mut orphans) = self.core.inner.words.orphans.try_lock() {
            for garbage in orphans.drain(..) {
                self.core.scheme.leave_garbage(garbage);
            }
        }
        self.catch_up();
        self.core.collect(&self.view, usize::MAX);
        hide_view(self.core.heap.slot());
    }
}

impl<M: Machine, S: Scheme<M>> Drop for Worker<M, S> {
    fn drop(&mut self) {
        let words = &self.core.inner.words;
        self.core.scheme.hand_over(&mut words.orphans.lock());
        words.retired.lock().absorb(&mut self.core.tally);
        if let Some(log) = &self.core.log {
            log.close();
        }
    }
}

/// The context of a hook, from the fields of a [`Core`].
macro_rules! context {
    ($core:expr) => {
        Context {
            shared: &$core.inner.words.scheme,
            epochs: &$core.inner.words.epochs,
            heap: &mut $core.heap,
            keys: &mut $core.keys,
            table: $core.table,
            clockwork: &mut $core.clockwork,
            limits: &$core.limits,
            stamped: $core.stamped,
            opacity: $core.opacity,
            snapshots: $core.snapshots,
        }
    };
}
pub(crate) use context;

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    #[inline]
    fn begin(&mut self, intent: &Intent<'_>) -> Result<()> {
        M::work(Cost::Begin, 1);
        self.arena.clear();
        self.numbers.pass(self.accesses.len());
        self.accesses.clear();
        self.entries.clear();
        self.read_only = intent.read_only || intent.snapshot || self.inner.options.read_only;
        self.in_past = intent.snapshot && self.snapshots;
        self.loads = false;
        self.sequence = self.sequence.wrapping_add(1);
        self.begun_in = self.heap.epoch();
        self.clockwork.begin();
        if self.stamped {
            self.begin_stamped();
        }
        let part = self.clockwork.switch(Part::Manager);
        let begun = self.scheme.begin(&mut context!(self), intent);
        self.clockwork.switch(part);
        match begun {
            Step::Done(()) => {
                self.state = State::Active;
                Ok(())
            }
            Step::Abort(refusal) => {
                let error = self.lose(refusal);
                self.roll_back(false);
                self.let_go();
                Err(error)
            }
            Step::Redo | Step::Wait => unreachable!("begin has no record to look up again"),
        }
    }

    #[cold]
    fn begin_stamped(&mut self) {
        self.stamp = self.serial << 40 | self.sequence;
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(self.stamp, M::now(), self.in_past);
        }
    }

    /// Waits while the log has enough to do. When it has failed there is nothing to wait for: the
    /// transaction may read, and its commit refuses what it has written.
    #[inline]
    fn wait_for_log(&self) -> Result<()> {
        let (Some(durable), Some(buffer)) = (&self.inner.words.durable, &self.log) else {
            return Ok(());
        };
        while !durable.log.has_room(buffer) {
            M::mark("worker waited for the log");
            durable.log.wake();
            self.limits.wait_for_time().check()?;
            if durable.nap().is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The transaction cannot go on.
    #[cold]
    pub fn lose(&mut self, refusal: Refusal<M>) -> Error {
        let reason = match refusal.why {
            Why::Conflict(reason) => reason,
            Why::OutOfMemory => return self.doom(self.inner.out_of_memory()),
            Why::Ended(ended) => return self.doom(ended.into()),
            Why::LocksExhausted { held } => {
                let locks_max = self.inner.options.locks_max;
                if held as u64 >= locks_max / 2 {
                    return self.doom(Error::LocksExhausted { locks_max });
                }
                Reason::LocksExhausted
            }
        };
        self.count_conflict(reason, refusal.record);
        self.state = State::Lost(Error::Conflict(reason));
        Error::Conflict(reason)
    }

    /// An operation has failed half-way, for whatever reason: no commit may follow.
    #[cold]
    pub fn doom(&mut self, error: Error) -> Error {
        if matches!(self.state, State::Active) {
            self.state = State::Lost(error.clone());
        }
        error
    }

    fn count_conflict(&mut self, reason: Reason, record: Option<RecordRef<M>>) {
        let Self { accesses, writes, arena, tally, .. } = self;
        let place = record.and_then(|record| {
            let read = accesses.iter().find(|access| access.record == record);
            let read = read.map(|access| (access.table, access.key));
            let write = || writes.entries.iter().find(|write| write.record == record);
            read.or_else(|| write().map(|write| (write.table, write.key)))
        });
        tally.conflict(reason, place.map(|(table, key)| (table, arena.get(key))));
    }

    /// Turns a hook's answer into a result; `None`: look the record up again. Where the scheme has to
    /// wait for that, it has waited, and the pin is another one: nothing found before can be used.
    #[inline]
    pub fn settle<T>(&mut self, step: Step<M, T>) -> Result<Option<T>> {
        match step {
            Step::Done(value) => Ok(Some(value)),
            Step::Redo => Ok(None),
            Step::Wait => self.wait().map(|()| None),
            Step::Abort(refusal) => Err(self.lose(refusal)),
        }
    }

    /// Lets the scheme wait, unpinned.
    #[cold]
    fn wait(&mut self) -> Result<()> {
        self.waits += 1;
        self.heap.unpin();
        let part = self.clockwork.switch(Part::Wait);
        let waited = self.scheme.wait(&mut context!(self));
        self.clockwork.switch(part);
        self.heap.pin();
        waited.map_err(|refusal| self.lose(refusal))
    }

    /// Whether an operation may go on.
    #[inline]
    pub fn ready(&self, writes: bool) -> Result<()> {
        M::work(Cost::Operation, 1);
        if !matches!(self.state, State::Active) {
            return Err(Error::TransactionOver);
        }
        if writes && self.read_only {
            return Err(match self.inner.options.read_only {
                true => Error::OpenedReadOnly,
                false => Error::ReadOnly,
            });
        }
        Ok(())
    }

    /// Gives the transaction up and leaves nothing latched. `own` if its own logic asked for it.
    pub fn roll_back(&mut self, own: bool) {
        M::work(Cost::Abort, 1);
        if own {
            self.tally.rolled_back += 1;
        }
        self.clockwork.switch(Part::Manager);
        self.scheme.abort(&mut context!(self), &mut self.writes);
        if let Some(recorder) = self.recorder.as_mut().filter(|_| self.stamped) {
            recorder.abort(M::now());
        }
        self.leave_placeholders();
        self.writes.clear();
        self.dirty = 0;
        self.state = State::Idle;
        if !own {
            self.clockwork.abort();
        }
    }

    /// What the transaction has put into indexes is to leave them again.
    fn leave_placeholders(&mut self) {
        for write in &mut self.writes.entries {
            if core::mem::take(&mut write.placed) {
                self.scheme.leave_garbage(Garbage {
                    table: write.table.0,
                    record: write.record,
                    key: Some(self.keys.take(self.arena.get(write.key))),
                    order: write.prior,
                    placeholder: true,
                    epoch: 0,
                });
            }
        }
    }

    /// The transaction has ended either way, and nothing is latched or pinned.
    #[inline]
    pub fn let_go(&mut self) {
        self.scheme.let_go(&mut context!(self));
    }

    /// As [`Core::roll_back`], where tables are at hand: a scheme that takes its garbage along does so
    /// first.
    pub fn give_up(&mut self, view: &View<M>, own: bool) {
        if S::COLLECTS_BEFORE_RELEASE {
            self.leave_placeholders();
            self.collect(view, usize::MAX);
        }
        self.roll_back(own);
    }

    /// The transaction is over: hand the tally over now and then, collect a little.
    #[inline]
    pub fn clean_up(&mut self, view: &View<M>) {
        // Workers that began together come by one after the other, and nobody waits.
        if (self.sequence + u64::from(self.heap.slot_number())).is_multiple_of(TALLY_EVERY)
            && let Some(mut retired) = self.inner.words.retired.try_lock()
        {
            retired.absorb(&mut self.tally);
        }
        if self.scheme.has_garbage() {
            self.collect(view, COLLECT_BUDGET);
        }
        self.heap.reclaim();
    }

    pub fn collect(&mut self, view: &View<M>, budget: usize) {
        self.heap.pin();
        self.scheme.collect(&mut context!(self), view, budget);
        self.heap.unpin();
    }

    /// Whether versions of rows of `table` may be wanted by snapshots.
    #[inline]
    pub fn keeps(&self, table: TableId) -> bool {
        self.snapshots && !self.present_only.get(table.0 as usize).copied().unwrap_or(false)
    }

    /// Remembers a record found for later use by its [`Row`].
    #[inline]
    pub fn note(&mut self, access: Access<M>) -> Row {
        let row = Row::from_number(self.numbers.number(self.accesses.len()));
        self.accesses.push(access);
        row
    }

    /// Where the access behind a row is.
    ///
    /// # Errors
    /// [`Error::ForeignHandle`]: it is none of this transaction's.
    #[inline]
    pub fn access_of(&self, row: Row) -> Result<usize> {
        let place = self.numbers.place(row.number().get());
        if place < self.accesses.len() { Ok(place) } else { Err(Error::ForeignHandle) }
    }
}
