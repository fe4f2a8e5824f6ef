//! Reports the contents of a directory without opening it.

use crate::durable::directory::plan::Plan;
use crate::durable::recover::recovery::Replay;
use chiliad_api::Error;
use chiliad_api::{Contents, Host, LogContents, Result};
use chiliad_log::{LogError, Name};
use chiliad_machine::Machine;
use chiliad_machine::disk::Access;
use chiliad_machine::disk::Disk;

/// Says what a directory holds, and whether it is sound, by reading all of it. Changes nothing.
///
/// # Errors
/// [`Error::Data`] with the first thing that is wrong.
pub fn inspect<M: Machine>(disk: &dyn Disk, host: &dyn Host<M>) -> Result<Contents> {
    let missing = || Error::Data(LogError::Missing { place: disk.place() });
    let plan = Plan::make::<M>(disk, false, host)?.ok_or_else(missing)?;
    let recovered = Replay::<M>::new(disk, &plan, host).run()?;
    let logs = plan.incarnations.iter().flat_map(|incarnation| {
        incarnation.tails.iter().enumerate().map(|(writer, tail)| {
            let mut log = LogContents::default();
            log.incarnation = incarnation.number;
            log.writer = writer as u32;
            log.segments = tail.segments.len();
            log.epoch = tail.epoch;
            log.torn = tail.torn;
            log.closed = tail.closed;
            log
        })
    });
    let mut bytes = 0;
    let ours = |name: &String| Name::parse(name) != Name::Foreign;
    for name in disk.names().map_err(LogError::io("listing"))?.into_iter().filter(ours) {
        let file = disk.open(&name, Access::Read).and_then(|file| file.bytes());
        bytes += file.map_err(LogError::io(format!("opening {name}")))?;
    }
    let mut contents = Contents::default();
    contents.format = plan.manifest.format;
    contents.database = plan.manifest.database;
    contents.tables = plan.blob.tables.iter().map(|(_, spec)| spec.name.clone()).collect();
    contents.logs = logs.collect();
    contents.bytes = bytes;
    contents.recovered = recovered;
    Ok(contents)
}
