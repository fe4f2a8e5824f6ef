//! Rows of `COPY .. FROM` that become keys and rows of bytes without the evaluation of expressions.

use crate::catalog::Column;
use crate::codec::{from_binary, from_text_bytes, short_integer};
use crate::datum::Datum;
use crate::environment::Environment;
use crate::error::Result;
use crate::expr::{Cast, Expr, cast, stored_as};
use crate::plan::{Conflict, Insert, InsertSource, Plan};
use crate::prepared::Prepared;
use crate::run::duplicate;
use crate::storage::{append_row_number, encode_cell};
use crate::types::Type;
use chiliad_api::{Error, Transaction};
use chiliad_row::ColumnType;

/// The fields of a row that comes by COPY.
pub trait CopyFields {
    /// The bytes of a field by its number from 0; `None` for a null, or where there is no such field.
    fn field(&self, at: usize) -> Option<&[u8]>;

    /// Whether fields are in the binary format, and not texts.
    fn are_binary(&self) -> bool;
}

/// Inserts the rows of a `COPY .. FROM` whose columns are fields or constants, into a table without conditions.
#[derive(Debug)]
pub struct RowLoader<'p> {
    insert: &'p Insert,
    /// The source of each column of the table.
    sources: Vec<Source<'p>>,
    key: Vec<u8>,
    row: Vec<u8>,
}

/// Where the value of a column comes from.
#[derive(Clone, Copy, Debug)]
enum Source<'p> {
    /// The field of this number, as this type; its text may have a short way.
    Field(usize, Cast, ShortWay),
    Constant(&'p Datum<'static>),
}

/// How the text of a field becomes the bytes of a cell without a value between. Texts that do not go this way, nulls and
/// errors among them, go the long one.
#[derive(Clone, Copy, Debug)]
enum ShortWay {
    None,
    /// A whole number of this type, of 4 or 8 bytes in the row.
    Integer(Type),
    /// A text of at most so many letters; `true`: blanks at its end do not count.
    Text(usize, bool),
}

impl Prepared {
    /// What inserts the rows of a `COPY .. FROM` by less work than [`crate::execute`], with the same results; `None` where
    /// expressions have to be evaluated: defaults that are no constants, or conditions.
    #[must_use]
    pub fn loader(&self) -> Option<RowLoader<'_>> {
        let Plan::Insert(insert) = &self.plan else { return None };
        let is_plain = insert.checks.is_empty()
            && insert.returning.is_none()
            && matches!(insert.conflict, Conflict::Error);
        let InsertSource::Values(rows) = &insert.source else { return None };
        let ([row], true) = (rows.as_slice(), is_plain) else { return None };
        let columns = row.iter().zip(&insert.table.columns);
        let sources = columns.map(|(value, column)| source(value, column));
        let sources = sources.collect::<Option<Vec<_>>>()?;
        Some(RowLoader { insert, sources, key: Vec::new(), row: Vec::new() })
    }
}

/// The source of a column of this value.
fn source<'p>(value: &'p Expr, column: &Column) -> Option<Source<'p>> {
    let of = column.sql_type;
    let (at, how) = match value {
        Expr::Constant(datum) => return Some(Source::Constant(datum)),
        Expr::Parameter(at) => (*at, Cast { from: of, to: of, modifier: -1, explicit: false }),
        Expr::Cast(inner, cast) if cast.from == of && cast.to == of => match **inner {
            Expr::Parameter(at) => (at, *cast),
            _ => return None,
        },
        _ => return None,
    };
    Some(Source::Field(at, how, short_way(column, how)))
}

fn short_way(column: &Column, how: Cast) -> ShortWay {
    match (how.to, column.column_type.of_cell(), how.modifier) {
        (Type::Int4, ColumnType::Signed(32), -1) | (Type::Int8, ColumnType::Signed(64), -1) => {
            ShortWay::Integer(how.to)
        }
        (Type::Text, ColumnType::String, -1) => ShortWay::Text(usize::MAX, false),
        (Type::Varchar | Type::Bpchar, ColumnType::String, modifier) => {
            let most = usize::try_from(modifier - 4).unwrap_or(usize::MAX);
            ShortWay::Text(most, how.to == Type::Bpchar)
        }
        _ => ShortWay::None,
    }
}

