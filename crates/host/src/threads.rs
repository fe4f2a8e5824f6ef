//! Threads, which the system may refuse.

use crate::failure::Stop;
use chiliad_machine::Spare;
use std::hint::black_box;
use std::io;
use std::sync::{Arc, Barrier, PoisonError, RwLock};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// Address space that has to be free before a thread starts: its stack, and several times what its start maps besides.
/// A start that finds too little for the rest ends the process.
const FREE_BYTES: usize = 8 << 20;

/// The system gave no thread.
pub fn refused(error: io::Error) -> Stop {
    too_much(&format!("a thread could not start: {error}"))
}

/// The system refused what a run needs.
pub fn too_much(problem: &str) -> Stop {
    let accepted = "accepted: less to run at once, or a greater limit of the host's";
    Stop::BadInput(format!("{problem}; {accepted}"))
}

/// Starts a thread, if the process has the address space for it, and returns when it has begun: what the allocator takes
/// for a thread at its start, which can be all that is left, is never taken from the start of the next one.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::OutOfMemory`] where address space runs out (`ulimit -v`).
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    // The thread finds as much as it needs, and leaves as much to the others.
    let kept = Spare::keep(FREE_BYTES).zip(Spare::keep(FREE_BYTES));
    let Some((for_others, for_the_thread)) = kept else {
        return Err(io::ErrorKind::OutOfMemory.into());
    };
    drop(for_the_thread);
    let begun = Arc::new(Barrier::new(2));
    let begins = Arc::clone(&begun);
    let started = Builder::new().spawn_scoped(scope, move || {
        // The allocator makes its part for this thread at the first call.
        drop(black_box(Box::new(0_u64)));
        begins.wait();
        body()
    });
    if started.is_ok() {
        begun.wait();
    }
    drop(for_others);
    started
}

/// Runs `body` on `count` threads until it has returned on all of them. None runs it before the last has started: none
/// takes the address space that another needs to start, and where the system refuses one none runs it.
///
/// # Errors
/// As for [`refused`].
pub fn side_by_side(count: usize, body: impl Fn() + Sync) -> Result<(), Stop> {
    let all_started = RwLock::new(false);
    let waits = || {
        if *all_started.read().unwrap_or_else(PoisonError::into_inner) {
            body();
        }
    };
    thread::scope(|scope| {
        let mut telling = all_started.write().unwrap_or_else(PoisonError::into_inner);
        let started = (0..count).try_for_each(|_| start(scope, waits).map(drop));
        *telling = started.is_ok();
        started.map_err(refused)
    })
}
