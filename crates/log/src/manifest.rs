//! The manifest: the one small file that says what is in use. Whatever it does not name is garbage.
//!
//! ```text
//! 8 bytes "CHILIAD\n" | u32 format version | u32 bytes of the body | u32 CRC-32 of version and body
//! body: u128 database | u64 generation | u32 incarnation
//!       u8 1 if there is a checkpoint | u32 number | u32 parts | u32 incarnation | u64 floor | u64 end
//!       u32 count of incarnations, ascending, each:
//!           u32 incarnation | u8 1 if it has ended, plus 2 if its ends follow, plus 4 if it has claims
//!           u64 last durable epoch | u32 count of writers | u32 first segment that is needed, for each
//!           of the ends, for each writer: u32 last segment | u64 its bytes | u64 epoch of its last frame
//!       u32 bytes of the catalog | catalog
//!       log that is kept for those who follow changes: see `kept`
//! ```
//!
//! It is never changed in place: `MANIFEST.new` is written and synced, takes the name, and the name
//! is synced. The first twelve bytes mean the same in every version of the format.

use crate::claims;
use crate::codec::{Decoder, put_blob};
use crate::error::{LogError, Result};
use crate::faults;
use crate::frame::{self, Head, Identity};
use crate::kept::KeptLog;
use crate::marks::LogEnd;
use crate::names::{MANIFEST_NAME, MANIFEST_NEW, Name, part_identity};
use crate::segment;
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk};
use std::io;

/// The version of the format that is written. Older ones are read as long as there is a reader for
/// them; newer ones are refused.
pub const FORMAT_VERSION: u32 = 4;

/// The first version with generations, ends and claims.
const WITNESSED_FROM: u32 = 3;
/// The first version that says which log is kept for those who follow changes.
const KEPT_FROM: u32 = 4;

const ENDED: u8 = 1;
const WITH_ENDS: u8 = 2;
const WITH_CLAIMS: u8 = 4;

const MAGIC: &[u8; 8] = b"CHILIAD\n";
const HEAD_BYTES: usize = 20;

/// More than any catalog needs; a length beyond it is damage.
const BODY_BYTES_MAX: u64 = 1 << 30;

/// One opening of the database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incarnation {
    /// Its number; grows with every opening.
    pub number: u32,
    /// The last epoch of it that is durable, once it is over.
    pub ended: Option<u64>,
    /// For each of its writers the first segment that recovery needs.
    pub first_segments: Vec<u32>,
    /// For each of its writers where its log ends, once it is over: pinned when the database was closed, or opened
    /// next. Empty before that.
    pub ends: Vec<LogEnd>,
    /// Whether its writers keep a file of what they have claimed.
    pub claims: bool,
}

/// A checkpoint that is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointInfo {
    /// Its number.
    pub number: u32,
    /// Its files.
    pub parts: u32,
    /// The incarnation whose state it holds, and whose orders.
    pub incarnation: u32,
    /// It holds the effect of every transaction of this epoch and before.
    pub redo_after: u64,
    /// It may hold effects of transactions up to this epoch.
    pub end: u64,
}

/// The files that are in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// The version of the format that it was read in: [`FORMAT_VERSION`] for a new one. All are written in that.
    pub format: u32,
    /// A random number that tells databases apart.
    pub database: u128,
    /// Counts the manifests of the database: each has one more than the one that it replaces.
    pub generation: u64,
    /// The checkpoint that recovery begins with.
    pub checkpoint: Option<CheckpointInfo>,
    /// The incarnations whose logs recovery needs, in order. The last one is the current one, or was
    /// when the database was last open.
    pub incarnations: Vec<Incarnation>,
    /// The catalog, as the engine encodes it.
    pub catalog: Vec<u8>,
    /// The log of which recovery needs nothing, and what has been dropped.
    pub kept: KeptLog,
}

impl CheckpointInfo {
    /// The identity that the frames of a part are checked against.
    #[must_use]
    pub fn part_identity(&self, database: u128, part: u32) -> Identity {
        part_identity(database, self.number, part)
    }
}

