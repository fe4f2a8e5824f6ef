//! The schemes, and what they share.

mod central_lock;
pub mod names;
mod occ;
mod occ_serial;
mod partition;
mod parts;
mod silo;
mod timestamp;
mod two_phase;

pub use central_lock::{
    LockTable, LockTableBucket, LockTableGlobal, LockTableNoEbr, LockTableSli,
    RepeatableRead as LockTableRepeatableRead,
};
pub use occ::Occ;
pub use occ_serial::OccSerial;
pub use partition::{HStore, Partitioned};
pub use silo::{GlobalTid, KeyValue, Silo};
pub use timestamp::{Mvcc, Timestamp};
pub use two_phase::{DlDetect, NoWait, WaitDie};

use chiliad_machine::Fault;

/// The planted bugs of all schemes.
pub(crate) fn faults() -> impl Iterator<Item = &'static Fault> {
    let tables = [
        parts::FLOOR_FAULTS,
        parts::READ_FAULTS,
        silo::FAULTS,
        partition::PARTITIONED_FAULTS,
        partition::HSTORE_FAULTS,
        two_phase::FAULTS,
        central_lock::FAULTS,
        occ::FAULTS,
        occ_serial::FAULTS,
        timestamp::FAULTS,
        central_lock::REPEATABLE_READ_FAULTS,
    ];
    tables.into_iter().flatten().copied()
}
