//! From what the clients recorded to a verdict, or to a file.

use super::Target;
use chiliad_checker::{Header, History, Isolation, Options, ReadError, Recorder, Verdict, check};
use std::io;

/// What is needed to judge a history.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The tables, by number, with their names.
    pub tables: Vec<(u32, String)>,
    /// What the scheme promises.
    pub isolation: Isolation,
    /// The run was not cut short.
    pub complete: bool,
}

impl Judgement {
    /// For a run on `target`.
    #[must_use]
    pub fn new(target: &dyn Target, isolation: Isolation, complete: bool) -> Self {
        Self { tables: target.tables(), isolation, complete }
    }

    fn header(&self) -> Header {
        Header { tables: self.tables.clone(), complete: self.complete, tombstones_kept: false }
    }
}

/// Checks what the clients recorded; their memory is given back on the way.
///
/// # Errors
/// When the recordings contradict the order in which a recorder may be called.
pub fn judge(judgement: &Judgement, recorders: Vec<Recorder>) -> Result<Verdict, ReadError> {
    let history = History::from_recorders(judgement.header(), recorders)?;
    let options = Options { isolation: judgement.isolation, ..Options::default() };
    Ok(check(&history, &options))
}

/// Writes what the clients recorded in the binary form.
///
/// # Errors
/// Those of the writer.
pub fn write_history(
    judgement: &Judgement,
    recorders: &[Recorder],
    writer: impl io::Write,
) -> io::Result<()> {
    History::write(&judgement.header(), recorders, writer)
}
