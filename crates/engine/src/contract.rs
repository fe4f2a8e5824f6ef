//! A concurrency-control scheme: what it promises and the hooks that the engine calls.
//!
//! The engine finds records, keeps the write set and the garbage, and talks to the log; the scheme decides what a
//! reader may see and which transaction may write. One file per idea, one row per name (`scheme/list.rs`).
//! [`Scheme`] is the guide for an implementer; `docs/adding-a-scheme.md` walks through the smallest one.

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::breakdown::Clockwork;
use crate::epoch::Epochs;
use crate::gaps::Gaps;
use crate::garbage::GarbageQueue;
use crate::key_pool::KeyPool;
use crate::recent::Recent;
use crate::record_word;
use crate::version::{self, Version};
use crate::wait::{Ended, Limits};
use chiliad_api::stamp::TombstoneStamps;
use chiliad_api::{Columns, Info, Intent, Reason, TableId};
use chiliad_machine::Machine;
use chiliad_storage::{Change, Hooks, Index, LocalHeap, RecordRef, Seen};

/// Why a scheme refuses a transaction.
#[derive(Clone, Copy)]
pub enum Why {
    /// Others were in the way.
    Conflict(Reason),
    /// There is no memory for what it writes.
    OutOfMemory,
    /// The lock table is full; the transaction already holds `held` locks.
    LocksExhausted { held: usize },
    /// A wait of the transaction was ended from outside, or by its limits.
    Ended(Ended),
}

/// Why a scheme aborts a transaction, and over which record if it can tell.
pub struct Abort<M: Machine> {
    pub why: Why,
    pub record: Option<RecordRef<M>>,
}

impl<M: Machine> Abort<M> {
    pub fn over(reason: Reason, record: RecordRef<M>) -> Self {
        Self { why: Why::Conflict(reason), record: Some(record) }
    }

    pub fn new(reason: Reason) -> Self {
        Self { why: Why::Conflict(reason), record: None }
    }

    /// Refuses the transaction for a phantom unless its gaps `hold`.
    #[inline]
    pub fn unless_gaps(hold: bool) -> Result<(), Self> {
        if hold { Ok(()) } else { Err(Self::new(Reason::Phantom)) }
    }

    pub fn out_of_memory() -> Self {
        Self { why: Why::OutOfMemory, record: None }
    }

    /// This abort, found by checking the reads before the commit ([`opacity`]).
    pub fn early(self) -> Self {
        debug_assert!(matches!(self.why, Why::Conflict(_)), "a look finds conflicts");
        Self { why: Why::Conflict(Reason::Inconsistent), ..self }
    }
}

impl<M: Machine> From<Ended> for Abort<M> {
    fn from(ended: Ended) -> Self {
        Self { why: Why::Ended(ended), record: None }
    }
}

/// How a hook went.
pub enum Step<M: Machine, T> {
    /// It is done.
    Done(T),
    /// The record is no longer what the index led to: look it up again.
    Redo,
    /// Another transaction is in the way: [`Scheme::wait`], then look it up again.
    Wait,
    /// The transaction can only be rolled back.
    Abort(Abort<M>),
}

impl<M: Machine, T> Step<M, T> {
    /// The value, if it is done; otherwise the same answer for a caller that expects another type.
    #[inline]
    pub fn done<U>(self) -> Result<T, Step<M, U>> {
        match self {
            Self::Done(value) => Ok(value),
            Self::Redo => Err(Step::Redo),
            Self::Wait => Err(Step::Wait),
            Self::Abort(abort) => Err(Step::Abort(abort)),
        }
    }
}

/// Where a transaction takes place among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitPoint {
    pub epoch: u64,
    /// Grows along the versions of each record.
    pub order: u64,
}

/// The parts of the database and of the worker that a hook may use.
pub struct Context<'a, M: Machine, S: Scheme<M>> {
    pub shared: &'a S::Shared,
    pub epochs: &'a Epochs<M>,
    pub heap: &'a mut LocalHeap<M>,
    /// The gaps that the transaction has seen: for schemes that watch them.
    pub gaps: &'a mut Gaps<M>,
    /// The garbage of the worker's transactions.
    pub garbage: &'a mut GarbageQueue<M>,
    /// Takes back the keys of garbage that is collected.
    pub keys: &'a mut KeyPool,
    /// Called by the indexes under leaf latches.
    pub leaf_hooks: &'a mut S::LeafHooks,
    /// The table of the record or leaf in hand.
    pub table: TableId,
    /// Bytes of the transaction's copies by now: what it reads from here on lies behind them.
    pub arena_used: usize,
    /// Which columns of records were changed a moment ago.
    pub recent: &'a Recent<M>,
    /// Times the parts of a sampled transaction.
    pub clockwork: &'a mut Clockwork<M>,
    /// The limits of the transaction's waits: the only way to wait for another one is `Limits::wait`.
    pub limits: &'a Limits<M>,
    /// Every version ends in a stamp.
    pub stamped: bool,
    pub opacity: bool,
    /// Snapshot transactions read the past.
    pub snapshots: bool,
}

