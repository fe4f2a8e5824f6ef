//! Workloads whose transactions are statements of SQL.
//!
//! The texts are prepared once, and the plans run in the transaction that the driver has begun, whatever engine, scheme
//! and machine it is of. So runs on simulated cores interleave what SQL does with rows, indexes and ranges, and the
//! checker judges it as it judges procedures. What SQL itself computes costs no simulated time.
//!
//! | to see | look into |
//! | --- | --- |
//! | tables that SQL declares, as the engine's declarations | `tables` |
//! | texts as plans, shared by all clients | `plans` |
//! | one client's statements in a transaction, and their errors | `connection` |
//! | TPC-B: accounts, tellers, branches | [`tpcb`] |
//! | TPC-C, beside its procedures | [`crate::tpcc::sql`] |

pub(crate) mod connection;
pub(crate) mod plans;
mod tables;
pub mod tpcb;

pub use chiliad_sql::FAULTS;
