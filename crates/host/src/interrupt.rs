//! Signals that ask the process to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP.
//!
//! A thread sleeps until one comes. Code that can end early and still report its results *listens*: the
//! first signal then only asks ([`asked`]), for as long as the code has said that it takes to end, if it has
//! ([`Listening::within`]). Otherwise, after that, and with the second one, the process ends at once:
//! all [`crate::leftovers`] are removed, and the exit status is 128 and the signal's number.
//!
//! The thread holds no lock while it sleeps, so processes that fork need not mind it. A child process that
//! is forked has no such thread: signals pass it by, and it ends with its parent.

use crate::failure::Stop;
use crate::{leftovers, output};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The signals that are heeded, unless they were ignored when the process began (`nohup`).
const HEEDED: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// How long a signal to several processes may take to be known here, after it has ended one of them.
const LATER: Duration = Duration::from_secs(1);

/// The first signal that came; 0: none.
static CAME: AtomicI32 = AtomicI32::new(0);

/// How many listen.
static LISTENING: AtomicUsize = AtomicUsize::new(0);

/// Milliseconds after which a process that has been asked to end is ended; 0: never.
static GRACE_MS: AtomicU64 = AtomicU64::new(0);

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
        let grace = GRACE_MS.load(Ordering::SeqCst);
        let wait = move || {
            thread::sleep(Duration::from_millis(grace));
            end();
        };
        if grace == 0 || thread::Builder::new().name("grace".into()).spawn(wait).is_ok() {
            return;
        }
    }
    end();
}

/// Ends the process, and leaves nothing behind.
fn end() {
    leftovers::clear();
    output::complain("chiliad: interrupted\n");
    low_level::exit(i32::from(status()));
}

/// Whether the process has been asked to end.
pub fn asked() -> bool {
    CAME.load(Ordering::SeqCst) != 0
}

/// Whether the signal that has ended a child asks this process to end, too, now or in a moment. A child leaves the group of
/// its parent before it begins, but not at once: what a terminal sends to the group meanwhile is for both.
pub(crate) fn ends_both(signal: i32) -> bool {
    comes_too(signal, asked)
}

fn comes_too(signal: i32, asked: impl Fn() -> bool) -> bool {
    if !HEEDED.contains(&signal) {
        return false;
    }
    let end = Instant::now() + LATER;
    while !asked() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
    asked()
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

    /// Begins to listen, and says how long it takes at most from a signal to the end of the process. What has not
    /// ended by then is stuck, and is ended.
    pub fn within(grace: Duration) -> Self {
        let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        GRACE_MS.store(grace, Ordering::SeqCst);
        Self::begin()
    }

    /// That the process is asked to end, as an error.
    pub fn check(&self) -> Result<(), Stop> {
        if asked() { Err(Stop::Interrupted) } else { Ok(()) }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        GRACE_MS.store(0, Ordering::SeqCst);
        LISTENING.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leftover;
    use std::cell::Cell;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    /// Names the directory of the child below, where this process is one.
    const CHILD: &str = "CHILIAD_TEST_STUCK";

    /// The process that a test starts: it listens, and never asks whether a signal has come.
    #[test]
    fn stuck() {
        let Some(directory) = std::env::var_os(CHILD) else { return };
        install().expect("a thread");
        let _directory = Leftover::tree(&PathBuf::from(directory)).expect("it is made");
        let _listening = Listening::within(Duration::from_millis(300));
        loop {
            thread::park();
        }
    }

    #[test]
    fn what_ends_a_child_may_come_here_a_moment_later() {
        let looks = Cell::new(0);
        let asked = || looks.replace(looks.get() + 1) > 2;
        assert!(comes_too(SIGINT, asked) && looks.get() > 2, "it has come meanwhile");
        assert!(!comes_too(SIGTERM, || false), "it was for the child alone");
        assert!(!comes_too(signal_hook::consts::SIGKILL, || true), "it asks nobody");
    }

    #[test]
    fn what_does_not_end_after_a_signal_is_ended_and_leaves_nothing() {
        for (signal, status) in [("TERM", 143), ("INT", 130)] {
            let name = format!("chiliad-stuck-{}-{signal}", std::process::id());
            let directory = std::env::temp_dir().join(name);
            let mut child = Command::new("env")
                .arg("--default-signal=HUP,INT,TERM")
                .arg(std::env::current_exe().expect("a path"))
                .args(["--exact", "interrupt::tests::stuck", "--nocapture"])
                .env(CHILD, &directory)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it runs");
            let begun = Instant::now();
            while !directory.exists() {
                assert!(begun.elapsed() < Duration::from_secs(60), "no child");
                thread::sleep(Duration::from_millis(5));
            }
            // It listens from then on, or a moment later: either way one signal ends it.
            thread::sleep(Duration::from_millis(100));
            let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
            assert!(sent.expect("kill runs").success());
            let asked = Instant::now();
            let ended = loop {
                match child.try_wait().expect("a child") {
                    Some(ended) => break ended,
                    None if asked.elapsed() > Duration::from_secs(60) => {
                        child.kill().expect("a child");
                        panic!("{signal}: it has not ended");
                    }
                    None => thread::sleep(Duration::from_millis(5)),
                }
            };
            assert_eq!(ended.code(), Some(status), "{signal}");
            assert!(!directory.exists(), "{signal}");
        }
    }
}
