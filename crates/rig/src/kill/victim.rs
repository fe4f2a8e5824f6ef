//! The process that is killed: opens the directory, runs clients, and says what it acknowledges.
//!
//! It ends by itself when standard input does: when the parent asks it to close, or is gone.

use super::client::{self, Acknowledges, Trouble};
use super::said::{Said, say};
use super::together::{checkpoints, together};
use super::{bank, plan, tpcc};
use chiliad::{Database, Durability, Error};
use chiliad_host::orders;
use chiliad_workload::random::Random;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long after a checkpoint the next one begins.
const CHECKPOINT_AFTER: Duration = Duration::from_millis(5);

/// The work of the clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Work {
    /// Transfers between 64 accounts, each with a row in a journal.
    Bank,
    /// TPC-C with two small warehouses.
    Tpcc,
}

impl Work {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Tpcc => "tpcc",
        }
    }

    /// Whether a directory with these tables may have been made by this.
    #[must_use]
    pub fn made(self, tables: &[String]) -> bool {
        match self {
            Self::Bank => tables.iter().all(|name| bank::NAMES.contains(&name.as_str())),
            Self::Tpcc => tpcc::is_ours(tables),
        }
    }
}

/// A process that will be killed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Victim {
    /// The directory of its database.
    pub data: PathBuf,
    /// The work of its clients.
    pub work: Work,
    /// Clients, each a thread.
    pub threads: usize,
    /// The scheme of its database, by name.
    pub scheme: String,
    /// When clients acknowledge.
    pub acknowledges: Acknowledges,
    /// The seed of all cycles.
    pub seed: u64,
    /// The number of this one, from 0.
    pub cycle: u64,
    /// Write one checkpoint after the other.
    pub checkpoints: bool,
}

impl Victim {
    /// Runs until it is killed or standard input ends; says on standard output what it does.
    ///
    /// # Errors
    /// [`Trouble`]: why it ends early.
    pub fn run(&self) -> Result<(), Trouble> {
        let stop = Arc::new(AtomicBool::new(false));
        let [told, ended] = [(); 2].map(|()| Arc::clone(&stop));
        // Nothing is ever sent: what counts is the end.
        let set = |stop: Arc<AtomicBool>| move || stop.store(true, Ordering::Relaxed);
        orders::listen(set(told), set(ended)).map_err(Trouble::NoThread)?;
        self.work(&stop)
    }

    fn work(&self, stop: &AtomicBool) -> Result<(), Trouble> {
        // The clients wait for each result themselves where they are to wait.
        let scheme = self.scheme.parse()?;
        let options = plan::options(self.seed, self.cycle, scheme, Durability::Sync);
        let start = Instant::now();
        let db = Database::open_with(&self.data, options)?;
        say(&Said::Opened(start.elapsed().as_micros() as u64))?;
        let seed = Random::new(self.seed, !self.cycle).bits();
        match self.work {
            Work::Bank => {
                let bank = bank::Tables::prepare(&db)?;
                run(self, &db, stop, |index| bank::Teller::new(bank, index, seed))
            }
            Work::Tpcc => {
                let load = tpcc::Load::prepare(&db, seed)?;
                run(self, &db, stop, |index| tpcc::Terminal::new(&load, index, self.threads, seed))
            }
        }
    }
}

/// Runs the clients, and checkpoints beside them.
fn run<C: client::Client>(
    victim: &Victim,
    db: &Database,
    stop: &AtomicBool,
    client: impl Fn(usize) -> C + Sync,
) -> Result<(), Trouble> {
    db.sync()?;
    say(&Said::Ready)?;
    together(stop, no_thread, |crew| {
        for index in 0..victim.threads {
            let client = &client;
            crew.start(move || client::run(db, &mut client(index), victim.acknowledges, stop));
        }
        if victim.checkpoints {
            crew.start(|| checkpoints(db, CHECKPOINT_AFTER, stop));
        }
    })
}

/// The system gave no thread.
fn no_thread(error: io::Error) -> Trouble {
    Trouble::Database(Error::HostExhausted(format!("a thread could not start: {error}")))
}
