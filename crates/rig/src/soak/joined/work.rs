//! The transactions of clients, and what they have seen and done, as the checker reads it.
//!
//! A value begins with the stamp of the transaction that wrote it and with an order: one more than all that the
//! transaction has seen, so that it grows along whatever one transaction reads or replaces of another.

use crate::clients::ledger::{Attempt, Ended, Op};
use chiliad::raw::{Range, Row, TableId, TableSpec, Transaction};
use chiliad::{Database, Error, Result};
use chiliad_api::{Stamp, WriteKind};
use chiliad_workload::random::Random;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Instant;

/// Bytes of a value.
const VALUE_BYTES: usize = 100;

/// Bits of a stamp that number the transactions of a client.
const CLIENT_SHIFT: u32 = 40;

/// Rows of a client's queue that stay, more than a client has transactions in flight.
const QUEUE_KEPT: u64 = 512;

/// Rows that a scan of a queue sees.
const SCANNED: usize = 8;

/// Rows that are loaded in one transaction.
const LOADED: u32 = 500;

const ROWS: &str = "soak_rows";
const QUEUES: &str = "soak_queues";

/// The tables: rows that are updated, and a queue for each client, to which rows come and from which they go.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    rows: TableId,
    queues: TableId,
}

impl Tables {
    /// Creates them, with so many rows.
    ///
    /// # Errors
    /// Those of the database.
    pub fn create(db: &Database, records: u32) -> Result<Self> {
        let rows = db.create_table_raw(TableSpec::ordered(ROWS))?;
        let queues = db.create_table_raw(TableSpec::ordered(QUEUES))?;
        let value = value(0, 0);
        for first in (0..records).step_by(LOADED as usize) {
            db.run(|tx| {
                let mut keys = first..records.min(first + LOADED);
                keys.try_for_each(|key| tx.raw().insert(rows, &key.to_be_bytes(), &value))
            })?;
        }
        Ok(Self { rows, queues })
    }

    /// Those that another server has created.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn open(db: &Database) -> Result<Self> {
        Ok(Self { rows: db.table_raw(ROWS)?.0, queues: db.table_raw(QUEUES)?.0 })
    }

    /// Numbers and names.
    pub fn names(&self) -> Vec<(u32, String)> {
        vec![(self.rows.0, ROWS.into()), (self.queues.0, QUEUES.into())]
    }
}

fn value(stamp: Stamp, order: u64) -> Vec<u8> {
    let mut value = vec![0; VALUE_BYTES];
    value[..8].copy_from_slice(&stamp.to_le_bytes());
    value[8..16].copy_from_slice(&order.to_le_bytes());
    value
}

