//! Tables as Rust types declare them, and as the catalog has them.

use crate::form::Form;
use crate::raw::{
    ColumnPart, IndexKind, IndexParts, KeyPart, PartType, SecondarySpec, Source, TableId,
    TableLayout, TableSpec,
};
use crate::{Column, ColumnType, Error, Key, Layout, Result, Row};
use chiliad_api::SchemaError;
use chiliad_api::TableSchema;
use chiliad_api::row::{History, Schema, SchemaChange, SchemaColumn, Value, ValueSource};
use chiliad_engine::NativeStore;
use std::collections::HashMap;
use std::sync::Arc;

/// The declarations of all tables and groups of columns, by number.
pub(crate) fn all(engine: &dyn NativeStore) -> HashMap<TableId, TableSpec> {
    engine.tables().into_iter().flat_map(|(id, spec)| spec.with_groups(id)).collect()
}

/// The schema of a new table of such keys and rows.
pub(crate) fn schema<K: Key, V: Row>() -> Result<TableSchema> {
    let columns = (0..).zip(V::columns());
    let mut columns: Vec<_> = columns
        .map(|(number, column)| SchemaColumn::new(number, &column.name, column.column_type))
        .collect();
    for (at, default) in V::defaults() {
        if let Some(column) = columns.get_mut(at) {
            column.default = Some(default);
        }
    }
    let expires = V::expiry().map(|expiry| expiry.place() as u32);
    Ok(TableSchema { key: K::columns(), rows: History::new(Schema::new(columns)?), expires })
}

/// The declaration `spec` with the columns and the indexes of such keys and rows.
pub(crate) fn spec<K: Key, V: Row>(spec: TableSpec) -> Result<TableSpec> {
    let layout = TableLayout::Schema(Arc::new(schema::<K, V>()?));
    let mut groups = spec.groups;
    for group in &mut groups {
        if let TableLayout::Schema(schema) = &group.layout {
            // Their keys are those of the table.
            let schema = TableSchema { key: K::columns(), ..TableSchema::clone(schema) };
            group.layout = TableLayout::Schema(Arc::new(schema));
        }
    }
    Ok(TableSpec { secondary: V::indexes(), layout, groups, ..spec })
}

/// The schema of a table whose rows name a version of one.
pub(crate) fn schema_of(spec: &TableSpec) -> Result<&TableSchema> {
    let TableLayout::Schema(schema) = &spec.layout else {
        let what = "its rows name no version of a schema, and cannot be changed";
        return Err(Error::InvalidOption(format!("table {}: {what}", spec.name)));
    };
    Ok(schema)
}

/// The layout of a table that `V` opens with more columns than it has, each of which has a default; `None` where there are
/// no more, and where the types differ otherwise, too.
pub(crate) fn grown<V: Row>(schema: &TableSchema, layout: &Layout) -> Result<Option<TableLayout>> {
    let current = schema.rows.current();
    let stored = |column: &Column| {
        let known = current.columns().iter();
        known
            .map(|it| (&it.name, &it.column_type))
            .any(|it| it == (&column.name, &column.column_type))
    };
    let kept: Vec<&str> =
        layout.row.iter().filter(|it| stored(it)).map(|it| it.name.as_str()).collect();
    // Columns that are missing, moved or of another type are told as they are.
    if kept.len() == layout.row.len() || !current.columns().iter().map(|it| &it.name).eq(kept) {
        return Ok(None);
    }
    let defaults = V::defaults();
    let mut changes = Vec::new();
    for (place, column) in layout.row.iter().enumerate().filter(|(_, column)| !stored(column)) {
        let Some((_, bytes)) = defaults.iter().find(|(at, _)| *at == place) else {
            return Ok(None);
        };
        let (name, column_type) = (column.name.clone(), column.column_type.clone());
        let default = Value::decode(&column_type, &mut ValueSource::new(bytes));
        let bad = |bad| SchemaError::Default { column: name.clone(), bad };
        let default = Some(default.map_err(bad)?);
        changes.push(SchemaChange::Add { name: name.clone(), column_type, default });
        changes.push(SchemaChange::Move { name, place });
    }
    changed(schema, &changes).map(Some)
}

/// The layout of a table after these changes.
pub(crate) fn changed(schema: &TableSchema, changes: &[SchemaChange]) -> Result<TableLayout> {
    let TableSchema { key, mut rows, expires } = schema.clone();
    rows.change(changes)?;
    // Of a column that has been dropped nothing expires.
    let expires = expires.filter(|&number| rows.current().place_of_number(number).is_some());
    Ok(TableLayout::Schema(Arc::new(TableSchema { key, rows, expires })))
}

