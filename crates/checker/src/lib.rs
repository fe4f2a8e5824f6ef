//! Histories of transactions, and a checker that judges their isolation.
//!
//! The crate knows no engine. A producer writes down, above the concurrency-control scheme, what
//! each transaction saw and did ([`Recorder`]); the pieces become a [`History`], in memory or
//! through a file in one of two documented forms (`HISTORY.md`); [`check`] builds the direct
//! serialization graph of Adya's thesis from it and names every anomaly with its smallest cycle.
//!
//! Invariants of the whole:
//!
//! - The order of the versions of a key comes from what the writers *overwrote*, never from what
//!   the scheme claims. The claimed order is compared with it, and settles only what the chain
//!   leaves open; where it is wrong, that is a verdict of its own.
//! - Every edge of the graph holds in all explanations of the history. A cycle is therefore a
//!   proof. What the history leaves open is counted as ambiguous, and a guess about it can only
//!   ever acquit: it is tested by replaying a whole serial order.
//! - Nothing in a damaged file makes the crate panic.
//!
//! ```
//! use chiliad_checker::{check, Class, History, Options};
//!
//! let history = History::from_text(
//!     "txn 1 commit
//!        r accounts alice 0
//!        u accounts alice over 0
//!      txn 2 commit
//!        r accounts alice 0
//!        u accounts alice over 1",
//! )?;
//! let verdict = check(&history, &Options::default());
//! assert!(!verdict.serializable);
//! assert_eq!(verdict.anomalies[0].class, Class::LostUpdate);
//! # Ok::<(), chiliad_checker::ReadError>(())
//! ```
#![forbid(unsafe_code)]

mod anomaly;
mod check;
mod history;
mod stamp;
mod verdict;

pub use anomaly::{Anomaly, Class, Edge, EdgeKind, Isolation};
pub use check::{Options, check};
pub use history::recorder::{Bound, Direction, Recorder, WriteKind};
pub use history::{Header, History, ReadError, ReadErrorKind};
pub use stamp::{Stamp, Version};
pub use verdict::{EdgeCounts, Verdict};
