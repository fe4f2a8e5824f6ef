//! A history in memory: who did what, in flat arrays.
//!
//! ```text
//! transactions  [ stamp, times, order, .. | operations start..end ]
//! operations    [ key, stamp, kind + index ]   16 bytes each, those of a transaction in one run
//! scans         [ bounds | entries start..end, a run of the operations ]
//! keys          (table, bytes) once each, operations name them by a dense id
//! ```
//!
//! Invariants: the operations of a transaction are one run, in the order of execution, but that a
//! scan's entries stand together where the scan ended; scans are sorted by their entries; the
//! bounds of a scan are keys too, so that one sort places both. A history does not change once
//! it is built.

mod binary;
mod builder;
mod decode;
pub(crate) mod keys;
pub(crate) mod model;
pub(crate) mod recorder;
mod text_read;
pub(crate) mod text_write;

use std::{fmt, io};

use keys::Keys;
use model::{Op, Scan, Transaction};
use recorder::Recorder;

/// What a history says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The names of tables, by the number that operations use. A table without a name is shown by
    /// its number.
    pub tables: Vec<(u32, String)>,
    /// The recording was not cut short, by the cap on its memory for example.
    pub complete: bool,
    /// No tombstone was ever unlinked: where no record was found, none had ever been. Without this
    /// promise a missing record may as well be an unlinked tombstone, and the reader's version is
    /// ambiguous where the key had both.
    pub tombstones_kept: bool,
}

impl Default for Header {
    fn default() -> Header {
        Header { tables: Vec::new(), complete: true, tombstones_kept: false }
    }
}

/// The record of a run: every transaction with what it saw and what it wrote.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub(crate) header: Header,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) ops: Vec<Op>,
    pub(crate) scans: Vec<Scan>,
    pub(crate) keys: Keys,
    /// Claimed orders of single writes that differ from their transaction's, by operation.
    pub(crate) write_orders: Vec<(u32, u64)>,
    pub(crate) unfinished: u64,
}

impl History {
    /// Merges what the workers recorded. Each recorder's memory is given back as it is consumed.
    pub fn from_recorders(
        header: Header,
        recorders: impl IntoIterator<Item = Recorder>,
    ) -> Result<History, ReadError> {
        decode::from_recorders(header, recorders)
    }

    /// Reads the text form.
    pub fn from_text(text: &str) -> Result<History, ReadError> {
        text_read::read(text.as_bytes())
    }

    /// Reads a file of either form: the binary one is known by its first bytes.
    pub fn read(reader: impl io::Read) -> Result<History, ReadError> {
        binary::read_any(reader)
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        text_write::write(self)
    }

    /// The events of this history as recorders, one for each worker.
    pub fn to_recorders(&self) -> Vec<Recorder> {
        decode::to_recorders(self)
    }

    /// Writes the binary form of what workers recorded, without building the history.
    pub fn write(
        header: &Header,
        recorders: &[Recorder],
        writer: impl io::Write,
    ) -> io::Result<()> {
        binary::write(header, recorders, writer)
    }

    /// What the history says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many transactions there are, aborted ones included.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// How many reads, writes and scanned records there are.
    pub fn operations(&self) -> usize {
        self.ops.len()
    }

    /// How many transactions had begun and not ended when the recording stopped. They are left
    /// out; a read of what one of them wrote is a read of an unknown version.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The name of a table, or its number where it has none.
    pub(crate) fn table_name(&self, table: u32) -> String {
        let named = self.header.tables.iter().find(|(id, _)| *id == table);
        named.map_or_else(|| table.to_string(), |(_, name)| name.clone())
    }

    /// The claimed order of a write.
    pub(crate) fn write_order(&self, transaction: u32, op: u32) -> u64 {
        if !self.write_orders.is_empty()
            && let Ok(at) = self.write_orders.binary_search_by_key(&op, |&(op, _)| op)
        {
            return self.write_orders[at].1;
        }
        self.transactions[transaction as usize].order
    }

    /// The scans whose entries end a transaction's run of operations or lie within it.
    pub(crate) fn scans_of(&self, transaction: &Transaction) -> &[Scan] {
        &self.scans[transaction.scans.start as usize..transaction.scans.end as usize]
    }
}

/// Why a history could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadError {
    /// What was wrong.
    pub kind: ReadErrorKind,
    /// Where: the offset of a byte in a binary file, the number of a line in a text.
    pub position: u64,
}

/// What can be wrong with a history.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The file could not be read.
    Io(io::Error),
    /// Neither the binary form nor text.
    NotAHistory,
    /// A version of the binary form that this build does not know.
    UnknownFormat(u32),
    /// The file ends before the history does.
    Truncated,
    /// Bytes that do not fit their checksum, or that mean nothing.
    Damaged(&'static str),
    /// A text without a transaction that does not say that it is meant.
    NoTransactions,
    /// A text longer than texts may be.
    LongText,
    /// A line of text that does not follow the grammar.
    Syntax(String),
    /// Events in an impossible order, such as a read outside a transaction.
    Protocol(&'static str),
    /// More transactions, operations or keys than a history can number.
    TooLarge,
}

impl ReadError {
    pub(crate) fn new(kind: ReadErrorKind, position: u64) -> ReadError {
        ReadError { kind, position }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ReadErrorKind::Syntax(what) => return write!(f, "line {}: {what}", self.position),
            ReadErrorKind::Io(error) => write!(f, "{error}")?,
            ReadErrorKind::NotAHistory => {
                write!(f, "not a history: neither the binary form nor UTF-8 text")?;
            }
            ReadErrorKind::NoTransactions => {
                write!(f, "no transaction in it, and no `empty` to say that it is meant")?;
            }
            ReadErrorKind::LongText => {
                write!(f, "a text of more than 256 MiB; longer histories take the binary form")?;
            }
            ReadErrorKind::UnknownFormat(version) => {
                write!(f, "version {version} of the binary form; this build reads version 1")?;
            }
            ReadErrorKind::Truncated => write!(f, "the file is truncated")?,
            ReadErrorKind::Damaged(what) => write!(f, "damaged: {what}")?,
            ReadErrorKind::Protocol(what) => write!(f, "impossible history: {what}")?,
            ReadErrorKind::TooLarge => write!(f, "too large: at most 4 billion of anything")?,
        }
        write!(f, ", at {}", self.position)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ReadErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
