//! Copies of a directory, of one that is in use too.
//!
//! A copy is the checkpoint, the logs as far as they are sound, and a manifest last that says where
//! those end: a directory like one that was closed. Every frame is checked on its way.

use crate::base::Base;
use crate::contract::Scheme;
use crate::database::Database;
use crate::durable::directory::plan::Plan;
use crate::durable::recover::recovery::Replay;
use chiliad_api::{Copied, Host, Result};
use chiliad_log::frame::{Identity, Kind};
use chiliad_log::{
    Damage, LogEnd, LogError, MANIFEST_NAME, Manifest, Name, SegmentId, SegmentReader,
};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, CopyError, Disk, copy_blocks};

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Copies the database to an empty directory while transactions go on. The copy has everything
    /// that was committed before the call, and perhaps some of what was committed meanwhile.
    ///
    /// # Errors
    /// [`crate::Error::Data`]; [`crate::Error::LogFailed`]; [`crate::Error::InvalidOption`] for a
    /// database without a directory.
    pub fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        self.inner.base().backup(to)
    }
}

impl<M: Machine> Base<'_, M> {
    fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        let durable = self.durable()?;
        refuse_unless_empty(to)?;
        // No checkpoint removes what is being copied.
        let _turn = durable.copying.take();
        durable.wait(self.epochs.current())?;
        copy::<M>(&*durable.disk, &durable.manifest(), to)
    }
}

/// Copies a directory that nobody writes to, to an empty one.
///
/// # Errors
/// [`crate::Error::Data`].
pub fn copy_directory<M: Machine>(
    from: &dyn Disk,
    to: &dyn Disk,
    host: &dyn Host<M>,
) -> Result<Copied> {
    let missing = || LogError::Missing { place: from.place() };
    refuse_unless_empty(to)?;
    let plan = Plan::make::<M>(from, false, host)?.ok_or_else(missing)?;
    // Refuses what is not sound.
    Replay::<M>::new(from, &plan, host).run()?;
    copy::<M>(from, &plan.manifest, to)
}

fn refuse_unless_empty(to: &dyn Disk) -> Result<()> {
    let names = to.names().map_err(LogError::io(format!("listing {}", to.place())))?;
    match names.iter().all(|name| Name::parse(name) == Name::Lock) {
        true => Ok(()),
        false => Err(LogError::NotEmpty { place: to.place() }.into()),
    }
}

fn copy<M: Machine>(from: &dyn Disk, manifest: &Manifest, to: &dyn Disk) -> Result<Copied> {
    let mut copied = Copied::default();
    let mut ends = Vec::new();
    for file in needed(from, manifest)? {
        // A segment of which nothing counts was about to begin.
        let Some((bytes, epoch)) = copy_file::<M>(from, &file, to)? else { continue };
        copied.bytes += bytes;
        copied.files += 1;
        if let Name::Segment(id) = Name::parse(&file.name) {
            ends.push((id, LogEnd { sequence: id.sequence, bytes, epoch }));
        }
    }
    to.sync_names().map_err(LogError::io(format!("syncing {}", to.place())))?;
    let mut manifest = manifest.clone();
    for incarnation in &mut manifest.incarnations {
        let end = |writer: usize| {
            let own = |id: &SegmentId| {
                id.incarnation == incarnation.number && id.writer as usize == writer
            };
            // In order: the last one is that of the last segment.
            ends.iter().rev().find(|(id, _)| own(id)).map(|(_, end)| *end)
        };
        let copied: Vec<LogEnd> = (0..incarnation.first_segments.len()).filter_map(end).collect();
        if copied.len() < incarnation.first_segments.len()
            || !incarnation.ends.is_empty() && copied != incarnation.ends
        {
            let what = format!("the logs of incarnation {} do not end there", incarnation.number);
            return Err(LogError::damaged(MANIFEST_NAME, 0, what).into());
        }
        incarnation.ends = copied;
        let reached = incarnation.ends.iter().map(|end| end.epoch).min().unwrap_or(0);
        incarnation.ended = incarnation.ended.or(Some(reached));
    }
    // The copy has what recovery needs.
    manifest.kept.trim(0, |_| Ok(0))?;
    manifest.write::<M>(to)?;
    Ok(copied)
}

