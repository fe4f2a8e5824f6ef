//! A value of SQL.

use crate::numeric::Numeric;
use std::borrow::Cow;
use std::sync::Arc;

/// A value of SQL, that of a column, a parameter or a result. Texts and bytes may be those of a row in the transaction's
/// memory. A date is told in days and an instant in microseconds, both from 1970-01-01.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Datum<'a> {
    /// No value.
    #[default]
    Null,
    /// Of `boolean`.
    Bool(bool),
    /// Of `smallint`, `integer`, `bigint` and `oid`.
    Int(i64),
    /// Of `real` and `double precision`.
    Float(f64),
    /// Of `numeric`.
    Numeric(Numeric),
    /// Of texts, and of `json` and `jsonb`, and of parameters of `unknown`.
    Text(Cow<'a, str>),
    /// Of `bytea`.
    Bytes(Cow<'a, [u8]>),
    /// Of `date`: days. The least and the greatest number are `-infinity` and `infinity`.
    Date(i32),
    /// Of `time`: microseconds from midnight.
    Time(i64),
    /// Of `timestamp` and `timestamp with time zone` (UTC): microseconds. The least and the greatest number are
    /// `-infinity` and `infinity`.
    Timestamp(i64),
    /// Of `uuid`.
    Uuid([u8; 16]),
    /// Of `record`: a row as one value. Shared, since values are dropped all the time: what a vector of values does when
    /// it goes would be part of each drop, and an `Arc` has it apart.
    Record(Arc<[Datum<'a>]>),
}

const _: () = assert!(size_of::<Datum<'_>>() <= 32, "rows of values are copied and cleared");

/// A value that borrows nothing.
pub type OwnedDatum = Datum<'static>;

/// The values of a row, borrowing nothing.
pub(crate) fn owned(row: &[Datum<'_>]) -> Vec<OwnedDatum> {
    row.iter().map(|datum| datum.borrowed().into_owned()).collect()
}

impl<'a> Datum<'a> {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// Bytes.
    #[must_use]
    pub fn bytes(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// This value, borrowing from it.
    #[must_use]
    pub fn borrowed(&self) -> Datum<'_> {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(*value),
            Self::Int(value) => Datum::Int(*value),
            Self::Float(value) => Datum::Float(*value),
            Self::Numeric(value) => Datum::Numeric(*value),
            Self::Text(text) => Datum::Text(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Datum::Bytes(Cow::Borrowed(bytes)),
            Self::Date(days) => Datum::Date(*days),
            Self::Time(time) => Datum::Time(*time),
            Self::Timestamp(time) => Datum::Timestamp(*time),
            Self::Uuid(bytes) => Datum::Uuid(*bytes),
            Self::Record(parts) => Datum::Record(parts.iter().map(Datum::borrowed).collect()),
        }
    }

    /// This value, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> OwnedDatum {
        match self {
            Self::Null => Datum::Null,
            Self::Bool(value) => Datum::Bool(value),
            Self::Int(value) => Datum::Int(value),
            Self::Float(value) => Datum::Float(value),
            Self::Numeric(value) => Datum::Numeric(value),
            Self::Text(text) => Datum::Text(Cow::Owned(text.into_owned())),
            Self::Bytes(bytes) => Datum::Bytes(Cow::Owned(bytes.into_owned())),
            Self::Date(days) => Datum::Date(days),
            Self::Time(time) => Datum::Time(time),
            Self::Timestamp(time) => Datum::Timestamp(time),
            Self::Uuid(bytes) => Datum::Uuid(bytes),
            Self::Record(parts) => Datum::Record(owned(&parts).into()),
        }
    }
}
