//! Signals that ask the process to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A thread sleeps until one comes. Code that can end early and still report its results *listens*: the
//! first signal then only asks ([`asked`]). Otherwise, and with the second one, the process ends at once:
//! all [`crate::leftovers`] are removed, and the exit status is 128 and the signal's number.
//!
//! The thread holds no lock while it sleeps, so processes that fork need not mind it. A child process that
//! is forked has no such thread: signals pass it by, and it ends with its parent.

use crate::failure::Stop;
use crate::{leftovers, output};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;

/// The signals that are heeded, unless they were ignored when the process began (`nohup`).
const HEEDED: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The first signal that came; 0: none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// How many listen.
static LISTENING: AtomicUsize = AtomicUsize::new(0);

/// From now on signals are heeded.
pub fn install() -> Result<(), Stop> {
    let ignored = ignored();
    let heeded = HEEDED.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let refused = |error| {
        Stop::bad("signals", format!("{error}; accepted: a process that may have a thread more"))
    };
    let mut signals = Signals::new(heeded).map_err(refused)?;
    let wait = move || signals.forever().for_each(come);
    thread::Builder::new().name("signals".into()).spawn(wait).map_err(refused)?;
    Ok(())
}

/// The signals that the process was started to ignore, as a set of bits; none where the system does not
/// tell.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0)
}

/// A signal has come.
fn come(signal: i32) {
    // SeqCst, here and in `asked`: seldom, and nothing to think about.
    let first = CAME.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    if first && LISTENING.load(Ordering::SeqCst) > 0 {
        return;
    }
    leftovers::clear();
    output::complain("chiliad: interrupted\n");
    low_level::exit(i32::from(status()));
}

/// Whether the process has been asked to end.
pub fn asked() -> bool {
    CAME.load(Ordering::SeqCst) != 0
}

/// The exit status of a process that a signal ended: that of a shell's command.
pub fn status() -> u8 {
    128 + u8::try_from(CAME.load(Ordering::SeqCst)).unwrap_or(0)
}

/// While this lives the first signal only asks: see [`asked`].
pub struct Listening(());

impl Listening {
    /// Begins to listen.
    pub fn begin() -> Self {
        LISTENING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// That the process is asked to end, as an error.
    pub fn check(&self) -> Result<(), Stop> {
        if asked() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENING.fetch_sub(1, Ordering::SeqCst);
    }
}