impl<M: Machine, S: Scheme<M>> Context<'_, M, S> {
    /// Whether all is as it was where the transaction found nothing. Where a count has moved since the engine looked last, it
    /// looks again. `prepare` calls this when others can change nothing any more that the transaction depends on.
    #[inline]
    pub fn gaps_hold(&mut self, writes: &WriteSet<M>) -> bool {
        self.gaps.holds() || self.look_again(writes)
    }

    #[cold]
    fn look_again(&mut self, writes: &WriteSet<M>) -> bool {
        // It is in a section: nobody may have the turn while nodes are on their way.
        let kept = M::keep_turn(true);
        let same = self.gaps.look_again(self.heap, writes);
        M::keep_turn(kept);
        same
    }
}

/// A version that a scheme has taken for an older one, which its transaction has read.
pub struct Renewed<M: Machine> {
    pub record: RecordRef<M>,
    /// Bytes of the transaction's copies then: those that lie behind are of reads after it.
    pub arena_used: usize,
    /// In a verified run, its bytes.
    pub bytes: Vec<u8>,
}

/// A worker that collects so many items at once, or more, has nothing else to do.
pub const IDLE_BUDGET: usize = 1024;

/// The engine's services that a scheme uses, known at compile time: the others cost it nothing.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Hooks may answer `Wait`.
    pub waits: bool,
    /// [`Scheme::declare_write`] does something.
    pub declares_writes: bool,
    /// Tombstones leave their index before the transaction releases what it holds: after that nothing would keep
    /// others off the record.
    pub collects_before_release: bool,
    /// The scheme remembers leaves in `Context::gaps` and compares their counts. The engine looks again at what the
    /// transaction has seen in those that have changed.
    pub watches_gaps: bool,
    /// An old version belongs to the garbage of the worker that has overwritten it, and is freed when no snapshot of its
    /// epoch is left. Links that lead to it stay: no reader follows them.
    pub versions_expire: bool,
    /// The scheme keeps an addition apart from what was read until `prepare`: `Kind::Add` of its write set. Others are
    /// given a write of what the transaction has read.
    pub carries_additions: bool,
    /// The words of versions begin with their commit epoch, and no record has one twice: the engine remembers which columns
    /// have changed between two of them (`recent.rs`), and tells which the transaction looks at.
    pub knows_columns: bool,
    /// Words that each record has for the scheme besides its header word: `RecordRef::further`.
    pub record_words: usize,
    /// Reads and writes go through a private copy of the whole row (Yu et al., 2014, 2.2), also where a transaction
    /// accesses a field of it: what simulated runs charge for ([`crate::Options::field_access`]).
    pub copies_rows: bool,
}

impl Needs {
    /// Nothing.
    pub const NOTHING: Self = Self {
        waits: false,
        declares_writes: false,
        collects_before_release: false,
        watches_gaps: false,
        versions_expire: false,
        carries_additions: false,
        knows_columns: false,
        record_words: 0,
        copies_rows: false,
    };
}

