//! The directory that the killed processes write to.

use chiliad_host::{Leftover, Stop};
use chiliad_machine::disk::{Lock, NativeDisk};
use std::path::{Path, PathBuf};

/// The directory of a run.
pub struct Place {
    /// Where it is.
    pub path: PathBuf,
    /// It was missing: a temporary one goes when the run is over, one that was asked for until the run
    /// begins.
    leftover: Option<Leftover>,
    temporary: bool,
}

impl Place {
    /// Makes it where it is missing.
    pub fn new(given: Option<&Path>) -> Result<Self, Stop> {
        let refuse = |path: &Path, error: std::io::Error| match given {
            Some(_) => {
                let accepted = "accepted: a directory that can be written to, or a name for one";
                Stop::bad("--data", format!("{}: {error}; {accepted}", path.display()))
            }
            None => Stop::bad(path.display(), format!("{error}; accepted: --data DIR")),
        };
        let name = format!("chiliad-crash-{}", std::process::id());
        let path = given.map_or_else(|| std::env::temp_dir().join(name), Path::to_owned);
        let leftover = match path.exists() && given.is_some() {
            true => {
                std::fs::read_dir(&path).map_err(|error| refuse(&path, error))?;
                None
            }
            false => Some(Leftover::tree(&path).map_err(|error| refuse(&path, error))?),
        };
        Ok(Self { path, leftover, temporary: given.is_none() })
    }

    /// Processes will write to it, once it is known that they can.
    pub fn begin(&mut self) -> Result<(), Stop> {
        NativeDisk::open(&self.path, Lock::Exclusive).map_err(|error| {
            let accepted = "accepted: a directory that can be written to, and nobody else uses";
            Stop::bad("--data", format!("{}: {error}; {accepted}", self.path.display()))
        })?;
        if !self.temporary {
            self.keep();
        }
        Ok(())
    }

    /// It stays.
    pub fn keep(&mut self) {
        if let Some(made) = self.leftover.take() {
            made.keep();
        }
    }
}
