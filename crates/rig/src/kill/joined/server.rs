//! The process that is killed: servers of a shared log, with their clients.
//!
//! ```text
//! it says                               it is told
//! opened, ready                         stop      its clients end
//! moved .. for each transfer            compare   all clients of all processes have ended
//! stopped; has N TEXT for each server
//! ```
//!
//! It ends by itself when standard input does.

use crate::kill::bank::{Tables, Teller};
use crate::kill::client::{self, Acknowledges, Client, Trouble};
use crate::kill::said::{Said, say, send};
use crate::kill::together::{checkpoints, together};
use chiliad::shared_log::SharedLog;
use chiliad::{Database, Error, Options, RunOptions, Transaction};
use chiliad_host::orders;
use chiliad_workload::random::Random;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long after a checkpoint the next one begins.
const CHECKPOINT_AFTER: Duration = Duration::from_millis(60);

/// Servers that will be killed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Server {
    /// The name of their log.
    pub log: String,
    /// Where they keep their checkpoints.
    pub checkpoints_in: PathBuf,
    /// How many there are here.
    pub servers: usize,
    /// The number of the first client.
    pub first_client: usize,
    /// Clients, each a thread.
    pub threads: usize,
    /// The seed of all cycles.
    pub seed: u64,
    /// The number of this one, from 0.
    pub cycle: u64,
    /// Make one checkpoint after the other.
    pub checkpoints: bool,
    /// Acknowledge before a transaction has committed: a bug, to see that it is found.
    pub acknowledges_early: bool,
}

/// A server with its tables.
struct Joined {
    db: Database,
    tables: Tables,
}

impl Server {
    /// Runs until it is killed or standard input ends; says on standard output what it does.
    ///
    /// # Errors
    /// [`Trouble`]: why it ends early.
    pub fn run(&self) -> Result<(), Trouble> {
        let stop = Arc::new(AtomicBool::new(false));
        // The parent's first word, or its end, stops the clients.
        let [told, ended] = [(); 2].map(|()| Arc::clone(&stop));
        let set = |stop: Arc<AtomicBool>| move || stop.store(true, Ordering::Relaxed);
        let orders = orders::listen(set(told), set(ended)).map_err(Trouble::NoThread)?;
        let start = Instant::now();
        let log = chiliad::shared_log::open(&self.log)?;
        let joined = (0..self.servers).map(|_| self.join(&log)).collect::<Result<Vec<_>, _>>()?;
        say(&Said::Opened(start.elapsed().as_micros() as u64))?;
        self.work(&joined, &stop)?;
        say(&Said::Stopped)?;
        while let Ok(order) = orders.recv() {
            if order == "compare" {
                for (server, at) in joined.iter().zip(self.first_client..) {
                    catch_up(&server.db)?;
                    let text = server.db.fingerprint()?.unwrap_or_default();
                    say(&Said::Has { server: at as u32, text })?;
                }
            }
        }
        Ok(())
    }

    fn join(&self, log: &Arc<dyn SharedLog>) -> Result<Joined, Trouble> {
        let never = u64::MAX;
        let options =
            Options::default().checkpoints(&self.checkpoints_in).checkpoint_log_bytes(never);
        let db = Database::join_log(Arc::clone(log), options)?;
        let tables = Tables::prepare(&db)?;
        Ok(Joined { db, tables })
    }

    /// Runs the clients, and checkpoints beside them, until `stop`.
    fn work(&self, joined: &[Joined], stop: &AtomicBool) -> Result<(), Trouble> {
        say(&Said::Ready)?;
        let seed = Random::new(self.seed, !self.cycle).bits();
        together(stop, Trouble::NoThread, |crew| {
            for index in 0..self.threads {
                let Joined { db, tables } = &joined[index % joined.len()];
                let teller = Teller::new(*tables, self.first_client + index, seed);
                crew.start(move || self.run_client(db, teller, stop));
            }
            if self.checkpoints {
                crew.start(|| checkpoints(&joined[0].db, CHECKPOINT_AFTER, stop));
            }
        })
    }

    fn run_client(
        &self,
        db: &Database,
        mut teller: Teller,
        stop: &AtomicBool,
    ) -> Result<(), Trouble> {
        match self.acknowledges_early {
            true => client::run(db, &mut Early(teller), Acknowledges::Sync, stop),
            false => client::run(db, &mut teller, Acknowledges::Sync, stop),
        }
    }
}

/// Says what a client has done before that has committed.
struct Early<C>(C);

impl<C: Client> Client for Early<C> {
    fn draw(&mut self) {
        self.0.draw();
    }

    fn run(&mut self, tx: &mut Transaction<'_>, lines: &mut Vec<u8>) -> chiliad::Result<()> {
        self.0.run(tx, lines)?;
        // The parent is gone: the process will hear of it.
        let _ = send(lines);
        lines.clear();
        Ok(())
    }
}

/// Reads all that any server has written.
fn catch_up(db: &Database) -> chiliad::Result<()> {
    let newest = RunOptions::default().linearizable();
    db.run_with(&newest, |_| Ok::<_, Error>(()))
}
