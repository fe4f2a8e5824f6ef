//! The end of a log taken away: where recovery must notice.
//!
//! What was witnessed is decided here by what the files themselves show of the order of writing, and not by
//! what recovery is going to ask. Where the database was closed, every frame is. A segment in which a frame
//! of transactions stands was begun, and noted for good, before that frame. And where the process was killed, so
//! that everything written is there, a frame that a later one of its file knows to be synced was noted before
//! the later one. Where a sync has failed, a note of another writer in the same file may be lost, though its own sync
//! returned: the log has failed then, and what is written after it was never acknowledged.

use super::damage::read_frames;
use chiliad_log::{Manifest, Name, SegmentId};
use chiliad_machine::disk::{Blocks, Disk};
use chiliad_simulator::FaultyDisk;
use chiliad_workload::random::Random;

/// A segment that loses its end.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    file: String,
    /// The bytes that stay of it; `None`: the file goes.
    bytes: Option<u64>,
}

/// How the incarnation before has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub closed: bool,
    pub killed: bool,
    /// A sync of the disk has failed.
    pub sync_failed: bool,
}

impl Cut {
    /// Chooses an end that must be missed, if there is one. Reads of the disk are not scheduled.
    pub fn choose(disk: &FaultyDisk, ended: Ended, draws: u64) -> Option<Self> {
        let mut random = Random::new(draws, 1);
        let manifest = Manifest::read(disk).ok()??;
        let newest = manifest.incarnations.last()?;
        let segments = disk.file_names().into_iter().filter_map(|name| match Name::parse(&name) {
            Name::Segment(id) if id.incarnation == newest.number => Some(id),
            _ => None,
        });
        let mut segments: Vec<SegmentId> = segments.collect();
        segments.sort();
        let mut cuts = Vec::new();
        for (at, id) in segments.iter().enumerate() {
            let last = segments.get(at + 1).is_none_or(|next| next.writer != id.writer);
            if last {
                cuts.extend(cuts_of(disk, *id, id.identity(manifest.database), ended));
            }
        }
        match cuts.len() {
            0 => None,
            count => Some(cuts.swap_remove(random.below(count as u32) as usize)),
        }
    }

    /// Takes the end away.
    pub fn apply(&self, disk: &FaultyDisk) -> std::io::Result<()> {
        let Some(bytes) = self.bytes else { return disk.remove(&self.file) };
        let content = disk.contents(&self.file).unwrap_or_default();
        let mut blocks = Blocks::new();
        blocks.push(&content[..bytes as usize]);
        disk.create(&self.file, 0)?.write_at(0, &blocks)
    }
}

/// The ends of one segment, the last of its writer, that must be missed.
fn cuts_of(
    disk: &FaultyDisk,
    id: SegmentId,
    identity: chiliad_log::frame::Identity,
    ended: Ended,
) -> Vec<Cut> {
    let file = id.to_string();
    let frames = read_frames(disk, &file, identity);
    let mut cuts = Vec::new();
    let noted = id.sequence > 0 && frames.len() > 1 && !ended.sync_failed;
    if ended.closed || noted {
        cuts.push(Cut { file: file.clone(), bytes: None });
    }
    for (at, frame) in frames.iter().enumerate() {
        let offset = frame.place.offset;
        let known = frames[at..].iter().any(|later| later.synced > offset);
        if ended.closed || ended.killed && known {
            cuts.push(Cut { file: file.clone(), bytes: Some(offset) });
        }
    }
    cuts
}
