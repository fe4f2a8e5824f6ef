//! Numbers that are given out once: keys of rows that have none of their own.

use crate::{Database, Error, Key, Result, Row, Table, Transaction};
use core::fmt;
use core::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers that a thread takes at a time: more than the rows of some leaves, so that threads that insert rows under
/// them do not meet on one.
const BLOCK: u64 = 512;
/// Places where threads keep what is left of theirs.
const SHARDS: usize = 32;

/// Threads that have drawn numbers so far.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    // Relaxed: only that each gets another number matters.
    static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// Gives out numbers, from 1 on, each of them once: to any thread, in any transaction, on every server of a shared log,
/// and across restarts. See [`Database::sequence`].
///
/// Each thread takes numbers from a block of its own, so that rows inserted under them by several threads at a time lie
/// apart. So numbers do not come in the order of commits, and there are gaps: for a transaction that was rolled back or
/// run again, and for what was left of a block when the database was closed.
///
/// A handle: clones give out the same numbers. It keeps its database open.
#[derive(Clone)]
pub struct Sequence {
    database: Database,
    /// The first number that no block has, in a table of one row.
    next: Table<(), u64>,
    name: Arc<str>,
    /// Numbers of reserved blocks that were not given out yet, by thread.
    left: Arc<[Mutex<Vec<Range<u64>>>; SHARDS]>,
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Database {
    /// Opens a sequence of numbers, or creates it if there is none. It is kept in a table of this name, of one row.
    ///
    /// ```
    /// use chiliad::{Database, Table};
    ///
    /// let db = Database::in_memory()?;
    /// let orders: Table<u64, String> = db.create_table("orders")?;
    /// let numbers = db.sequence("order numbers")?;
    /// let (first, second) = db.run(|tx| {
    ///     let first = tx.insert_next(&orders, &numbers, &"tea".to_owned())?;
    ///     Ok((first, tx.insert_next(&orders, &numbers, &"milk".to_owned())?))
    /// })?;
    /// assert_eq!(db.run(|tx| tx.get(&orders, &second))?.as_deref(), Some("milk"));
    /// assert_ne!(first, second);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::open_or_create_table`]; [`Error::InvalidOption`] under a scheme without transactions.
    pub fn sequence(&self, name: &str) -> Result<Sequence> {
        let scheme = self.options().scheme;
        if !scheme.info().has_transactions() {
            let message = format!(
                "sequence {name}: scheme {scheme} cannot keep numbers apart; one with transactions is accepted"
            );
            return Err(Error::InvalidOption(message));
        }
        Ok(Sequence {
            database: self.clone(),
            next: self.open_or_create_table(name)?,
            name: name.into(),
            left: Arc::default(),
        })
    }
}

impl Sequence {
    /// The next number of this thread.
    ///
    /// Once in 512 calls it runs a transaction of its own, which commits whatever becomes of one in whose closure it
    /// is called. Under the schemes `Partitioned` and `HStore` that one must not have all partitions: draw the numbers
    /// before it begins.
    ///
    /// # Errors
    /// As for [`Database::run`]; [`Error::Nested`]; [`Error::InvalidOption`] when no numbers are left.
    pub fn next(&self) -> Result<u64> {
        let shard = self.shard();
        if let Some(number) = draw(&mut lock(shard)) {
            return Ok(number);
        }
        // The lock is not held meanwhile: a peer on this thread may come here while the transaction waits.
        let block = self.database.run(|tx| self.reserve(tx))?;
        Ok(begin(shard, block))
    }

    /// As [`Sequence::next`], for the key of a row that the caller inserts in a transaction that commits after this call: it
    /// does not wait until the numbers that it reserves are durable, since they are before the row is. Do not tell anybody
    /// the number before that.
    ///
    /// # Errors
    /// As for [`Sequence::next`].
    pub fn next_key(&self) -> Result<u64> {
        let shard = self.shard();
        if let Some(number) = draw(&mut lock(shard)) {
            return Ok(number);
        }
        let mut block = 0..0;
        // Nobody needs to wait here: the row commits later, and its caller waits for that.
        _ = self.database.submit(|tx| {
            block = self.reserve(tx)?;
            Ok(())
        })?;
        Ok(begin(shard, block))
    }

    /// Takes a block of numbers that nobody else gets.
    fn reserve(&self, tx: &mut Transaction<'_>) -> Result<Range<u64>> {
        let next = tx.fetch_for_update(&self.next, &())?;
        let start = next.map_or(1, |next| next.value);
        let Some(end) = start.checked_add(BLOCK) else {
            let message = format!("sequence {}: no numbers are left after {start}", self.name);
            return Err(Error::InvalidOption(message));
        };
        tx.put(&self.next, &(), &end)?;
        Ok(start..end)
    }

    /// Where the calling thread keeps its numbers. Threads may share one.
    fn shard(&self) -> &Mutex<Vec<Range<u64>>> {
        // A thread that is ending has no number any more.
        &self.left[THREAD.try_with(|number| *number).unwrap_or(0) % SHARDS]
    }
}

/// Gives out the first number of a block, and keeps the others.
fn begin(shard: &Mutex<Vec<Range<u64>>>, mut block: Range<u64>) -> u64 {
    let number = block.start;
    block.start += 1;
    lock(shard).push(block);
    number
}

/// A number of the first block that has one.
fn draw(blocks: &mut Vec<Range<u64>>) -> Option<u64> {
    loop {
        match blocks.last_mut()?.next() {
            Some(number) => return Some(number),
            None => _ = blocks.pop(),
        }
    }
}

fn lock(shard: &Mutex<Vec<Range<u64>>>) -> MutexGuard<'_, Vec<Range<u64>>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transaction<'_> {
    /// Inserts a row under the next number of a sequence, and returns that.
    ///
    /// # Errors
    /// As for [`Transaction::insert`] and [`Sequence::next`]. [`Error::DuplicateKey`] where a row was inserted under a
    /// number that the sequence had not given out.
    pub fn insert_next<K: Key + From<u64>, V: Row>(
        &mut self,
        table: &Table<K, V>,
        numbers: &Sequence,
        row: &V,
    ) -> Result<K> {
        let key = K::from(numbers.next()?);
        self.insert(table, &key, row)?;
        Ok(key)
    }
}
