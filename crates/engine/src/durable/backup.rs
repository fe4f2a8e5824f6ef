//! Copies of a directory, of one that is in use too.
//!
//! A copy is the checkpoint, the logs as far as they are sound, and the manifest last: a directory
//! like one that a crash left behind, which recovery makes a database of. Every frame is checked on
//! its way.

use super::Host;
use super::plan::Plan;
use super::replay::Replay;
use crate::database::Database;
use crate::error::Result;
use crate::scheme::Scheme;
use chiliad_log::frame::{Identity, Kind};
use chiliad_log::{Damage, LogError, Manifest, Name, SegmentId, SegmentReader};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, CopyError, Disk, copy_blocks};

/// What was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Copied {
    /// Files, the manifest apart.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl<M: Machine, S: Scheme<M>> Database<M, S> {
    /// Copies the database to an empty directory while transactions go on. The copy has everything
    /// that was committed before the call, and perhaps some of what was committed meanwhile.
    ///
    /// # Errors
    /// [`crate::Error::Data`]; [`crate::Error::LogFailed`]; [`crate::Error::InvalidOption`] for a
    /// database without a directory.
    pub fn backup(&self, to: &dyn Disk) -> Result<Copied> {
        let durable = self.durable()?;
        refuse_unless_empty(to)?;
        // No checkpoint removes what is being copied.
        let _turn = durable.copying.take();
        durable.wait(self.inner.words.epochs.current())?;
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
    for file in needed(from, manifest)? {
        copied.bytes += copy_file::<M>(from, &file, to)?;
        copied.files += 1;
    }
    to.sync_names().map_err(LogError::io(format!("syncing {}", to.place())))?;
    manifest.write::<M>(to)?;
    Ok(copied)
}

/// A file that recovery needs.
struct Needed {
    name: String,
    /// What its frames are checked against.
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
    let first = |id: &SegmentId| {
        let mut incarnations = manifest.incarnations.iter();
        let incarnation = incarnations.find(|it| it.number == id.incarnation)?;
        incarnation.first_segments.get(id.writer as usize).copied()
    };
    let segments = names.iter().filter_map(|name| match Name::parse(name) {
        Name::Segment(id) if first(&id).is_some_and(|first| id.sequence >= first) => Some(id),
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

/// Copies a file as far as its frames are sound, which must be far enough.
fn copy_file<M: Machine>(from: &dyn Disk, file: &Needed, to: &dyn Disk) -> Result<u64> {
    let Needed { name, identity, end } = file;
    let mut reader = SegmentReader::<M>::open(from, name, *identity)?;
    let mut last = None;
    while last != Some(Kind::End)
        && let Some(frame) = reader.next_frame()?
    {
        last = Some(frame.head.kind);
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
    let source = from.open(name, Access::Read).map_err(LogError::io(format!("opening {name}")))?;
    let doing = |what| LogError::io(format!("{what} {name} in {}", to.place()));
    let target = to.create(name, 0).map_err(doing("creating"))?;
    copy_blocks(&*source, &*target, 0..bytes).map_err(|error| match error {
        CopyError::Reading(error) => LogError::io(format!("reading {name}"))(error),
        CopyError::Writing(error) => doing("writing")(error),
    })?;
    target.sync().map_err(doing("syncing"))?;
    Ok(bytes)
}
