//! A client's loop: make up a transaction, run it, acknowledge it when it may be given out.

use super::said;
use chiliad::{Database, Error, Pending, Transaction};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most transactions of a client that have committed and are not acknowledged.
pub const WINDOW: usize = 512;

/// Bytes of acknowledgements that are sent together: less than a pipe takes at once.
const BATCH_BYTES: usize = 3 << 10;

/// When a client acknowledges a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Acknowledges {
    /// When its epoch has ended durably, many at a time.
    Epoch,
    /// When the call returns, and the transaction is durable.
    Sync,
    /// When it has committed, before that is durable: a bug, to see that it is found.
    Early,
}

/// A client of the victim.
pub trait Client {
    /// Makes up the next transaction.
    fn draw(&mut self);
    /// Runs it; what is to be acknowledged goes to `lines`, which arrives empty. Repeatable.
    fn run(&mut self, tx: &mut Transaction<'_>, lines: &mut Vec<u8>) -> chiliad::Result<()>;
}

/// Why the process ends early.
#[derive(Debug)]
pub enum Trouble {
    /// The database.
    Database(Error),
    /// The parent is gone.
    Pipe(io::Error),
    /// The system gave no thread.
    NoThread(io::Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Pipe(error)
    }
}

/// Runs a client until `stop`.
pub fn run(
    db: &Database,
    client: &mut impl Client,
    acknowledges: Acknowledges,
    stop: &AtomicBool,
) -> Result<(), Trouble> {
    let mut waiting: VecDeque<(Pending<()>, Vec<u8>)> = VecDeque::new();
    let mut ready = Vec::new();
    // Relaxed: nothing is handed over by it.
    while !stop.load(Ordering::Relaxed) {
        client.draw();
        let mut lines = Vec::new();
        let mut body = |tx: &mut Transaction<'_>| {
            lines.clear();
            client.run(tx, &mut lines)
        };
        match acknowledges {
            Acknowledges::Sync => {
                let done = unless_rolled_back(db.run(&mut body))?;
                if done.is_some() {
                    ready.append(&mut lines);
                }
            }
            Acknowledges::Epoch | Acknowledges::Early => {
                let pending = unless_rolled_back(db.submit(&mut body))?;
                match pending {
                    Some(_) if acknowledges == Acknowledges::Early => ready.append(&mut lines),
                    Some(pending) => waiting.push_back((pending, lines)),
                    None => {}
                }
            }
        }
        while let Some((first, _)) = waiting.front() {
            let over = first.is_durable()?;
            if !over && waiting.len() < WINDOW {
                break;
            }
            send(&mut ready, if over { BATCH_BYTES } else { 0 })?;
            if let Some((pending, mut lines)) = waiting.pop_front() {
                pending.wait()?;
                ready.append(&mut lines);
            }
        }
        send(&mut ready, 0)?;
    }
    for (pending, mut lines) in waiting {
        pending.wait()?;
        ready.append(&mut lines);
        send(&mut ready, BATCH_BYTES)?;
    }
    Ok(send(&mut ready, 0)?)
}

/// Sends the lines once there are more than so many bytes.
fn send(lines: &mut Vec<u8>, above: usize) -> io::Result<()> {
    if lines.len() > above {
        said::send(lines)?;
        lines.clear();
    }
    Ok(())
}

/// `None` for a transaction that rolled itself back.
fn unless_rolled_back<T>(result: chiliad::Result<T>) -> chiliad::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::RolledBack) => Ok(None),
        Err(error) => Err(error),
    }
}
