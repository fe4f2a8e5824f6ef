//! Rows past their time: absent to readers at once, and removed in the background.

mod clock;
mod expiring;
mod sweeper;

pub use clock::Clock;
pub(crate) use expiring::Expiring;
pub(crate) use sweeper::Sweeper;
