//! The thread that removes rows past their time, a few in a transaction, at a bounded rate.
//!
//! It looks at a piece of a table and rests; after all tables it rests for longer. A piece with nothing to remove is
//! rolled back. Where others are in its way it leaves the piece for the next round.

use super::clock::Clock;
use super::expiring::Expiring;
use crate::engine::{Engine, EngineSession};
use crate::form::Schemas;
use crate::owned_thread::OwnedThread;
use crate::raw::{Range, TableId, Transaction as _};
use crate::{Error, Result};
use chiliad_engine::{Intent, Running};
use core::ops::Bound;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Rows looked at in one transaction.
const PIECE: usize = 64;
/// The rest after a piece: 12,800 rows a second are looked at, at most.
const AFTER_PIECE: Duration = Duration::from_millis(5);
/// The rest after all tables.
const AFTER_ROUND: Duration = Duration::from_millis(100);

/// The tables whose rows expire, and the thread, which the first of them starts. Ends it when it is dropped.
pub(crate) struct Sweeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<OwnedThread>>,
}

struct Shared {
    engine: Engine,
    schemas: Schemas,
    clock: Clock,
    /// All partitions, which a piece may touch.
    partitions: Vec<u32>,
    tables: Mutex<BTreeMap<TableId, Expiring>>,
    over: AtomicBool,
}

impl Sweeper {
    pub fn new(engine: Engine, schemas: Schemas, clock: Clock, partitions: u32) -> Self {
        let (tables, over) = (Mutex::default(), AtomicBool::new(false));
        let partitions = (0..partitions).collect();
        let shared = Arc::new(Shared { engine, schemas, clock, partitions, tables, over });
        Self { shared, thread: Mutex::default() }
    }

    /// Sweeps a table from now on.
    ///
    /// # Errors
    /// [`Error::HostExhausted`].
    pub fn sweep(&self, table: TableId, expiring: Expiring) -> Result<()> {
        self.shared.tables().insert(table, expiring);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let body = move || shared.run();
            *thread = Some(OwnedThread::start("chiliad-expiry", "rows that expire", body)?);
        }
        Ok(())
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        // Release pairs with the acquire in `rest`; the thread is woken and waited for next.
        self.shared.over.store(true, Ordering::Release);
    }
}

impl Shared {
    fn tables(&self) -> std::sync::MutexGuard<'_, BTreeMap<TableId, Expiring>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut session = None;
        while self.rest(AFTER_ROUND) {
            if session.is_none() {
                // All workers may be in use.
                session = self.engine.native_session().ok();
            }
            let Some(session) = &mut session else { continue };
            let tables = self.tables().clone();
            for (table, expiring) in tables {
                if !self.sweep(session, table, expiring) {
                    return;
                }
            }
        }
    }

    /// Rests; `false`: it is over.
    fn rest(&self, time: Duration) -> bool {
        // Acquire, both, pair with the release in the drop.
        if !self.over.load(Ordering::Acquire) {
            std::thread::park_timeout(time);
        }
        !self.over.load(Ordering::Acquire)
    }

    /// Goes through a table once; `false`: it is over.
    fn sweep(&self, session: &mut EngineSession, table: TableId, expiring: Expiring) -> bool {
        let mut after: Option<Vec<u8>> = None;
        loop {
            match self.piece(session, table, expiring, after.as_deref()) {
                Ok(Some(last)) => after = Some(last),
                Ok(None) => return true,
                Err(Error::UnknownTable(_)) => {
                    self.tables().remove(&table);
                    return true;
                }
                // A conflict, or no memory, or a failed log: the next round tries again.
                Err(_) => return true,
            }
            // Other workers may have its free memory meanwhile.
            session.rest(usize::MAX);
            if !self.rest(AFTER_PIECE) {
                return false;
            }
        }
    }

    /// Removes what is past its time in the piece after a key; returns its last key, if there may be more.
    fn piece(
        &self,
        session: &mut EngineSession,
        table: TableId,
        expiring: Expiring,
        after: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>> {
        let intent = Intent { partitions: &self.partitions, ..Intent::default() };
        let now = self.clock.now();
        let tx = Running::begin(&mut **session, &intent)?;
        let mut tx = crate::raw::Untyped::new(tx, crate::until::Until::default());
        let low = after.map_or(Bound::Unbounded, Bound::Excluded);
        let scanned = tx.scan(table, Range { low, ..Range::all() }.limit(PIECE))?;
        let entries = tx.entries(scanned)?.to_vec();
        let mut removed = false;
        for entry in &entries {
            if expiring.is_over(table, &self.schemas, tx.bytes(entry.row)?, now)? {
                tx.remove_row(entry.row)?;
                removed = true;
            }
        }
        let last = entries.last().filter(|_| entries.len() == PIECE);
        let last = last.map(|entry| tx.key(*entry).map(<[u8]>::to_vec)).transpose()?;
        if removed {
            tx.commit()?;
        } else {
            tx.rollback();
        }
        Ok(last)
    }
}
