//! The planted bugs of queues of deferred requests: each loses a request or runs one twice, which the count of results
//! shows.

use chiliad_machine::{Fault, Rig};

/// All of them.
pub const FAULTS: &[&Fault] = &[&PLACE_SHARED, &FULL_MISREAD, &LEFT_BEHIND];

const fn fault(name: &'static str, step: &'static str) -> Fault {
    let (schemes, expected): (&[_], &[_]) = (&[], &["deferred"]);
    Fault { name, step, rig: Rig::SimSc, schemes, workload: "tpcc", expected, seeds: 400 }
}

/// Two clients take the same place in a queue.
pub static PLACE_SHARED: Fault =
    fault("deferred-place-shared", "a place in a queue is taken by one atomic step");

/// A request is queued and run at once.
pub static FULL_MISREAD: Fault =
    fault("deferred-full-misread", "who takes the last place of a queue leaves the request there");

/// Requests are still queued when nobody will run them.
pub static LEFT_BEHIND: Fault =
    fault("deferred-left-behind", "a client runs what is in its queue before it leaves");
