//! Threads of the command's own, which the system may refuse.

use crate::bench;
use crate::failure::Stop;
use chiliad_driver::Failure;
use std::io;
use std::thread::{Builder, Scope};

/// The system gave no thread.
pub fn refused(error: io::Error) -> Stop {
    bench::stop(Failure::Host(format!("a thread could not start: {error}")))
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
