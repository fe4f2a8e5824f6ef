//! The lock tables by which records are locked, a scheme each.

use super::Table;
use crate::Options;
use chiliad_lock::{Latched, LatchedOptions, LatchedSession, Locks, Manager, Reclaim, Session};
use chiliad_machine::Machine;

/// A lock table.
pub trait Variant<M: Machine>: 'static {
    /// What transactions lock with.
    type Locks: Locks<M>;
    /// The name of the scheme, what it is in a line, and where it comes from.
    const WORDS: [&'static str; 3];

    /// The table.
    fn table(options: &Options) -> <Self::Locks as Locks<M>>::Manager;
}

/// Without latches; locks are reclaimed when the critical regions have ended in which they might be seen
/// (4.1, Theorem 4.2).
pub struct Scalable;
/// The same; locks are reclaimed when the transactions have ended that might see them (Theorem 4.1).
pub struct Oldest;
/// One mutex for the whole table.
pub struct Global;
/// A mutex for each bucket.
pub struct ByBucket;
/// The same; locks of databases and tables stay with their worker for its next transaction.
pub struct Inheriting;

/// Two-phase locking by a lock table without latches.
pub type LockTable<M> = Table<M, Scalable>;
/// The same, reclaimed behind the oldest transaction.
pub type LockTableNoEbr<M> = Table<M, Oldest>;
/// Two-phase locking by a lock table behind one mutex.
pub type LockTableGlobal<M> = Table<M, Global>;
/// Two-phase locking by a lock table with a mutex for each bucket.
pub type LockTableBucket<M> = Table<M, ByBucket>;
/// The same with speculative lock inheritance.
pub type LockTableSli<M> = Table<M, Inheriting>;

fn scalable<M: Machine>(options: &Options, reclaim: Reclaim) -> Manager<M> {
    let locks_max = options.locks_max;
    Manager::new(&chiliad_lock::Options { reclaim, locks_max, ..Default::default() })
}

fn latched<M: Machine>(options: &Options, by_bucket: bool, inherits: bool) -> Latched<M> {
    let (mutex, locks_max) = (options.mutex, options.locks_max);
    Latched::new(&LatchedOptions { by_bucket, inherits, mutex, locks_max, ..Default::default() })
}

impl<M: Machine> Variant<M> for Scalable {
    type Locks = Session<M>;
    const WORDS: [&'static str; 3] = [
        "lock-table",
        "two-phase locking by a central lock table without latches",
        "scalable-lock-manager.txt 3, 4",
    ];

    fn table(options: &Options) -> Manager<M> {
        scalable(options, Reclaim::Regions)
    }
}

impl<M: Machine> Variant<M> for Oldest {
    type Locks = Session<M>;
    const WORDS: [&'static str; 3] = [
        "lock-table-no-ebr",
        "lock-table, its locks reclaimed behind the oldest transaction",
        "scalable-lock-manager.txt 4.1, Theorem 4.1",
    ];

    fn table(options: &Options) -> Manager<M> {
        scalable(options, Reclaim::OldestTransaction)
    }
}

impl<M: Machine> Variant<M> for Global {
    type Locks = LatchedSession<M>;
    const WORDS: [&'static str; 3] = [
        "lock-table-global",
        "two-phase locking by a central lock table behind one mutex",
        "scalable-lock-manager.txt 2, Figure 3",
    ];

    fn table(options: &Options) -> Latched<M> {
        latched(options, false, false)
    }
}

impl<M: Machine> Variant<M> for ByBucket {
    type Locks = LatchedSession<M>;
    const WORDS: [&'static str; 3] = [
        "lock-table-bucket",
        "two-phase locking by a central lock table with a mutex for each bucket",
        "scalable-lock-manager.txt 2",
    ];

    fn table(options: &Options) -> Latched<M> {
        latched(options, true, false)
    }
}

impl<M: Machine> Variant<M> for Inheriting {
    type Locks = LatchedSession<M>;
    const WORDS: [&'static str; 3] = [
        "lock-table-sli",
        "lock-table-bucket, whose workers keep locks of tables for their next transaction",
        "scalable-lock-manager.txt 5.1 (speculative lock inheritance)",
    ];

    fn table(options: &Options) -> Latched<M> {
        latched(options, true, true)
    }
}
