//! Committed changes, read from the log in the order of their commits.
//!
//! [`Database::changes`] follows what transactions commit: each change once, from a [`Position`] that can be stored and
//! resumed, after the database was closed or killed too. Writers are not asked: a follower reads the files of the log.
//!
//! ```
//! use chiliad::changes::Position;
//! use chiliad::{Database, Table};
//!
//! # let path = std::env::temp_dir().join(format!("chiliad-doc-changes-{}", std::process::id()));
//! # let _ = std::fs::remove_dir_all(&path);
//! let db = Database::open(&path)?;
//! let ages: Table<String, u8> = db.create_table("ages")?;
//! db.run(|tx| tx.insert(&ages, &"ann".to_owned(), &30))?;
//! db.run(|tx| tx.remove(&ages, "ann"))?;
//!
//! let mut changes = db.changes(Position::START)?;
//! let mut seen = Vec::new();
//! for change in &mut changes {
//!     let change = change?;
//!     if let Some((name, age)) = change.of(&ages)? {
//!         seen.push((name, age));
//!     }
//! }
//! assert_eq!(seen, [("ann".to_owned(), Some(30)), ("ann".to_owned(), None)]);
//! let position = changes.position().to_string();
//!
//! // Another day.
//! # drop(changes);
//! # drop(db);
//! let db = Database::open(&path)?;
//! let mut changes = db.changes(position.parse().expect("it was printed"))?;
//! assert!(changes.next_within(std::time::Duration::ZERO)?.is_none());
//! # drop(changes);
//! # drop(db);
//! # std::fs::remove_dir_all(&path).unwrap();
//! # Ok::<(), chiliad::Error>(())
//! ```
//!
//! **What is given.** Every row that a transaction or a load has inserted, changed or removed, as it is after the commit, with
//! its table and key. What it was before is not in the log; nor are the entries of indexes, which follow from the rows, nor
//! changes of the catalog. A change of a table that has been dropped since is passed over. A change is given when it is
//! durable, and no sooner.
//!
//! **The order.** The database's openings follow one another, within an opening its commit epochs, and within an epoch
//! its transactions by the order that their scheme has given to the versions that they made. So the versions of each key come
//! in the order in which they were made, transactions are whole, and who applies the changes in this order to a copy of the
//! tables has, after each epoch, the tables as they were then. Between two transactions of one epoch that have written no key
//! in common the order says nothing: which of them had read what the other wrote is not in the log.
//! [`Change::is_last_of_epoch`] tells where a copy is a state that was.
//!
//! A migration that rewrites a table makes another one of its name: followers are given its rows as they are loaded into that,
//! and [`Change::table_id`] tells the two apart. While the migration runs they wait where its first row is, until it is in
//! force or given up.
//!
//! **How far back.** Recovery needs the log since the last checkpoint, and [`Options::change_log_bytes`] bytes more are kept for
//! followers. Who is further behind is told by [`Error::PositionPassed`], with the oldest position that there is, and begins
//! anew: [`Database::newest_position`] first, then a scan of the tables, then the changes from that position. Changes that
//! the scan has seen already come once more then, and end in the same rows. A backup and an export begin with no log before
//! them.
//!
//! [`Options::change_log_bytes`]: crate::Options::change_log_bytes

use crate::form::Schemas;
use crate::raw::{TableId, TableSpec};
use crate::row::Value;
use crate::until::Until;
use crate::values::{key_values, row_values};
use crate::{Database, Error, Key, Layout, Result, Row, RunOptions, Table};
use chiliad_api::{ChangeReader, EpochChanges, WriteOf};
use chiliad_machine::Interleaved;
use core::fmt;
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use chiliad_api::{BadPosition, PassedPosition, Position};

impl Database {
    /// The committed changes after a position, in the order of their commits; see [`changes`](crate::changes). The
    /// result holds a handle of the database.
    ///
    /// # Errors
    /// [`Error::PositionPassed`] when changes after the position have been dropped; [`Error::UnknownPosition`];
    /// [`Error::InvalidOption`] for a database without a log of its own in a directory: in memory, joined, or
    /// opened for reading only.
    pub fn changes(&self, from: Position) -> Result<Changes> {
        let mut changes = Changes {
            db: self.clone(),
            reader: ChangeReader::new(from),
            position: from,
            epoch: None,
            places: 0..0,
            tables: HashMap::new(),
            last: None,
        };
        // Refuses a position at once.
        changes.read_epoch()?;
        Ok(changes)
    }

