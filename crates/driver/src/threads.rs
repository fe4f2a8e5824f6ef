//! The drivers' own threads: where they run, and what comes of them.

use super::Failure;
use chiliad_host::threads;
use chiliad_machine::restrict_to_cores;
use std::any::Any;
use std::thread::{Scope, ScopedJoinHandle};

/// Starts a thread, unless the system refuses it.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    task: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let refused = |error| Failure::Host(format!("a thread could not start: {error}"));
    threads::start(scope, task).map_err(refused)
}

/// Lets the calling thread, client `index`, run on `wanted` of `cores`: on one of its own if there
/// are enough. A system that refuses runs it anywhere.
pub(crate) fn place(cores: &[usize], wanted: usize, clients: usize, index: usize) {
    let usable = &cores[..wanted.min(cores.len())];
    if usable.is_empty() {
        return;
    }
    let own = if clients <= usable.len() { &usable[index..=index] } else { usable };
    let _ = restrict_to_cores(own);
}

/// The result of a thread, with its panic as a failure.
pub(crate) fn join<T>(
    result: Result<Result<T, Failure>, Box<dyn Any + Send>>,
) -> Result<T, Failure> {
    result.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Panic(message.unwrap_or("no message").to_owned()))
    })
}