impl Incarnation {
    fn decode(version: u32, from: &mut Decoder<'_>) -> Option<Self> {
        let number = from.u32()?;
        let flags = match from.u8()? {
            flags if version >= WITNESSED_FROM => flags,
            flags => flags & ENDED,
        };
        let last = from.u64()?;
        let (mut first_segments, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..from.u32()? {
            first_segments.push(from.u32()?);
        }
        for _ in first_segments.iter().filter(|_| flags & WITH_ENDS != 0) {
            let (sequence, bytes) = (from.u32()?, from.u64()?);
            ends.push(LogEnd { sequence, bytes, epoch: from.u64()? });
        }
        let ended = (flags & ENDED != 0).then_some(last);
        Some(Self { number, ended, first_segments, ends, claims: flags & WITH_CLAIMS != 0 })
    }
}

impl Manifest {
    /// The newest incarnation's number; zero before the first.
    #[must_use]
    pub fn incarnation(&self) -> u32 {
        self.incarnations.last().map_or(0, |it| it.number)
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let word = |body: &mut Vec<u8>, number: u32| body.extend_from_slice(&number.to_le_bytes());
        let long = |body: &mut Vec<u8>, number: u64| body.extend_from_slice(&number.to_le_bytes());
        body.extend_from_slice(&self.database.to_le_bytes());
        long(&mut body, self.generation);
        word(&mut body, self.incarnation());
        body.push(u8::from(self.checkpoint.is_some()));
        if let Some(checkpoint) = &self.checkpoint {
            word(&mut body, checkpoint.number);
            word(&mut body, checkpoint.parts);
            word(&mut body, checkpoint.incarnation);
            long(&mut body, checkpoint.redo_after);
            long(&mut body, checkpoint.end);
        }
        word(&mut body, self.incarnations.len() as u32);
        for incarnation in &self.incarnations {
            word(&mut body, incarnation.number);
            let flag = |set: bool, flag: u8| if set { flag } else { 0 };
            body.push(
                flag(incarnation.ended.is_some(), ENDED)
                    | flag(!incarnation.ends.is_empty(), WITH_ENDS)
                    | flag(incarnation.claims, WITH_CLAIMS),
            );
            long(&mut body, incarnation.ended.unwrap_or(0));
            debug_assert!(
                [0, incarnation.first_segments.len()].contains(&incarnation.ends.len()),
                "an end for each writer, or none"
            );
            word(&mut body, incarnation.first_segments.len() as u32);
            for &first in &incarnation.first_segments {
                word(&mut body, first);
            }
            for end in &incarnation.ends {
                word(&mut body, end.sequence);
                long(&mut body, end.bytes);
                long(&mut body, end.epoch);
            }
        }
        put_blob(&mut body, &self.catalog);
        self.kept.encode(&mut body);
        body
    }

    fn decode(version: u32, body: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(body);
        let database = from.u128()?;
        let generation = if version < WITNESSED_FROM { 0 } else { from.u64()? };
        let newest = from.u32()?;
        let checkpoint = match from.u8()? {
            0 => None,
            _ => Some(CheckpointInfo {
                number: from.u32()?,
                parts: from.u32()?,
                incarnation: from.u32()?,
                redo_after: from.u64()?,
                end: from.u64()?,
            }),
        };
        let mut incarnations = Vec::new();
        for _ in 0..from.u32()? {
            incarnations.push(Incarnation::decode(version, &mut from)?);
        }
        let catalog = from.blob()?.to_vec();
        let kept = if version < KEPT_FROM {
            let before = |it: CheckpointInfo| (it.incarnation, it.redo_after.max(1));
            KeptLog::nothing_before(checkpoint.map_or((0, 0), before))
        } else {
            KeptLog::decode(&mut from)?
        };
        let manifest =
            Self { format: version, database, generation, checkpoint, incarnations, catalog, kept };
        (from.is_empty() && manifest.incarnation() == newest && manifest.is_sound())
            .then_some(manifest)
    }

    /// Incarnations ascend, the checkpoint is of one of them, there are numbers left for the next of
    /// both, and what has ends has ended.
    fn is_sound(&self) -> bool {
        let ascending = self.incarnations.is_sorted_by(|one, next| one.number < next.number);
        let known = self.checkpoint.is_none_or(|checkpoint| {
            let own = |it: &Incarnation| it.number == checkpoint.incarnation;
            checkpoint.number < u32::MAX && self.incarnations.iter().any(own)
        });
        let ended = |it: &Incarnation| it.ended.is_some() || it.ends.is_empty();
        let over = self.incarnations.iter().all(ended) && self.generation < u64::MAX;
        ascending && known && over && self.incarnation() < u32::MAX
    }

