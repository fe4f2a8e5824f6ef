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
mod readable;
mod stopped;

pub use epoch::{EpochChanges, WriteOf};
pub use readable::Readable;
pub use stopped::Stopped;

use crate::position::Position;
use chiliad_machine::Machine;
use chiliad_machine::disk::Disk;
use epoch::Gathered;
use lane::{Lane, Read};
use std::collections::BTreeMap;

/// The most memory that is kept for another epoch.
const ROOM_MAX: usize = 16 << 20;

/// Reads changes from a position on. Cheap to make; it opens files as it goes.
#[derive(Debug)]
pub struct ChangeReader<M> {
    /// Before the next change.
    position: Position,
    /// One for each writer of the position's incarnation.
    lanes: Vec<Lane<M>>,
    /// Epochs that have been read in part.
    gathered: BTreeMap<u64, Gathered>,
    /// Room for another epoch, of one that was given and looked at.
    room: Gathered,
    /// The logs as they were known last.
    known: Option<Readable>,
}

impl<M: Machine> ChangeReader<M> {
    /// A reader of the changes after `position`.
    #[must_use]
    pub fn new(position: Position) -> Self {
        let (gathered, room) = (BTreeMap::new(), Gathered::default());
        Self { position, lanes: Vec::new(), gathered, room, known: None }
    }

    /// Takes the memory of an epoch that was looked at, for one that is read next.
    pub fn reuse(&mut self, epoch: EpochChanges) {
        self.room = epoch.into_room();
        if self.room.bytes_kept() > ROOM_MAX {
            self.room = Gathered::default();
        }
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
            // The reader starts over with epochs that it has read in part.
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
        let (from, gathered, room) = (self.position.epoch, &mut self.gathered, &mut self.room);
        let read = lane.read(disk, known, from, |transaction, writer| {
            let epoch = gathered.entry(transaction.epoch);
            let epoch = epoch.or_insert_with(|| core::mem::take(room));
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
