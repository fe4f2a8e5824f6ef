//! Secondary indexes: tables of their own (Tu, 2013, 4.4), from parts of a row to its primary key.
//!
//! An index is declared as data ([`KeyPart`]) and evaluated here, without a callback. Its rows are
//! ordinary records under the scheme: their key is the encoded parts, followed by the primary key
//! unless the index is unique; their value is the primary key.

use crate::error::{Error, Result};
use crate::layout::{TableLayout, TableSchema};
use crate::table::{
    ColumnPart, IndexParts, KeyPart, PartType, SecondarySpec, Source, TableId, TableSpec,
};
use chiliad_row::{BadRow, Chain, split, write_key};
use std::sync::Arc;

/// The bytes that a key or a value must have for all parts of an index to lie within.
#[must_use]
pub fn reach(spec: &SecondarySpec, source: Source) -> usize {
    let parts = spec.parts.bytes().iter().filter(|part| part.source == source);
    parts.map(|part| part.offset + part.length).max().unwrap_or(0)
}

/// A secondary index in use.
pub struct Secondary {
    /// Its declaration.
    pub spec: SecondarySpec,
    /// The table that holds its rows.
    pub table: TableId,
    parts: Parts,
}

/// How the key is made.
enum Parts {
    Bytes { value_bytes_min: usize, key_bytes_min: usize },
    Columns(Chain<Keyed>),
}

/// A schema, with the places in it of the columns that are parts.
struct Keyed {
    schema: Arc<TableSchema>,
    places: Vec<Place>,
}

/// A column as a part.
struct Place {
    at: usize,
    descending: bool,
}

impl Keyed {
    fn new(parts: &[ColumnPart], schema: &Arc<TableSchema>) -> Self {
        let current = schema.rows.current();
        let place = |part: &ColumnPart| {
            let at = current.place_of_number(part.number)?;
            Some(Place { at, descending: part.descending })
        };
        let places = parts.iter().filter_map(place).collect();
        Self { schema: Arc::clone(schema), places }
    }
}

impl TableSpec {
    /// The indexes of the table of number `id`: the entries of the n-th are in the table of the n-th number after those of
    /// its groups.
    #[must_use]
    pub fn indexes(&self, id: TableId) -> Vec<Secondary> {
        let first = id.group(self.groups.len());
        let numbered = (first.0..).map(TableId).zip(&self.secondary);
        numbered.map(|(id, index)| Secondary::new(index.clone(), id, &self.layout)).collect()
    }
}

impl Secondary {
    /// An index declared as `spec` on a table of `layout`, whose entries are rows of `table`. The declaration was
    /// accepted by [`crate::TableSpec::validate`].
    #[must_use]
    pub fn new(spec: SecondarySpec, table: TableId, layout: &TableLayout) -> Self {
        let parts = match (&spec.parts, layout) {
            (IndexParts::Columns(columns), TableLayout::Schema(schema)) => {
                Parts::Columns(Chain::new(Keyed::new(columns, schema)))
            }
            _ => Parts::Bytes {
                value_bytes_min: reach(&spec, Source::Value),
                key_bytes_min: reach(&spec, Source::Key),
            },
        };
        Self { spec, table, parts }
    }

    /// Has the index know rows of another version of the table's schema, before there are any
    /// ([`crate::TableSpec::change_layout`]).
    pub fn change_layout(&self, layout: &TableLayout) {
        if let (Parts::Columns(keyed), TableLayout::Schema(schema)) = (&self.parts, layout) {
            keyed.push(Keyed::new(self.spec.parts.columns(), schema));
        }
    }

    /// Whether all parts of a row lie within it and have an order.
    ///
    /// # Errors
    /// [`Error::ValueSize`]; [`Error::BadRow`].
    pub fn check(&self, key: &[u8], value: &[u8]) -> Result<()> {
        match &self.parts {
            Parts::Bytes { value_bytes_min, key_bytes_min } => {
                if value.len() < *value_bytes_min {
                    let accepted = (*value_bytes_min, crate::VALUE_BYTES_MAX);
                    return Err(Error::ValueSize { bytes: value.len(), accepted });
                }
                if key.len() < *key_bytes_min {
                    let accepted = (*key_bytes_min, crate::KEY_BYTES_MAX);
                    return Err(Error::ValueSize { bytes: key.len(), accepted });
                }
                Ok(())
            }
            Parts::Columns(keyed) => Ok(keyed.newest().put(value, &mut Vec::new())?),
        }
    }

    /// Whether two values of one row have the same index key. Both were checked.
    #[must_use]
    pub fn same_key(&self, before: &[u8], after: &[u8]) -> bool {
        match &self.parts {
            Parts::Bytes { .. } => {
                let mut parts = self.spec.parts.bytes().iter();
                parts.all(|part| {
                    let range = part.offset..part.offset + part.length;
                    part.source == Source::Key || before[range.clone()] == after[range]
                })
            }
            Parts::Columns(keyed) => {
                let newest = keyed.newest();
                newest.same_cells(before, after).unwrap_or_else(|_| {
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    let first = newest.put(before, &mut one);
                    first == newest.put(after, &mut other) && one == other
                })
            }
        }
    }

