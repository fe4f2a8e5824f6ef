//! Histories, and the forms in which they are recorded, read and written.
//!
//! `model` has the history in memory; `recorder` what a worker writes, `builder` and `decode` what becomes of it;
//! `binary` and the two of text are files.

mod binary;
mod builder;
mod decode;
mod error;
pub(crate) mod keys;
pub(crate) mod model;
pub(crate) mod recorder;
mod text_read;
pub(crate) mod text_write;

pub use error::{ReadError, ReadErrorKind};
pub use model::{Header, History};

use recorder::Recorder;
use std::io;

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
}
