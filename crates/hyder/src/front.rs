//! The first stage: reads what all servers have appended, puts intentions together, gives each item its number, and
//! frees what no state leads to any more.

use crate::batch::{Batch, By, Place, Record, Source, Task, Tasks};
use crate::catalog::Change;
use crate::collector::Collector;
use crate::desk::{Desk, Garbage, log_failed};
use crate::faults::{
    DUPLICATE_MELDED, FREED_ABOVE_LOW_WATER, ITEMS_FORGOTTEN_AT_CHECKPOINT, KEPT_STATES_FREED,
    NUMBERED_AT_FIRST_PART, NUMBERED_TWICE, PARTS_FORGOTTEN_AT_CHECKPOINT,
};
use crate::intention::Intention;
use crate::item::Refused;
use crate::known::Watch;
use crate::maker::Maker;
use crate::parts::{Assembly, Part};
use crate::progress::{Progress, Timed};
use crate::record::{self, CheckpointNote, Head, Kind, Unreadable};
use crate::restore::Restored;
use crate::seen::Seen;
use chiliad_api::{Error, Reason};
use chiliad_log::LogError;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{Position, SharedLog};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Items after which a batch ends with the record; in runs that explore, one.
const BATCH: usize = 64;

/// Blocks that wait for readers before the collector looks at them; in runs that explore, one.
const GARBAGE: usize = 1024;

/// The state of the first stage.
pub struct Front<M: Machine> {
    log: Arc<dyn SharedLog>,
    /// Where the log goes on.
    next: Position,
    /// The checksum of the last record read.
    checksum: u32,
    /// The number of the last item.
    label: u64,
    seen: Seen,
    assembly: Assembly,
    collector: Collector<M>,
    watch: Watch,
}

/// Intentions that were put together: by record and item where their last parts lie, which of `Source::wholes`.
type Completed = BTreeMap<(usize, usize), usize>;

impl<M: Machine> Front<M> {
    /// Begins with the first record of the log, which has this identity.
    pub fn new(log: Arc<dyn SharedLog>, identity: u128) -> Self {
        Self {
            log,
            next: 1,
            checksum: 0,
            label: 0,
            seen: Seen::default(),
            assembly: Assembly::default(),
            collector: Collector::new(),
            watch: Watch::new::<M>(identity),
        }
    }

    /// Goes on after a checkpoint.
    pub fn go_on(&mut self, restored: &mut Restored<M>) {
        let summary = &restored.summary;
        (self.next, self.label) = (summary.position, summary.label);
        self.checksum = summary.checksum;
        self.seen = core::mem::take(&mut restored.seen);
        self.assembly = core::mem::take(&mut restored.assembly);
    }

    /// Where the log goes on.
    pub fn next(&self) -> Position {
        self.next
    }

    /// Reads what is there, or comes within `patience`, as batches. If there is nothing and somebody wants to make a
    /// checkpoint, that is an empty one.
    ///
    /// # Errors
    /// Those of the log that will not pass; [`Error::LogRefused`] for a log that has become another one.
    pub fn step(&mut self, server: &Desk<M>, patience: Duration) -> Result<Vec<Batch<M>>, Error> {
        let first = self.next;
        let known = (first, self.checksum);
        self.watch.look::<M>(&*self.log, known, server.options.log_patience)?;
        let records = self.read(patience)?;
        let start = Progress::<M>::start();
        let mut source = Source { records, wholes: Vec::new() };
        let completed = self.assemble(first, &mut source);
        let source = Arc::new(source);
        let mut batches: Vec<Batch<M>> = Vec::new();
        let most = if M::explores() { 1 } else { BATCH };
        let mut records = 0..source.records.len();
        while !records.is_empty() {
            let mut batch = Batch::new(Arc::clone(&source), first);
            while batch.len() < most
                && let Some(record) = records.next()
            {
                self.take(&mut batch, record, &completed);
                batch.end = first + record as u64 + 1;
            }
            batches.push(batch);
        }
        if let Some(last) = source.records.last() {
            self.checksum = crc32fast::hash(&last.bytes);
        }
        if server.captures.is_wanted() {
            let mut last = batches.pop().unwrap_or_else(|| Batch::new(source, self.next));
            last.place = Some(self.place());
            batches.push(last);
        }
        server.progress.worked(Timed::Reading, start);
        Ok(batches)
    }

