//! Directories of databases that are not open: inspected, copied, salvaged.

use crate::copy_destination::CopyDestination;
use crate::engine;
use crate::place::disk;
use crate::threads::Threads;
use crate::{Options, Phase, Recovered, Result};
use chiliad_engine::Mode;
use chiliad_machine::Interleaved;
use chiliad_machine::disk::Lock;
use std::path::Path;
use std::sync::Arc;

pub use crate::open::Storage;
pub use chiliad_engine::{Contents, Copied, LogContents};

/// Says what a directory holds and whether it is sound, by reading all of it. Changes nothing. `show`
/// is told how far it is, as for [`Database::open_watched`](crate::Database::open_watched).
///
/// # Errors
/// [`Error::Data`](crate::Error::Data) with the first thing that is wrong.
pub fn inspect(
    path: impl AsRef<Path>,
    show: &(dyn Fn(Phase, u64, u64) + Sync),
) -> Result<Contents> {
    let disk = disk(path.as_ref(), Lock::Shared)?;
    chiliad_engine::inspect::<Interleaved>(&disk, &Threads::showing(Threads::two_per_core(), show))
}

/// Copies a directory that is sound, such as a backup, to one that is empty or missing.
///
/// # Errors
/// [`Error::Data`](crate::Error::Data).
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<Copied> {
    let source = disk(from.as_ref(), Lock::Shared)?;
    let destination = CopyDestination::new(to.as_ref())?;
    let host = Threads::new(Threads::two_per_core());
    let copied = chiliad_engine::copy_directory::<Interleaved>(&source, destination.disk(), &host)?;
    destination.keep();
    Ok(copied)
}

/// Writes what can be saved of a damaged directory to one that is empty or missing; says what was
/// found, and in [`Recovered::losses`] what was not. The damaged one stays as it is.
///
/// All that can be read is taken, what never became durable included: after the first loss the
/// result need not be a state that the database was ever in.
///
/// # Errors
/// [`Error::Data`](crate::Error::Data) when there is no manifest to begin with, or the new directory
/// cannot be written.
pub fn salvage(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    show: &(dyn Fn(Phase, u64, u64) + Sync),
) -> Result<Recovered> {
    let source = Arc::new(disk(from.as_ref(), Lock::Shared)?);
    let destination = CopyDestination::new(to.as_ref())?;
    let host = Threads::showing(Threads::two_per_core(), show);
    let (engine, _, recovered) =
        engine::open_on(source, Mode::Salvage, &Options::default(), &host)?;
    engine.export(destination.disk(), &host)?;
    destination.keep();
    Ok(recovered)
}
