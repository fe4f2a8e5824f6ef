//! Logs with a mistake each: the suite catches them all.

use crate::suite::{self, Make, Subject};
use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
use chiliad_shared_log::MemoryLog;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mistake {
    None,
    /// Each append appends twice.
    Doubles,
    /// Records before one that is too large are appended.
    RefusesInPart,
    /// The end that it tells is one too far.
    EndTooFar,
    /// The position that a read returns is one too far.
    ReadsTooFar,
    /// A read hands over all there is.
    HandsOverAll,
    /// Two neighbours change places for one of the readers.
    TwoSequences,
    /// Trimming does nothing.
    KeepsAll,
    /// Trimmed records are skipped in silence.
    SkipsTrimmed,
    /// All logs are one.
    OneIdentity,
}

const MISTAKES: [Mistake; 9] = [
    Mistake::Doubles,
    Mistake::RefusesInPart,
    Mistake::EndTooFar,
    Mistake::ReadsTooFar,
    Mistake::HandsOverAll,
    Mistake::TwoSequences,
    Mistake::KeepsAll,
    Mistake::SkipsTrimmed,
    Mistake::OneIdentity,
];

#[derive(Debug)]
struct Mistaken {
    inner: MemoryLog,
    mistake: Mistake,
    /// One of two handles.
    is_first: bool,
}

impl Mistaken {
    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }
}

impl SharedLog for Mistaken {
    fn place(&self) -> String {
        self.inner.place()
    }

    fn identity(&self) -> Result<u128, SharedLogError> {
        if self.has(Mistake::OneIdentity) { Ok(7) } else { self.inner.identity() }
    }

    fn record_bytes_max(&self) -> usize {
        self.inner.record_bytes_max()
    }

    fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        if self.has(Mistake::RefusesInPart) {
            return records.iter().try_for_each(|it| self.inner.append(&[it]));
        }
        if self.has(Mistake::Doubles) {
            self.inner.append(records)?;
        }
        self.inner.append(records)
    }

    fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let first = self.inner.bounds()?.start;
        let from = if self.has(Mistake::SkipsTrimmed) { from.max(first) } else { from };
        let bytes = if self.has(Mistake::HandsOverAll) { usize::MAX } else { bytes };
        let mut found = Vec::new();
        let next = self.inner.read(from, bytes, patience, &mut |at, it| {
            found.push((at, it.to_vec()));
        })?;
        if self.has(Mistake::TwoSequences) && self.is_first && found.len() > 1 {
            let (one, two) = found.split_at_mut(1);
            std::mem::swap(&mut one[0].1, &mut two[0].1);
        }
        for (at, record) in &found {
            take(*at, record);
        }
        Ok(next + u64::from(self.has(Mistake::ReadsTooFar) && next > from))
    }

    fn bounds(&self) -> Result<Range<Position>, SharedLogError> {
        let bounds = self.inner.bounds()?;
        Ok(bounds.start..bounds.end + u64::from(self.has(Mistake::EndTooFar) && bounds.end > 1))
    }

    fn trim(&self, position: Position) -> Result<(), SharedLogError> {
        if self.has(Mistake::KeepsAll) { Ok(()) } else { self.inner.trim(position) }
    }
}

fn make(mistake: Mistake) -> Subject {
    let inner = MemoryLog::limited(usize::MAX, 10_000);
    let handle = |is_first| Arc::new(Mistaken { inner: inner.clone(), mistake, is_first });
    Subject::new(handle(true), handle(false))
}

/// The first promise that the suite finds broken.
fn broken(mistake: Mistake) -> Option<usize> {
    let promises: [fn(Make<'_>); 7] = [
        suite::records_come_back_in_order,
        suite::nothing_and_empty_records_are_told_apart,
        suite::a_reader_takes_as_much_as_it_asked_for,
        suite::what_is_too_large_is_refused_whole,
        suite::what_is_trimmed_is_gone_and_positions_go_on,
        suite::everybody_sees_one_sequence,
        suite::each_log_has_an_identity_of_its_own,
    ];
    let is_broken = |promise: &fn(Make<'_>)| {
        catch_unwind(AssertUnwindSafe(|| promise(&|| make(mistake)))).is_err()
    };
    promises.iter().position(is_broken)
}

#[test]
fn each_mistake_is_caught() {
    assert_eq!(broken(Mistake::None), None);
    for mistake in MISTAKES {
        assert!(broken(mistake).is_some(), "{mistake:?}: nobody noticed");
    }
}
