//! A lock manager for two-phase locking that does not collapse when there are far more transactions than
//! cores (H. Jung, H. Han, A. Fekete, G. Heiser, H. Y. Yeom, "A Scalable Lock Manager for Multicores", ACM
//! TODS, 2014: scalable-lock-manager.txt).

mod agents;
mod chain;
mod deadlock;
mod faults;
mod ground;
mod held;
mod lock;
mod manager;
mod mode;
#[cfg(test)]
mod models;
mod name;
mod pool;
mod region;
mod session;
mod valid;

pub use agents::AGENTS_MAX;
pub use faults::FAULTS;
pub use manager::{Manager, Options, Usage};
pub use mode::Mode;
pub use name::Name;
pub use pool::Stock;
pub use region::Reclaim;
pub use session::{Answer, Cancel, Refused, Session};