    /// Puts the manifest in the place of the one there is, durably.
    ///
    /// # Errors
    /// The system's. Either manifest may be in place then.
    pub fn write<M: Machine>(&self, disk: &dyn Disk) -> Result<()> {
        let body = self.encode();
        debug_assert!(self.is_sound(), "a reader takes it");
        debug_assert!(body.len() as u64 <= BODY_BYTES_MAX, "and reads it to its end");
        debug_assert!(Self::decode(FORMAT_VERSION, &body).is_some(), "and parses it");
        let mut blocks = Blocks::new();
        blocks.push(MAGIC);
        blocks.push(&FORMAT_VERSION.to_le_bytes());
        blocks.push(&(body.len() as u32).to_le_bytes());
        blocks.push(&checksum(FORMAT_VERSION, &body).to_le_bytes());
        blocks.push(&body);
        blocks.pad();
        let doing = |what| LogError::io(format!("{what} {MANIFEST_NEW} in {}", disk.place()));
        let file = disk.create(MANIFEST_NEW, 0).map_err(doing("creating"))?;
        file.write_at(0, &blocks).map_err(doing("writing"))?;
        if !M::fault(&faults::MANIFEST_NOT_SYNCED) {
            file.sync().map_err(doing("syncing"))?;
        }
        disk.rename(MANIFEST_NEW, MANIFEST_NAME).map_err(doing("renaming"))?;
        disk.sync_names().map_err(LogError::io(format!("syncing {}", disk.place())))
    }

    /// The manifest of a directory; `None` if there is none and nothing else either.
    ///
    /// # Errors
    /// [`LogError::NotOurs`], [`LogError::NewerFormat`], [`LogError::Damaged`], the system's.
    pub fn read(disk: &dyn Disk) -> Result<Option<Self>> {
        let names = disk.names().map_err(LogError::io(format!("listing {}", disk.place())))?;
        for name in &names {
            refuse_unless_file(disk, name)?;
        }
        if !names.iter().any(|name| name == MANIFEST_NAME) {
            return if begun(disk, &names)? {
                Ok(None)
            } else {
                Err(LogError::NotOurs { place: disk.place() })
            };
        }
        let content = read_all(disk)
            .map_err(LogError::io(format!("reading {MANIFEST_NAME} in {}", disk.place())))?;
        Self::parse(content.bytes()).map(Some)
    }

    /// The manifest that these bytes of a file say.
    ///
    /// # Errors
    /// [`LogError::NewerFormat`], [`LogError::Damaged`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let damaged = |offset, what| LogError::damaged(MANIFEST_NAME, offset, what);
        let mut from = Decoder::new(bytes);
        if from.bytes(MAGIC.len()) != Some(MAGIC) {
            return Err(damaged(0, "it does not begin as manifests do"));
        }
        let short = || damaged(bytes.len() as u64, "it ends too early");
        let version = from.u32().ok_or_else(short)?;
        if version > FORMAT_VERSION {
            let file = MANIFEST_NAME.into();
            return Err(LogError::NewerFormat { file, found: version, accepted: FORMAT_VERSION });
        }
        let length = from.u32().ok_or_else(short)?;
        let crc = from.u32().ok_or_else(short)?;
        let body = from.bytes(length as usize).ok_or_else(short)?;
        if crc != checksum(version, body) {
            return Err(damaged(HEAD_BYTES as u64, "its checksum does not fit"));
        }
        Self::decode(version, body)
            .ok_or_else(|| damaged(HEAD_BYTES as u64, "its content does not parse"))
    }
}

/// Refuses what has a name of ours and is something else than a file: nobody can go on with that.
fn refuse_unless_file(disk: &dyn Disk, name: &str) -> Result<()> {
    if Name::parse(name) == Name::Foreign {
        return Ok(());
    }
    let looking = LogError::io(format!("looking at {name} in {}", disk.place()));
    match disk.is_file(name).map_err(looking)? {
        true => Ok(()),
        false => Err(LogError::damaged(name, 0, "it is no file")),
    }
}