/// The layout of a table that is opened as `V`: `changed`, or what it has, with the column by which rows expire as `V`
/// declares it; `None` where that is what it has.
pub(crate) fn with_expiry<V: Row>(
    had: &TableLayout,
    changed: Option<TableLayout>,
) -> Option<TableLayout> {
    let layout = changed.as_ref().unwrap_or(had);
    let TableLayout::Schema(schema) = layout else { return changed };
    let current = schema.rows.current();
    let column = |expiry: crate::row::Expiry| {
        let name = V::columns().get(expiry.place())?.name.clone();
        Some(current.columns()[current.place_of(&name)?].number)
    };
    let expires = V::expiry().and_then(column);
    if expires == schema.expires {
        return changed;
    }
    Some(TableLayout::Schema(Arc::new(TableSchema { expires, ..TableSchema::clone(schema) })))
}

/// Refuses rows that expire in a table that cannot be gone through.
pub(crate) fn check_expiry<V: Row>(spec: &TableSpec) -> Result<()> {
    let what = match V::expiry() {
        Some(_) if spec.index == IndexKind::Hash => "rows that expire need an ordered table",
        Some(_) if !spec.groups.is_empty() => "rows in groups of columns do not expire",
        _ => return Ok(()),
    };
    Err(Error::InvalidOption(format!("table {}: {what}", spec.name)))
}

/// The form of the rows of a table that is opened as `layout`.
pub(crate) fn form(spec: &TableSpec, layout: &Layout) -> Result<Form> {
    if let TableLayout::Schema(schema) = &spec.layout {
        return Ok(Form::Versioned(schema.rows.version()));
    }
    // Rows without versions have columns of fixed size, and one more as the last.
    let (mut fixed, mut open) = (0_usize, false);
    for Column { name, column_type } in &layout.row {
        match column_type.value_bytes() {
            Some(bytes) if !open && !column_type.is_nullable() => fixed += bytes,
            None if !open && matches!(column_type, ColumnType::String | ColumnType::Blob) => {
                open = true;
            }
            _ => {
                return Err(Error::InvalidOption(format!(
                    "table {}: its rows have no versions, and column {name} of type {column_type} needs them",
                    spec.name
                )));
            }
        }
    }
    Ok(Form::Unversioned { fixed, open })
}

/// The indexes that the rows `V` declare, as the table has the columns that they are made of: by the numbers of its
/// columns, or by their bytes in rows without versions.
pub(crate) fn indexes<V: Row>(spec: &TableSpec, layout: &Layout) -> Vec<SecondarySpec> {
    let mut declared = V::indexes();
    for index in &mut declared {
        let parts = index.parts.columns().iter();
        index.parts = match &spec.layout {
            TableLayout::Schema(schema) => {
                let current = schema.rows.current();
                let number = |part: &ColumnPart| {
                    let name = &layout.row.get(part.number as usize)?.name;
                    let number = current.columns().get(current.place_of(name)?)?.number;
                    Some(ColumnPart { number, ..*part })
                };
                // A column that the table does not have is told before its indexes are.
                IndexParts::Columns(parts.filter_map(number).collect())
            }
            _ => IndexParts::Bytes(parts.filter_map(|part| bytes_of(part, layout)).collect()),
        };
    }
    // As the table has them, in whatever order they came.
    let place = |index: &SecondarySpec| spec.secondary.iter().position(|it| it.name == index.name);
    declared.sort_by_key(|index| place(index).unwrap_or(usize::MAX));
    declared
}

/// A column as bytes of a row without versions.
fn bytes_of(part: &ColumnPart, layout: &Layout) -> Option<KeyPart> {
    let at = part.number as usize;
    let bytes = |column: &Column| column.column_type.value_bytes().unwrap_or(0);
    let column = layout.row.get(at)?;
    let part_type = match column.column_type {
        ColumnType::Unsigned(_) | ColumnType::Bool => PartType::Unsigned,
        ColumnType::Signed(_) => PartType::Signed,
        ColumnType::Text(_) => PartType::Text,
        _ => PartType::Bytes,
    };
    let offset = layout.row[..at].iter().map(bytes).sum();
    let (length, descending) = (bytes(column), part.descending);
    Some(KeyPart { source: Source::Value, offset, length, part_type, descending })
}