/// A scheme. The value itself is one worker's part: read sets and the like, reused from one transaction to the next.
///
/// # The life of a transaction
///
/// ```text
/// begin -> { read | observe_leaf | declare_write | begin_insert, after_insert }*
///       -> prepare -> { install | skip_write }* -> release
///      \-> abort, from any point after begin
/// ```
///
/// All schemes defer their writes to [`install`](Self::install), so there is one commit for all of them
/// (`commit.rs`). An insertion alone shows before: [`begin_insert`](Self::begin_insert) makes the fresh record an
/// absent one, which the engine then puts into the index.
///
/// # What to implement
///
/// Eleven methods have no default. A scheme that validates adds [`validate`](Self::validate); one that locks,
/// claims or otherwise waits says so in [`NEEDS`](Self::NEEDS) and adds
/// [`declare_write`](Self::declare_write) and [`wait`](Self::wait). `scheme/alone.rs` is the least that runs;
/// `scheme/parts` has what several schemes are made of.
///
/// # Rules that no type checks
///
/// - **No hook waits for another transaction while it holds a latch or a pin.** [`begin`](Self::begin),
///   [`wait`](Self::wait), [`validate`](Self::validate) and [`abort`](Self::abort) are called unpinned, all others pinned. A hook that cannot go on answers `Step::Wait`; the engine unpins, calls
///   [`wait`](Self::wait), pins, and looks for the record again. [`prepare`](Self::prepare) may spin for what others
///   hold for microseconds.
/// - **`prepare` opens the commit window** (`Epochs::open_window`) once conflicting transactions are excluded, and not
///   before; `release` and `abort` close it.
/// - **Nothing fails after `prepare`**: memory that [`install`](Self::install) needs is set aside there. One thing does:
///   the sum of an addition may be out of range, and `abort` follows, under a scheme that carries additions.
/// - **Orders grow along the versions of a record**, across its removal and insertion too.
/// - **The header word stays that of `record_word.rs`**: log, checkpoints and recovery read it under every scheme.
/// - **`abort` never waits** and releases whatever the transaction has by then.
pub trait Scheme<M: Machine>: Sized + 'static {
    /// Properties and promises of the scheme.
    const INFO: Info;
    /// The services that the scheme needs of the engine.
    const NEEDS: Needs = Needs::NOTHING;
    /// State shared by all workers; lives in the machine's memory.
    type Shared: 'static;
    /// The hooks that the indexes call when leaves are divided or merged: `MinInsertTids`, for schemes that order a
    /// key's versions by the minimum TID of its leaf.
    type LeafHooks: Hooks<M> + Default + 'static;
    /// The part of the scheme that a lock table outside the records needs: `NoLockTable`, where there is none.
    type LockTable: LockTable<M, Self>;

    /// The part that all workers share, for a database opened with `options`.
    fn shared(options: &Options) -> Self::Shared;

    /// One worker's part.
    fn new() -> Self;

    /// The transaction begins; `Abort` if it cannot. Forgets the last one. Not pinned: it may wait.
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()>;

    /// Reads `record` into `arena`, and remembers what it has to in order to notice, or to prevent, that the version is
    /// overwritten.
    fn read(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        arena: &mut Arena,
        writes: &WriteSet<M>,
    ) -> Step<M, Version>;

    /// Reads as [`read`](Self::read) does, where a look at the record is all that there is to do: nobody is in the way, and
    /// the reads before need not be looked at. `None`: ask `read`. Most reads are such, and what `read` is given costs
    /// more than they do. `opaque` are the epochs, where what was read is to be one state before the end.
    #[inline]
    fn read_alone(
        &mut self,
        record: RecordRef<M>,
        arena: &mut Arena,
        gaps: &Gaps<M>,
        opaque: Option<&Epochs<M>>,
    ) -> Option<Version> {
        let _ = (record, arena, gaps, opaque);
        None
    }

    /// The newest version of `record`, which is not remembered: an addition looks at it to find that the row is there and has
    /// the number. Called under schemes that carry additions (`Needs::carries_additions`).
    fn peek(record: RecordRef<M>, arena: &mut Arena, stamped: bool) -> Step<M, Version> {
        let _ = (record, arena, stamped);
        unreachable!("a scheme that carries additions looks at the rows added to")
    }

    /// Reads a record of a table in which nothing will ever change. The transaction may have begun when
    /// something still did. It remembers nothing, and may be asked twice.
    #[inline]
    fn read_sealed(
        &self,
        record: RecordRef<M>,
        arena: &mut Arena,
        stamped: bool,
    ) -> Step<M, Version> {
        version::read_sealed(record, arena, stamped).map_or(Step::Redo, Step::Done)
    }

    /// The transaction will write `record`, which exists; called before the write joins the write set,
    /// and before the record is read where that is to be updated. `Redo` and
    /// `Wait` are answers only for a record that the transaction has not read yet, but for `Wait` of
    /// schemes under which what was read stays in place.
    fn declare_write(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
    ) -> Step<M, ()> {
        let _ = (cx, record);
        Step::Done(())
    }

    /// Waits for what the last hook has answered `Wait` for, by `Limits::wait`. Nothing is latched or
    /// pinned.
    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Abort<M>> {
        let _ = cx;
        unreachable!("a scheme whose hooks ask for it waits")
    }

    /// The transaction has looked at the keys of a leaf: one was not there, or a scan passed. Remembers the leaf, or
    /// locks it, so that insertions and removals there are noticed or prevented: phantoms.
    fn observe_leaf(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        let _ = (cx, seen);
        Step::Done(())
    }

    /// Makes a fresh record, which holds another part of a row than its first, an absent one: only that one leads to it, and
    /// whoever has that to himself has the row.
    #[inline]
    fn begin_part(record: RecordRef<M>) {
        record_word::begin_life(record.word(), 0);
    }

    /// The index has not taken the row of a `begin_part`, which is freed next.
    #[inline]
    fn cancel_part(record: RecordRef<M>) {
        let _ = record;
    }

    /// Makes a fresh record an absent one that only this transaction may write, before it is
    /// inserted into an index.
    fn begin_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>);

    /// The index has not taken the record of the last `begin_insert`, which is freed next: undoes what that did
    /// elsewhere.
    fn cancel_insert(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) {
        let _ = (cx, record);
    }

    /// An insertion has changed the index so; `placed` is the record if it is there now, and not if
    /// the key had one or memory ran out. Its word may become a greater one.
    fn after_insert(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()>;

    /// Whether what was read is still one state of the database. It is, where nothing that was read can change before
    /// the transaction ends.
    fn validate(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &WriteSet<M>,
    ) -> Result<(), Abort<M>> {
        let _ = (cx, writes);
        Ok(())
    }

    /// Excludes conflicting transactions, validates, and takes a place in the order. On `Err` the
    /// engine calls `abort`.
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Abort<M>>;

    /// Installs the write at `index`: `value`, or absence (then `value` is the tombstone's stamp).
    fn install(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        writes: &mut WriteSet<M>,
        index: usize,
        value: &[u8],
    );

    /// Called instead of `install` for a write that removes what is absent already: unlatches the record, where
    /// `prepare` or `begin_insert` has latched it; its version is unchanged.
    fn skip_write(&mut self, record: RecordRef<M>) {
        let _ = record;
    }

    /// The newest commit epoch of what a transaction has read by now: when that is durable, so is everything that it saw.
    /// It is at most the epoch in progress, which is meant by default.
    fn seen_epoch(&self, gaps: &Gaps<M>) -> u64 {
        let _ = gaps;
        u64::MAX
    }

    /// As [`Scheme::seen_epoch`], of these columns of rows, where all epochs through `durable` are durable. Schemes with
    /// `Needs::knows_columns` ask `recent` for the records that they have read.
    fn seen_epoch_of(
        &self,
        recent: &Recent<M>,
        gaps: &Gaps<M>,
        columns: Columns,
        durable: u64,
    ) -> u64 {
        let _ = (recent, columns, durable);
        self.seen_epoch(gaps)
    }

    /// Of the records that the transaction reads from here on it looks at no other columns. Schemes with
    /// `Needs::knows_columns` may take a version for the one that was read where, by `Context::recent`, only others have
    /// changed.
    fn look_at(&mut self, columns: Columns) {
        let _ = columns;
    }

    /// The versions that were taken so since the transaction has begun.
    fn renewed(&self) -> &[Renewed<M>] {
        &[]
    }

    /// All writes are installed: closes the commit window and releases what the transaction holds.
    fn release(&mut self, cx: &mut Context<'_, M, Self>);

    /// The transaction gives up: closes the commit window and releases what `begin_insert`, `declare_write` and
    /// `prepare` took. Blocks that were set aside for `writes` are freed already.
    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>);

    /// Collects up to `budget` entries of `cx.garbage` that are due, by `collector::sweep`: old versions and tombstones
    /// that no transaction needs. Called after transactions, and before `release` where
    /// `Needs::collects_before_release` says so.
    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize);
}

