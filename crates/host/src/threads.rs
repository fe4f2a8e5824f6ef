//! Threads, which the system may refuse.

use crate::failure::Stop;
use std::hint::black_box;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Address space that is free before a thread starts: its stack, and several times what its start takes beside
/// that. Where the start itself finds no more it cannot fail: it ends the process.
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

/// Starts a thread, if the process has the address space for it.
///
/// # Errors
/// Those of the system; [`io::ErrorKind::OutOfMemory`] where address space runs out (`ulimit -v`).
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    // So large a block is a mapping of its own, of which nothing is touched.
    let mut free = Vec::<u8>::new();
    free.try_reserve_exact(FREE_BYTES).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    drop(black_box(free));
    Builder::new().spawn_scoped(scope, body)
}

/// Starts `count` threads that all run `body`, and none of them before the last has begun: none takes the address
/// space that another needs to begin, and where the system refuses one none runs.
pub fn side_by_side<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    body: impl Fn() + Copy + Send + 'scope,
) -> Result<(), Stop> {
    let all_begun = Arc::new(RwLock::new(false));
    let mut telling = all_begun.write().unwrap_or_else(PoisonError::into_inner);
    let begun = (0..count).try_for_each(|_| {
        let all_begun = Arc::clone(&all_begun);
        let waits = move || {
            if *all_begun.read().unwrap_or_else(PoisonError::into_inner) {
                body();
            }
        };
        start(scope, waits).map(|_| ()).map_err(refused)
    });
    *telling = begun.is_ok();
    begun
}
