//! Where a simulated core that uses a device, a disk or a shared log, lets others run.
//!
//! Outside the schedule, without a run, and on a core that unwinds, nothing here does anything: the
//! operation is just performed. Nobody holds the device's mutex here.

use crate::Sim;
use crate::state::{DEVICE_EVENT, State};
use chiliad_machine::{Machine, Ticks, Woken, WorkerId};
use std::time::Duration;

/// An operation on a device, for the run's digest.
#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Look = 1,
    Create,
    Open,
    Rename,
    Remove,
    SyncNames,
    Read,
    Write,
    Sync,
    LookAtLog,
    ReadLog,
    Append,
    Trim,
}

/// The run whose schedule the caller is under.
fn scheduled<'a>() -> Option<&'a State> {
    let state = State::try_current()?;
    (state.running.get() != 0 && !std::thread::panicking()).then_some(state)
}

/// Performs an operation between two points at which others may run: before it, and before its
/// caller learns how it went.
pub(crate) fn perform<R>(operation: Operation, f: impl FnOnce() -> R) -> R {
    if let Some(state) = scheduled() {
        // A call of a device gives way to other cores, not to siblings: the thread is in the call.
        state.give_way(false);
    }
    let result = f();
    if let Some(state) = scheduled() {
        state.other_event(((operation as u64) << 4) | DEVICE_EVENT);
    }
    result
}

/// Lets time pass.
pub(crate) fn wait(ticks: Ticks) {
    let Some(state) = scheduled() else { return };
    let until = state.now() + ticks;
    if state.stand_still(until) {
        return;
    }
    let mut permit = false;
    while state.now() < until {
        permit |= state.park(Some(until)) == Woken::ByPeer;
    }
    if permit {
        // It was meant for a park of the program's.
        state.unpark(WorkerId(state.running.get()));
    }
}

/// The worker that uses a device; nobody outside of the schedule.
pub(crate) fn caller() -> Option<WorkerId> {
    scheduled().map(|state| WorkerId(state.running.get()))
}

/// Sleeps until it is woken or so much time has passed; not at all outside of the schedule.
pub(crate) fn rest(time: Duration) {
    let Some(state) = scheduled() else { return };
    state.park(Some(state.now().saturating_add(Sim::ticks(time))));
}

/// Wakes a worker that rests.
pub(crate) fn wake(worker: WorkerId) {
    if let Some(state) = scheduled() {
        state.unpark(worker);
    }
}
