//! Requests that wait in a queue for the client that owns their partition.
//!
//! A workload may say of a request that it can wait, and in which partition it is (TPC-C: a delivery, in its warehouse).
//! Requests of one partition conflict with each other, so one client runs them all, one after another: the client
//! that made a request up puts it into the owner's queue and goes on, and the owner runs what is there between
//! its own requests.
//!
//! | to see | look into |
//! | --- | --- |
//! | the queue, in the machine's words | `queue.rs` |
//! | who owns which partition | `queues.rs` |
//! | a client's access; what it does before, between and after its own requests | `client.rs`; `deferring.rs` beside this folder |
//! | that each request is run once, and after how long | `report.rs` |
//!
//! Who finds the queue full runs the request itself: it never waits, so nothing that it holds can stand in the
//! owner's way, and a warehouse with more deliveries than one client can run loses nothing over running each where it
//! was made up. A client that leaves, its last member if it has several, closes its queue and runs what is in it; after that, too, a request is run by
//! whoever makes it up. So nothing is left when all clients have returned.

mod client;
pub(crate) mod faults;
mod queue;
mod queues;
mod report;

pub(crate) use client::Deferring;
pub(crate) use queue::Waiting;
pub(crate) use queues::Queues;
pub use report::{Deferrals, ResultRecord};

/// Who runs requests that may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Deferral {
    /// The client that makes them up, at once.
    #[default]
    Inline,
    /// The client that owns their partition, one after another.
    Owner,
}

impl Deferral {
    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Owner => "owner",
        }
    }
}