    /// The oldest position from which all changes are there.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] as for [`Database::changes`].
    pub fn oldest_position(&self) -> Result<Position> {
        self.shared.engine.change_positions().map(|(oldest, _)| oldest)
    }

    /// The position after all that is durable now. A transaction that begins after the call sees everything before it.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] as for [`Database::changes`].
    pub fn newest_position(&self) -> Result<Position> {
        self.shared.engine.change_positions().map(|(_, newest)| newest)
    }
}

/// Committed changes in the order of their commits: what [`Database::changes`] returns.
///
/// As an iterator it ends where nothing more is durable yet, and goes on when it is asked again. After an error it
/// stays where it is.
pub struct Changes {
    db: Database,
    reader: ChangeReader<Interleaved>,
    /// After the change that was given last.
    position: Position,
    /// The epoch that is being given, and the places of the changes that are left of it.
    epoch: Option<Arc<EpochChanges>>,
    places: Range<usize>,
    /// The tables that were met in it; `None` for one that has been dropped.
    tables: HashMap<u32, Option<Arc<Known>>>,
    /// The one of the change before, which most changes have: they spare a look-up.
    last: Option<(u32, Arc<Known>)>,
}

/// A table as it is declared when a change of it is given.
struct Known {
    id: TableId,
    spec: TableSpec,
    schemas: Schemas,
    /// Which database it belongs to.
    database: u64,
}

impl Changes {
    /// The position after the change that was given last: where to go on another time.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next change, if it is durable.
    ///
    /// # Errors
    /// [`Error::PositionPassed`] when this follower was overtaken; [`Error::Data`] when the log is damaged.
    pub fn try_next(&mut self) -> Result<Option<Change>> {
        loop {
            while let (Some(epoch), false) = (&self.epoch, self.places.is_empty()) {
                let (epoch, place) = (Arc::clone(epoch), self.places.start);
                let number = epoch.at(place).write.table;
                let table = match &self.last {
                    Some((last, table)) if *last == number => Some(Arc::clone(table)),
                    _ => match self.table(number) {
                        Some(table) => table,
                        None => return Ok(None),
                    },
                };
                self.places.start += 1;
                self.position = epoch.position_after(place);
                if let Some(table) = table {
                    return Ok(Some(Change { table, epoch, place }));
                }
            }
            if !self.read_epoch()? {
                return Ok(None);
            }
        }
    }

    /// The next change, as soon as it is durable; `None` when `time` is over.
    ///
    /// # Errors
    /// As for [`Changes::try_next`]; [`Error::LogFailed`]: nothing more will be durable.
    pub fn next_within(&mut self, time: Duration) -> Result<Option<Change>> {
        self.next_until(&Until { deadline: Instant::now().checked_add(time), cancel: None })
    }

    /// The next change, as soon as it is durable; `None` when the [`deadline`](RunOptions::deadline) has passed, counted
    /// from this call. Nothing but that and [`cancel`](RunOptions::cancel) of the options counts.
    ///
    /// # Errors
    /// As for [`Changes::next_within`]; [`Error::Canceled`].
    pub fn next_with(&mut self, options: &RunOptions) -> Result<Option<Change>> {
        self.next_until(&Until::now(options))
    }

