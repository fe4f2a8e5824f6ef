//! The records of a shared log, and what turns them into those of another one.

use chiliad_machine::shared_log::Position;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// A record; readers hold it while others append.
pub(super) type Record = Arc<[u8]>;

/// A record at its position.
pub(super) type Placed = (Position, Record);

/// The record that every server reads, and the one that a deceived server reads instead.
#[derive(Clone)]
pub(super) struct Records {
    first: Position,
    records: VecDeque<Record>,
    bytes: u64,
    deceptions: BTreeMap<(u32, Position), Record>,
    /// Those before the first: kept for comparisons alone.
    trimmed: Vec<Record>,
}

impl Records {
    pub(super) fn new() -> Self {
        Self {
            first: 1,
            records: VecDeque::new(),
            bytes: 0,
            deceptions: BTreeMap::new(),
            trimmed: Vec::new(),
        }
    }

    /// All records that there were, as if none had been trimmed, and as they are to servers that are not deceived.
    pub(super) fn untrimmed(&self) -> Self {
        let mut all = Self::new();
        self.trimmed.iter().chain(&self.records).for_each(|record| all.push(Arc::clone(record)));
        all
    }

    pub(super) fn bounds(&self) -> Range<Position> {
        self.first..self.first + self.records.len() as Position
    }

    /// Bytes of all records.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, record: Record) {
        self.bytes += record.len() as u64;
        self.records.push_back(record);
    }

    /// The records that a server sees from `from` on, up to about `bytes` bytes.
    pub(super) fn since(&self, server: u32, from: Position, bytes: usize) -> Vec<Placed> {
        let Some(start) = from.checked_sub(self.first) else { return Vec::new() };
        let (mut found, mut sum) = (Vec::new(), 0);
        for (record, position) in self.records.iter().skip(start as usize).zip(from..) {
            if !found.is_empty() && sum >= bytes {
                break;
            }
            sum += record.len();
            let seen = self.deceptions.get(&(server, position)).unwrap_or(record);
            found.push((position, Arc::clone(seen)));
        }
        found
    }

    /// All records with their positions.
    pub(super) fn everything(&self) -> impl Iterator<Item = (Position, &Record)> {
        (self.first..).zip(&self.records)
    }

    pub(super) fn trim(&mut self, position: Position) {
        while self.first < position {
            let Some(record) = self.records.pop_front() else { return };
            self.bytes -= record.len() as u64;
            self.trimmed.push(record);
            self.first += 1;
        }
    }

    /// Forgets the records from `next` on: the next one will have that position.
    pub(super) fn roll_back(&mut self, next: Position) {
        while self.bounds().end > next.max(self.first) {
            let record = self.records.pop_back();
            self.bytes -= record.map_or(0, |it| it.len() as u64);
        }
        self.deceptions.retain(|(_, position), _| *position < next);
    }

    /// The records from `first` on become copies of the one before, or of the oldest.
    pub(super) fn overwrite(&mut self, first: Position) {
        let at = first.saturating_sub(self.first) as usize;
        let Some(copied) = self.records.get(at.saturating_sub(1)).cloned() else { return };
        for record in self.records.iter_mut().skip(at.max(1)) {
            self.bytes = self.bytes - record.len() as u64 + copied.len() as u64;
            *record = Arc::clone(&copied);
        }
    }

    /// Turns over a bit of a record; whether there is such a bit.
    pub(super) fn flip(&mut self, position: Position, bit: u64) -> bool {
        let at = position.checked_sub(self.first);
        let record = at.and_then(|at| self.records.get_mut(at as usize));
        let Some(record) = record.filter(|it| bit / 8 < it.len() as u64) else { return false };
        let mut bytes = record.to_vec();
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        *record = bytes.into();
        true
    }

    /// Shows a server another record at a position, for ever.
    pub(super) fn deceive(&mut self, server: u32, position: Position, record: Record) {
        self.deceptions.insert((server, position), record);
    }
}
