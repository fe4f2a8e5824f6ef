//! A lock manager for two-phase locking that does not collapse when there are far more transactions than
//! cores (Jung, Han, Fekete, Heiser, Yeom, "A Scalable Lock Manager for Multicores", ACM TODS 39(4), 2014;
//! "the paper" in this crate).
//!
//! A [`Manager`] is a hash table of chains of locks. A [`Session`] is a transaction's part: it asks for
//! [`Name`]s in [`Mode`]s, waits, and releases everything at its end. Nothing on that way takes a latch:
//!
//! - a lock comes into its chain by an exchange of the tail (`chain.rs`), is obsolete as soon as its owner says
//!   so, and is unlinked by the next session that passes;
//! - locks are made in advance and given back by the segment (`pool.rs`, `valid.rs`), when nobody can have them
//!   in sight any more (`epoch_guard.rs`);
//! - waiters sleep, and are woken by the releasing session; a session about to wait looks for deadlocks
//!   (`deadlock.rs`), and the youngest gives up;
//! - intentions on databases and tables are counted, not chained (`ground.rs`).
//!
//! # Exclusion
//!
//! Of two locks of the same thing that exclude each other the one ahead in the chain goes first. The one behind
//! looks at all ahead of it when it claims, and finds it, since a walk towards a lock of one's own is complete.
//! The exception is a conversion, which goes before those behind it that wait: it and a claim behind it each
//! write their own state, fence, and read the other's, so that one of them sees the other and waits.
//!
//! # Waking
//!
//! The seven synchronisation points of the paper's Figure 3 and what each is for, after its Figure 7: lock 1 of
//! transaction A is in the way of lock 2 of B, and A releases it at any moment.
//!
//! | | where | between | without it |
//! | --- | --- | --- | --- |
//! | S1 | `Bucket::insert` | lock 2 comes in, and B looks at lock 1 (case 1) | two come in behind the same lock, and one of them is lost |
//! | S2 | `Session::claim` | lock 2 waits, and B looks again (case 2), then for deadlocks | two who wait for each other both look before the other is seen to wait |
//! | S3 | `Session::claim` | lock 2 claims after all, and B looks again | a conversion ahead takes it for waiting, and both have it |
//! | S4 | `Session::sleep` | B shows that it sleeps, and looks for the last time (case 3) | A releases in between and sees nobody asleep |
//! | S5 | `Session::wait` | lock 2 claims after a sleep, and B looks again | as S3 |
//! | S6 | `Session::release_shared` | lock 1 is obsolete, and A looks who waits (cases 4 and 5) | B sees lock 1 held, A sees lock 2 not waiting |
//! | S7 | `Manager::rouse` | B is not to sleep any more, and is woken | B finds that it is to sleep, and does |
//!
//! Each has a planted bug, in [`FAULTS`]. S1 and S7 are orders of steps, the others fences.
//!
//! # Departures
//!
//! The paper grants on the waiter's behalf, under the waiter's mutex; here the releasing session only wakes, by a
//! permit, and the waiter looks for itself. The paper knows neither conversions nor intentions by counters, and
//! leaves the last obsolete lock of a chain where it is. There the requester aborts, here the youngest of a circle.
//! Its walk over the locks *behind* one's own goes by the links that there are; here it waits for one that is missing
//! as the walk over those ahead does, since a lock that came in behind the gap may sleep already.

/// The guide's examples, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/lock.md")]
struct Guide;

mod agents;
mod answer;
mod cancel;
mod chain;
mod deadlock;
mod epoch_guard;
mod faults;
mod ground;
mod held;
mod latched;
mod lock;
mod locks;
mod manager;
mod mode;
#[cfg(test)]
mod models;
mod name;
mod pool;
mod release;
mod retired;
mod session;
mod stack;
mod trace;
mod until;
mod valid;

pub use agents::AGENTS_MAX;
pub use answer::{Answer, Refused};
pub use cancel::Cancel;
pub use epoch_guard::Reclaim;
pub use faults::FAULTS;
pub use latched::{Latched, LatchedOptions, LatchedSession};
pub use locks::Locks;
pub use manager::{Manager, Options, Usage};
pub use mode::Mode;
pub use name::Name;
pub use pool::Stock;
pub use session::Session;
pub use until::Until;
