//! From what the clients recorded to a verdict, or to a file.

use super::Target;
use chiliad_checker::{Header, History, Isolation, Options, ReadError, Recorder, Verdict, check};
use chiliad_engine::Info;
use std::io;

/// Facts needed to judge a history.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The tables, by number, with their names.
    pub tables: Vec<(u32, String)>,
    /// The isolation that the database promises.
    pub isolation: Isolation,
    /// The database promises that a writer's order exceeds those of what it read.
    pub order_follows_reads: bool,
    /// The run was not cut short.
    pub complete: bool,
}

impl Judgement {
    /// For a run on `target`.
    ///
    /// # Errors
    /// As [`promised_isolation`].
    pub fn new(target: &dyn Target, complete: bool) -> Result<Self, String> {
        let (tables, info) = (target.tables(), target.info());
        let isolation = promised_isolation(&info)?;
        Ok(Self { tables, isolation, order_follows_reads: info.order_follows_reads, complete })
    }

    fn header(&self) -> Header {
        Header { tables: self.tables.clone(), complete: self.complete, tombstones_kept: false }
    }
}

/// The isolation that the checker holds a scheme's transactions to.
///
/// # Errors
/// The checker knows none of that name; in words.
pub fn promised_isolation(scheme: &Info) -> Result<Isolation, String> {
    let name = scheme.isolation.name();
    Isolation::from_name(name).ok_or_else(|| format!("the checker knows no isolation `{name}`"))
}

/// Checks what the clients recorded; their memory is given back on the way.
///
/// # Errors
/// When the recordings contradict the order in which a recorder may be called.
pub fn judge(judgement: &Judgement, recorders: Vec<Recorder>) -> Result<Verdict, ReadError> {
    let history = History::from_recorders(judgement.header(), recorders)?;
    let Judgement { isolation, order_follows_reads, .. } = *judgement;
    let options = Options { isolation, order_follows_reads, ..Options::default() };
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
