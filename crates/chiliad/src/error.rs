//! Errors that only the typed layer can meet.

use crate::Error;
use chiliad_api::row::{BadRow, BadValue};

/// Stored bytes that are not what the type of the table says.
pub(crate) fn malformed(what: &str) -> Error {
    Error::InvalidOption(format!("the stored bytes do not fit the type of the table: {what}"))
}

/// A column whose bytes are no value of its type.
#[cold]
pub(crate) fn bad_column(column: &'static str, bad: impl ToString) -> Error {
    let bad = BadValue::new(bad.to_string());
    Error::from(BadRow::Column { column: column.into(), bad })
}
