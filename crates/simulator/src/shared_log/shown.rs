//! What each server was shown of the log while it looked: what it could notice, however seldom it looked.
//!
//! A server looks when it asks for the identity and then for the bounds, and reads a record again that it knows.

use super::records::{Placed, Record};
use chiliad_machine::shared_log::Position;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The looks of a server at a log, since its handle was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogLooks {
    /// How often it has begun one: it has asked for the identity.
    pub begun: u64,
    /// Looks in a row, up to the last, at which the log ended before a record that the server has read.
    pub shorter: u64,
    /// The most that there have been in a row.
    pub shorter_most: u64,
    /// Looks that it has begun since it was shown another identity, or another record at a position that it had read.
    pub since_another: Option<u64>,
}

/// All that a server was shown.
#[derive(Clone, Default)]
pub(super) struct Shown {
    looks: LogLooks,
    /// It has asked for the identity, and not yet for the bounds.
    is_looking: bool,
    /// The identity of its last look, and that of the first look that went on to the bounds.
    asked: Option<u128>,
    accepted: Option<u128>,
    records: BTreeMap<Position, Record>,
}

impl Shown {
    pub(super) fn looks(&self) -> LogLooks {
        self.looks
    }

    pub(super) fn identity(&mut self, identity: u128) {
        self.looks.begun += 1;
        self.looks.since_another = self.looks.since_another.map(|looks| looks + 1);
        self.is_looking = true;
        self.asked = Some(identity);
        if self.accepted.is_some_and(|accepted| accepted != identity) {
            self.is_another();
        }
    }

    pub(super) fn bounds(&mut self, bounds: &Range<Position>) {
        self.accepted = self.accepted.or(self.asked);
        if !std::mem::take(&mut self.is_looking) {
            return;
        }
        let is_shorter = self.records.last_key_value().is_some_and(|it| *it.0 >= bounds.end);
        self.looks.shorter = if is_shorter { self.looks.shorter + 1 } else { 0 };
        self.looks.shorter_most = self.looks.shorter_most.max(self.looks.shorter);
    }

    pub(super) fn records(&mut self, records: &[Placed]) {
        for (position, record) in records {
            let known = self.records.entry(*position).or_insert_with(|| Arc::clone(record));
            if known != record {
                self.is_another();
            }
        }
    }

    fn is_another(&mut self) {
        self.looks.since_another.get_or_insert(0);
    }
}
