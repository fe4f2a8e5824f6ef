//! The core of a worker: the state of its transaction, in named parts, and how it begins, waits and fails.
//!
//! Operations on it are in `read_ops`, `scan_ops`, `write_ops` and `index_ops`; the commit is in `commit`, and the
//! end of a transaction, after a commit or a rollback, in `ending`.

use crate::access::WriteSet;
use crate::arena::{Arena, Piece};
use crate::breakdown::Clockwork;
use crate::contract::{Abort, Context, Scheme, Step, Why};
use crate::gaps::{Gaps, Place};
use crate::garbage::GarbageQueue;
use crate::handles::Handles;
use crate::key_pool::KeyPool;
use crate::options::Snapshots;
use crate::shared::Inner;
use crate::tables::catalog::View;
use crate::tables::table::Table;
use crate::verification::Verification;
use crate::wait::Limits;
use chiliad_api::{Error, Intent, Part, Reason, Result, TableId, Tally};
use chiliad_log::BufferRef;
use chiliad_machine::{Cost, Machine, Ordering, Word};
use chiliad_storage::{Changes, Cursor, Finger, LeafRun, LocalHeap, LookupBatch, RecordRef};
use std::sync::Arc;

/// Bytes of a row to ask for where none of its table has been seen.
const ROW_BYTES_GUESS: u32 = 128;

/// Whether the worker has a transaction in hand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Idle,
    Active,
    /// It failed with [`Attempt::failure`] and can only be rolled back.
    Aborted,
}

/// The worker without its view of the catalog, so that a table can be held while it works.
pub(crate) struct Core<M: Machine, S: Scheme<M>> {
    pub inner: Arc<Inner<M, S>>,
    pub heap: LocalHeap<M>,
    pub scheme: S,
    /// How the transaction stands.
    pub attempt: Attempt,
    /// When the transaction's waits end at the latest.
    pub limits: Limits<M>,
    /// Its copies, and the values that it is to write.
    pub arena: Arena,
    /// The rows and scans that it has found.
    pub handles: Handles<M>,
    pub writes: WriteSet<M>,
    /// The gaps that it has seen.
    pub gaps: Gaps<M>,
    /// The table of the operation in hand.
    pub table: TableId,
    pub scan: Scan<M>,
    pub group: Group<M>,
    /// Where the transaction's last insertion was.
    pub finger: Finger<M>,
    /// Scratch for the records of insertions that go there together.
    pub run: Vec<RecordRef<M>>,
    /// The leaf changes that the index reports of an insertion.
    pub changes: Changes<M>,
    /// The hooks that the index calls when it divides or merges leaves.
    pub leaf_hooks: S::LeafHooks,
    /// Scratch for encoded keys.
    pub key: Vec<u8>,
    pub rules: Rules,
    pub opacity: bool,
    pub snapshots: bool,
    /// Where commits go that are logged.
    pub log: Option<BufferRef<M>>,
    /// The garbage that its transactions have left.
    pub garbage: GarbageQueue<M>,
    /// Buffers for the keys of that.
    pub keys: KeyPool,
    pub tally: Tally,
    pub verification: Verification<M>,
    pub clockwork: Clockwork<M>,
}

/// How the transaction in hand stands.
pub(crate) struct Attempt {
    pub state: State,
    /// The error of an aborted transaction. Apart from the state, which each transaction sets twice: a field that holds an
    /// error is looked at before it is overwritten.
    pub failure: Error,
    /// Counts the worker's transactions.
    pub sequence: u64,
    pub read_only: bool,
    pub in_past: bool,
    /// It is a load, which may write to read-only tables.
    pub loads: bool,
    /// It has read without its scheme.
    pub went_by: bool,
    /// The reclaim epoch at begin: see [`Core::commit`].
    pub begun_in: u64,
    /// Times that the scheme has waited in the middle of an operation, and so the pin has changed.
    pub waits: u64,
    /// Writes whose secondary index entries have to be brought in line.
    pub dirty: usize,
}

/// Buffers of scans, kept from one to the next.
pub(crate) struct Scan<M: Machine> {
    pub run: LeafRun<M>,
    pub cursor: Cursor,
    /// Where the cursor was before the leaf that is being read.
    pub place: Place,
    /// The rows of the leaf that a visitor will be called with: the place of each in the run, and its value.
    pub shown: Vec<(usize, Piece)>,
}

