//! Messages of PostgreSQL's protocol 3.0: bytes to messages and back. No socket and no statement is known here.

mod backend;
mod cursor;
mod frame;
mod frontend;
mod lists;
mod startup;

pub(crate) use backend::{Description, Severity, Writer};
pub(crate) use cursor::Cursor;
pub(crate) use frame::{Frame, next_frame, next_startup};
pub(crate) use frontend::{Bind, Message, Target};
pub(crate) use lists::{FormatCodes, Values};
pub(crate) use startup::{Packet, Startup};

use chiliad_sql::SqlError;

/// Why bytes are no message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BadMessage {
    /// They are none of the protocol: the connection ends with this text, and SQLSTATE 08P01.
    Form(String),
    /// A string in it is no UTF-8: the message fails with 22021, as a statement does, and the next one is looked at.
    NotUtf8,
}

impl BadMessage {
    #[cold]
    pub fn new(what: impl Into<String>) -> Self {
        Self::Form(what.into())
    }

    /// What the client is told.
    pub fn error(&self) -> SqlError {
        match self {
            Self::Form(what) => SqlError::protocol_violation(what.clone()),
            Self::NotUtf8 => SqlError::not_utf8("invalid byte sequence for encoding \"UTF8\""),
        }
    }
}
