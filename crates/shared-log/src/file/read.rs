//! Reading: the newest records from memory, older ones from the files.

use super::cursor::{Cursor, Wanted, error_of};
use super::names::segment_name;
use super::state::{Shared, State};
use crate::sleeper::Sleeper;
use crate::window::{Placed, hand_over};
use chiliad_log::LogError;
use chiliad_machine::shared_log::{Position, SharedLogError};
use chiliad_machine::{Machine, Ticks};
use std::time::Duration;

/// Readers of files whose places are kept.
const CURSORS_MAX: usize = 16;

/// Where the records are that were asked for.
enum Found<M> {
    Memory(Vec<Placed>),
    Files {
        /// The segment with the first of them.
        segment: Position,
        /// The end of what is durable.
        end: Position,
        /// A place in that segment that is not after them.
        cursor: Option<Cursor<M>>,
    },
    /// Not there yet.
    Nothing,
}

impl<M: Machine> Shared<M> {
    pub fn read(
        &self,
        from: Position,
        bytes: usize,
        patience: Duration,
        take: &mut dyn FnMut(Position, &[u8]),
    ) -> Result<Position, SharedLogError> {
        let (mut until, mut sleeper) = (None, Sleeper::new());
        loop {
            let found = self.lock().find(from, bytes)?;
            match found {
                Found::Memory(found) => return Ok(hand_over(&found, from, bytes, take)),
                Found::Files { segment, end, cursor } => {
                    let wanted = Wanted { next: from, end, bytes, take, handed: 0 };
                    return self.read_files(segment, cursor, wanted);
                }
                Found::Nothing if patience.is_zero() => return Ok(from),
                Found::Nothing => {}
            }
            let now = M::now();
            let until = *until.get_or_insert_with(|| now.saturating_add(M::ticks(patience)));
            if now >= until {
                return Ok(from);
            }
            self.sleep(&mut sleeper, from, until);
        }
    }

    /// Sleeps until there may be a record at `from`, or the time has come.
    fn sleep(&self, sleeper: &mut Sleeper<M>, from: Position, until: Ticks) {
        let worker = M::worker();
        {
            let mut state = self.lock();
            if from < state.window.next() {
                return;
            }
            state.readers.push(worker);
        }
        sleeper.sleep_until(until);
        self.lock().readers.retain(|it| *it != worker);
    }

    fn read_files(
        &self,
        segment: Position,
        cursor: Option<Cursor<M>>,
        mut wanted: Wanted<'_>,
    ) -> Result<Position, SharedLogError> {
        let open = |segment| Cursor::open(&*self.disk, self.identity, segment);
        let mut cursor = match cursor {
            Some(cursor) => cursor,
            None => open(segment).map_err(|error| self.explain(wanted.next, &error))?,
        };
        loop {
            if cursor.hand_over(&mut wanted)? || wanted.handed > 0 {
                self.keep(cursor);
                return Ok(wanted.next);
            }
            let next = cursor.next();
            let opened = if next > cursor.segment() && self.lock().has_segment(next) {
                open(next)
            } else if cursor.is_fresh() {
                let what = format!(
                    "record {next}, which was durable, is not there, and there is no {}",
                    segment_name(next)
                );
                Err(LogError::damaged(cursor.name(), cursor.offset(), what))
            } else {
                cursor.reopen(&*self.disk, self.identity)
            };
            cursor = opened.map_err(|error| self.explain(wanted.next, &error))?;
        }
    }

    /// Keeps a reader's place for its next call.
    fn keep(&self, mut cursor: Cursor<M>) {
        cursor.grow_old();
        let mut state = self.lock();
        if !state.has_segment(cursor.segment()) {
            return;
        }
        if state.cursors.len() == CURSORS_MAX {
            state.cursors.remove(0);
        }
        state.cursors.push(cursor);
    }

    /// Why a file could not be read: somebody may have trimmed meanwhile.
    fn explain(&self, from: Position, error: &LogError) -> SharedLogError {
        let first = self.lock().first;
        if from < first { SharedLogError::Trimmed { first } } else { error_of(error) }
    }
}

impl<M: Machine> State<M> {
    fn find(&mut self, from: Position, bytes: usize) -> Result<Found<M>, SharedLogError> {
        if from < self.first {
            return Err(SharedLogError::Trimmed { first: self.first });
        }
        let end = self.window.next();
        if from >= end {
            return Ok(Found::Nothing);
        }
        if from >= self.window.first() {
            return Ok(Found::Memory(self.window.since(from, bytes)));
        }
        let at = self.segments.partition_point(|it| it.first <= from);
        debug_assert!(at > 0, "what can be read is in a segment");
        let segment = self.segments[at - 1].first;
        let fits = |it: &Cursor<M>| it.segment() == segment && it.next() <= from;
        let candidates = self.cursors.iter().enumerate().filter(|it| fits(it.1));
        let nearest = candidates.max_by_key(|it| it.1.next()).map(|it| it.0);
        let cursor = nearest.map(|it| self.cursors.remove(it));
        Ok(Found::Files { segment, end, cursor })
    }

    fn has_segment(&self, first: Position) -> bool {
        self.segments.binary_search_by_key(&first, |it| it.first).is_ok()
    }
}