/// Buffers of a group of look-ups.
pub(crate) struct Group<M: Machine> {
    pub lookups: LookupBatch<M>,
    pub row_bytes: RowBytes,
}

/// Lengths of rows seen last, by table, to know how many lines to ask for.
#[derive(Default)]
pub(crate) struct RowBytes(Vec<Bytes>);

/// Payload bytes of the records of a table that were seen last.
#[derive(Clone, Copy)]
struct Bytes {
    /// Those of the value.
    value: u32,
    /// Those up to the end of the pointer to the row's next record; 0 where rows have one record.
    to_mate: u32,
}

/// Of a table of which no row has been seen.
const UNKNOWN: Bytes = Bytes { value: ROW_BYTES_GUESS, to_mate: 0 };

impl RowBytes {
    #[inline]
    fn get(&self, table: TableId) -> Bytes {
        self.0.get(table.0 as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Changes what is known of `table`; of one that was unknown, from the next time on.
    #[inline]
    fn change(&mut self, table: TableId, change: impl FnOnce(&mut Bytes)) {
        match self.0.get_mut(table.0 as usize) {
            Some(known) => change(known),
            None => self.0.resize(table.0 as usize + 1, UNKNOWN),
        }
    }

    /// Bytes to expect of a record of `table`.
    #[inline]
    pub fn of(&self, table: TableId) -> usize {
        self.get(table).value as usize
    }

    /// Bytes to expect of the record that an index leads to when `table`, which has the number `id`, is asked for: of its
    /// value, if it is that table's, and of the way to the others of its row.
    #[inline]
    pub fn of_first<M: Machine>(&self, table: &Table<M>, id: TableId) -> usize {
        let Bytes { value, to_mate } = self.get(table.table_of_group(id));
        if table.is_group() { to_mate as usize } else { value.max(to_mate) as usize }
    }

    /// A row of `table` had so many.
    #[inline]
    pub fn learn(&mut self, table: TableId, bytes: u32) {
        self.change(table, |known| known.value = bytes);
    }

    /// The first record of a row of `table` had so many up to where the way to the next one ends.
    #[inline]
    pub fn learn_way(&mut self, table: TableId, bytes: usize) {
        self.change(table, |known| known.to_mate = bytes as u32);
    }
}

/// Properties of tables by number, cached for every write.
#[derive(Default)]
pub(crate) struct Rules {
    present_only: Vec<bool>,
    unlogged: Vec<bool>,
    groups: Vec<bool>,
}

impl Rules {
    /// Takes over what `view` shows.
    pub fn learn<M: Machine>(&mut self, view: &View<M>) {
        self.present_only.clear();
        self.present_only.extend(view.present_only());
        self.unlogged.clear();
        self.unlogged.extend(view.unlogged());
        self.groups.clear();
        self.groups.extend(view.groups());
        debug_assert!(self.present_only.len() == self.unlogged.len(), "rules for each table");
    }

    /// Whether the table is closed to snapshots.
    #[inline]
    pub fn is_present_only(&self, table: TableId) -> bool {
        self.present_only.get(table.0 as usize).copied().unwrap_or(false)
    }

    /// Whether the table is a group of columns of another one.
    #[inline]
    pub fn is_group(&self, table: TableId) -> bool {
        self.groups.get(table.0 as usize).copied().unwrap_or(false)
    }

    /// Whether writes of the table are not logged.
    #[inline]
    pub fn is_unlogged(&self, table: TableId) -> bool {
        self.unlogged.get(table.0 as usize).copied().unwrap_or(false)
    }
}

/// The context of a hook, from the fields of a [`Core`].
macro_rules! context {
    ($core:expr) => {
        Context {
            shared: &$core.inner.words.scheme,
            epochs: &$core.inner.words.epochs,
            heap: &mut $core.heap,
            gaps: &mut $core.gaps,
            garbage: &mut $core.garbage,
            keys: &mut $core.keys,
            leaf_hooks: &mut $core.leaf_hooks,
            table: $core.table,
            arena_used: $core.arena.used(),
            recent: &$core.inner.recent,
            clockwork: &mut $core.clockwork,
            limits: &$core.limits,
            stamped: $core.verification.is_on(),
            opacity: $core.opacity,
            snapshots: $core.snapshots,
        }
    };
}
pub(crate) use context;

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    /// The core of a new worker, whose heap this is.
    pub fn new(inner: Arc<Inner<M, S>>, heap: LocalHeap<M>) -> Self {
        let options = &inner.options;
        let log = inner.words.durable.as_ref().map(|durable| durable.log.buffer());
        let serial = inner.words.workers.fetch_add(1, Ordering::Relaxed) + 1;
        Self {
            verification: Verification::new(options.verify, options.kept_payload, serial),
            opacity: options.opacity,
            snapshots: S::INFO.snapshots && options.snapshots != Snapshots::Off,
            arena: Arena::new(options.supply.allocator(), options.transaction_bytes_max),
            inner,
            heap,
            scheme: S::new(),
            attempt: Attempt {
                state: State::Idle,
                failure: Error::TransactionOver,
                sequence: 0,
                read_only: false,
                in_past: false,
                loads: false,
                went_by: false,
                begun_in: 0,
                waits: 0,
                dirty: 0,
            },
            limits: Limits::new(),
            handles: Handles::new(),
            writes: WriteSet::new(),
            gaps: Gaps::new(),
            table: TableId(0),
            scan: Scan {
                run: LeafRun::default(),
                cursor: Cursor::default(),
                place: Place::default(),
                shown: Vec::new(),
            },
            group: Group { lookups: LookupBatch::default(), row_bytes: RowBytes::default() },
            finger: Finger::default(),
            run: Vec::new(),
            changes: Changes::new(),
            leaf_hooks: S::LeafHooks::default(),
            key: Vec::new(),
            rules: Rules::default(),
            log,
            garbage: GarbageQueue::new(),
            keys: KeyPool::default(),
            tally: Tally::default(),
            clockwork: Clockwork::new(),
        }
    }

    /// Takes over what `view` shows.
    pub fn learn(&mut self, view: &View<M>) {
        self.rules.learn(view);
        if S::NEEDS.watches_gaps {
            self.gaps.learn(view.entries());
        }
    }

    /// Does `work`, whose time is booked as that of `part`.
    #[inline(always)]
    pub fn timed<T>(&mut self, part: Part, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.clockwork.switch(part);
        let done = work(self);
        self.clockwork.switch(before);
        done
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// A conflict, for schemes that can refuse this early.
    #[inline]
    pub fn begin(&mut self, intent: &Intent<'_>) -> Result<()> {
        M::work(Cost::Begin, 1);
        debug_assert!(matches!(self.attempt.state, State::Idle), "one transaction at a time");
        debug_assert!(!self.heap.is_pinned(), "no operation is in progress");
        debug_assert!(self.writes.is_empty(), "the last transaction has left nothing to write");
        debug_assert!(self.attempt.dirty == 0, "nor index entries to bring in line");
        self.arena.clear();
        self.handles.begin();
        self.gaps.clear();
        self.finger.forget();
        debug_assert!(self.handles.accesses.is_empty(), "no row is known yet");
        let attempt = &mut self.attempt;
        attempt.read_only = intent.read_only || intent.snapshot || self.inner.options.read_only;
        attempt.in_past = intent.snapshot && self.snapshots;
        attempt.went_by = false;
        attempt.loads = false;
        attempt.sequence = attempt.sequence.wrapping_add(1);
        attempt.begun_in = self.heap.epoch();
        self.clockwork.begin();
        self.verification.begin(self.attempt.sequence, self.attempt.in_past);
        let begun =
            self.timed(Part::Manager, |core| core.scheme.begin(&mut context!(core), intent));
        match begun {
            Step::Done(()) => {
                debug_assert!(!self.heap.is_pinned(), "no operation is in progress yet");
                self.attempt.state = State::Active;
                Ok(())
            }
            Step::Abort(abort) => {
                let error = self.mark_aborted(abort);
                self.roll_back(false);
                self.release_locks();
                Err(error)
            }
            Step::Redo | Step::Wait => unreachable!("begin has no record to look up again"),
        }
    }

    /// Waits while the log has enough to do. When it has failed there is nothing to wait for: the
    /// transaction may read, and its commit refuses what it has written.
    #[inline]
    pub fn wait_for_log(&self) -> Result<()> {
        let (Some(durable), Some(buffer)) = (&self.inner.words.durable, &self.log) else {
            return Ok(());
        };
        debug_assert!(!self.heap.is_pinned(), "nothing is held back by a wait for the log");
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

    /// The transaction can only be rolled back from here on.
    #[cold]
    pub fn mark_aborted(&mut self, abort: Abort<M>) -> Error {
        let reason = match abort.why {
            Why::Conflict(reason) => reason,
            Why::OutOfMemory => return self.abort_with(self.inner.out_of_memory()),
            Why::Ended(ended) => return self.abort_with(ended.into()),
            Why::LocksExhausted { held } => {
                let locks_max = self.inner.options.locks_max;
                if held as u64 >= locks_max / 2 {
                    return self.abort_with(Error::LocksExhausted { locks_max });
                }
                Reason::LocksExhausted
            }
        };
        self.count_conflict(reason, abort.record);
        self.attempt.state = State::Aborted;
        self.attempt.failure = Error::Conflict(reason);
        Error::Conflict(reason)
    }

    /// An operation has failed half-way, for whatever reason: the transaction can only be rolled back.
    #[cold]
    pub fn abort_with(&mut self, error: Error) -> Error {
        if matches!(self.attempt.state, State::Active) {
            self.attempt.state = State::Aborted;
            self.attempt.failure = error.clone();
        }
        debug_assert!(!matches!(self.attempt.state, State::Active), "no commit follows");
        error
    }

    fn count_conflict(&mut self, reason: Reason, record: Option<RecordRef<M>>) {
        let Self { handles, writes, arena, tally, .. } = self;
        let place = record.and_then(|record| {
            let read = handles.accesses.iter().find(|access| access.record == record);
            let read = read.map(|access| (access.table, access.key));
            let write = || writes.entries.iter().find(|write| write.record == record);
            read.or_else(|| write().map(|write| (write.table, write.key)))
        });
        tally.conflict(reason, place.map(|(table, key)| (table, arena.get(key))));
    }

    /// Turns a hook's answer into a result; `None`: look the record up again. Where the scheme has to
    /// wait for that, it has waited, and the pin is another one: nothing found before can be used.
    #[inline]
    pub fn resolve<T>(&mut self, step: Step<M, T>) -> Result<Option<T>> {
        debug_assert!(self.heap.is_pinned(), "an operation is in progress");
        match step {
            Step::Done(value) => Ok(Some(value)),
            Step::Redo => Ok(None),
            Step::Wait => self.wait().map(|()| None),
            Step::Abort(abort) => self.recover(abort).map(|()| None),
        }
    }

    /// A hook refuses the transaction. Where it has missed a count whose leaf is in order, it is asked again.
    #[cold]
    fn recover(&mut self, abort: Abort<M>) -> Result<()> {
        let over_gaps = matches!(abort.why, Why::Conflict(Reason::Phantom | Reason::Inconsistent));
        let renewable = S::NEEDS.watches_gaps && over_gaps;
        match renewable && !self.gaps.holds() && self.gaps.look_again(&self.heap, &self.writes) {
            true => Ok(()),
            false => Err(self.mark_aborted(abort)),
        }
    }

    /// Lets the scheme wait, unpinned.
    #[cold]
    fn wait(&mut self) -> Result<()> {
        debug_assert!(S::NEEDS.waits, "only schemes wait that say so");
        debug_assert!(self.heap.is_pinned(), "an operation is in progress");
        self.attempt.waits += 1;
        self.heap.unpin();
        let waited = self.timed(Part::Wait, |core| core.scheme.wait(&mut context!(core)));
        self.heap.pin();
        waited.map_err(|abort| self.mark_aborted(abort))
    }

    /// The transaction has read and written more than one may.
    ///
    /// # Errors
    /// [`Error::TransactionTooLarge`] then; the transaction is lost.
    #[inline]
    pub fn check_room(&mut self) -> Result<()> {
        if self.arena.is_over_full() { Err(self.too_large()) } else { Ok(()) }
    }

    #[cold]
    fn too_large(&mut self) -> Error {
        let (bytes, accepted) = (self.arena.used(), self.arena.bytes_max());
        self.abort_with(Error::TransactionTooLarge { bytes, accepted })
    }

    /// Whether an operation may go on.
    #[inline]
    pub fn ready(&mut self, writes: bool) -> Result<()> {
        M::work(Cost::Operation, 1);
        if !matches!(self.attempt.state, State::Active) {
            return Err(Error::TransactionOver);
        }
        self.check_room()?;
        if writes && self.attempt.read_only {
            return Err(match self.inner.options.read_only {
                true => Error::OpenedReadOnly,
                false => Error::ReadOnly,
            });
        }
        Ok(())
    }

    /// Whether versions of rows of `table` may be wanted by snapshots.
    #[inline]
    pub fn keeps(&self, table: TableId) -> bool {
        self.snapshots && !self.rules.is_present_only(table)
    }
}
