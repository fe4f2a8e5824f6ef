//! Opening a log in files: what a crash has left is made whole, and everything that is found is made certain, before
//! anybody reads it.

use super::cursor::{Cursor, Wanted, error_of};
use super::faults;
use super::head::LogHead;
use super::names::{HEAD_NAME, segment_first, segment_name};
use super::state::Segment;
use super::writer::{Resumed, Writer};
use chiliad_log::{Damage, LogError};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, CopyError, Disk, DiskFile, copy_blocks};
use chiliad_machine::shared_log::{Position, SharedLogError};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The log as it was found.
pub(super) struct Opened {
    pub writer: Writer,
    pub segments: Vec<Segment>,
    /// The position of the next record.
    pub next: Position,
}

fn failed(what: String) -> impl FnOnce(io::Error) -> SharedLogError {
    move |error| SharedLogError::of_file(&what, &error)
}

/// Opens the log on a disk, or makes one there.
pub(super) fn open<M: Machine>(
    disk: &Arc<dyn Disk>,
    segment_bytes: u64,
) -> Result<Opened, SharedLogError> {
    let mut firsts = segments_on(&**disk)?;
    let head = match LogHead::open(&**disk)? {
        // The first segment is made after the head. Without one no log was ever opened here.
        Some(head) if head.first > 1 || !firsts.is_empty() => head,
        _ if firsts.is_empty() => {
            let identity = u128::from(M::random()) << 64 | u128::from(M::random());
            LogHead::create(&**disk, identity)?
        }
        _ => {
            let what = "it does not say which log this is";
            return Err(error_of(&LogError::damaged(HEAD_NAME, 0, what)));
        }
    };
    remove_trimmed(&**disk, &mut firsts, head.first)?;
    let resumed = match firsts.pop() {
        Some(last) => resume_last::<M>(&**disk, head.identity, last, &mut firsts)?,
        None if head.first == 1 => begin::<M>(&**disk, head.identity, 1)?,
        None => {
            let name = segment_name(head.first);
            return Err(error_of(&LogError::damaged(&name, 0, "the file is missing")));
        }
    };
    let mut segments = Vec::new();
    for first in firsts {
        let bytes = disk.open(&segment_name(first), Access::Read).and_then(|file| file.bytes());
        let bytes = bytes.map_err(failed(format!("opening {}", segment_name(first))))?;
        segments.push(Segment { first, bytes });
    }
    segments.push(Segment { first: resumed.segment, bytes: resumed.prepared });
    let next = resumed.next;
    let covered = (segments[0].first..=next).contains(&head.first);
    if !covered {
        let name = segment_name(head.first);
        return Err(error_of(&LogError::damaged(&name, 0, "what was durable is not there")));
    }
    let writer = Writer::resume(Arc::clone(disk), head, segment_bytes, resumed);
    Ok(Opened { writer, segments, next })
}

/// The first positions of the segments that are there, in order.
fn segments_on(disk: &dyn Disk) -> Result<Vec<Position>, SharedLogError> {
    let names = disk.names().map_err(failed(format!("looking into {}", disk.place())))?;
    let mut firsts: Vec<Position> = names.iter().filter_map(|name| segment_first(name)).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

/// Removes the segments that a crash has left of those that were trimmed.
fn remove_trimmed(
    disk: &dyn Disk,
    firsts: &mut Vec<Position>,
    first: Position,
) -> Result<(), SharedLogError> {
    let needed = firsts.partition_point(|it| *it <= first).max(1) - 1;
    for trimmed in firsts.drain(..needed) {
        let name = segment_name(trimmed);
        disk.remove(&name).map_err(failed(format!("removing {name}")))?;
    }
    Ok(())
}

fn begin<M: Machine>(
    disk: &dyn Disk,
    log: u128,
    first: Position,
) -> Result<Resumed, SharedLogError> {
    Writer::begin::<M>(disk, log, first).map_err(|refusal| refusal.error())
}

/// Goes on after the last record. Where there is none in the last segment it was made in vain, because the disk was
/// full or failed: it is made again at the next append, at the earliest, so that a full disk can be opened.
fn resume_last<M: Machine>(
    disk: &dyn Disk,
    log: u128,
    last: Position,
    before: &mut Vec<Position>,
) -> Result<Resumed, SharedLogError> {
    if let Some(resumed) = resume::<M>(disk, log, last)? {
        return Ok(resumed);
    }
    let Some(complete) = before.pop() else { return begin::<M>(disk, log, last) };
    match resume::<M>(disk, log, complete)?.filter(|it| it.next == last) {
        Some(resumed) => Ok(Resumed { is_complete: true, ..resumed }),
        None => {
            let what = format!("the records up to number {last} were durable and are not there");
            Err(error_of(&LogError::damaged(&segment_name(complete), 0, what)))
        }
    }
}

/// Finds the end of a segment with which the log ends; `None`: there is no record in it. Only the last frame can be
/// one that was never synced.
fn resume<M: Machine>(
    disk: &dyn Disk,
    log: u128,
    segment: Position,
) -> Result<Option<Resumed>, SharedLogError> {
    let name = segment_name(segment);
    let mut cursor = Cursor::<M>::open(disk, log, segment).map_err(|error| error_of(&error))?;
    let mut all = Wanted {
        next: segment,
        end: Position::MAX,
        bytes: usize::MAX,
        take: &mut |_, _| {},
        handed: 0,
    };
    let more = cursor.hand_over(&mut all)?;
    debug_assert!(!more, "a file ends");
    let judged = cursor.reader().judge().map_err(|error| error_of(&error))?;
    if let Damage::Lost { resumes_at } = judged {
        let what = format!("what was durable is not there; sound frames go on at {resumes_at}");
        return Err(error_of(&LogError::damaged(&name, cursor.offset(), what)));
    }
    if cursor.next() == segment {
        return Ok(None);
    }
    let file = disk.open(&name, Access::Write).map_err(failed(format!("opening {name}")))?;
    let bytes = file.bytes().map_err(failed(format!("opening {name}")))?;
    let end = cursor.offset();
    if !M::fault(&faults::TAIL_NOT_MADE_CERTAIN) {
        make_certain(disk, &name, &*file, cursor.last_offset()..end)?;
    }
    let prepared = end.max(bytes / BLOCK_BYTES as u64 * BLOCK_BYTES as u64);
    Ok(Some(Resumed {
        is_complete: false,
        segment,
        file,
        offset: end,
        prepared,
        next: cursor.next(),
    }))
}

/// Writes a frame again as it is, and syncs it: the process that wrote it may have been killed before its sync, or
/// after one that failed.
fn make_certain(
    disk: &dyn Disk,
    name: &str,
    file: &dyn DiskFile,
    frame: Range<u64>,
) -> Result<(), SharedLogError> {
    let reader = disk.open(name, Access::Read).map_err(failed(format!("opening {name}")))?;
    copy_blocks(&*reader, file, frame).map_err(|error| match error {
        CopyError::Reading(error) => failed(format!("reading {name}"))(error),
        CopyError::Writing(error) => failed(format!("writing {name}"))(error),
    })?;
    file.sync().map_err(failed(format!("syncing {name}")))
}
