//! Appends what sessions have handed over: many items to a record, and again what may not have arrived.

use crate::desk::{Desk, log_failed};
use crate::faults::{APPEND_NOT_REPEATED, FULL_LOG_IGNORED};
use crate::options::INTENTION_BYTES_MAX;
use crate::parts::{PART_HEAD_BYTES, Part};
use crate::pending::{Answer, Outgoing};
use crate::record::{HEAD_BYTES, Head, ITEM_BYTES, Kind, RecordWriter};
use crate::rules::Joined;
use chiliad_api::{Error, Result};
use chiliad_machine::Machine;
use chiliad_machine::shared_log::{SharedLog, SharedLogError};
use std::sync::Arc;

/// Bytes of items that are put into one record, unless one of them has more.
const RECORD_BYTES: usize = 64 << 10;

/// The way from a server to the log.
pub struct Appender {
    log: Arc<dyn SharedLog>,
    /// Records that were not appended, or may not have been.
    unsent: Vec<Vec<u8>>,
}

/// What an append has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Appended {
    /// Nothing was there to be appended.
    Nothing,
    /// All of it is in the log.
    All,
    /// The log cannot be reached: it is tried again.
    Later,
}

impl Appender {
    pub fn new(log: Arc<dyn SharedLog>) -> Self {
        Self { log, unsent: Vec::new() }
    }

    /// Appends the record by which a server joins.
    pub fn join(&mut self, joined: &Joined) {
        let mut writer = RecordWriter::new(Head { server: 0, label: 0, digest: 0 });
        writer.item(Kind::Join, &joined.encode());
        self.unsent.push(writer.finish());
    }

    /// Appends what was handed over.
    ///
    /// # Errors
    /// Those of the log that will not pass.
    pub fn step<M: Machine>(&mut self, server: &Desk<M>) -> Result<Appended> {
        let outgoing = server.take_outgoing();
        if !outgoing.is_empty() {
            self.pack(server, outgoing);
        }
        if self.unsent.is_empty() {
            return Ok(Appended::Nothing);
        }
        let records: Vec<&[u8]> = self.unsent.iter().map(Vec::as_slice).collect();
        match self.log.append(&records) {
            Ok(()) => {
                self.unsent.clear();
                Ok(Appended::All)
            }
            // The same items are appended again: whoever reads them twice ignores the second.
            Err(error) if error.may_pass() => {
                if M::fault(&APPEND_NOT_REPEATED) {
                    self.unsent.clear();
                }
                Ok(Appended::Later)
            }
            Err(SharedLogError::Full(_)) if M::fault(&FULL_LOG_IGNORED) => {
                self.unsent.clear();
                Ok(Appended::All)
            }
            Err(error) => Err(log_failed(&*self.log, &error)),
        }
    }

    /// Puts items into records: many into one, an intention that is larger than a record into several.
    fn pack<M: Machine>(&mut self, server: &Desk<M>, outgoing: Vec<Outgoing>) {
        let mut records = Records {
            head: server.head(),
            accepted: self.log.record_bytes_max().saturating_sub(HEAD_BYTES + ITEM_BYTES),
            writer: None,
            full: &mut self.unsent,
        };
        let mut too_large = Vec::new();
        for item in outgoing {
            let bytes = item.bytes.len();
            let parts = records.accepted.saturating_sub(PART_HEAD_BYTES);
            if bytes <= records.accepted {
                records.put(item.kind, &item.bytes);
            } else if item.kind == Kind::Intention && bytes <= INTENTION_BYTES_MAX && parts > 0 {
                for part in Part::split(item.local, &item.bytes, parts) {
                    records.put(Kind::Part, &part.encode());
                }
            } else {
                let accepted = match item.kind {
                    Kind::Intention => INTENTION_BYTES_MAX,
                    _ => records.accepted,
                };
                let error = Error::TransactionTooLarge { bytes, accepted };
                too_large.push((item.local, Answer::Failed(error)));
            }
        }
        records.full.extend(records.writer.map(RecordWriter::finish));
        server.answer(too_large.into_iter());
    }
}

/// Records that are being filled.
struct Records<'a> {
    head: Head,
    /// The most bytes that an item may have.
    accepted: usize,
    writer: Option<RecordWriter>,
    full: &'a mut Vec<Vec<u8>>,
}

impl Records<'_> {
    fn put(&mut self, kind: Kind, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.accepted, "it fits into a record");
        let record = RECORD_BYTES.min(HEAD_BYTES + ITEM_BYTES + self.accepted);
        let whole = ITEM_BYTES + bytes.len();
        self.full
            .extend(self.writer.take_if(|it| it.len() + whole > record).map(RecordWriter::finish));
        let writer = self.writer.get_or_insert_with(|| RecordWriter::new(self.head));
        writer.item(kind, bytes);
    }
}
