//! Appends what sessions have handed over: many items to a record, and again what may not have arrived.

use crate::desk::{Desk, log_failed};
use crate::options::INTENTION_BYTES_MAX;
use crate::pending::{Answer, Outgoing};
use crate::record::{HEAD_BYTES, Head, ITEM_BYTES, Kind, RecordWriter};
use chiliad_api::{Error, Result};
use chiliad_machine::Machine;
use chiliad_machine::shared_log::SharedLog;
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
    pub fn join(&mut self, nonce: &[u8]) {
        let mut writer = RecordWriter::new(Head { server: 0, label: 0, digest: 0 });
        writer.item(Kind::Join, nonce);
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
            Err(error) if error.may_pass() => Ok(Appended::Later),
            Err(error) => Err(log_failed(&*self.log, &error)),
        }
    }

    /// Puts items into records.
    fn pack<M: Machine>(&mut self, server: &Desk<M>, outgoing: Vec<Outgoing>) {
        let head = server.head();
        let accepted = INTENTION_BYTES_MAX.min(self.log.record_bytes_max()) - HEAD_BYTES;
        let mut too_large = Vec::new();
        let mut writer: Option<RecordWriter> = None;
        for item in outgoing {
            let bytes = ITEM_BYTES + item.bytes.len();
            if bytes > accepted {
                let error = Error::TransactionTooLarge { bytes, accepted };
                too_large.push((item.local, Answer::Failed(error)));
                continue;
            }
            if let Some(full) = writer.take_if(|it| it.len() + bytes > RECORD_BYTES) {
                self.unsent.push(full.finish());
            }
            let writer = writer.get_or_insert_with(|| RecordWriter::new(head));
            writer.item(item.kind, &item.bytes);
        }
        self.unsent.extend(writer.map(RecordWriter::finish));
        server.answer(too_large.into_iter());
    }
}
