//! Copies of a directory, of one that is in use too.
//!
//! A copy is the checkpoint, the logs as far as they are sound, and the manifest last: a directory
//! like one that a crash left behind, which recovery makes a database of. Every frame is checked on
//! its way.

use super::Host;
use super::plan::Plan;
use crate::database::Database;
use crate::error::Result;
use crate::scheme::Scheme;
use chiliad_log::frame::{Identity, Kind};
use chiliad_log::{LogError, Manifest, Name, SegmentReader};
use chiliad_machine::Machine;
use chiliad_machine::disk::{Access, BLOCK_BYTES, Blocks, Disk};

/// Bytes copied at once.
const CHUNK_BYTES: usize = 1 << 20;

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
    // Refuses what is not sound.
    let plan = Plan::make::<M>(from, false, host)?.ok_or_else(missing)?;
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
    let mut names = from.names().map_err(LogError::io(format!("listing {}", from.place())))?;
    names.sort();
    for name in names {
        if let Some(identity) = identity(manifest, &name) {
            copied.bytes += copy_file::<M>(from, &name, identity, to)?;
            copied.files += 1;
        }
    }
    to.sync_names().map_err(LogError::io(format!("syncing {}", to.place())))?;
    manifest.write::<M>(to)?;
    Ok(copied)
}

/// What the frames of a file are checked against; `None` if recovery does not need it.
fn identity(manifest: &Manifest, name: &str) -> Option<Identity> {
    match Name::parse(name) {
        Name::Part { checkpoint, part } => {
            let published = manifest.checkpoint.filter(|it| it.number == checkpoint)?;
            (part < published.parts).then(|| published.part_identity(manifest.database, part))
        }
        Name::Segment(id) => {
            let mut incarnations = manifest.incarnations.iter();
            let incarnation = incarnations.find(|it| it.number == id.incarnation)?;
            let first = *incarnation.first_segments.get(id.writer as usize)?;
            (id.sequence >= first).then(|| id.identity(manifest.database))
        }
        _ => None,
    }
}

/// Copies a file as far as its frames are sound.
fn copy_file<M: Machine>(
    from: &dyn Disk,
    name: &str,
    identity: Identity,
    to: &dyn Disk,
) -> Result<u64> {
    let mut reader = SegmentReader::<M>::open(from, name, identity)?;
    let mut last = None;
    while last != Some(Kind::End)
        && let Some(frame) = reader.next_frame()?
    {
        last = Some(frame.head.kind);
    }
    let bytes = reader.offset();
    let source = from.open(name, Access::Read).map_err(LogError::io(format!("opening {name}")))?;
    let doing = |what| LogError::io(format!("{what} {name} in {}", to.place()));
    let target = to.create(name, 0).map_err(doing("creating"))?;
    let mut at = 0;
    while at < bytes {
        let mut chunk = Blocks::zeroed(CHUNK_BYTES.min((bytes - at) as usize));
        debug_assert!(chunk.len().is_multiple_of(BLOCK_BYTES));
        source.read_at(at, chunk.bytes_mut()).map_err(LogError::io(format!("reading {name}")))?;
        target.write_at(at, &chunk).map_err(doing("writing"))?;
        at += chunk.len() as u64;
    }
    target.sync().map_err(doing("syncing"))?;
    Ok(bytes)
}
