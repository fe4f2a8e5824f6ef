//! Rows as values, for programs that learn the types of a table when they run.

use crate::raw::{Range, TableLayout, TableSpec, Transaction as _};
use crate::row::Value;
use crate::{Column, Database, Error, Result};
use chiliad_api::row::{BadRow, key, read_key};
use core::ops::Bound;

/// Rows that are read in one transaction.
const PIECE: usize = 256;

impl Database {
    /// Calls `visit` with the values of each row of an ordered table, in the order of keys: those of the key and those of
    /// the row, in the order of its columns. A table of bytes has one of each. A key with a part of the application's own
    /// type is its bytes, in the place of the first part.
    ///
    /// Rows are read in transactions of some hundred each, so that a large table is never in memory twice: while others
    /// write, what is visited is no single state.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// use chiliad::row::Value;
    ///
    /// # let db = Database::in_memory()?;
    /// let ages: Table<String, u8> = db.create_table("ages")?;
    /// db.bulk_load(&ages, [("ann".to_owned(), 30), ("bob".to_owned(), 40)])?;
    /// let mut seen = Vec::new();
    /// db.for_each_row("ages", |key, row| {
    ///     seen.push((key[0].clone(), row[0].clone()));
    ///     Ok(())
    /// })?;
    /// assert_eq!(seen[1], (Value::Text("bob".into()), Value::Unsigned(40)));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::NotOrdered`] for a hash table; [`Error::BadRow`] for bytes that are no row of the
    /// table's columns; those of `visit`, which end the visits.
    pub fn for_each_row(
        &self,
        table: &str,
        mut visit: impl FnMut(&[Value], &[Value]) -> Result<()>,
    ) -> Result<()> {
        let (id, spec) = self.table_raw(table)?;
        let mut last: Option<Vec<u8>> = None;
        loop {
            let piece = self.run(|tx| {
                let tx = tx.raw();
                let low = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let scanned = tx.scan(id, Range { low, ..Range::all() }.limit(PIECE))?;
                let entries = tx.entries(scanned)?.to_vec();
                let pair = |entry: crate::raw::Entry| {
                    Ok((tx.key(entry)?.to_vec(), tx.bytes(entry.row)?.to_vec()))
                };
                entries.into_iter().map(pair).collect::<Result<Vec<_>>>()
            })?;
            for (key, row) in &piece {
                visit(&key_values(&spec, key)?, &row_values(&spec, row)?)?;
            }
            match piece.into_iter().last() {
                Some((key, _)) => last = Some(key),
                None => return Ok(()),
            }
        }
    }
}

pub(crate) fn key_values(spec: &TableSpec, bytes: &[u8]) -> Result<Vec<Value>> {
    let columns = match &spec.layout {
        TableLayout::Schema(schema) => &schema.key,
        TableLayout::Columns(layout) => &layout.key,
        TableLayout::Bytes | TableLayout::Unknown => return Ok(vec![Value::Bytes(bytes.into())]),
    };
    let mut source = key::Source::new(bytes);
    let value = |column: &Column| {
        read_key(&column.column_type, &mut source)
            .map_err(|bad| BadRow::Column { column: column.name.clone(), bad })
    };
    let values = columns.iter().map(value).collect::<core::result::Result<Vec<_>, _>>();
    // A type of the application's own has a key that only the application can read: its bytes stand for all of it.
    Ok(values.unwrap_or_else(|_| {
        let mut values = vec![Value::Null; columns.len()];
        values[..1].fill(Value::Bytes(bytes.into()));
        values
    }))
}

pub(crate) fn row_values(spec: &TableSpec, bytes: &[u8]) -> Result<Vec<Value>> {
    match &spec.layout {
        TableLayout::Schema(schema) => {
            let body = schema.rows.read(bytes)?;
            Ok(schema.rows.current().decode(&body)?)
        }
        TableLayout::Columns(layout) => unversioned(&layout.row, bytes),
        TableLayout::Bytes | TableLayout::Unknown => Ok(vec![Value::Bytes(bytes.into())]),
    }
}

/// The values of a row that names no version: columns of fixed size, then one that takes the rest.
fn unversioned(columns: &[Column], bytes: &[u8]) -> Result<Vec<Value>> {
    let mut rest = bytes;
    let value = |column: &Column| {
        let length = column.column_type.value_bytes().unwrap_or(rest.len());
        let too_short = BadRow::TooShort {
            bytes: bytes.len(),
            needed: bytes.len() + length - rest.len().min(length),
        };
        let (cell, after) = rest.split_at_checked(length).ok_or(too_short)?;
        rest = after;
        Value::decode_cell(&column.column_type, Some(cell))
            .map_err(|bad| BadRow::Column { column: column.name.clone(), bad })
    };
    let values = columns.iter().map(value).collect::<core::result::Result<Vec<_>, BadRow>>()?;
    if rest.is_empty() { Ok(values) } else { Err(Error::from(BadRow::Ends)) }
}
