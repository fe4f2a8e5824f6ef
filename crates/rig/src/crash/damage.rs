//! A bit turned over in something that was durable: where recovery must find it.
//!
//! In the manifest, in a part of the checkpoint, and in a frame of a log of which a later frame in
//! the same file says that it was synced. Only bytes that a checksum covers: what pads a block
//! means nothing.

use chiliad_engine::LogError;
use chiliad_log::frame::{HEAD_BYTES, Head, Identity};
use chiliad_log::{MANIFEST_NAME, Manifest, Name, SegmentReader};
use chiliad_machine::disk::Disk;
use chiliad_simulator::{FaultyDisk, Sim};
use chiliad_workload::random::Random;

/// A bit of a file.
#[derive(Clone, Debug)]
pub(super) struct Damage {
    pub file: String,
    pub offset: u64,
    pub bit: u8,
}

impl Damage {
    /// Chooses a bit, if there is one that must be found. Reads of the disk are not scheduled.
    pub fn choose(disk: &FaultyDisk, draws: u64) -> Option<Self> {
        let mut random = Random::new(draws, 0);
        let manifest = Manifest::read(disk).ok()??;
        let mut places = Vec::new();
        for name in disk.names().ok()? {
            let found = match Name::parse(&name) {
                Name::Part { checkpoint, part } => {
                    let info = manifest.checkpoint.filter(|it| it.number == checkpoint);
                    info.filter(|info| part < info.parts).map(|info| {
                        frames(disk, &name, info.part_identity(manifest.database, part))
                    })
                }
                Name::Segment(id) => {
                    let incarnation =
                        manifest.incarnations.iter().find(|it| it.number == id.incarnation);
                    let first = incarnation
                        .and_then(|it| it.first_segments.get(id.writer as usize).copied());
                    first
                        .filter(|&first| id.sequence >= first)
                        .map(|_| witnessed(disk, &name, id.identity(manifest.database)))
                }
                _ => None,
            };
            places.extend(found.into_iter().flatten().map(|place| (name.clone(), place)));
        }
        // The head of the manifest, after which a version that is not known may be all it says.
        let body = disk.contents(MANIFEST_NAME)?;
        let length = u32::from_le_bytes(body.get(12..16)?.try_into().ok()?);
        let manifest_place =
            (MANIFEST_NAME.to_owned(), Place { offset: 12, bytes: 8 + u64::from(length) });
        let (file, place) = match places.len() {
            0 => manifest_place,
            _ if random.below(6) == 0 => manifest_place,
            count => places.swap_remove(random.below(count as u32) as usize),
        };
        let offset = place.offset + random.below_u64(place.bytes);
        Some(Self { file, offset, bit: random.below(8) as u8 })
    }

    /// Turns the bit over, or back.
    pub fn flip(&self, disk: &FaultyDisk) {
        // The place was found on this very disk.
        let _ = disk.flip(&self.file, self.offset, self.bit);
    }

    /// Where it is, as a mark.
    pub fn kind(&self) -> &'static str {
        match Name::parse(&self.file) {
            Name::Segment(_) => "damage in a log",
            Name::Part { .. } => "damage in a checkpoint",
            _ => "damage in the manifest",
        }
    }

    /// Whether an error tells of it.
    pub fn is_told_by(&self, error: &LogError) -> bool {
        matches!(error, LogError::Damaged { file, .. } if *file == self.file)
    }
}

/// Bytes that a checksum covers.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub offset: u64,
    pub bytes: u64,
}

/// A frame, and how much of its file it knows to be durable.
pub(super) struct Framed {
    pub place: Place,
    pub synced: u64,
}

/// The frames of a file, in order, as far as they are sound.
pub(super) fn read_frames(disk: &FaultyDisk, name: &str, identity: Identity) -> Vec<Framed> {
    let mut found = Vec::new();
    let Ok(mut reader) = SegmentReader::<Sim>::open(disk, name, identity) else { return found };
    loop {
        let offset = reader.offset();
        let Ok(Some(frame)) = reader.next_frame() else { return found };
        let Head { synced, .. } = frame.head;
        let bytes = (HEAD_BYTES + frame.head.stored_bytes()) as u64;
        found.push(Framed { place: Place { offset, bytes }, synced });
    }
}

/// All frames of a file.
fn frames(disk: &FaultyDisk, name: &str, identity: Identity) -> Vec<Place> {
    read_frames(disk, name, identity).into_iter().map(|frame| frame.place).collect()
}

/// The frames of a log's file of which a later one says that they are durable.
fn witnessed(disk: &FaultyDisk, name: &str, identity: Identity) -> Vec<Place> {
    let mut frames = read_frames(disk, name, identity);
    let known = frames.iter().map(|frame| frame.synced).max().unwrap_or(0);
    frames.retain(|frame| frame.place.offset < known);
    frames.into_iter().map(|frame| frame.place).collect()
}
