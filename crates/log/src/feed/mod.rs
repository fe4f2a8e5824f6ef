//! Changes in the order of their commits, read from the files of the log.
//!
//! Each writer's files hold whole transactions, of ascending epochs roughly: what a frame says about its epoch tells
//! how far a writer is complete. So a reader takes frames from the writer that is least far until an epoch is complete
//! in all of them, and gives that epoch's transactions in the order of their orders: the versions of each key come in
//! the order in which they were made, under every scheme. Writers are not asked and do not wait.
//!
//! Only what is durable is given: a reader is told where each log ends that is ([`Readable`]), and never looks behind.

mod epoch;
mod lane;

pub use epoch::{EpochChanges, WriteOf};

use crate::error::LogError;
use crate::kept::EndedLog;
use crate::marks::LogEnd;
use crate::position::Position;
use crate::shared::Retired;
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;
use epoch::Gathered;
use lane::{Lane, Read};
use std::collections::BTreeMap;

/// The logs that there are, and how far they can be read.
#[derive(Clone, Debug)]
pub struct Readable {
    /// The database's number.
    pub database: u128,
    /// The incarnation and the epoch of the newest change that has been dropped; zeros: none has.
    pub dropped: (u32, u64),
    /// The incarnations that are over, ascending.
    pub ended: Vec<EndedLog>,
    /// The segments that are complete, or of an incarnation that is over; ascending.
    pub segments: Vec<Retired>,
    /// The current incarnation.
    pub incarnation: u32,
    /// Its newest epoch that is durable.
    pub durable: u64,
    /// For each of its writers where its log ends that is durable through that epoch.
    pub ends: Vec<LogEnd>,
}

/// Why a reader goes no further.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// Changes after its position have been dropped.
    Passed {
        /// Where it stands.
        position: Position,
        /// The oldest position from which all changes are there.
        oldest: Position,
    },
    /// The position is none of this database, or lies ahead of all that the directory has.
    Unknown(Position),
    /// A file is damaged, or the system refuses it.
    Log(LogError),
}

impl From<LogError> for Stopped {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl Readable {
    /// The oldest position from which all changes are there.
    #[must_use]
    pub fn oldest(&self) -> Position {
        match self.dropped {
            (_, 0) => Position { database: self.database, ..Position::START },
            (incarnation, epoch) => {
                Position { database: self.database, incarnation, epoch: epoch + 1, index: 0 }
            }
        }
    }

    /// The position after all that is durable.
    #[must_use]
    pub fn newest(&self) -> Position {
        let (database, incarnation) = (self.database, self.incarnation);
        Position { database, incarnation, epoch: self.durable + 1, index: 0 }
    }

    /// Refuses a position from which changes are missing, or that no reader of this directory can have.
    fn check(&self, position: Position) -> Result<(), Stopped> {
        let other = position.database != self.database && position != Position::START;
        let ahead = (position.incarnation, position.epoch) > (self.incarnation, self.durable + 1);
        if other || ahead {
            return Err(Stopped::Unknown(position));
        }
        let (incarnation, epoch) = self.dropped;
        if epoch > 0 && position.is_within(incarnation, epoch) {
            return Err(Stopped::Passed { position, oldest: self.oldest() });
        }
        Ok(())
    }

    /// The first incarnation from `least` on of which there may be changes.
    fn incarnation_from(&self, least: u32) -> u32 {
        let ended = self.ended.iter().map(|it| it.incarnation);
        ended.filter(|&it| it >= least).min().unwrap_or(self.incarnation)
    }

    /// How far an incarnation is durable, where the logs of its writers end, and whether it is over.
    fn logs_of(&self, incarnation: u32) -> Option<(u64, &[LogEnd], bool)> {
        if incarnation == self.incarnation {
            return Some((self.durable, &self.ends, false));
        }
        let ended = self.ended.iter().find(|it| it.incarnation == incarnation)?;
        Some((ended.durable, &ended.ends, true))
    }
}

/// Reads changes from a position on. Cheap to make; it opens files as it goes.
#[derive(Debug)]
pub struct ChangeReader<M> {
    /// Before the next change.
    position: Position,
    /// One for each writer of the position's incarnation.
    lanes: Vec<Lane<M>>,
    /// Epochs that have been read in part.
    gathered: BTreeMap<u64, Gathered>,
    /// The logs as they were known last.
    known: Option<Readable>,
}

impl<M: Machine> ChangeReader<M> {
    /// A reader of the changes after `position`.
    #[must_use]
    pub fn new(position: Position) -> Self {
        Self { position, lanes: Vec::new(), gathered: BTreeMap::new(), known: None }
    }

