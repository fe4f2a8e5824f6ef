//! Servers that share a log, for as long as one likes: clients update through the facade, servers restart and one more
//! joins meanwhile, checkpoints are made and the log is trimmed; memory and log must not grow.
//!
//! ```text
//! order     what was asked for
//! metered   a log that counts what goes through it      curve     numbers over time, and whether they grow
//! sampler   looks at memory and log now and then
//! work      the transactions of clients, as the checker reads them
//! member    a server, its clients, and how it comes and goes       fleet  all of them
//! round     some seconds of all that, and then everybody rests, and all is judged
//! run       round after round                           report    what comes of them
//! ```
//!
//! A round ends at rest: then the history of its transactions is judged, from the rows with which it began to those with
//! which it ends, and the copies are compared. So an hour's history is judged whole, and no more than a round of it is
//! in memory.

mod curve;
mod fleet;
mod member;
mod metered;
mod order;
mod report;
mod round;
mod run;
mod sampler;
mod work;

pub use order::JoinedOrder;
pub use report::JoinedReport;
pub use run::run;
