//! Parts that several schemes share.
//!
//! | part | of |
//! | --- | --- |
//! | `in_place`: versions that are read and overwritten where they are | all but the multi-version schemes |
//! | `versioned_read`: reading what may be overwritten meanwhile, in the present and in the past | silo, occ |
//! | `min_insert_tid`: the minimum TID of an insertion into a leaf | silo, occ |
//! | `opacity`: looking at the reads before the commit | schemes that validate |
//! | `chain`: older versions of a record | silo, mvcc, snapshots under locks |
//! | `oldest_active`: the oldest active timestamp | timestamp, mvcc, snapshots under locks |
//! | `install`: versions that are installed before those that they replace | mvcc, snapshots under locks |
//! | `unlink`: taking a row out of its index | all |

pub mod chain;
pub mod in_place;
pub mod install;
pub mod min_insert_tid;
pub mod oldest_active;
pub mod opacity;
pub mod unlink;
pub mod versioned_read;
