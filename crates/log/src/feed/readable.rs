//! The readable part of the logs.

use super::stopped::Stopped;
use crate::kept::EndedLog;
use crate::marks::LogEnd;
use crate::position::Position;
use crate::retired::Retired;

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
    pub(super) fn check(&self, position: Position) -> Result<(), Stopped> {
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
    pub(super) fn incarnation_from(&self, least: u32) -> u32 {
        let ended = self.ended.iter().map(|it| it.incarnation);
        ended.filter(|&it| it >= least).min().unwrap_or(self.incarnation)
    }

    /// How far an incarnation is durable, where the logs of its writers end, and whether it is over.
    pub(super) fn logs_of(&self, incarnation: u32) -> Option<(u64, &[LogEnd], bool)> {
        if incarnation == self.incarnation {
            return Some((self.durable, &self.ends, false));
        }
        let ended = self.ended.iter().find(|it| it.incarnation == incarnation)?;
        Some((ended.durable, &ended.ends, true))
    }
}
