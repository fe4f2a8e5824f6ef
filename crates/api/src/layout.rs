//! The meaning of the bytes of keys and rows: the columns of a table, as data.
//!
//! The engine orders bytes and stores bytes. The layout says what they were written as, so that a table
//! can be opened again only as what it is; schemes and the log know nothing of it.

use chiliad_row::{ColumnType, History};
use core::fmt;
use std::sync::Arc;

/// The columns of a table, in the order of their bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Of the primary key, most significant first.
    pub key: Vec<Column>,
    /// Of the row.
    pub row: Vec<Column>,
}

/// A column of a key or a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name. Where the type gives it none, as in tuples, its place: `0`, `1` and so on.
    pub name: String,
    /// The type of its bytes.
    pub column_type: ColumnType,
}

/// The columns of a table whose rows have versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableSchema {
    /// Of the primary key, most significant first.
    pub key: Vec<Column>,
    /// Of the rows, in all versions.
    pub rows: History,
    /// The number of the column that says until when a row is there, if there is one.
    pub expires: Option<u32>,
}

/// The columns of a table, as far as the catalog knows them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TableLayout {
    /// The table holds bytes under bytes.
    #[default]
    Bytes,
    /// It has these columns, in rows that name no version of a schema.
    Columns(Layout),
    /// It has a schema, and each row the version under which it was written.
    Schema(Arc<TableSchema>),
    /// It was created when catalogs said nothing of columns: the first opening as a table of
    /// columns declares them ([`crate::Store::change_layout`]).
    Unknown,
}

impl TableSchema {
    /// The columns of rows of the current version.
    #[must_use]
    pub fn row(&self) -> Vec<Column> {
        let columns = self.rows.current().columns().iter();
        columns.map(|column| Column::new(&column.name, column.column_type.clone())).collect()
    }
}

impl TableLayout {
    /// The columns of a table's key and of its rows, in the newest version. A table of bytes has one of each, `key` and
    /// `value`.
    #[must_use]
    pub fn columns(&self) -> Layout {
        match self {
            Self::Schema(schema) => Layout { key: schema.key.clone(), row: schema.row() },
            Self::Columns(layout) => layout.clone(),
            Self::Bytes | Self::Unknown => {
                let bytes = |name| vec![Column::new(name, ColumnType::Blob)];
                Layout { key: bytes("key"), row: bytes("value") }
            }
        }
    }
}

impl fmt::Display for Layout {
    /// `key (id u64), row (owner text(16), balance i64)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |columns: &[Column]| {
            columns.iter().map(Column::to_string).collect::<Vec<_>>().join(", ")
        };
        write!(f, "key ({}), row ({})", list(&self.key), list(&self.row))
    }
}

impl Column {
    /// A column.
    #[must_use]
    pub fn new(name: &str, column_type: ColumnType) -> Self {
        Self { name: name.into(), column_type }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.column_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_is_one_line() {
        let layout = Layout {
            key: vec![Column::new("0", ColumnType::Unsigned(64))],
            row: vec![
                Column::new("owner", ColumnType::Text(16)),
                Column::new("note", ColumnType::String),
            ],
        };
        assert_eq!(layout.to_string(), "key (0 u64), row (owner text(16), note string)");
    }
}