    fn next_until(&mut self, limit: &Until) -> Result<Option<Change>> {
        loop {
            // Read before the look: what becomes durable after it ends the wait.
            let durable = self.db.shared.engine.durable_epoch();
            if let Some(change) = self.try_next()? {
                return Ok(Some(change));
            }
            let Some(acks) = &self.db.shared.rules.acks else { return Ok(None) };
            match acks.wait(durable.saturating_add(1), false, limit) {
                Ok(()) => {}
                Err(Error::NotYetDurable { .. }) => {
                    return match limit.check() {
                        Err(Error::Canceled) => Err(Error::Canceled),
                        _ => Ok(None),
                    };
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes up the next epoch with changes; whether there is one. All changes of the one before have been given.
    fn read_epoch(&mut self) -> Result<bool> {
        // Where no change of it is kept its memory serves another one.
        if let Some(epoch) = self.epoch.take().and_then(Arc::into_inner) {
            self.reader.reuse(epoch);
        }
        let Some(epoch) = self.db.shared.engine.read_changes(&mut self.reader)? else {
            return Ok(false);
        };
        self.places = epoch.places();
        self.epoch = Some(Arc::new(epoch));
        // Tables may have been declared anew since the last one.
        self.tables.clear();
        self.last = None;
        Ok(true)
    }

    /// The table of this number, or that it has been dropped; `None` where it is not in force yet.
    #[cold]
    fn table(&mut self, number: u32) -> Option<Option<Arc<Known>>> {
        // Asked first: a table that is in force by now is declared by then.
        let is_hidden =
            !self.tables.contains_key(&number) && self.db.shared.engine.is_hidden(TableId(number));
        let table = self.known(number);
        if table.is_none() && is_hidden {
            self.tables.remove(&number);
            return None;
        }
        self.last = table.clone().map(|table| (number, table));
        Some(table)
    }

    fn known(&mut self, number: u32) -> Option<Arc<Known>> {
        let db = &self.db;
        let known = self.tables.entry(number).or_insert_with(|| {
            let id = TableId(number);
            let spec = db.declared().get(&id)?.clone();
            let (schemas, database) = (db.shared.schemas.clone(), db.shared.rules.database);
            Some(Arc::new(Known { id, spec, schemas, database }))
        });
        known.clone()
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Result<Change>> {
        self.try_next().transpose()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("position", &self.position).finish_non_exhaustive()
    }
}

/// The transaction of a change. Commits compare in the order in which changes are given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct Commit {
    /// The opening of the database, counted from 1.
    pub incarnation: u32,
    /// The commit epoch.
    pub epoch: u64,
    /// Counts the transactions with changes in that epoch, from 0.
    pub number: u32,
}

/// A row that a transaction has inserted, changed or removed.
#[derive(Clone)]
pub struct Change {
    table: Arc<Known>,
    epoch: Arc<EpochChanges>,
    place: usize,
}

impl Change {
    fn write(&self) -> WriteOf<'_> {
        self.epoch.at(self.place)
    }

    /// The table, for the untyped interface.
    #[must_use]
    pub fn table_id(&self) -> TableId {
        self.table.id
    }

    /// The name of the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table.spec.name
    }

    /// The columns of the table's keys and rows, as [`Change::values`] gives them.
    #[must_use]
    pub fn columns(&self) -> Layout {
        self.table.spec.layout.columns()
    }

    /// The bytes of the key.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        self.write().write.key
    }

    /// The bytes of the row as they were written; `None`: it was removed.
    #[must_use]
    pub fn row(&self) -> Option<&[u8]> {
        let write = self.write().write;
        (!write.removed).then_some(write.value)
    }

    /// Whether the row was removed.
    #[must_use]
    pub fn is_removal(&self) -> bool {
        self.write().write.removed
    }

    /// The transaction.
    #[must_use]
    pub fn commit(&self) -> Commit {
        let (incarnation, epoch) = self.epoch.epoch();
        Commit { incarnation, epoch, number: self.write().transaction }
    }

    /// Whether no other change of its transaction follows.
    #[must_use]
    pub fn is_last_of_commit(&self) -> bool {
        self.write().is_last
    }

    /// Whether no other change of its epoch follows: who has applied all changes up to this one has a state that was.
    #[must_use]
    pub fn is_last_of_epoch(&self) -> bool {
        self.place + 1 == self.epoch.places().end
    }

    /// The position after the change.
    #[must_use]
    pub fn position(&self) -> Position {
        self.epoch.position_after(self.place)
    }

    /// The key, and the row if it was not removed, of a change of `table`; `None` for a change of another one. A row of an
    /// earlier version of the schema is read as one of the handle's.
    ///
    /// # Errors
    /// [`Error::SchemaChanged`] when the table has a newer schema than its handle; those of the types' decoding.
    pub fn of<K: Key, V: Row>(&self, table: &Table<K, V>) -> Result<Option<(K, Option<V>)>> {
        if (table.id, table.database) != (self.table.id, self.table.database) {
            return Ok(None);
        }
        let read = |row| table.form.read(table.id, &self.table.schemas, row);
        Ok(Some((K::decode(self.key())?, self.row().map(read).transpose()?)))
    }

    /// The values of the key and, if it was not removed, of the row, for programs that learn the types of a table when they
    /// run: as [`Database::for_each_row`] gives them.
    ///
    /// # Errors
    /// [`Error::BadRow`] for bytes that are no row of the table's columns.
    pub fn values(&self) -> Result<(Vec<Value>, Option<Vec<Value>>)> {
        let spec = &self.table.spec;
        let row = self.row().map(|row| row_values(spec, row)).transpose()?;
        Ok((key_values(spec, self.key())?, row))
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Change")
            .field("table", &self.table())
            .field("key", &self.key())
            .field("row", &self.row())
            .field("commit", &self.commit())
            .finish_non_exhaustive()
    }
}
