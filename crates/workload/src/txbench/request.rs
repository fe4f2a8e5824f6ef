//! One client of TxBench: how it makes up a transaction, and how it runs one.

use super::schema::{TABLES, Tables, item, key};
use super::{READ_ONLY, READ_UPDATE, Txbench};
use crate::random::Random;
use crate::workload::present;
use crate::{ClientId, Shape};
use chiliad_api::{Error, Get, Range, Reason, Result, Row, Transaction};
use core::ops::Bound;

/// Rows to be updated that are looked up in one group: more would gain nothing.
const GROUP: usize = 32;

/// The most that an update moves.
const AMOUNT_MAX: u32 = 100;

/// One client: its random numbers, the request in hand, and room to work in.
pub struct Client {
    tables: Tables,
    random: Random,
    /// Its own partition.
    home: u32,
    /// The keys that it chooses among: the first, and the one after the last.
    choice: core::ops::Range<u32>,
    rows_read: u32,
    /// The table that is read, from zero.
    table: usize,
    /// The query's `:id`: the keys above it are read.
    id: u32,
    /// The factor of the sum.
    factor: i64,
    /// The keys that are updated, ascending; none for a transaction that only reads.
    keys: Vec<[u8; 4]>,
    /// The amount that is moved from the first to the second of them, and so on.
    amount: i64,
    rows: Vec<Option<Row>>,
    shown: i64,
}

impl Client {
    pub(super) fn new(txbench: &Txbench, tables: Tables, client_id: ClientId) -> Self {
        let options = txbench.options();
        let home = client_id.home as u32 % options.partitions;
        let updated = options.rows_updated();
        Self {
            tables,
            random: Random::new(client_id.seed, 0x78_0000_0000 + client_id.index as u64),
            home,
            choice: txbench.keys_of(home),
            rows_read: options.rows_read,
            table: 0,
            id: 0,
            factor: 0,
            keys: Vec::with_capacity(updated),
            amount: 0,
            rows: vec![None; updated],
            shown: 0,
        }
    }

    /// The number that the last transaction saw: the sum that it asked for.
    #[must_use]
    pub fn shown(&self) -> i64 {
        self.shown
    }

    /// The table that the request in hand reads, from zero.
    #[must_use]
    pub fn table(&self) -> usize {
        self.table
    }

    /// The query's `:id`: so many keys above it are read.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The factor of the sum.
    #[must_use]
    pub fn factor(&self) -> i64 {
        self.factor
    }

    /// The keys that the request in hand updates in the table next to the one that it reads, ascending.
    #[must_use]
    pub fn keys(&self) -> &[[u8; 4]] {
        &self.keys
    }

    /// The amount that the current request moves from the first of the keys to the second, and so on.
    #[must_use]
    pub fn amount(&self) -> i64 {
        self.amount
    }

    #[inline]
    pub(super) fn draw(&mut self, txbench: &Txbench, partitions: &mut Vec<u32>) -> Shape {
        let updates = self.random.chance(txbench.updates);
        let shape = self.draw_query(txbench, partitions);
        if !updates {
            return shape;
        }
        let random = &mut self.random;
        let amount = i64::from(random.range(1, AMOUNT_MAX));
        self.amount = if random.below(2) == 0 { amount } else { -amount };
        while self.keys.len() < self.rows.len() {
            let key = key(random.range(self.choice.start, self.choice.end - 1));
            if let Err(place) = self.keys.binary_search(&key) {
                self.keys.insert(place, key);
            }
        }
        Shape { kind: READ_UPDATE, ..Shape::default() }
    }

    #[inline]
    pub(super) fn draw_query(&mut self, txbench: &Txbench, partitions: &mut Vec<u32>) -> Shape {
        let random = &mut self.random;
        self.table = random.below(TABLES as u32) as usize;
        let places = self.choice.len() as u32 - self.rows_read + 1;
        self.id = self.choice.start - 1 + random.below(places);
        self.factor = i64::from(random.below(1000));
        self.keys.clear();
        partitions.push(self.home);
        Shape { kind: READ_ONLY, read_only: true, snapshot: txbench.options().snapshot_reads }
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        self.query(tx)?;
        let table = self.tables[(self.table + 1) % TABLES];
        for (keys, rows) in self.keys.chunks(GROUP).zip(self.rows.chunks_mut(GROUP)) {
            let mut gets = [Get::update(table, &[]); GROUP];
            for (get, key) in gets.iter_mut().zip(keys) {
                get.key = key;
            }
            tx.get_many(&gets[..keys.len()], rows)?;
        }
        // The last one has no partner where there is an odd number of them.
        let paired = self.keys.len() & !1;
        for (place, &row) in self.rows[..self.keys.len()].iter().enumerate() {
            let gain = match place {
                unpaired if unpaired >= paired => 0,
                loser if loser % 2 == 0 => -self.amount,
                _ => self.amount,
            };
            let bytes = tx.modify(present(row)?)?;
            let value = item::B_INT_VALUE.get(bytes) + gain;
            item::B_INT_VALUE.set(bytes, value);
        }
        Ok(())
    }

    /// `SELECT sum(b_int_value) * :factor WHERE b_int_key > :id AND b_int_key <= :id + S`.
    #[inline]
    fn query<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let (low, high) = (key(self.id), key(self.id + self.rows_read));
        let range =
            Range { low: Bound::Excluded(&low), high: Bound::Included(&high), ..Range::all() };
        let scanned = tx.scan(self.tables[self.table], range)?;
        // None comes and none goes: another number is a state that never was.
        if scanned.len() != self.rows_read as usize {
            return Err(Error::Conflict(Reason::Vanished));
        }
        let mut sum = 0;
        for entry in tx.entries(scanned)? {
            sum += item::B_INT_VALUE.get(tx.bytes(entry.row)?);
        }
        self.shown = i64::wrapping_mul(sum, self.factor);
        Ok(())
    }
}
