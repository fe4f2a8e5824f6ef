//! Why a history could not be read.

use std::{fmt, io};

/// Why a history could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadError {
    /// The reason.
    pub kind: ReadErrorKind,
    /// Where: the offset of a byte in a binary file, the number of a line in a text.
    pub position: u64,
}

/// A flaw of a history.
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
    pub(super) fn new(kind: ReadErrorKind, position: u64) -> ReadError {
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
