//! The tables that statements are about, as the engine's declarations have them.

use crate::details::TableDetails;
use crate::storage::Storage;
use crate::types::Type;
use chiliad_api::{ColumnPart, Columns, IndexKind, SecondarySpec, TableId, TableLayout, TableSpec};
use chiliad_row::ColumnType;
use std::collections::HashMap;
use std::sync::Arc;

/// The column of the key of rows that have no primary key.
pub const HIDDEN_KEY: &str = "?row";

/// The name of the column of rows that repeats a column of the primary key, for an index over it.
pub(crate) fn copy_name(key: &str) -> String {
    format!("?key.{key}")
}

/// A table, as its owner gives it to a [`CatalogView`].
#[derive(Clone, Debug)]
pub struct TableInput {
    /// Its number.
    pub id: TableId,
    /// Its declaration.
    pub spec: TableSpec,
    /// The positions of its secondary indexes in [`chiliad_api::Transaction::scan_index`].
    pub positions: Vec<usize>,
    /// What SQL has declared of it, if it has.
    pub details: Option<TableDetails>,
}

impl TableInput {
    /// A table of which SQL has declared nothing, and whose indexes have the positions of their declarations.
    #[must_use]
    pub fn new(id: TableId, spec: TableSpec) -> Self {
        let positions = (0..spec.secondary.len()).collect();
        Self { id, spec, positions, details: None }
    }
}

/// The tables at one moment.
#[derive(Clone, Debug, Default)]
pub struct CatalogView {
    version: u64,
    tables: HashMap<String, Arc<Table>>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// Its name.
    pub name: String,
    /// Its columns, in the order of their declaration.
    pub columns: Vec<Column>,
    /// The columns of its primary key, by their places in `columns`, most significant first. Hidden ones are not among
    /// `columns`: the list is empty then.
    pub key: Vec<usize>,
    /// Its secondary indexes.
    pub indexes: Vec<Index>,
    /// Whether it can be scanned.
    pub is_ordered: bool,
    /// Whether its rows have a number that no statement sees in place of a primary key.
    pub hidden_key: bool,
    /// The declaration.
    pub spec: TableSpec,
    /// What SQL has declared.
    pub details: Option<TableDetails>,
    /// For each place of a row the column that lies there, by its place in `columns`: its own, or one of the key that it
    /// repeats.
    pub(crate) stored: Vec<Option<usize>>,
    /// For each of `columns` its name for the engine; none for one of the key, which no row changes.
    pub(crate) own_columns: Vec<Columns>,
    pub(crate) storage: Storage,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: Type,
    /// Length or precision, as PostgreSQL encodes it; -1: none.
    pub modifier: i32,
    /// Whether it may have no value.
    pub is_nullable: bool,
    /// Where it lies.
    pub place: Place,
    /// The type of its bytes.
    pub column_type: ColumnType,
    /// The text of the expression that is its value where an INSERT gives none.
    pub default: Option<String>,
    /// The sequence of which its value comes where an INSERT gives none.
    pub sequence: Option<String>,
    /// An INSERT may not give one.
    pub always: bool,
}

/// Where a column lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In the key, as the part of this place.
    Key(usize),
    /// In the row, as the column of this place.
    Row(usize),
}

/// A secondary index.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its position in [`chiliad_api::Transaction::scan_index`].
    pub position: usize,
    /// Its parts, most significant first: columns by their places in [`Table::columns`], and whether greater comes first.
    pub parts: Vec<(usize, bool)>,
    /// Whether two rows may not share a key.
    pub unique: bool,
}

impl CatalogView {
    /// The tables of version `version` of the catalog: a number that changes whenever they do.
    #[must_use]
    pub fn new(version: u64, tables: impl IntoIterator<Item = TableInput>) -> Self {
        let tables = tables.into_iter().map(|input| {
            let table = Table::new(input);
            (table.name.clone(), Arc::new(table))
        });
        Self { version, tables: tables.collect() }
    }

    /// These tables, as `version`, and `input` in place of the one of its name.
    #[must_use]
    pub fn with_table(&self, version: u64, input: TableInput) -> Self {
        let mut tables = self.tables.clone();
        let table = Table::new(input);
        tables.insert(table.name.clone(), Arc::new(table));
        Self { version, tables }
    }

    /// These tables, as `version`, without the one of this name.
    #[must_use]
    pub fn without_table(&self, version: u64, name: &str) -> Self {
        let mut tables = self.tables.clone();
        tables.remove(name);
        Self { version, tables }
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The table of this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// All tables, in no order.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }
}

impl Table {
    /// Its number for clients.
    #[must_use]
    pub fn oid(&self) -> u32 {
        16_384_u32.saturating_add(self.id.0)
    }

