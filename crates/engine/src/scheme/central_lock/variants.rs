//! The lock tables by which records are locked, a scheme each.

use super::Table;
use crate::Options;
use crate::scheme::SchemeName;
use chiliad_lock::{Latched, LatchedOptions, LatchedSession, Locks, Manager, Reclaim, Session};
use chiliad_machine::Machine;

/// A lock table.
pub trait Variant<M: Machine>: 'static {
    /// The session by which transactions lock.
    type Locks: Locks<M>;
    /// The scheme with this table.
    const NAME: SchemeName;

    /// The table.
    fn table(options: &Options) -> <Self::Locks as Locks<M>>::Manager;
}

/// Without latches; locks are reclaimed when the epoch guards have ended under which they might be seen
/// (4.1, Theorem 4.2).
pub struct Scalable;
/// Without latches; locks are reclaimed when the transactions have ended that might see them (Theorem 4.1).
pub struct Oldest;
/// One mutex for the whole table.
pub struct Global;
/// A mutex for each bucket.
pub struct ByBucket;
/// With a mutex for each bucket; locks of databases and tables stay with their worker for its next transaction.
pub struct Inheriting;

/// Two-phase locking by a lock table without latches.
pub type LockTable<M> = Table<M, Scalable>;
/// Without latches, reclaimed after the oldest transaction.
pub type LockTableNoEbr<M> = Table<M, Oldest>;
/// Two-phase locking by a lock table behind one mutex.
pub type LockTableGlobal<M> = Table<M, Global>;
/// Two-phase locking by a lock table with a mutex for each bucket.
pub type LockTableBucket<M> = Table<M, ByBucket>;
/// With a mutex for each bucket and speculative lock inheritance.
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
    const NAME: SchemeName = SchemeName::LockTable;

    fn table(options: &Options) -> Manager<M> {
        scalable(options, Reclaim::EpochGuards)
    }
}

impl<M: Machine> Variant<M> for Oldest {
    type Locks = Session<M>;
    const NAME: SchemeName = SchemeName::LockTableNoEbr;

    fn table(options: &Options) -> Manager<M> {
        scalable(options, Reclaim::OldestTransaction)
    }
}

impl<M: Machine> Variant<M> for Global {
    type Locks = LatchedSession<M>;
    const NAME: SchemeName = SchemeName::LockTableGlobal;

    fn table(options: &Options) -> Latched<M> {
        latched(options, false, false)
    }
}

impl<M: Machine> Variant<M> for ByBucket {
    type Locks = LatchedSession<M>;
    const NAME: SchemeName = SchemeName::LockTableBucket;

    fn table(options: &Options) -> Latched<M> {
        latched(options, true, false)
    }
}

impl<M: Machine> Variant<M> for Inheriting {
    type Locks = LatchedSession<M>;
    const NAME: SchemeName = SchemeName::LockTableSli;

    fn table(options: &Options) -> Latched<M> {
        latched(options, true, true)
    }
}
