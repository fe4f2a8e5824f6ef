//! A concurrency-control scheme: what it promises and the hooks that the engine calls.
//!
//! The engine finds records and keeps the write set; the scheme decides what a reader may see and
//! who may write. One file per idea, one row per name (`scheme/list.rs`). The life of a transaction:
//!
//! ```text
//! begin -> { read | passed | place, inserted | intend }* -> prepare -> install* -> release
//!                                                      \-> abort
//! ```
//!
//! All schemes defer their writes to `install`, so there is one commit for all of them
//! (`commit.rs`). No hook waits for another transaction while it holds a latch or a pin; a hook
//! that cannot go on says so by its [`Step`]; upon `Wait` the engine unpins, calls
//! [`Scheme::wait`], which waits as `wait.rs` says, and looks for the record again.

use crate::Options;
use crate::access::WriteSet;
use crate::arena::Arena;
use crate::breakdown::Clockwork;
use crate::epoch::Epochs;
use crate::key_pool::KeyPool;
use crate::version::{self, Version};
use crate::wait::{Ended, Limits};
use chiliad_api::stamp::Graveyard;
use chiliad_api::{Info, Intent, Reason, TableId};
use chiliad_machine::Machine;
use chiliad_storage::{Change, Hooks, Index, LocalHeap, RecordRef, Seen};

/// Why a scheme refuses a transaction.
#[derive(Clone, Copy)]
pub enum Why {
    /// Others were in the way.
    Conflict(Reason),
    /// There is no memory for what it writes.
    OutOfMemory,
    /// There is no lock for what it does next, beyond so many that it has.
    LocksExhausted { held: usize },
    /// A wait of it has ended without what it was for.
    Ended(Ended),
}

/// Why a scheme refuses a transaction, and over which record if it can tell.
pub struct Refusal<M: Machine> {
    pub why: Why,
    pub record: Option<RecordRef<M>>,
}

impl<M: Machine> Refusal<M> {
    pub fn over(reason: Reason, record: RecordRef<M>) -> Self {
        Self { why: Why::Conflict(reason), record: Some(record) }
    }

    pub fn new(reason: Reason) -> Self {
        Self { why: Why::Conflict(reason), record: None }
    }

    pub fn out_of_memory() -> Self {
        Self { why: Why::OutOfMemory, record: None }
    }

    /// The same, found by a look at what was read before the commit ([`opacity`]).
    pub fn early(self) -> Self {
        Self { why: Why::Conflict(Reason::Inconsistent), ..self }
    }
}

impl<M: Machine> From<Ended> for Refusal<M> {
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
    /// The transaction is lost.
    Abort(Refusal<M>),
}