    /// Reads records.
    fn read(&mut self, patience: Duration) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        let next = &mut self.next;
        let read = self.log.read(*next, READ_BYTES, patience, &mut |position, record| {
            debug_assert!(position == *next, "the log has no gaps");
            *next = position + 1;
            records.push(record.to_vec());
        });
        if let Err(error) = read
            && !error.may_pass()
        {
            return Err(log_failed(&*self.log, &error));
        }
        records.into_iter().map(|bytes| self.check(bytes)).collect()
    }

    fn check(&self, bytes: Vec<u8>) -> Result<Record, Error> {
        let head = match record::read(&bytes) {
            Ok((head, _)) => Some(head),
            Err(Unreadable::Malformed) => None,
            Err(Unreadable::Version(found)) => {
                let file = self.log.place();
                let (found, accepted) = (u32::from(found), u32::from(record::VERSION));
                return Err(Error::Data(LogError::NewerFormat { file, found, accepted }));
            }
        };
        Ok(Record { head, bytes })
    }

    /// Puts intentions together that lie in several records.
    fn assemble(&mut self, first: Position, source: &mut Source) -> Completed {
        let mut completed = Completed::new();
        let mut begun = BTreeMap::new();
        for (record, read) in source.records.iter().enumerate() {
            let Some(Head { server, .. }) = read.head else { continue };
            for (item, (_, bytes)) in
                read.items().enumerate().filter(|(_, (kind, _))| *kind == Kind::Part)
            {
                let Some(part) = Part::decode(bytes) else { continue };
                let begin = *begun.entry((server, part.local)).or_insert((record, item));
                let whole = self.assembly.add(first + record as u64, server, part);
                if let Some(whole) = whole {
                    let place = match M::fault(&NUMBERED_AT_FIRST_PART) {
                        true => begin,
                        false => (record, item),
                    };
                    completed.insert(place, source.wholes.len());
                    source.wholes.push(whole);
                }
            }
        }
        completed
    }

    /// Takes the items of a record into a batch.
    fn take(&mut self, batch: &mut Batch<M>, record: usize, completed: &Completed) {
        let (head, bytes) = batch.work(|source, mut tasks| {
            let read = &source.records[record];
            if let Some(head) = read.head {
                for (item, (kind, bytes)) in read.items().enumerate() {
                    let whole = completed.get(&(record, item)).map(|&at| &*source.wholes[at]);
                    self.task(head, kind, whole.unwrap_or(bytes), whole.is_some(), &mut tasks);
                }
            }
            (tasks, (read.head, read.bytes.len() as u64))
        });
        batch.heads.extend(head);
        batch.bytes += bytes;
    }

    /// Gives an item its number. One that is malformed, or was numbered before, is left out, by every server alike.
    fn task<'b>(
        &mut self,
        head: Head,
        kind: Kind,
        bytes: &'b [u8],
        is_whole: bool,
        tasks: &mut Tasks<'b, M>,
    ) -> Option<()> {
        let (local, task) = match kind {
            Kind::Join => (None, Task::Join(bytes)),
            // The intention is part of the record that has its last part.
            Kind::Part if !is_whole => return None,
            Kind::Intention | Kind::Part => {
                let intention = Intention::decode(bytes)?;
                (Some(intention.local), Task::Intention(intention, bytes))
            }
            Kind::Catalog => {
                let (local, change) = Change::decode(bytes)?;
                (Some(local), Task::Change(change))
            }
            Kind::Barrier => (Some(u64::from_le_bytes(bytes.try_into().ok()?)), Task::Barrier),
            Kind::Checkpoint => {
                let note = CheckpointNote::decode(bytes)?;
                (Some(note.local), Task::Checkpoint(note))
            }
        };
        if local.is_some_and(|local| !self.seen.is_new(head.server, local)) {
            let is_intention = matches!(task, Task::Intention(..));
            if is_intention && M::fault(&NUMBERED_TWICE) {
                self.label += 1;
                let by = By {
                    head: Head { server: 0, ..head },
                    local: 0,
                    label: self.label,
                    content: 0,
                };
                tasks.push((by, Task::Ready(Err(Refused::Because(Reason::TooLate)))));
            }
            if !is_intention || !M::fault(&DUPLICATE_MELDED) {
                return None;
            }
        }
        if !matches!(task, Task::Barrier | Task::Checkpoint(_)) {
            self.label += 1;
        }
        let (local, content) = (local.unwrap_or(0), crc32fast::hash(bytes));
        tasks.push((By { head, local, label: self.label, content }, task));
        Some(())
    }

    /// The part of a checkpoint's summary that this stage knows, after all that was read.
    fn place(&self) -> Place {
        Place {
            checksum: self.checksum,
            seen: match M::fault(&ITEMS_FORGOTTEN_AT_CHECKPOINT) {
                true => Seen::default().encode(),
                false => self.seen.encode(),
            },
            assembly: match M::fault(&PARTS_FORGOTTEN_AT_CHECKPOINT) {
                true => Assembly::default().encode(),
                false => self.assembly.encode(),
            },
        }
    }

    /// Clears away what is left of batches that were decided, and frees what was replaced and has no readers any more: all
    /// that the last stage leaves to others. `in_flight` is the oldest label that a batch was built on
    /// that is not decided yet.
    pub fn collect(&mut self, server: &Desk<M>, maker: &mut Maker<M>, in_flight: u64) {
        let start = Progress::<M>::start();
        let garbage = core::mem::take(&mut *server.garbage.lock());
        for Garbage { label, mut replaced, before, batches } in garbage {
            batches.into_iter().for_each(|batch| batch.clear_away(maker, &mut replaced));
            self.collector.add(label, replaced, before);
        }
        if self.collector.waiting() >= if M::explores() { 1 } else { GARBAGE } {
            let oldest = match M::fault(&FREED_ABOVE_LOW_WATER) {
                true => u64::MAX,
                false if M::fault(&KEPT_STATES_FREED) => server.oldest_label(),
                false => server.oldest_label().min(server.recent.oldest()).min(in_flight),
            };
            self.collector.free(maker, oldest);
        }
        server.progress.waits(self.collector.waiting() as u64);
        server.progress.worked(Timed::Reading, start);
    }
}
