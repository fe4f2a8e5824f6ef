//! Threads, which the system may refuse.

use crate::failure::Stop;
use std::io;
use std::thread::{Builder, Scope};

/// The system gave no thread.
pub fn refused(error: io::Error) -> Stop {
    too_much(&format!("a thread could not start: {error}"))
}

/// The system refused what a run needs.
pub fn too_much(problem: &str) -> Stop {
    let accepted = "accepted: less to run at once, or a greater limit of the host's";
    Stop::BadInput(format!("{problem}; {accepted}"))
}

/// Starts `count` threads that all run `body`. Where the system refuses one the caller tells the others, which have
/// begun, to end.
pub fn side_by_side<'scope>(
    scope: &'scope Scope<'scope, '_>,
    count: usize,
    body: impl Fn() + Copy + Send + 'scope,
) -> Result<(), Stop> {
    (0..count)
        .try_for_each(|_| Builder::new().spawn_scoped(scope, body).map(|_| ()).map_err(refused))
}