    /// Appends the index key of a checked row to `out`.
    pub fn encode(&self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        match &self.parts {
            Parts::Bytes { .. } => {
                for part in self.spec.parts.bytes() {
                    let source = if part.source == Source::Value { value } else { key };
                    let start = out.len();
                    encode_part(part, &source[part.offset..part.offset + part.length], out);
                    if part.descending {
                        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
                    }
                }
            }
            Parts::Columns(keyed) => {
                let put = keyed.newest().put(value, out);
                debug_assert!(put.is_ok(), "the row was checked: {put:?}");
            }
        }
        if !self.spec.unique {
            out.extend_from_slice(key);
        }
    }
}

impl Keyed {
    /// Whether the columns have the same bytes in two rows of the current version; an error where a row is none.
    fn same_cells(&self, before: &[u8], after: &[u8]) -> core::result::Result<bool, BadRow> {
        let rows = &self.schema.rows;
        let ((was, before), (is, after)) = (split(before)?, split(after)?);
        if was != rows.version() || is != rows.version() {
            return Err(BadRow::UnknownVersion(was));
        }
        let places = self.places.iter().map(|place| place.at);
        rows.current().format().same_cells(before, after, places)
    }

    /// Appends the keys of a row's columns, as the current version has them.
    fn put(&self, row: &[u8], out: &mut Vec<u8>) -> core::result::Result<(), BadRow> {
        let body = self.schema.rows.read(row)?;
        let current = self.schema.rows.current();
        for place in &self.places {
            let column = &current.columns()[place.at];
            let start = out.len();
            let cell = current.format().cell(&body, place.at)?;
            write_key(&column.column_type, cell, out)
                .map_err(|bad| BadRow::Column { column: column.name.clone(), bad })?;
            if place.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        Ok(())
    }
}

fn encode_part(part: &KeyPart, field: &[u8], out: &mut Vec<u8>) {
    match part.part_type {
        // Little-endian in the row, big-endian in a key: byte order is then key order.
        PartType::Unsigned => out.extend(field.iter().rev()),
        PartType::Signed => {
            let start = out.len();
            out.extend(field.iter().rev());
            out[start] ^= 0x80;
        }
        PartType::Bytes => out.extend_from_slice(field),
        PartType::Text => {
            let length = usize::from(field[0]).min(field.len() - 1);
            chiliad_row::key::KeyPart::write(&field[1..1 + length], out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_row::{History, Schema, SchemaChange, SchemaColumn, Value, with_version};

    fn row(schema: &TableSchema, version: u16, values: &[Value]) -> Vec<u8> {
        let mut row = Vec::new();
        with_version(version, &mut row);
        let schema = schema.rows.schema(version).expect("a version");
        schema.encode(values, &mut row).expect("values of the columns");
        row
    }

    /// Rows of all versions are in an index as the current version has them, so that a default is found, too.
    #[test]
    fn keys_are_those_of_the_current_version() {
        let parsed = |text: &str| text.parse::<chiliad_row::ColumnType>().expect(text);
        let name = SchemaColumn::new(0, "name", parsed("string"));
        let mut rows = History::new(Schema::new(vec![name]).expect("a schema"));
        let add = SchemaChange::Add {
            name: "age".into(),
            column_type: parsed("u16"),
            default: Some(Value::Unsigned(7)),
        };
        rows.change(&[add]).expect("a change");
        let schema = Arc::new(TableSchema { key: vec![], rows, expires: None });
        let spec = SecondarySpec {
            name: "by_age".into(),
            parts: IndexParts::Columns(vec![
                ColumnPart { number: 1, descending: true },
                ColumnPart { number: 0, descending: false },
            ]),
            unique: false,
        };
        let layout = TableLayout::Schema(Arc::clone(&schema));
        let index = Secondary::new(spec, TableId(1), &layout);
        let name = || Value::Text("ann".into());
        let old = row(&schema, 0, &[name()]);
        let new = row(&schema, 1, &[name(), Value::Unsigned(7)]);
        let other = row(&schema, 1, &[name(), Value::Unsigned(8)]);
        let key = |row: &[u8]| {
            index.check(b"k", row).expect("a row");
            let mut out = Vec::new();
            index.encode(b"k", row, &mut out);
            out
        };
        assert_eq!(key(&old), [&[!0, !7][..], b"ann\0k"].concat());
        assert_eq!(key(&old), key(&new));
        assert!(key(&other) < key(&new), "greater comes first");
        assert!(index.same_key(&old, &new) && !index.same_key(&new, &other));
        for bad in [&new[..new.len() - 1], &old[..1], &row(&schema, 0, &[name()])[..3], b""] {
            assert!(matches!(index.check(b"k", bad), Err(Error::BadRow(_))), "{bad:?}");
        }
    }
}
