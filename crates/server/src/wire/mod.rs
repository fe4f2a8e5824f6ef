//! Messages of PostgreSQL's protocol 3.0: bytes to messages and back. No socket and no statement is known here.

mod backend;
mod cursor;
mod frame;
mod frontend;
mod startup;

pub(crate) use backend::{Description, Severity, Writer};
pub(crate) use cursor::Cursor;
pub(crate) use frame::{Frame, next_frame, next_startup};
pub(crate) use frontend::{Bind, Message, Target};
pub(crate) use startup::{Packet, Startup};

/// Bytes that are no message of the protocol: the connection ends with this text, and SQLSTATE 08P01.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadMessage(pub String);

impl BadMessage {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}