impl RowLoader<'_> {
    /// Inserts a row.
    ///
    /// # Errors
    /// Those of the values, 23502 and 23505, and those of the transaction and the environment.
    pub fn insert(
        &mut self,
        fields: &impl CopyFields,
        transaction: &mut dyn Transaction,
        environment: &mut dyn Environment,
    ) -> Result<()> {
        let table = &*self.insert.table;
        if let Err(error) = self.encode(fields) {
            // Which of several errors is told does not depend on the order in which cells are written.
            return Err(self.checked_values(fields).err().unwrap_or(error));
        }
        if let Some(numbers) = &self.insert.numbers {
            append_row_number(environment.next_row_number(numbers)?, &mut self.key);
        }
        let inserted = transaction.insert(table.id, &self.key, &self.row);
        inserted.map_err(|error| match error {
            Error::DuplicateKey(_) => match self.values(fields) {
                Ok(row) => duplicate(table, &row),
                Err(error) => error,
            },
            error => error.into(),
        })
    }

    /// Puts key and row in place of those of the row before, but for a key that is a number of a sequence.
    fn encode(&mut self, fields: &impl CopyFields) -> Result<()> {
        let Self { insert, sources, key, row } = self;
        let table = &*insert.table;
        table.encode_each(row, |at, column, out| {
            if !fields.are_binary() && take_short_way(sources[at], fields, out) {
                return Ok(true);
            }
            encode_cell(column, &value(sources[at], fields, stored_as)?, out)
        })?;
        key.clear();
        table.encode_key(key, |at| value(sources[at], fields, stored_as))
    }

    /// The values of a row, in the order of the table's columns.
    fn values<'f>(&'f self, fields: &'f impl CopyFields) -> Result<Vec<Datum<'f>>> {
        self.sources.iter().map(|source| value(*source, fields, cast)).collect()
    }

    /// The values, where none is missing.
    #[cold]
    fn checked_values<'f>(&'f self, fields: &'f impl CopyFields) -> Result<Vec<Datum<'f>>> {
        let values = self.values(fields)?;
        self.insert.table.check_nulls(&values)?;
        Ok(values)
    }
}

/// Appends the bytes of a cell, if the text of its field has a short way.
#[inline]
fn take_short_way(source: Source<'_>, fields: &impl CopyFields, out: &mut Vec<u8>) -> bool {
    let Source::Field(at, _, way) = source else { return false };
    let Some(bytes) = fields.field(at) else { return false };
    match way {
        ShortWay::None => return false,
        ShortWay::Integer(of) => match short_integer(of, bytes) {
            Some(value) if of == Type::Int8 => out.extend_from_slice(&value.to_le_bytes()),
            // The type has the low bytes alone.
            Some(value) => out.extend_from_slice(&value.to_le_bytes()[..4]),
            None => return false,
        },
        ShortWay::Text(most, trims) => {
            if !bytes.is_ascii() || bytes.len() > most {
                return false;
            }
            let blanks =
                if trims { bytes.iter().rev().take_while(|it| **it == b' ').count() } else { 0 };
            out.extend_from_slice(&bytes[..bytes.len() - blanks]);
        }
    }
    true
}

/// The value of a column, which `fit` makes one of its length or precision.
#[inline]
fn value<'f>(
    source: Source<'f>,
    fields: &'f impl CopyFields,
    fit: impl FnOnce(Datum<'f>, Cast) -> Result<Datum<'f>>,
) -> Result<Datum<'f>> {
    let (at, how) = match source {
        Source::Field(at, how, _) => (at, how),
        Source::Constant(datum) => return Ok(datum.borrowed()),
    };
    let Some(bytes) = fields.field(at) else { return Ok(Datum::Null) };
    let datum = if fields.are_binary() {
        from_binary(how.from, bytes)?
    } else {
        from_text_bytes(how.from, bytes)?
    };
    fit(datum, how)
}
