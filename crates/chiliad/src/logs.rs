//! Shared logs by their names.

use crate::place::names;
use crate::{Error, LogError, Result};
use chiliad_machine::Interleaved;
use chiliad_machine::disk::{LOCK_NAME, Lock, NativeDisk};
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use chiliad_shared_log::{FileLog, FileLogOptions, MemoryLog};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Prefixes of the names of logs: in memory, in a directory, over NATS.
const MEMORY: &str = "memory:";
const FILE: &str = "file:";
const NATS: &str = "nats://";

/// The checkpoints in the directory of a log.
pub(crate) const CHECKPOINTS: &str = "checkpoints";

/// The logs in memory that this process has open, by name.
type Named = Mutex<HashMap<String, Weak<MemoryLog>>>;

/// Opens the log that a text names, as [`Database::join`](crate::Database::join) does.
///
/// # Errors
/// As for [`Database::join`](crate::Database::join).
pub fn open_log(text: &str) -> Result<Arc<dyn SharedLog>> {
    if let Some(name) = text.strip_prefix(MEMORY) {
        return Ok(in_memory(name));
    }
    if text.starts_with(NATS) {
        return jetstream(text);
    }
    let Some(directory) = directory(text) else {
        let message = format!(
            "shared log {text:?}: accepted are memory:, memory:NAME, a directory, and nats://HOST:PORT,.../NAME"
        );
        return Err(Error::InvalidOption(message));
    };
    refuse_others(directory)?;
    let opened = FileLog::<Interleaved>::open_directory(directory, FileLogOptions::default());
    let place = directory.display();
    Ok(Arc::new(opened.map_err(|error| cannot_be_used(&place.to_string(), &error))?))
}

/// The directory that a text names, if it names a log in files.
pub(crate) fn directory(text: &str) -> Option<&Path> {
    let directory = text.strip_prefix(FILE).unwrap_or(text);
    let is_none =
        directory.is_empty() || directory.starts_with(MEMORY) || directory.contains("://");
    (!is_none).then(|| Path::new(directory))
}

/// Refuses a directory with other files than a log's, before so much as a lock is put into it.
fn refuse_others(directory: &Path) -> Result<()> {
    let names = names(directory)?;
    if names.iter().flatten().all(|name| name == LOCK_NAME || name == CHECKPOINTS) {
        return Ok(());
    }
    let place = directory.display().to_string();
    let doing = || LogError::io(format!("opening {place}"));
    let is_log = match NativeDisk::open(directory, Lock::Shared) {
        Ok(disk) => FileLog::<Interleaved>::is_on(&disk).map_err(doing())?,
        // It is in use: opening the log reports that.
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ResourceBusy) => {
            true
        }
        Err(error) => return Err(doing()(error).into()),
    };
    if is_log { Ok(()) } else { Err(LogError::NotOurs { place }.into()) }
}

fn in_memory(name: &str) -> Arc<dyn SharedLog> {
    static LOGS: OnceLock<Named> = OnceLock::new();
    if name.is_empty() {
        return Arc::new(MemoryLog::new());
    }
    let logs = LOGS.get_or_init(Named::default);
    let mut logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
    logs.retain(|_, log| log.strong_count() > 0);
    if let Some(log) = logs.get(name).and_then(Weak::upgrade) {
        return log;
    }
    let log = Arc::new(MemoryLog::new());
    logs.insert(name.into(), Arc::downgrade(&log));
    log
}

#[cfg(feature = "jetstream")]
fn jetstream(url: &str) -> Result<Arc<dyn SharedLog>> {
    use crate::jetstream::{JetStream, OpenError, Options};
    let opened = JetStream::open(url, Options::default());
    let refused = |error: OpenError| match error {
        OpenError::Log(error) => cannot_be_used(url, &error),
        OpenError::Invalid(what) => Error::InvalidOption(what),
        refused => Error::InvalidOption(refused.to_string()),
    };
    Ok(Arc::new(opened.map_err(refused)?))
}

#[cfg(not(feature = "jetstream"))]
fn jetstream(url: &str) -> Result<Arc<dyn SharedLog>> {
    let message =
        format!("shared log {url:?}: built without it; accepted with the feature jetstream");
    Err(Error::InvalidOption(message))
}

fn cannot_be_used(place: &str, error: &SharedLogError) -> Error {
    let (doing, message) = (format!("opening the shared log {place}"), error.to_string());
    Error::Data(LogError::Io { doing, kind: std::io::ErrorKind::Other, message })
}