/// Whether a directory without a manifest holds what a creation leaves behind that was cut short, or
/// nothing: whatever is there was written before the first manifest.
fn begun(disk: &dyn Disk, names: &[String]) -> Result<bool> {
    let missing = || LogError::damaged(MANIFEST_NAME, 0, "the file is missing");
    for name in names {
        match Name::parse(name) {
            Name::Lock | Name::ManifestNew => {}
            Name::Claims(1) => {
                if claims::newest_generation(disk, name)? > 0 {
                    return Err(missing());
                }
            }
            Name::Segment(id) if id.incarnation == 1 && id.sequence == 0 => {
                if has_frames(disk, name)? {
                    return Err(missing());
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether a segment holds more than its head.
fn has_frames(disk: &dyn Disk, name: &str) -> Result<bool> {
    let doing = |what| LogError::io(format!("{what} {name} in {}", disk.place()));
    let file = disk.open(name, Access::Read).map_err(doing("opening"))?;
    let bytes = file.bytes().map_err(doing("looking at"))?;
    if bytes <= BLOCK_BYTES as u64 || bytes > segment::HEAD_BYTES {
        return Ok(bytes > BLOCK_BYTES as u64);
    }
    // Version 2 wrote no marks between the first frame and the next.
    let mut second = Blocks::new();
    file.read_at(BLOCK_BYTES as u64, BLOCK_BYTES, &mut second).map_err(doing("reading"))?;
    Ok(second.bytes().get(..frame::HEAD_BYTES).and_then(Head::decode).is_some())
}

fn checksum(version: u32, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&version.to_le_bytes());
    hasher.update(body);
    hasher.finalize()
}

fn read_all(disk: &dyn Disk) -> io::Result<Blocks> {
    let file = disk.open(MANIFEST_NAME, Access::Read)?;
    let bytes = file.bytes()?.min(BODY_BYTES_MAX + BLOCK_BYTES as u64);
    let mut content = Blocks::new();
    file.read_at(0, (bytes as usize).next_multiple_of(BLOCK_BYTES), &mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some() -> Manifest {
        let checkpoint =
            CheckpointInfo { number: 4, parts: 2, incarnation: 2, redo_after: 9, end: 11 };
        Manifest {
            format: FORMAT_VERSION,
            database: 77,
            generation: 12,
            checkpoint: Some(checkpoint),
            incarnations: vec![
                Incarnation {
                    number: 2,
                    ended: Some(40),
                    first_segments: vec![3, 1],
                    ends: vec![
                        LogEnd { sequence: 4, bytes: 8192, epoch: 41 },
                        LogEnd { sequence: 1, bytes: 4096, epoch: 40 },
                    ],
                    claims: true,
                },
                Incarnation {
                    number: 3,
                    ended: None,
                    first_segments: vec![0],
                    ends: Vec::new(),
                    claims: true,
                },
            ],
            catalog: b"tables".to_vec(),
            kept: KeptLog::nothing_before((2, 7)),
        }
    }

    fn file(version: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&checksum(version, body).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    #[test]
    fn it_comes_back() {
        let bytes = file(FORMAT_VERSION, &some().encode());
        assert_eq!(Manifest::parse(&bytes), Ok(some()));
    }

    #[test]
    fn a_newer_one_is_told_from_a_damaged_one() {
        let newer = file(FORMAT_VERSION + 1, b"whatever comes");
        let error = Manifest::parse(&newer).unwrap_err();
        let LogError::NewerFormat { found, accepted, .. } = error else { panic!("{error}") };
        assert_eq!((found, accepted), (FORMAT_VERSION + 1, FORMAT_VERSION));
        let mut damaged = file(FORMAT_VERSION, &some().encode());
        damaged[30] ^= 1;
        assert!(matches!(Manifest::parse(&damaged), Err(LogError::Damaged { .. })));
    }

    #[test]
    fn what_contradicts_itself_is_damaged() {
        let cases: [fn(&mut Manifest); 6] = [
            |it| it.incarnations[0].ended = None,
            |it| it.generation = u64::MAX,
            |it| it.incarnations.reverse(),
            |it| it.incarnations[1].number = u32::MAX,
            |it| it.checkpoint.as_mut().expect("there").number = u32::MAX,
            |it| it.checkpoint.as_mut().expect("there").incarnation = 1,
        ];
        for change in cases {
            let mut manifest = some();
            change(&mut manifest);
            let parsed = Manifest::parse(&file(FORMAT_VERSION, &manifest.encode()));
            assert!(matches!(parsed, Err(LogError::Damaged { .. })), "{manifest:?}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Manifest::parse(&bytes).is_err());
            // A sound checksum over nonsense.
            prop_assert!(Manifest::parse(&file(FORMAT_VERSION, &bytes)).is_err());
        }
    }
}
