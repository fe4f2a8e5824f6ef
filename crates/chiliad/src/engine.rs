//! The engine below: opened by the name of its scheme, and used without knowing it.

use crate::Result;
use crate::options::Options;
use chiliad_engine::any::{self, Place};
use chiliad_engine::{Host, LogTask, Mode, NativeSession, NativeStore, OpenedStore, Recovered};
use chiliad_machine::Interleaved;
use chiliad_machine::disk::Disk;
use std::sync::Arc;

/// A database of the engine; clones lead to the same one.
pub(crate) type Engine = Arc<dyn NativeStore>;

/// A session on it.
pub(crate) type EngineSession = Box<NativeSession>;

/// A writer of its log.
pub(crate) type Writer = Box<dyn LogTask<Interleaved> + Send>;

/// Opens an empty database in memory.
pub(crate) fn open(options: &Options) -> Result<Engine> {
    Ok(any::open_native(options.scheme.name(), options.engine(), None)?.store.into())
}

/// Opens the database in a directory, with the writers of its log.
pub(crate) fn open_on(
    disk: Arc<dyn Disk>,
    mode: Mode,
    options: &Options,
    host: &dyn Host<Interleaved>,
) -> Result<(Engine, Vec<Writer>, Recovered)> {
    let place = Place { disk, mode, durable: options.durable(), host };
    let opened = any::open_native(options.scheme.name(), options.engine(), Some(place))?;
    let OpenedStore { store, log_tasks, recovered } = opened;
    Ok((store.into(), log_tasks, recovered))
}