    /// The next epoch with changes; `None`: nothing more is durable yet. `look` tells what can be read now.
    ///
    /// # Errors
    /// [`Stopped`]. The reader stays where it is, and may be asked again.
    pub fn next_epoch(
        &mut self,
        disk: &dyn Disk,
        look: impl Fn() -> Readable,
    ) -> Result<Option<EpochChanges>, Stopped> {
        let next = self.try_next(disk, look);
        if next.is_err() {
            // What was read in part is read anew.
            self.known = None;
        }
        next
    }

    fn try_next(
        &mut self,
        disk: &dyn Disk,
        look: impl Fn() -> Readable,
    ) -> Result<Option<EpochChanges>, Stopped> {
        if self.known.is_none() {
            self.learn(look())?;
        }
        let mut fresh = false;
        loop {
            if let Some(epoch) = self.take_complete() {
                return Ok(Some(epoch));
            }
            if self.read_on(disk, &look)? || self.enter_next() {
                continue;
            }
            if fresh {
                return Ok(None);
            }
            self.learn(look())?;
            fresh = true;
        }
    }

    /// Takes note of what can be read.
    fn learn(&mut self, readable: Readable) -> Result<(), Stopped> {
        readable.check(self.position)?;
        let first = self.known.is_none();
        self.known = Some(readable);
        if first {
            self.enter(self.position.incarnation);
        }
        self.tell_ends();
        Ok(())
    }

    /// Goes to the first incarnation from `least` on.
    fn enter(&mut self, least: u32) {
        let Some(known) = &self.known else { return };
        let incarnation = known.incarnation_from(least);
        if (incarnation, known.database) != (self.position.incarnation, self.position.database) {
            let (database, same) = (known.database, incarnation == self.position.incarnation);
            let Position { epoch, index, .. } = self.position;
            let (epoch, index) = if same { (epoch, index) } else { (0, 0) };
            self.position = Position { database, incarnation, epoch, index };
        }
        let writers = known.logs_of(incarnation).map_or(0, |(_, ends, _)| ends.len());
        self.lanes = (0..writers as u32).map(|writer| Lane::new(incarnation, writer)).collect();
        self.gathered.clear();
        self.tell_ends();
    }

    /// Tells the lanes how far they may read.
    fn tell_ends(&mut self) {
        let Some(known) = &self.known else { return };
        let Some((_, ends, _)) = known.logs_of(self.position.incarnation) else { return };
        for (lane, end) in self.lanes.iter_mut().zip(ends) {
            lane.may_read_to(*end);
        }
    }

    /// The oldest epoch that is complete, if there is one with changes.
    fn take_complete(&mut self) -> Option<EpochChanges> {
        let (durable, _, _) = self.known.as_ref()?.logs_of(self.position.incarnation)?;
        let through = self.lanes.iter().map(Lane::through).min().unwrap_or(u64::MAX).min(durable);
        let first = self.gathered.first_entry().filter(|it| *it.key() <= through)?;
        let (epoch, gathered) = first.remove_entry();
        let begins = if epoch == self.position.epoch { self.position.index } else { 0 };
        let at = Position { epoch, ..self.position };
        self.position = Position { epoch: epoch + 1, index: 0, ..self.position };
        Some(EpochChanges::new(at, gathered, begins))
    }

    /// Reads one frame of the writer that is least far; `false` where all have been read as far as is known.
    fn read_on(&mut self, disk: &dyn Disk, look: &impl Fn() -> Readable) -> Result<bool, Stopped> {
        let Some(known) = &self.known else { return Ok(false) };
        let behind = self.lanes.iter_mut().filter(|lane| !lane.is_at_end());
        let Some(lane) = behind.min_by_key(|lane| lane.through()) else { return Ok(false) };
        let (from, gathered) = (self.position.epoch, &mut self.gathered);
        let read = lane.read(disk, known, from, |transaction, writer| {
            let epoch = gathered.entry(transaction.epoch).or_default();
            epoch.add(&transaction, writer)
        });
        match read {
            Ok(Read::Frame | Read::End) => Ok(true),
            Ok(Read::Unsound(id, error)) => {
                // Its file may have been given up meanwhile, and serve another segment.
                let now = look();
                if now.segments.iter().any(|it| it.id == id) || self.is_open(&now, id) {
                    return Err(error.into());
                }
                self.learn(now)?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn is_open(&self, now: &Readable, id: crate::names::SegmentId) -> bool {
        let end = now.ends.get(id.writer as usize);
        id.incarnation == now.incarnation && end.is_some_and(|end| end.sequence == id.sequence)
    }

    /// Goes to the next incarnation if this one is over, and all of it has been given.
    fn enter_next(&mut self) -> bool {
        let Some(known) = &self.known else { return false };
        let incarnation = self.position.incarnation;
        let over = known.logs_of(incarnation).is_none_or(|(_, _, over)| over);
        if over {
            self.enter(incarnation + 1);
        }
        over
    }
}
