//! One client of YCSB: how it makes up a transaction, and how it runs one.

use super::{Ycsb, YcsbOptions, key};
use crate::random::Random;
use crate::workload::present;
use crate::{ClientId, Shape};
use chiliad_api::{Get, Range, Result, Row, TableId, Transaction};
use core::ops::Bound;

/// Look-ups in a group: more would gain nothing.
const GROUP: usize = 32;
/// Draws of a key that is taken already, after which the next free one is taken.
const DRAWS_MAX: u32 = 64;

const READ: usize = 0;
const WRITE: usize = 1;
const SCAN: usize = 2;

/// One client: its random numbers, the request in hand, and room to work in.
pub struct Client {
    table: TableId,
    random: Random,
    /// Its own partition.
    home: u32,
    /// The keys to be looked up: those only read, then those read and modified; then those to be
    /// written blindly; then those where scans begin.
    keys: Vec<[u8; 8]>,
    reads: usize,
    modifies: usize,
    writes: usize,
    /// The numbers of the keys drawn, sorted once there are many.
    taken: Vec<u64>,
    /// The partitions of the request.
    parts: Vec<u32>,
    /// The places of the keys, in the order in which they are accessed; empty: as they stand.
    order: Vec<usize>,
    rows: Vec<Option<Row>>,
    /// The value of blind writes. Its first word counts the client's writes.
    value: Vec<u8>,
    count: u64,
    /// The reads, folded into a number, so that the compiler cannot leave out reading.
    shown: u64,
}

impl Client {
    pub(super) fn new(options: &YcsbOptions, table: TableId, client_id: ClientId) -> Self {
        let ops = options.ops;
        let mut value = vec![0; options.record_bytes];
        let mut random = Random::new(client_id.seed, 0x7c_5b00_0000 + client_id.index as u64);
        random.letters(&mut value[8..]);
        Self {
            table,
            random,
            home: client_id.home as u32 % options.partitions,
            keys: Vec::with_capacity(ops),
            reads: 0,
            modifies: 0,
            writes: 0,
            taken: Vec::with_capacity(ops),
            parts: Vec::with_capacity(options.parts_per_txn as usize),
            order: Vec::with_capacity(if options.key_order { ops } else { 0 }),
            rows: vec![None; ops],
            value,
            count: (client_id.index as u64) << 40,
            shown: 0,
        }
    }

    /// The last reads, folded into a number.
    #[must_use]
    pub fn shown(&self) -> u64 {
        self.shown
    }

    #[inline]
    pub(super) fn draw(&mut self, ycsb: &Ycsb, partitions: &mut Vec<u32>) -> Shape {
        let options = ycsb.options();
        self.choose_partitions(ycsb);
        let (mut modifies, mut writes, mut scans) = (0, 0, 0);
        self.reads = 0;
        for _ in 0..options.ops {
            if options.scan_ratio > 0.0 && self.random.chance(ycsb.scans) {
                scans += 1;
            } else if self.random.chance(ycsb.reads) {
                self.reads += 1;
            } else if options.rmw {
                modifies += 1;
            } else {
                writes += 1;
            }
        }
        (self.modifies, self.writes) = (modifies, writes);
        self.draw_keys(ycsb);
        if options.key_order {
            self.sort();
        }
        if scans > 0 && options.partitions > 1 {
            // Neighbours belong to all partitions in turn.
            partitions.extend(0..options.partitions);
        } else {
            partitions.extend_from_slice(&self.parts);
        }
        self.count += 1;
        let read_only = modifies + writes == 0;
        let kind = match (scans, read_only) {
            (0, true) => READ,
            (0, false) => WRITE,
            _ => SCAN,
        };
        Shape { kind, read_only, snapshot: read_only && options.snapshot_reads }
    }

    /// The client's own partition, and by chance some others; ascending.
    #[inline]
    fn choose_partitions(&mut self, ycsb: &Ycsb) {
        self.parts.clear();
        self.parts.push(self.home);
        let options = ycsb.options();
        if options.multi_partition == 0.0 || !self.random.chance(ycsb.multi_partition) {
            return;
        }
        while self.parts.len() < options.parts_per_txn as usize {
            let part = self.random.below(options.partitions);
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        }
        self.parts.sort_unstable();
    }

    #[inline]
    fn draw_keys(&mut self, ycsb: &Ycsb) {
        let ops = ycsb.options().ops;
        self.keys.clear();
        if ops == 1 {
            self.keys.push(key(ycsb.draw(&mut self.random, self.parts[0])));
            return;
        }
        self.taken.clear();
        for at in 0..ops {
            // Each partition once, then any of them.
            let part = match self.parts.get(at) {
                Some(&part) => part,
                None if self.parts.len() == 1 => self.parts[0],
                None => self.parts[self.random.below(self.parts.len() as u32) as usize],
            };
            let number = self.draw_free(ycsb, part);
            self.keys.push(key(number));
        }
    }

    /// Draws a key that the request does not have yet.
    fn draw_free(&mut self, ycsb: &Ycsb, part: u32) -> u64 {
        let is_sorted = ycsb.options().ops > 2 * GROUP;
        for _ in 0..DRAWS_MAX {
            let number = ycsb.draw(&mut self.random, part);
            if self.take(number, is_sorted) {
                return number;
            }
        }
        // So few keys are likely that they are all taken.
        let step = u64::from(ycsb.options().partitions);
        let mut place = ycsb.ranks.draw(&mut self.random);
        loop {
            place = (place + 1) % ycsb.ranks.items();
            let number = place * step + u64::from(part);
            if self.take(number, is_sorted) {
                return number;
            }
        }
    }

