//! A table opened as something that it is not: where its declaration and the one that it is opened
//! with differ first.

use crate::layout::{Column, Layout, TableLayout, TableSchema};
use crate::table::{ColumnPart, IndexParts, KeyPart, SecondarySpec, Source, TableSpec};
use core::fmt;

/// A table was opened with other columns or indexes than it has.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LayoutDiffers {
    /// The table.
    pub table: String,
    /// Where they differ first.
    pub difference: Difference,
}

/// The first difference.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// The table has no columns: it was created for bytes under bytes.
    NoColumns,
    /// A column.
    Column {
        /// Whether of the key or of the rows.
        part: Part,
        /// Its place, from 0.
        place: usize,
        /// The difference.
        change: Change,
        /// The table's column in that place.
        stored: Option<Column>,
        /// The column in that place of the type that it is opened with.
        opened: Option<Column>,
    },
    /// A secondary index; columns are the same.
    Index {
        /// Its place, from 0.
        place: usize,
        /// The table's index in that place, in words.
        stored: Option<String>,
        /// The type's index in that place, in words.
        opened: Option<String>,
    },
}

/// One of the two halves of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Part {
    /// The primary key.
    Key,
    /// The rows.
    Row,
}

/// The difference between two columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// It has another type.
    Type,
    /// It is none of the table's.
    Added,
    /// It is missing.
    Removed,
    /// Another name stands in its place.
    Renamed,
    /// Another column of the table stands in its place.
    Moved,
}

impl TableSpec {
    /// Where the table and what it is opened as differ, if they do: in the key, then in the rows, then
    /// in the indexes. Nothing is known of the columns of a table with [`TableLayout::Unknown`].
    #[must_use]
    pub fn differs(&self, layout: &Layout, secondary: &[SecondarySpec]) -> Option<LayoutDiffers> {
        let difference = match &self.layout {
            TableLayout::Bytes => Some(Difference::NoColumns),
            TableLayout::Columns(stored) => columns(Part::Key, &stored.key, &layout.key)
                .or_else(|| columns(Part::Row, &stored.row, &layout.row)),
            TableLayout::Schema(schema) => columns(Part::Key, &schema.key, &layout.key)
                .or_else(|| columns(Part::Row, &schema.row(), &layout.row)),
            TableLayout::Unknown => None,
        };
        let numbered =
            if let TableLayout::Schema(schema) = &self.layout { Some(&**schema) } else { None };
        let difference =
            difference.or_else(|| indexes(&self.secondary, secondary, layout, numbered));
        difference.map(|difference| LayoutDiffers { table: self.name.clone(), difference })
    }
}

fn columns(part: Part, stored: &[Column], opened: &[Column]) -> Option<Difference> {
    let place = first_difference(stored, opened)?;
    let (was, is) = (stored.get(place), opened.get(place));
    let has = |columns: &[Column], column: &Column| columns.iter().any(|it| it.name == column.name);
    let change = match (was, is) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        (Some(was), Some(is)) if was.name == is.name => Change::Type,
        (Some(was), Some(is)) => match (has(opened, was), has(stored, is)) {
            (true, true) => Change::Moved,
            (true, false) => Change::Added,
            (false, true) => Change::Removed,
            (false, false) => Change::Renamed,
        },
    };
    Some(Difference::Column { part, place, change, stored: was.cloned(), opened: is.cloned() })
}

fn first_difference<T: PartialEq>(one: &[T], other: &[T]) -> Option<usize> {
    (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))
}

fn indexes(
    stored: &[SecondarySpec],
    opened: &[SecondarySpec],
    layout: &Layout,
    schema: Option<&TableSchema>,
) -> Option<Difference> {
    let place = first_difference(stored, opened)?;
    let text = |index: &SecondarySpec| index_text(index, layout, schema);
    let (stored, opened) = (stored.get(place).map(text), opened.get(place).map(text));
    Some(Difference::Index { place, stored, opened })
}

/// An index as a row declares it: `by_city(city, born desc), unique`.
fn index_text(index: &SecondarySpec, layout: &Layout, schema: Option<&TableSchema>) -> String {
    let ordered = |text: String, descending: bool| {
        let order = if descending { " desc" } else { "" };
        format!("{text}{order}")
    };
    let parts: Vec<String> = match &index.parts {
        IndexParts::Bytes(parts) => {
            let part = |part: &KeyPart| ordered(part_text(part, layout), part.descending);
            parts.iter().map(part).collect()
        }
        IndexParts::Columns(parts) => {
            let name = |number| {
                let current = schema?.rows.current();
                Some(current.columns()[current.place_of_number(number)?].name.clone())
            };
            let part = |part: &ColumnPart| {
                let name = name(part.number).unwrap_or_else(|| format!("column {}", part.number));
                ordered(name, part.descending)
            };
            parts.iter().map(part).collect()
        }
    };
    let unique = if index.unique { ", unique" } else { "" };
    format!("{}({}){unique}", index.name, parts.join(", "))
}

/// The column that a part of an index is, or its bytes.
fn part_text(part: &KeyPart, layout: &Layout) -> String {
    let mut offset = 0;
    for column in layout.row.iter().filter(|_| part.source == Source::Value) {
        let Some(bytes) = column.column_type.row_bytes() else { break };
        if (offset, bytes) == (part.offset, part.length) {
            return column.name.clone();
        }
        offset += bytes;
    }
    let of = if part.source == Source::Key { "key" } else { "row" };
    format!("bytes {} to {} of the {of}", part.offset, part.offset + part.length)
}

