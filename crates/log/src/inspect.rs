//! Where the log of one writer ends: found before anything is replayed, since what is durable
//! depends on all writers.

use crate::claims::Promise;
use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::Kind;
use crate::marks::LogEnd;
use crate::names::SegmentId;
use crate::read::{Damage, Noted, SegmentReader};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, CopyError, Disk, copy_blocks};

/// The end of one writer's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tail {
    /// Everything of this epoch and before is there.
    pub epoch: u64,
    /// The segments, in order.
    pub segments: Vec<SegmentId>,
    /// Bytes of the last segment that are sound.
    pub sound_bytes: u64,
    /// Bytes of the last segment of which a frame in it says that they are durable.
    pub synced_bytes: u64,
    /// Whether a write was cut short behind them.
    pub torn: bool,
    /// Whether its last segment is complete.
    pub closed: bool,
    /// Whether something durable is missing behind what is sound.
    pub damaged: bool,
    /// The manifest that was in place when its last segment was marked; 0 where that is not known.
    pub generation: u64,
}

impl Tail {
    /// Where the log ends; `None` where there is nothing of it.
    #[must_use]
    pub fn end(&self) -> Option<LogEnd> {
        let last = self.segments.last()?;
        Some(LogEnd { sequence: last.sequence, bytes: self.sound_bytes, epoch: self.epoch })
    }

    /// Makes certain what was found at the end: writes it again, in its place, and syncs it.
    ///
    /// What was read may come from memory of the system that a failed sync has left behind. Another
    /// sync says nothing about it. All before it is durable: frames say so, and segments but the last
    /// were synced before the next began.
    ///
    /// # Errors
    /// The system's.
    pub fn make_certain<M: Machine>(&self, disk: &dyn Disk) -> Result<()> {
        debug_assert!(self.synced_bytes <= self.sound_bytes, "no frame speaks of later ones");
        let Some(name) = self.segments.last().map(ToString::to_string) else {
            return Ok(());
        };
        let doing = |what| LogError::io(format!("{what} {name} in {}", disk.place()));
        let written = disk.open(&name, Access::Read).map_err(doing("opening"))?;
        let file = disk.open(&name, Access::Write).map_err(doing("opening"))?;
        if !M::fault(&faults::END_NOT_REWRITTEN) {
            let copied = copy_blocks(&*written, &*file, self.synced_bytes..self.sound_bytes);
            copied.map_err(|error| match error {
                CopyError::Reading(error) => doing("reading")(error),
                CopyError::Writing(error) => doing("writing")(error),
            })?;
        }
        file.sync().map_err(doing("syncing"))
    }
}

/// The log of one writer of which the end is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The database.
    pub database: u128,
    /// The first segment that is needed.
    pub first: SegmentId,
    /// Segments of the writer that are there, in order.
    pub present: &'a [SegmentId],
    /// The promise about the end beside the log.
    pub promise: Promise,
}

/// Finds the end of a log. Without `losses` everything has to be sound; with them what is there is taken, and what is
/// missing is put there, unless a reader of the segments will meet it.
///
/// # Errors
/// [`LogError::Damaged`] for a segment that is missing or damaged where it was durable; the system's.
pub fn tail<M: Machine>(
    disk: &dyn Disk,
    sought: Sought<'_>,
    losses: Option<&mut Vec<LogError>>,
) -> Result<Tail> {
    let Sought { database, first, present, promise } = sought;
    debug_assert!(present.is_sorted(), "segments are in order");
    debug_assert!(present.iter().all(|id| id.writer == first.writer), "of one writer");
    let promise = if M::fault(&faults::SEAL_NOT_CHECKED) { promise.unsealed() } else { promise };
    let mut verdict = Verdict { losses };
    let needed = |id: &&SegmentId| id.sequence >= first.sequence && promise.allows(**id);
    let mut segments: Vec<SegmentId> = present.iter().filter(needed).copied().collect();
    if let Some(missing) = missing(first, &segments) {
        verdict.missing(LogError::damaged(&missing.to_string(), 0, "the file is missing"))?;
    }
    let mut later = None;
    while let Some(&id) = segments.last() {
        let name = id.to_string();
        let mut end = read_end::<M>(disk, database, id, promise)?;
        let unnamed = id.sequence > first.sequence && promise.names_before(id);
        if end.is_bare && unnamed && !M::fault(&faults::BARE_SEGMENT_COUNTS) {
            // Its beginning may have failed, and then its name, or it, goes with the power.
            end.epoch = None;
        }
        if later.is_none() && promise.least().is_some_and(|least| least.sequence > id.sequence) {
            // One that goes on was copied before the next one began.
            let is_moment =
                matches!(promise, Promise::AtLeast(_)) && end.epoch.is_some() && !end.closed;
            // The last one cannot be the greatest number.
            let next = SegmentId { sequence: id.sequence + 1, ..id };
            if !is_moment {
                verdict.missing(LogError::damaged(&next.to_string(), 0, "the file is missing"))?;
            }
        }
        // A segment begins when the one before is complete.
        let damaged = end.lost || later.is_some() && !end.closed;
        if damaged {
            let what = "what was durable here is not what is here";
            verdict.met_again(LogError::damaged(&name, end.sound_bytes, what))?;
        }
        let Some(epoch) = end.epoch else {
            // Nothing of it counts: a crash came while it was begun. The first of all is durable
            // before the manifest names its incarnation, and the first that is needed before it was.
            if id.sequence == first.sequence {
                let what = "the segment does not begin as it should";
                verdict.missing(LogError::damaged(&name, 0, what))?;
            }
            later = segments.pop();
            continue;
        };
        return Ok(Tail {
            epoch,
            segments,
            sound_bytes: end.sound_bytes,
            synced_bytes: end.synced_bytes,
            torn: later.is_some() || end.torn,
            closed: end.closed && later.is_none(),
            damaged,
            generation: end.generation,
        });
    }
    Ok(Tail {
        epoch: 0,
        segments,
        sound_bytes: 0,
        synced_bytes: 0,
        torn: true,
        closed: false,
        damaged: true,
        generation: 0,
    })
}

