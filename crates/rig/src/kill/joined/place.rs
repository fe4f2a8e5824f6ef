//! The places of the log and of the checkpoints.

use chiliad_host::{Leftover, Stop};
use std::path::{Path, PathBuf};

/// The places of the log and of the checkpoints.
pub struct Place {
    /// The name of the log.
    pub log: String,
    /// Where checkpoints go.
    pub checkpoints_in: PathBuf,
    /// A directory that was made for them, which goes again.
    temporary: Option<Leftover>,
}

impl Place {
    /// Checkpoints go to `data`, or to the log, if that `is_directory`, or to a temporary directory, whose name begins
    /// with `prefix`; so does a log that has no name.
    ///
    /// # Errors
    /// Bad input where a directory cannot be made.
    pub fn new(
        prefix: &str,
        data: Option<&Path>,
        log: Option<&str>,
        is_directory: fn(&str) -> bool,
    ) -> Result<Self, Stop> {
        let (directory, temporary) = match (data, log) {
            (Some(data), _) => (data.to_owned(), None),
            (None, Some(log)) if is_directory(log) => (PathBuf::from(log), None),
            (None, _) => {
                let name = format!("{prefix}-{}", std::process::id());
                let path = std::env::temp_dir().join(name);
                let made = Leftover::tree(&path).map_err(|error| cannot_write(&path, &error))?;
                (path, Some(made))
            }
        };
        if data.is_some() {
            std::fs::create_dir_all(&directory)
                .map_err(|error| cannot_write(&directory, &error))?;
        }
        let log = log.map_or_else(|| directory.join("log").display().to_string(), str::to_owned);
        Ok(Self { log, checkpoints_in: directory.join("checkpoints"), temporary })
    }

    /// All stays.
    pub fn keep(mut self) {
        if let Some(made) = self.temporary.take() {
            made.keep();
        }
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Stop {
    let accepted = "accepted: a directory that can be written to, or a name for one";
    Stop::bad("--data", format!("{}: {error}; {accepted}", path.display()))
}
