//! The process that is killed: opens the directory, runs clients, and says what it acknowledges.
//!
//! It ends by itself when standard input does: when the parent asks it to close, or is gone.

use super::client::{self, Trouble};
use super::said::{Said, say};
use super::{bank, plan, tpcc};
use crate::args::{ChildFlags, CrashWorkload};
use crate::directory::refusal;
use crate::failure::Stop;
use crate::threads;
use chiliad::{Database, Durability, Error};
use chiliad_workload::random::Random;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Runs until it is killed or asked to end.
pub fn child(flags: &ChildFlags) -> Result<(), Stop> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let listen = move || {
        // Nothing is ever sent: what counts is the end.
        let _ = std::io::stdin().read(&mut [0]);
        told.store(true, Ordering::Relaxed);
    };
    thread::Builder::new().spawn(listen).map_err(threads::refused)?;
    work(flags, &stop).map_err(|trouble| told_trouble(&flags.data, trouble))
}

fn told_trouble(directory: &Path, trouble: Trouble) -> Stop {
    match trouble {
        Trouble::Database(error) => refusal(directory, &error),
        Trouble::Pipe(error) => Stop::bad("standard output", error),
    }
}

fn work(flags: &ChildFlags, stop: &AtomicBool) -> Result<(), Trouble> {
    let scheme = flags.scheme.parse()?;
    // The clients wait for each result themselves where they are to wait.
    let options = plan::options(flags.seed, flags.cycle, scheme, Durability::Sync);
    let start = Instant::now();
    let db = Database::open_with(&flags.data, options)?;
    say(&Said::Opened(start.elapsed().as_micros() as u64))?;
    let seed = Random::new(flags.seed, !flags.cycle).bits();
    match flags.workload {
        CrashWorkload::Bank => {
            let bank = bank::Tables::prepare(&db)?;
            run(flags, &db, stop, |index| bank::Teller::new(bank, index, seed))
        }
        CrashWorkload::Tpcc => {
            let load = tpcc::Load::prepare(&db, seed)?;
            run(flags, &db, stop, |index| tpcc::Terminal::new(&load, index, flags.threads, seed))
        }
    }
}

/// Runs the clients, and checkpoints beside them.
fn run<C: client::Client>(
    flags: &ChildFlags,
    db: &Database,
    stop: &AtomicBool,
    client: impl Fn(usize) -> C + Sync,
) -> Result<(), Trouble> {
    db.sync()?;
    say(&Said::Ready)?;
    let trouble = Mutex::new(None);
    let attempt = |result: Result<(), Trouble>| {
        if let Err(error) = result {
            stop.store(true, Ordering::Relaxed);
            trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    thread::scope(|scope| {
        for index in 0..flags.threads {
            let (client, attempt) = (&client, &attempt);
            let work = move || {
                let mut client = client(index);
                attempt(client::run(db, &mut client, flags.durability, flags.plant, stop));
            };
            attempt(
                thread::Builder::new().spawn_scoped(scope, work).map(|_| ()).map_err(no_thread),
            );
        }
        if flags.checkpoints {
            let work = || attempt(checkpoints(db, stop));
            attempt(
                thread::Builder::new().spawn_scoped(scope, work).map(|_| ()).map_err(no_thread),
            );
        }
    });
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(trouble) => Err(trouble),
        None => Ok(()),
    }
}

/// The system gave no thread.
fn no_thread(error: io::Error) -> Trouble {
    Trouble::Database(Error::HostExhausted(format!("a thread could not start: {error}")))
}

/// Writes one checkpoint after the other.
fn checkpoints(db: &Database, stop: &AtomicBool) -> Result<(), Trouble> {
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(5));
        say(&Said::CheckpointBegins)?;
        db.checkpoint()?;
        say(&Said::CheckpointEnds)?;
    }
    Ok(())
}