/// A file that recovery needs.
struct Needed {
    name: String,
    /// The identity that its frames are checked against.
    identity: Identity,
    end: End,
}

/// Where the sound frames of a file may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// With the frame that says so.
    Complete,
    /// There, or where a crash cut it short.
    Crashed,
    /// Anywhere: it is being written.
    Open,
}

/// The files that recovery needs, the manifest apart.
fn needed(from: &dyn Disk, manifest: &Manifest) -> Result<Vec<Needed>> {
    let mut files = Vec::new();
    if let Some(checkpoint) = manifest.checkpoint {
        files.extend((0..checkpoint.parts).map(|part| Needed {
            name: Name::Part { checkpoint: checkpoint.number, part }.to_string(),
            identity: checkpoint.part_identity(manifest.database, part),
            end: End::Complete,
        }));
    }
    let names = from.names().map_err(LogError::io(format!("listing {}", from.place())))?;
    let wanted = |id: &SegmentId| {
        let mut incarnations = manifest.incarnations.iter();
        let incarnation = incarnations.find(|it| it.number == id.incarnation)?;
        let writer = id.writer as usize;
        let first = *incarnation.first_segments.get(writer)?;
        Some(first..=incarnation.ends.get(writer).map_or(u32::MAX, |end| end.sequence))
    };
    let segments = names.iter().filter_map(|name| match Name::parse(name) {
        Name::Segment(id) if wanted(&id).is_some_and(|range| range.contains(&id.sequence)) => {
            Some(id)
        }
        _ => None,
    });
    let mut segments: Vec<SegmentId> = segments.collect();
    segments.sort();
    for (at, id) in segments.iter().enumerate() {
        let next = SegmentId { sequence: id.sequence + 1, ..*id };
        let end = match segments.get(at + 1) == Some(&next) {
            true => End::Complete,
            false if id.incarnation == manifest.incarnation() => End::Open,
            false => End::Crashed,
        };
        let identity = id.identity(manifest.database);
        files.push(Needed { name: id.to_string(), identity, end });
    }
    Ok(files)
}

/// Copies a file as far as its frames are sound, which must be far enough; returns how far that is, and
/// the epoch of the last frame.
fn copy_file<M: Machine>(
    from: &dyn Disk,
    file: &Needed,
    to: &dyn Disk,
) -> Result<Option<(u64, u64)>> {
    let Needed { name, identity, end } = file;
    let mut reader = SegmentReader::<M>::open(from, name, *identity)?;
    let (mut last, mut epoch) = (None, 0);
    while last != Some(Kind::End)
        && let Some(frame) = reader.next_frame()?
    {
        last = Some(frame.head.kind);
        epoch = frame.head.epoch;
    }
    let lost = last != Some(Kind::End)
        && match end {
            End::Complete => true,
            End::Crashed => matches!(reader.judge()?, Damage::Lost { .. }),
            End::Open => false,
        };
    if lost {
        let what = "what was durable here is not what is here";
        return Err(LogError::damaged(name, reader.offset(), what).into());
    }
    let bytes = reader.offset();
    debug_assert!(bytes.is_multiple_of(BLOCK_BYTES as u64), "frames end with a block");
    if bytes == 0 {
        return Ok(None);
    }
    let source = from.open(name, Access::Read).map_err(LogError::io(format!("opening {name}")))?;
    let doing = |what| LogError::io(format!("{what} {name} in {}", to.place()));
    let target = to.create(name, 0).map_err(doing("creating"))?;
    copy_blocks(&*source, &*target, 0..bytes).map_err(|error| match error {
        CopyError::Reading(error) => LogError::io(format!("reading {name}"))(error),
        CopyError::Writing(error) => doing("writing")(error),
    })?;
    target.sync().map_err(doing("syncing"))?;
    Ok(Some((bytes, epoch)))
}