impl fmt::Display for LayoutDiffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the table {} is opened as something that it is not: {}",
            self.table, self.difference
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_none = |what: Option<String>| what.unwrap_or_else(|| "none".into());
        match self {
            Self::NoColumns => write!(f, "it has no columns, it was created for bytes"),
            Self::Index { place, stored, opened } => {
                let (stored, opened) = (or_none(stored.clone()), or_none(opened.clone()));
                write!(f, "index {} is {stored} in the table, {opened} in the type", place + 1)
            }
            Self::Column { part, place, change, stored, opened } => {
                let what = match change {
                    Change::Type => "another type",
                    Change::Added => "a column that the table does not have",
                    Change::Removed => "a column is missing",
                    Change::Renamed => "another name",
                    Change::Moved => "another order",
                };
                let text =
                    |column: &Option<Column>| or_none(column.as_ref().map(Column::to_string));
                let (stored, opened) = (text(stored), text(opened));
                let of = if *part == Part::Key { "key" } else { "row" };
                let place = place + 1;
                write!(
                    f,
                    "column {place} of the {of} is {stored} in the table, {opened} in the type"
                )?;
                write!(f, " ({what})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PartType, SecondarySpec};
    use chiliad_row::ColumnType;

    fn parsed(columns: &str) -> Vec<Column> {
        let column = |text: &str| {
            let (name, column_type) = text.split_once(' ').expect("name and type");
            Column::new(name, column_type.parse().expect("a type"))
        };
        columns.split(", ").filter(|text| !text.is_empty()).map(column).collect()
    }

    fn said(stored: [&str; 2], opened: [&str; 2]) -> String {
        let layout = |[key, row]: [&str; 2]| Layout { key: parsed(key), row: parsed(row) };
        let layout_now = TableLayout::Columns(layout(stored));
        let spec = TableSpec { layout: layout_now, ..TableSpec::ordered("t") };
        let differs = spec.differs(&layout(opened), &[]);
        differs.map_or_else(String::new, |differs| differs.difference.to_string())
    }

    #[test]
    fn the_first_column_that_differs_is_named_with_both_types() {
        let row = "a u32, b u32, c string";
        assert_eq!(said(["0 u64", row], ["0 u64", row]), "");
        let of_row = |opened: &str| said(["0 u64", row], ["0 u64", opened]);
        for (opened, expected) in [
            (
                "a u32, b i32, c string",
                "column 2 of the row is b u32 in the table, b i32 in the type (another type)",
            ),
            (
                "b u32, a u32, c string",
                "column 1 of the row is a u32 in the table, b u32 in the type (another order)",
            ),
            (
                "a u32, x u8, b u32, c string",
                "column 2 of the row is b u32 in the table, x u8 in the type (a column that the table does not have)",
            ),
            (
                "a u32, b u32, c string, d u8",
                "column 4 of the row is none in the table, d u8 in the type (a column that the table does not have)",
            ),
            (
                "a u32, c string",
                "column 2 of the row is b u32 in the table, c string in the type (a column is missing)",
            ),
            (
                "a u32, b u32",
                "column 3 of the row is c string in the table, none in the type (a column is missing)",
            ),
            (
                "a u32, x u32, c string",
                "column 2 of the row is b u32 in the table, x u32 in the type (another name)",
            ),
        ] {
            assert_eq!(of_row(opened), expected);
        }
        assert_eq!(
            said(["0 u64", row], ["0 u32, 1 u32", ""]),
            "column 1 of the key is 0 u64 in the table, 0 u32 in the type (another type)"
        );
    }

    #[test]
    fn an_index_that_differs_is_shown_as_it_is_declared() {
        let part = |offset, length, descending| KeyPart {
            source: Source::Value,
            offset,
            length,
            part_type: PartType::Unsigned,
            descending,
        };
        let index = |parts, unique| SecondarySpec {
            name: "by_b".into(),
            parts: IndexParts::Bytes(parts),
            unique,
        };
        let layout = Layout { key: vec![], row: parsed("a u32, b u16") };
        let columns = TableLayout::Columns(layout.clone());
        let mut spec = TableSpec { layout: columns, ..TableSpec::ordered("t") };
        let said = |spec: &TableSpec, opened: &[SecondarySpec]| {
            spec.differs(&layout, opened).map(|differs| differs.to_string()).unwrap_or_default()
        };
        let unique = index(vec![part(4, 2, true), part(0, 4, false)], true);
        let expected = "the table t is opened as something that it is not: index 1 is none in the \
                        table, by_b(b desc, a), unique in the type";
        assert_eq!(said(&spec, core::slice::from_ref(&unique)), expected);
        spec.secondary = vec![index(vec![part(1, 2, false)], false)];
        let changed = said(&spec, &[unique]);
        assert!(changed.contains("is by_b(bytes 1 to 3 of the row) in the table"), "{changed}");
        // Of unknown columns the indexes are known all the same.
        spec.layout = TableLayout::Unknown;
        assert!(said(&spec, &[]).contains("none in the type"));
        spec.layout = TableLayout::Bytes;
        assert!(said(&spec, &spec.secondary).contains("created for bytes"));
        assert_eq!(ColumnType::Bool.row_bytes(), Some(1));
    }
}