    /// The place of the column of this name.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    pub(crate) fn new(input: TableInput) -> Self {
        let TableInput { id, spec, positions, details } = input;
        let layout = spec.layout.columns();
        let mut stored = vec![None; layout.row.len()];
        let storage = Storage::new(&spec, &layout.row);
        let key = layout.key.into_iter().enumerate().map(|(at, it)| (Place::Key(at), it));
        let row = layout.row.into_iter().enumerate().map(|(at, it)| (Place::Row(at), it));
        let hidden_key = matches!(key.clone().next(), Some((_, it)) if it.name == HIDDEN_KEY);
        let names: Vec<String> = key.clone().map(|(_, it)| copy_name(&it.name)).collect();
        let copied: Vec<(usize, usize)> = row
            .clone()
            .filter_map(|(place, it)| {
                let of = names.iter().position(|name| *name == it.name)?;
                Some((place.number(), of))
            })
            .collect();
        let is_seen = |it: &chiliad_api::Column| it.name != HIDDEN_KEY && !names.contains(&it.name);
        let seen = key.chain(row).filter(|(_, it)| is_seen(it));
        let mut columns: Vec<Column> =
            seen.map(|(place, it)| Column::new(it, place, details.as_ref())).collect();
        if let Some(details) = &details {
            let order = |name: &str| details.columns.iter().position(|it| it.name == name);
            columns.sort_by_key(|column| order(&column.name).unwrap_or(usize::MAX));
        }
        let mut key: Vec<usize> =
            (0..columns.len()).filter(|&at| matches!(columns[at].place, Place::Key(_))).collect();
        key.sort_by_key(|&at| columns[at].place.number());
        let of_key = |part: usize| key.get(part).copied();
        let copies = copied.iter().filter_map(|(place, part)| Some((*place, of_key(*part)?)));
        let copies: Vec<(usize, usize)> = copies.collect();
        let own = columns.iter().enumerate();
        let own = own.filter_map(|(at, column)| Some((column.place.in_row()?, at)));
        own.chain(copies.iter().copied()).for_each(|(place, at)| stored[place] = Some(at));
        let own_columns = columns.iter().map(|it| own_column(id, &spec.layout, it.place)).collect();
        let indexes = indexes(&spec, &stored, &positions);
        let is_ordered = spec.index == IndexKind::Ordered;
        let name = spec.name.clone();
        Self {
            id,
            name,
            columns,
            key,
            indexes,
            is_ordered,
            hidden_key,
            spec,
            details,
            stored,
            own_columns,
            storage,
        }
    }

    /// The columns of these places of `columns`, as the engine knows them.
    pub(crate) fn columns_at(&self, places: impl IntoIterator<Item = usize>) -> Columns {
        places.into_iter().map(|place| self.own_columns[place]).collect()
    }
}

/// A column of rows as the engine knows it: by its number if it has one, which stays when others come and go.
fn own_column(table: TableId, layout: &TableLayout, place: Place) -> Columns {
    let Some(at) = place.in_row() else { return Columns::NONE };
    let number = match layout {
        TableLayout::Schema(schema) => schema.rows.current().columns()[at].number as usize,
        _ => at,
    };
    Columns::of(table, number)
}

/// The secondary indexes whose parts are columns; those over bytes serve no statement.
fn indexes(spec: &TableSpec, stored: &[Option<usize>], positions: &[usize]) -> Vec<Index> {
    let TableLayout::Schema(schema) = &spec.layout else { return Vec::new() };
    let current = schema.rows.current();
    let index = |(at, index): (usize, &SecondarySpec)| {
        let part = |part: &ColumnPart| {
            let place = current.place_of_number(part.number)?;
            Some((stored.get(place).copied().flatten()?, part.descending))
        };
        let parts: Option<Vec<_>> = index.parts.columns().iter().map(part).collect();
        let parts = parts.filter(|parts| !parts.is_empty())?;
        let position = positions.get(at).copied()?;
        Some(Index { name: index.name.clone(), position, parts, unique: index.unique })
    };
    spec.secondary.iter().enumerate().filter_map(index).collect()
}

impl Place {
    fn number(self) -> usize {
        match self {
            Self::Key(at) | Self::Row(at) => at,
        }
    }

    /// Its place in the row, if it lies there.
    pub(crate) fn in_row(self) -> Option<usize> {
        match self {
            Self::Key(_) => None,
            Self::Row(at) => Some(at),
        }
    }
}

impl Column {
    fn new(column: chiliad_api::Column, place: Place, details: Option<&TableDetails>) -> Self {
        let chiliad_api::Column { name, column_type } = column;
        let is_nullable = column_type.is_nullable();
        let (sql_type, modifier) = sql_type(&column_type);
        let known = details.and_then(|it| it.columns.iter().find(|it| it.name == name));
        match known {
            Some(known) => Self {
                name,
                sql_type: known.column_type,
                modifier: known.modifier,
                is_nullable,
                place,
                column_type,
                default: known.default.clone(),
                sequence: known.sequence.clone(),
                always: known.always,
            },
            None => Self {
                name,
                sql_type,
                modifier,
                is_nullable,
                place,
                column_type,
                default: None,
                sequence: None,
                always: false,
            },
        }
    }
}

/// The type as which SQL sees a column that a program has declared, and its modifier. Types that SQL does not have are
/// seen as JSON.
pub(crate) fn sql_type(column_type: &ColumnType) -> (Type, i32) {
    let sql = match column_type {
        ColumnType::Optional(of) | ColumnType::Descending(of) => return sql_type(of),
        ColumnType::Bool => Type::Bool,
        ColumnType::Unsigned(8) | ColumnType::Signed(8 | 16) => Type::Int2,
        ColumnType::Unsigned(16) | ColumnType::Signed(32) => Type::Int4,
        ColumnType::Unsigned(32) | ColumnType::Signed(64) => Type::Int8,
        ColumnType::Unsigned(_) | ColumnType::Signed(_) | ColumnType::Decimal => Type::Numeric,
        ColumnType::Float(32) => Type::Float4,
        ColumnType::Float(_) => Type::Float8,
        ColumnType::Bytes(_) | ColumnType::Blob => Type::Bytea,
        ColumnType::Char | ColumnType::Text(_) | ColumnType::String | ColumnType::Ip => Type::Text,
        ColumnType::Instant => Type::Timestamptz,
        ColumnType::Date => Type::Date,
        ColumnType::Time => Type::Time,
        ColumnType::Uuid => Type::Uuid,
        _ => Type::Jsonb,
    };
    (sql, -1)
}