/// Stamp and order of a value.
fn version(value: &[u8]) -> (Stamp, u64) {
    let word = |at: usize| value[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    (word(0), word(8))
}

/// The stamps of all rows when a round began, by table and key: to its history they are what was there before.
pub type Before = BTreeMap<(u32, Box<[u8]>), Stamp>;

/// The work of a transaction.
#[derive(Clone, Debug)]
enum Intent {
    /// Updates two rows.
    Update([u32; 2]),
    /// Adds a row to the client's queue, and removes the oldest.
    Queue { added: u64, removed: Option<u64> },
    /// Looks at a queue, and updates a row.
    Scan { queue: u32, row: u32 },
    /// Reads some rows, of whatever state the server has.
    Look([u32; 4]),
    /// Reads all rows of all tables.
    LookAtAll,
}

/// A client: it makes transactions up.
pub struct Client {
    number: u32,
    clients: u32,
    records: u32,
    random: Random,
    /// Transactions so far.
    stamps: Cell<u64>,
    /// The number of its queue's next row.
    queued: u64,
}

impl Client {
    pub fn new(number: u32, clients: u32, records: u32, seed: u64) -> Self {
        let random = Random::new(seed, u64::from(number));
        Self { number, clients, records, random, stamps: Cell::new(0), queued: 0 }
    }

    /// Its next transaction.
    pub fn draw(&mut self) -> Draft {
        let records = self.records;
        let random = &mut self.random;
        let kind = random.below(20);
        let mut row = || random.below(records);
        let intent = match kind {
            0..=12 => {
                let one = row();
                Intent::Update([one, (one + 1 + row() % (records - 1)) % records])
            }
            13..=15 => {
                let added = self.queued;
                self.queued += 1;
                Intent::Queue { added, removed: added.checked_sub(QUEUE_KEPT) }
            }
            16..=18 => Intent::Scan { row: row(), queue: random.below(self.clients) },
            _ => Intent::Look([row(), row(), row(), row()]),
        };
        Draft::new(intent, self.number)
    }

    /// A transaction that reads all there is.
    pub fn look_at_all(&self) -> Draft {
        Draft::new(Intent::LookAtAll, self.number)
    }

    /// The stamp of its next attempt.
    fn stamp(&self) -> Stamp {
        self.stamps.set(self.stamps.get() + 1);
        u64::from(self.number) << CLIENT_SHIFT | self.stamps.get()
    }
}

/// A transaction on its way.
pub struct Draft {
    intent: Intent,
    /// The attempt that is under way, or was the last.
    pub attempt: Attempt,
    /// The stamps of those before.
    pub aborted: Vec<Stamp>,
    order: u64,
}

impl Draft {
    fn new(intent: Intent, client: u32) -> Self {
        let attempt = Attempt {
            client: client as usize,
            stamp: 0,
            // What only reads may read the past.
            snapshot: matches!(intent, Intent::Look(_)),
            newest: matches!(intent, Intent::LookAtAll),
            start: 0,
            end: None,
            ops: Vec::new(),
            ended: Ended::Open,
            acknowledged: false,
        };
        Self { intent, attempt, aborted: Vec::new(), order: 0 }
    }

    /// Runs it; repeatable.
    ///
    /// # Errors
    /// Those of the database.
    pub fn run(
        &mut self,
        tx: &mut dyn Transaction,
        client: &Client,
        tables: &Tables,
        begun: Instant,
    ) -> Result<()> {
        if self.attempt.stamp > 0 {
            self.aborted.push(self.attempt.stamp);
        }
        self.attempt.stamp = client.stamp();
        self.attempt.start = nanoseconds(begun);
        self.attempt.ops.clear();
        self.order = 0;
        match self.intent.clone() {
            Intent::Update(keys) => {
                let rows = keys.map(|key| (key, self.get(tx, tables.rows, &key.to_be_bytes())));
                rows.into_iter().try_for_each(|(key, row)| self.update(tx, tables, key, row?))
            }
            Intent::Queue { added, removed } => {
                self.queue(tx, tables, client.number, added, removed)
            }
            Intent::Scan { queue, row } => {
                self.scan(tx, tables.queues, Some(queue))?;
                let found = self.get(tx, tables.rows, &row.to_be_bytes())?;
                self.update(tx, tables, row, found)
            }
            Intent::Look(keys) => keys
                .into_iter()
                .try_for_each(|key| self.get(tx, tables.rows, &key.to_be_bytes()).map(drop)),
            Intent::LookAtAll => {
                self.scan(tx, tables.rows, None)?;
                self.scan(tx, tables.queues, None)
            }
        }
    }

    /// It has committed, and its client has just been told so.
    pub fn end(&mut self, begun: Instant) {
        self.attempt.end = Some(nanoseconds(begun));
        self.attempt.ended = Ended::Committed { epoch: 0, order: self.order + 1 };
    }

    fn queue(
        &mut self,
        tx: &mut dyn Transaction,
        tables: &Tables,
        client: u32,
        added: u64,
        removed: Option<u64>,
    ) -> Result<()> {
        let table = tables.queues;
        if let Some(removed) = removed {
            let key = queue_key(client, removed);
            if let Some(row) = self.get(tx, table, &key)? {
                let (over, _) = version(tx.bytes(row)?);
                tx.remove_row(row)?;
                self.writes(table, &key, WriteKind::Remove, over);
            }
        }
        let key = queue_key(client, added);
        tx.insert(table, &key, &value(self.attempt.stamp, self.order + 1))?;
        self.writes(table, &key, WriteKind::Insert, 0);
        Ok(())
    }

    fn get(&mut self, tx: &mut dyn Transaction, table: TableId, key: &[u8]) -> Result<Option<Row>> {
        let row = tx.get(table, key)?;
        let (stamp, order) = match row {
            Some(row) => version(tx.bytes(row)?),
            None => (0, 0),
        };
        self.order = self.order.max(order);
        let (table, key, absent) = (table.0, key.into(), row.is_none());
        self.attempt.ops.push(Op::Read { table, key, stamp, absent });
        Ok(row)
    }

    fn update(
        &mut self,
        tx: &mut dyn Transaction,
        tables: &Tables,
        key: u32,
        row: Option<Row>,
    ) -> Result<()> {
        let row = row.ok_or_else(|| Error::InvalidOption(format!("row {key} is missing")))?;
        let (over, _) = version(tx.bytes(row)?);
        tx.update(row, &value(self.attempt.stamp, self.order + 1))?;
        self.writes(tables.rows, &key.to_be_bytes(), WriteKind::Update, over);
        Ok(())
    }

    fn writes(&mut self, table: TableId, key: &[u8], kind: WriteKind, over: Stamp) {
        let (table, key, value) = (table.0, key.into(), Box::default());
        self.attempt.ops.push(Op::Write { table, key, kind, over, value });
    }

    /// The first rows of a queue, or all of a table.
    fn scan(&mut self, tx: &mut dyn Transaction, table: TableId, queue: Option<u32>) -> Result<()> {
        let ends = queue.map(|queue| [queue_key(queue, 0), queue_key(queue + 1, 0)]);
        let range = match &ends {
            Some([low, high]) => Range::between(low, high).limit(SCANNED),
            None => Range::all(),
        };
        let scanned = tx.scan(table, range)?;
        let entries = tx.entries(scanned)?.to_vec();
        let [low, high] = match ends {
            Some([low, high]) => [Bound::Included(low.into()), Bound::Excluded(high.into())],
            None => [Bound::Unbounded, Bound::Unbounded],
        };
        let limited = queue.is_some() && entries.len() == SCANNED;
        self.attempt.ops.push(Op::Scan { table: table.0, low, high, reverse: false, limited });
        for entry in entries {
            let (stamp, order) = version(tx.bytes(entry.row)?);
            self.order = self.order.max(order);
            let key = tx.key(entry)?.into();
            self.attempt.ops.push(Op::Entry { key, stamp, absent: false });
        }
        Ok(())
    }
}

fn queue_key(client: u32, number: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&client.to_be_bytes());
    key[4..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Time since the soak began.
fn nanoseconds(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The rows that a transaction has seen that looked at all.
pub fn seen(attempt: &Attempt) -> Before {
    let mut table = 0;
    let mut rows = Before::new();
    for op in &attempt.ops {
        match op {
            Op::Scan { table: scanned, .. } => table = *scanned,
            Op::Entry { key, stamp, .. } => _ = rows.insert((table, key.clone()), *stamp),
            Op::Read { .. } | Op::Write { .. } => {}
        }
    }
    rows
}

/// Has the versions that were there before the round bear the stamp of what was before.
pub fn since(before: &Before, attempt: &mut Attempt) {
    let mut scanned = 0;
    for op in &mut attempt.ops {
        let (table, key, stamp) = match op {
            Op::Scan { table, .. } => {
                scanned = *table;
                continue;
            }
            Op::Entry { key, stamp, .. } => (scanned, key, stamp),
            Op::Read { table, key, stamp, .. } => (*table, key, stamp),
            Op::Write { table, key, over, .. } => (*table, key, over),
        };
        if before.get(&(table, key.clone())) == Some(stamp) {
            *stamp = 0;
        }
    }
}