/// The hooks of a scheme whose locks lie in a table outside the records.
pub trait LockTable<M: Machine, S: Scheme<M>>: 'static {
    /// Background maintenance of the table; the ticker calls it once per commit epoch.
    fn background_tick(shared: &S::Shared) {
        let _ = shared;
    }

    /// Prefetches the lock of a record that will be read or written soon.
    #[inline]
    fn prefetch(scheme: &S, table: TableId, record: RecordRef<M>) {
        _ = (scheme, table, record);
    }

    /// Locks the gap of the key that the transaction is about to insert. `find` looks for the key and says in which
    /// leaf it is missing. `Redo` and `Wait`: it is asked again first. Pinned.
    #[inline]
    fn lock_gap(
        scheme: &mut S,
        cx: &mut Context<'_, M, S>,
        find: impl FnOnce(&LocalHeap<M>) -> Option<Seen<M>>,
    ) -> Step<M, ()> {
        _ = (scheme, cx, find);
        Step::Done(())
    }

    /// Releases the locks of a transaction that has ended, which may block. Nothing is latched or pinned.
    #[inline]
    fn release_locks(scheme: &mut S) {
        _ = scheme;
    }
}

/// That of schemes whose locks, if they have any, lie in the records.
pub struct NoLockTable;

impl<M: Machine, S: Scheme<M>> LockTable<M, S> for NoLockTable {}

/// A use of a table's index, and of its tombstone stamps in a verified run.
pub type UseIndex<'a, M> = dyn FnMut(&Index<M>, Option<&TombstoneStamps<M>>) + 'a;

/// The tables' indexes, for collection.
pub trait Tables<M: Machine> {
    /// The index of `table`, if the worker still sees the table. If it does not, the table was
    /// dropped and is being taken apart: its records must not be touched.
    fn with_index(&self, table: u32, use_it: &mut UseIndex<'_, M>);

    /// Whether the worker still sees `table`.
    fn contains(&self, table: u32) -> bool;
}
