//! Runs: natively, on simulated machines, many at once; what each comes to is a [`crate::result::RunResult`];
//! meld and appends, which have no clients and no transactions, come to a [`MeldResult`] and an [`AppendResult`].

mod appends;
mod book;
mod deliveries;
mod files;
mod interleave;
mod job;
mod judged;
mod locks;
mod lookups;
mod meld;
mod native;
mod ordered;
mod place;
mod points;
mod progress;
mod server;
mod servers;
mod session;
mod simulated;
mod timestamps;
mod verify;

pub use appends::{AppendResult, AppendSpec};
pub use files::Files;
pub use job::Job;
pub use locks::LocksSpec;
pub use lookups::LookupSpec;
pub use meld::{MeldResult, MeldSpec, Way};
pub(crate) use native::{measure_again, open};
pub(crate) use points::{Answer, run_points};
pub use progress::reading;
pub use server::serve;
pub use session::Session;
pub(crate) use session::run as run_job;
pub(crate) use timestamps::draw;
