//! Errors that only the typed layer can meet.

use crate::Error;

/// Stored bytes that are not what the type of the table says.
pub(crate) fn malformed(what: &str) -> Error {
    Error::InvalidOption(format!("the stored bytes do not fit the type of the table: {what}"))
}
