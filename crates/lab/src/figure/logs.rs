//! The logs that points of a figure append to, whose names its description leaves open.

use super::grid::Parse;
use super::measurement::Measurement;
use chiliad_host::Stop;
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// In descriptions, the log that the caller names, and one in files of its own.
const NAMED: &str = "{log}";
const FILES: &str = "{files}";

/// The logs of a run of figures.
pub struct Logs<'a> {
    /// The one that the caller names.
    named: Option<&'a str>,
    /// Where those in files are.
    directory: &'a Path,
    parse: Parse<'a>,
    /// How many of these there are.
    made: Cell<usize>,
    /// A run wanted the named one, and none is named.
    missed: Cell<bool>,
}

impl<'a> Logs<'a> {
    /// Logs in `directory`, which need not exist yet, and maybe one that is named. `parse` says what words measure that have
    /// names of logs in them.
    #[must_use]
    pub fn new(named: Option<&'a str>, directory: &'a Path, parse: Parse<'a>) -> Self {
        Self { named, directory, parse, made: Cell::new(0), missed: Cell::new(false) }
    }

    /// What the words of a description measure, once logs have their names in them.
    ///
    /// # Errors
    /// Those of `parse`; words that want the named log where none is named.
    pub fn measure(&self, words: &[String]) -> Result<Measurement, Stop> {
        if self.named.is_none() && words.iter().any(|word| word == NAMED) {
            self.missed.set(true);
            return Err(Stop::BadInput("no log over the network was named".into()));
        }
        let name = |word: &String| match word.as_str() {
            NAMED => self.named.unwrap_or_default().to_owned(),
            FILES => self.next().display().to_string(),
            _ => word.clone(),
        };
        (self.parse)(&words.iter().map(name).collect::<Vec<_>>())
    }

    /// Whether a run wanted the named log, and none is named.
    #[must_use]
    pub fn missed(&self) -> bool {
        self.missed.get()
    }

    /// A directory for a log of its own.
    fn next(&self) -> PathBuf {
        let number = self.made.replace(self.made.get() + 1);
        self.directory.join(number.to_string())
    }
}
