//! Keeps panics of simulated cores off the standard error: they are part of the outcome.

use crate::state::State;
use std::any::Any;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

static INSTALL: Once = Once::new();

/// Puts our hook before the one that is there, once per process.
pub(crate) fn install() {
    INSTALL.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                others(info);
            }
        }));
    });
}

/// Notes a panic of a core of this thread's run; `false` if the panic is not ours to keep.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    let Some(state) = State::try_current() else { return false };
    if state.running.get() == 0 {
        return state.quiet.get();
    }
    let place = info.location().map_or_else(String::new, |at| format!(", {at}"));
    state.panic_message.replace(Some(format!("{}{place}", message(info.payload()))));
    true
}

/// The message of a panic's payload.
fn message(payload: &dyn Any) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a panic without a message)"
    }
}

/// The message of a panic that reached a core's root: as the hook saw it, or from the payload if the
/// panic was resumed without one.
pub(crate) fn describe(state: &State, payload: &dyn Any) -> String {
    let said = message(payload);
    match state.panic_message.take() {
        Some(noted) if noted.starts_with(said) => noted,
        _ => said.to_owned(),
    }
}