/// The consequence of damage: an error, or a loss.
struct Verdict<'a> {
    losses: Option<&'a mut Vec<LogError>>,
}

impl Verdict<'_> {
    /// Something is missing that nobody will look for.
    fn missing(&mut self, error: LogError) -> Result<()> {
        match &mut self.losses {
            Some(losses) => losses.push(error),
            None => return Err(error),
        }
        Ok(())
    }

    /// Something is damaged in a segment that will be read.
    fn met_again(&self, error: LogError) -> Result<()> {
        if self.losses.is_some() { Ok(()) } else { Err(error) }
    }
}

/// The first segment that is needed and not there.
fn missing(first: SegmentId, segments: &[SegmentId]) -> Option<SegmentId> {
    let wanted = |place| SegmentId { sequence: first.sequence.saturating_add(place), ..first };
    let hole = segments.iter().zip((0..).map(wanted)).find(|(found, wanted)| **found != *wanted);
    match hole {
        Some((_, wanted)) => Some(wanted),
        None => segments.is_empty().then_some(first),
    }
}

/// The end of one segment.
struct SegmentEnd {
    /// The epoch of its last frame.
    epoch: Option<u64>,
    sound_bytes: u64,
    synced_bytes: u64,
    torn: bool,
    closed: bool,
    /// It has begun, and nothing was written to it.
    is_bare: bool,
    /// Something durable is missing.
    lost: bool,
    /// The manifest that its mark names.
    generation: u64,
}

/// Reads a segment to its end.
fn read_end<M: Machine>(
    disk: &dyn Disk,
    database: u128,
    id: SegmentId,
    promise: Promise,
) -> Result<SegmentEnd> {
    let promised = promise.least().filter(|least| least.sequence == id.sequence);
    let exactly = promised.filter(|_| matches!(promise, Promise::Exactly(_)));
    let mut reader = SegmentReader::<M>::open(disk, &id.to_string(), id.identity(database))?;
    let mut last: Option<(Kind, u64)> = None;
    let mut synced_bytes = 0;
    while exactly.is_none_or(|end| reader.offset() < end.bytes)
        && let Some(frame) = reader.next_frame()?
    {
        last = Some((frame.head.kind, frame.head.epoch));
        synced_bytes = frame.head.synced.max(synced_bytes);
    }
    let sound_bytes = reader.offset();
    debug_assert!(synced_bytes <= sound_bytes, "no frame speaks of later ones");
    let noted = match promise {
        Promise::AtLeast(_) => reader.mark(&id.identity_of_marks(database))?,
        Promise::Nothing | Promise::Exactly(_) => Noted::Unmarked,
    };
    // A crash came while it was begun, unless it is known that it has.
    let begun = noted != Noted::Lost || promised.is_some();
    let epoch = last.map(|(_, epoch)| epoch).filter(|_| begun);
    let closed = matches!(last, Some((Kind::End, _)));
    let kept = match exactly {
        Some(end) => sound_bytes == end.bytes && epoch == Some(end.epoch),
        None => promised.is_none_or(|least| sound_bytes >= least.bytes),
    };
    let (kept, generation) = match noted {
        Noted::Unmarked => (kept, 0),
        Noted::Lost => (!begun, 0),
        Noted::Mark(mark) => (kept && sound_bytes >= mark.end.bytes, mark.generation),
    };
    let damage = match closed || exactly.is_some() {
        true => Damage::End { torn: false },
        false => reader.judge()?,
    };
    Ok(SegmentEnd {
        epoch,
        sound_bytes,
        synced_bytes,
        torn: damage == Damage::End { torn: true },
        closed,
        is_bare: matches!(last, Some((Kind::Start, _))),
        lost: !kept || matches!(damage, Damage::Lost { .. }),
        generation,
    })
}
