//! Where the log of one writer ends: found before anything is replayed, since what is durable
//! depends on all writers.

use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::Kind;
use crate::names::SegmentId;
use crate::read::{Damage, SegmentReader};
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
    /// Whether the log was closed as it should be.
    pub closed: bool,
}

impl Tail {
    /// Makes certain what was found at the end: writes it again, in its place, and syncs it.
    ///
    /// What was read may come from memory of the system that a failed sync has left behind. Another
    /// sync says nothing about it. All before it is durable: frames say so, and segments but the last
    /// were synced before the next began.
    ///
    /// # Errors
    /// The system's.
    pub fn make_certain<M: Machine>(&self, disk: &dyn Disk) -> Result<()> {
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

/// Looks for the end of the log of one writer, whose segments are `present`, in order, of which
/// `first` is the first that is needed. `lenient` takes what there is instead of reporting damage.
///
/// # Errors
/// [`LogError::Damaged`] for a segment that is missing or damaged where it was durable; the system's.
pub fn tail<M: Machine>(
    disk: &dyn Disk,
    database: u128,
    first: SegmentId,
    present: &[SegmentId],
    lenient: bool,
) -> Result<Tail> {
    let mut segments: Vec<SegmentId> =
        present.iter().copied().filter(|id| id.sequence >= first.sequence).collect();
    let expected =
        (0..).map(|place| SegmentId { sequence: first.sequence.saturating_add(place), ..first });
    let missing = segments.iter().zip(expected).find(|(found, wanted)| **found != *wanted);
    let missing = missing.map(|(_, wanted)| wanted).or(segments.is_empty().then_some(first));
    if let Some(missing) = missing.filter(|_| !lenient) {
        return Err(LogError::damaged(&missing.to_string(), 0, "the file is missing"));
    }
    let mut later = None;
    while let Some(&id) = segments.last() {
        let mut reader = SegmentReader::<M>::open(disk, &id.to_string(), id.identity(database))?;
        let mut last: Option<(Kind, u64)> = None;
        let mut synced_bytes = 0;
        while let Some(frame) = reader.next_frame()? {
            last = Some((frame.head.kind, frame.head.epoch));
            synced_bytes = frame.head.synced.max(synced_bytes);
        }
        let closed = matches!(last, Some((Kind::End, _)));
        let damage = if closed { Damage::End { torn: false } } else { reader.judge()? };
        // A segment begins when the one before is complete.
        let lost = matches!(damage, Damage::Lost { .. }) || later.is_some() && !closed;
        if lost && !lenient {
            let what = "what was durable here is not what is here";
            return Err(LogError::damaged(reader.name(), reader.offset(), what));
        }
        let Some((_, epoch)) = last else {
            // Nothing of it counts: a crash came while it was begun. The first of all is durable
            // before the manifest names its incarnation.
            if id.sequence == 0 && !lenient {
                let what = "the segment does not begin as it should";
                return Err(LogError::damaged(reader.name(), 0, what));
            }
            later = segments.pop();
            continue;
        };
        let torn = later.is_some() || matches!(damage, Damage::End { torn: true });
        let closed = closed && later.is_none();
        let sound_bytes = reader.offset();
        return Ok(Tail { epoch, segments, sound_bytes, synced_bytes, torn, closed });
    }
    if lenient {
        let (torn, closed) = (true, false);
        return Ok(Tail { epoch: 0, segments, sound_bytes: 0, synced_bytes: 0, torn, closed });
    }
    let what = "no segment of this writer begins as it should";
    Err(LogError::damaged(&first.to_string(), 0, what))
}
