//! How the values of a result are written, and how many bytes of them there may be.

use crate::plans::Plan;
use crate::wire::FormatCodes;
use chiliad_sql::{Kind, SqlError};
use std::sync::Arc;

/// How the values of a result are written.
#[derive(Clone)]
pub(super) enum Formats {
    /// All as text.
    Text,
    /// All binary.
    Binary,
    /// Each column as told: whether it is binary.
    Each(Arc<[bool]>),
}

impl Formats {
    /// Those that a client binds.
    ///
    /// # Errors
    /// 08P01 where there are neither none, one nor as many as columns.
    pub fn of_bind(plan: Option<&Plan>, formats: FormatCodes<'_>) -> Result<Self, SqlError> {
        match formats.len() {
            0 | 1 if formats.is_binary(0) => Ok(Self::Binary),
            0 | 1 => Ok(Self::Text),
            given => {
                let columns = plan.map_or(0, |plan| match plan.prepared.returns_rows() {
                    true => plan.prepared.columns().len(),
                    false => 0,
                });
                // How many columns a FETCH returns is its cursor's.
                let of_cursor = plan.is_some_and(|it| matches!(it.prepared.kind(), Kind::Fetch(_)));
                if given != columns && !of_cursor {
                    return Err(SqlError::protocol_violation(format!(
                        "bind message has {given} result formats but query has {columns} columns"
                    )));
                }
                Ok(Self::Each(formats.iter().collect()))
            }
        }
    }

    /// Whether the column at this place is binary.
    pub fn is_binary(&self, at: usize) -> bool {
        match self {
            Self::Text => false,
            Self::Binary => true,
            Self::Each(each) => each.get(at).copied().unwrap_or(false),
        }
    }
}

/// Refuses results of more bytes than a session may keep.
pub(super) fn check_result(bytes: usize, bytes_max: usize) -> Result<(), SqlError> {
    if bytes <= bytes_max {
        return Ok(());
    }
    let message = format!("a result of more than {bytes_max} bytes");
    Err(SqlError::new("53400", message).with_hint("Ask for fewer rows at a time, with LIMIT."))
}