    /// Takes a key unless the request has it.
    #[inline]
    fn take(&mut self, number: u64, is_sorted: bool) -> bool {
        if !is_sorted {
            let is_free = !self.taken.contains(&number);
            if is_free {
                self.taken.push(number);
            }
            return is_free;
        }
        let Err(place) = self.taken.binary_search(&number) else { return false };
        self.taken.insert(place, number);
        true
    }

    #[inline]
    pub(super) fn run<T: Transaction + ?Sized>(
        &mut self,
        options: &YcsbOptions,
        tx: &mut T,
    ) -> Result<()> {
        if options.ops > 1 && options.key_order {
            return self.run_sorted(tx);
        }
        if options.ops > 1 {
            return self.run_many(options, tx);
        }
        let key = self.keys[0];
        if self.reads + self.modifies == 1 {
            if self.modifies == 1 {
                let row = present(tx.get_for_update(self.table, &key)?)?;
                self.shown = fold(tx.bytes(row)?);
                self.fill(tx.modify(row)?);
            } else {
                let row = present(tx.get(self.table, &key)?)?;
                self.shown = fold(tx.bytes(row)?);
            }
            return Ok(());
        }
        self.write_and_scan(options, tx, 0)
    }

    fn run_many<T: Transaction + ?Sized>(
        &mut self,
        options: &YcsbOptions,
        tx: &mut T,
    ) -> Result<()> {
        let looked_up = self.reads + self.modifies;
        let table = self.table;
        let keys = self.keys[..looked_up].chunks(GROUP);
        for (group, (keys, rows)) in keys.zip(self.rows[..looked_up].chunks_mut(GROUP)).enumerate()
        {
            let mut gets = [Get::read(table, &[]); GROUP];
            for (at, (get, key)) in gets.iter_mut().zip(keys).enumerate() {
                *get = look_up(table, key, group * GROUP + at < self.reads);
            }
            tx.get_many(&gets[..keys.len()], rows)?;
        }
        let mut shown = 0;
        for &row in &self.rows[..looked_up] {
            shown ^= fold(tx.bytes(present(row)?)?);
        }
        self.shown = shown;
        for &row in &self.rows[self.reads..looked_up] {
            self.fill(tx.modify(present(row)?)?);
        }
        self.write_and_scan(options, tx, looked_up)
    }

    /// The rest of the keys, from number `first` on: blind writes, then scans.
    #[inline]
    fn write_and_scan<T: Transaction + ?Sized>(
        &mut self,
        options: &YcsbOptions,
        tx: &mut T,
        first: usize,
    ) -> Result<()> {
        let (writes, scans) = self.keys[first..].split_at(self.writes);
        self.value[..8].copy_from_slice(&self.count.to_le_bytes());
        for key in writes {
            tx.put(self.table, key, &self.value)?;
        }
        for key in scans {
            let range = Range { low: Bound::Included(key), ..Range::all() };
            let scanned = tx.scan(self.table, range.limit(options.scan_length))?;
            for &entry in tx.entries(scanned)? {
                self.shown ^= fold(tx.bytes(entry.row)?);
            }
        }
        Ok(())
    }

    /// Puts the accesses into the order of their keys.
    fn sort(&mut self) {
        self.order.clear();
        self.order.extend(0..self.keys.len());
        let keys = &self.keys;
        self.order.sort_unstable_by_key(|&place| keys[place]);
    }

    /// The accesses in order, of whatever kind: look-ups in groups, blind writes one by one between
    /// them. There are no scans.
    fn run_sorted<T: Transaction + ?Sized>(&mut self, tx: &mut T) -> Result<()> {
        let looked_up = self.reads + self.modifies;
        self.value[..8].copy_from_slice(&self.count.to_le_bytes());
        let mut at = 0;
        while at < self.order.len() {
            let places = self.order[at..].iter().take(GROUP);
            let group = places.take_while(|&&place| place < looked_up).count();
            if group == 0 {
                tx.put(self.table, &self.keys[self.order[at]], &self.value)?;
                at += 1;
                continue;
            }
            let mut gets = [Get::read(self.table, &[]); GROUP];
            for (get, &place) in gets.iter_mut().zip(&self.order[at..at + group]) {
                *get = look_up(self.table, &self.keys[place], place < self.reads);
            }
            tx.get_many(&gets[..group], &mut self.rows[at..at + group])?;
            at += group;
        }
        let mut shown = 0;
        for (&place, &row) in self.order.iter().zip(&self.rows) {
            if place < looked_up {
                shown ^= fold(tx.bytes(present(row)?)?);
            }
            if (self.reads..looked_up).contains(&place) {
                self.fill(tx.modify(present(row)?)?);
            }
        }
        self.shown = shown;
        Ok(())
    }

    /// The record after a read-modify-write: a count that goes on, and a new filling.
    #[inline]
    fn fill(&self, record: &mut [u8]) {
        let (count, filling) = record.split_at_mut(8);
        let mut word = [0; 8];
        word.copy_from_slice(count);
        count.copy_from_slice(&u64::from_le_bytes(word).wrapping_add(1).to_le_bytes());
        filling.fill(self.count as u8);
    }
}

/// The look-up of a record that is read, and written unless it `is_read` only.
#[inline]
fn look_up(table: TableId, key: &[u8], is_read: bool) -> Get<'_> {
    if is_read { Get::read(table, key) } else { Get::update(table, key) }
}

#[inline]
fn fold(record: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&record[..8]);
    u64::from_le_bytes(word) ^ u64::from(record[record.len() - 1]) << 56
}
