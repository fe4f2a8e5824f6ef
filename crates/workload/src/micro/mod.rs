//! Small loads for simulated runs: a few dozen rows, so that a handful of clients meet all the time
//! and a run of thousands of transactions takes milliseconds.
//!
//! - [`InsertDelete`] over an ordered table (`scan`) or a hash table (`hash`): keys come, go and come back,
//!   values grow, ranges are scanned both ways; write skew and phantoms would break its conditions;
//! - [`Bank`] (`bank`): accounts with a unique and an ordinary secondary index;
//! - [`Counters`] (`counters`): numbers that are added to without a look at them;
//! - [`ByColumn`] (`columns`): rows of which one column is looked at while the others change.

mod bank;
mod columns;
mod counters;
mod insert_delete;

pub use bank::{Bank, BankClient, BankOptions};
pub use columns::{ByColumn, ByColumnClient, ByColumnOptions};
pub use counters::{Counters, CountersClient, CountersOptions};
pub use insert_delete::{InsertDelete, InsertDeleteClient, InsertDeleteOptions};