impl<M: Machine, T> Step<M, T> {
    /// What it is done with, or the same answer to whoever asked for something else.
    #[inline]
    pub fn done<U>(self) -> Result<T, Step<M, U>> {
        match self {
            Self::Done(value) => Ok(value),
            Self::Redo => Err(Step::Redo),
            Self::Wait => Err(Step::Wait),
            Self::Abort(refusal) => Err(Step::Abort(refusal)),
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

/// What a hook may use of the database and of the worker.
pub struct Context<'a, M: Machine, S: Scheme<M>> {
    pub shared: &'a S::Shared,
    pub epochs: &'a Epochs<M>,
    pub heap: &'a mut LocalHeap<M>,
    /// Takes back the keys of garbage that is collected.
    pub keys: &'a mut KeyPool,
    /// The table of the record or leaf in hand.
    pub table: TableId,
    /// Times the parts of a sampled transaction.
    pub clockwork: &'a mut Clockwork<M>,
    /// What ends the transaction's waits: the only way to wait for another one is `Limits::wait`.
    pub limits: &'a Limits<M>,
    /// Every version ends in a stamp.
    pub stamped: bool,
    pub opacity: bool,
    /// Snapshot transactions read the past.
    pub snapshots: bool,
}

/// A worker that collects so many items at once, or more, has nothing else to do.
pub const IDLE_BUDGET: usize = 1024;

/// A scheme. The value itself is one worker's part: read sets and the like, reused.
pub trait Scheme<M: Machine>: Sized + 'static {
    /// What it is and promises.
    const INFO: Info;
    /// Tombstones leave their index before the transaction releases what it holds.
    const COLLECTS_BEFORE_RELEASE: bool = false;
    /// Words that each record has for the scheme besides its header word: `RecordRef::further`.
    const RECORD_WORDS: usize = 0;
    /// Reads and writes go through a private copy of the whole row (thousand-cores.txt 2.2), also where
    /// a transaction accesses a field of it: what simulated runs charge for ([`crate::Options::field_access`]).
    const COPIES_ROWS: bool = false;
    /// [`Scheme::intend`] does something.
    const INTENDS: bool = false;
    /// [`Scheme::enter_gap`] does something.
    const LOCKS_GAPS: bool = false;
    /// Hooks may answer `Wait`.
    const WAITS: bool = false;
    /// What all workers share; lives in the machine's memory.
    type Shared: 'static;

    /// The part that all workers share, for a database opened with `options`.
    fn shared(options: &Options) -> Self::Shared;

    /// What all workers share is looked after, once in a commit epoch, by whoever ends it.
    fn tend(shared: &Self::Shared) {
        let _ = shared;
    }

    /// One worker's part.
    fn new() -> Self;

    /// The transaction begins; `Abort` if it cannot.
    fn begin(&mut self, cx: &mut Context<'_, M, Self>, intent: &Intent<'_>) -> Step<M, ()>;

    /// A record of the table will be read or written soon: asks for memory that this takes beside its own.
    fn expect(&self, table: TableId, record: RecordRef<M>) {
        _ = (table, record);
    }

    /// Reads `record` into `arena`. The caller is pinned.
    fn read(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        record: RecordRef<M>,
        arena: &mut Arena,
        writes: &WriteSet<M>,
    ) -> Step<M, Version>;

    /// Reads a record of a table in which nothing will ever change. The transaction may have begun when
    /// something still did.
    fn read_sealed(
        &self,
        record: RecordRef<M>,
        arena: &mut Arena,
        stamped: bool,
    ) -> Step<M, Version> {
        version::read_sealed(record, arena, stamped).map_or(Step::Redo, Step::Done)
    }

    /// The transaction will write `record`, which exists; called before the write joins the write set,
    /// and before the record is read where that is to be updated. The caller is pinned. `Redo` and
    /// `Wait` are answers only for a record that the transaction has not read yet, but for `Wait` of
    /// schemes under which what was read stays in place.
    fn intend(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>) -> Step<M, ()> {
        let _ = (cx, record);
        Step::Done(())
    }

    /// Waits for what the last hook has answered `Wait` for, by `Limits::wait`. Nothing is latched or
    /// pinned.
    fn wait(&mut self, cx: &mut Context<'_, M, Self>) -> Result<(), Refusal<M>> {
        let _ = cx;
        unreachable!("a scheme whose hooks ask for it waits")
    }

    /// What the scheme knows the transaction in hand by, where that is not its worker's slot: for those that
    /// run inside it (`Limits::check_named`).
    fn name(&self) -> u64 {
        0
    }

    /// The keys of a leaf were looked at: a key was not there, or a scan passed.
    fn passed(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()>;

    /// The transaction is about to insert a key that is missing in this leaf. `Redo` and `Wait`: it looks for the key
    /// again first.
    fn enter_gap(&mut self, cx: &mut Context<'_, M, Self>, seen: Seen<M>) -> Step<M, ()> {
        let _ = (cx, seen);
        Step::Done(())
    }

    /// Makes a fresh record an absent one that only this transaction may write, before it is
    /// inserted into an index.
    fn place(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>);

    /// Takes a placed record back, which the index has not taken.
    fn give_up(&mut self, cx: &mut Context<'_, M, Self>, record: RecordRef<M>);

    /// An insertion has changed the index so; `placed` is the record if it is there now, and not if
    /// the key had one or memory ran out. Its word may become a greater one.
    fn inserted(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        placed: Option<RecordRef<M>>,
        changes: &[Change<M>],
    ) -> Step<M, ()>;

    /// Called by the index under leaf latches.
    fn hooks(&mut self) -> &mut dyn Hooks<M>;

    /// Whether what was read is still one state of the database.
    fn validate(&mut self, writes: &WriteSet<M>) -> Result<(), Refusal<M>>;

    /// Excludes conflicting transactions, validates, and takes a place in the order. On `Err` the
    /// engine calls `abort`.
    fn prepare(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        writes: &mut WriteSet<M>,
    ) -> Result<CommitPoint, Refusal<M>>;

    /// Installs the write at `index`: `value`, or absence (then `value` is the tombstone's stamp).
    fn install(
        &mut self,
        cx: &mut Context<'_, M, Self>,
        point: CommitPoint,
        writes: &mut WriteSet<M>,
        index: usize,
        value: &[u8],
    );

    /// Leaves a record that is not to be written after all as it was.
    fn withdraw(&mut self, record: RecordRef<M>);

    /// All writes are installed.
    fn release(&mut self, cx: &mut Context<'_, M, Self>);

    /// The transaction has ended, either way: lets go of what it may take a sleep to let go of. Nothing is
    /// latched or pinned.
    fn let_go(&mut self, cx: &mut Context<'_, M, Self>) {
        let _ = cx;
    }

    /// Gives up: releases whatever `place` and `prepare` took. Never waits.
    fn abort(&mut self, cx: &mut Context<'_, M, Self>, writes: &mut WriteSet<M>);

    /// The transaction has ended, either way, and left a tombstone or a placeholder behind.
    fn leave_garbage(&mut self, garbage: Garbage<M>);

    /// Collects up to `budget` versions and tombstones that nobody needs. Pinned.
    fn collect(&mut self, cx: &mut Context<'_, M, Self>, tables: &dyn Tables<M>, budget: usize);

    /// Whether [`Scheme::collect`] has something to look at.
    fn has_garbage(&self) -> bool;

    /// Gives what is left to collect to another worker.
    fn hand_over(&mut self, heir: &mut Vec<Garbage<M>>);
}

/// A record that may have to leave its index, or shed versions.
pub struct Garbage<M: Machine> {
    pub table: u32,
    pub record: RecordRef<M>,
    /// The key, where the record is to leave its index.
    pub key: Option<Vec<u8>>,
    /// The order of the version that is garbage: if the record has another one by now, it is not.
    pub order: u64,
    /// It was inserted by a transaction that did not commit.
    pub placeholder: bool,
    /// Snapshots at or below this epoch may need it; zero: nobody does.
    pub epoch: u64,
}

/// What is done with a table's index, and with its graveyard in a verified run.
pub type UseIndex<'a, M> = dyn FnMut(&Index<M>, Option<&Graveyard<M>>) + 'a;

/// The tables' indexes, for collection.
pub trait Tables<M: Machine> {
    /// The index of `table`, if the worker still sees the table. If it does not, the table was
    /// dropped and is being taken apart: its records must not be touched.
    fn with_index(&self, table: u32, use_it: &mut UseIndex<'_, M>);

    /// Whether the worker still sees `table`.
    fn contains(&self, table: u32) -> bool;
}
