//! The catalog as bytes: what the manifest keeps of tables and their indexes.
//!
//! ```text
//! u32 2^31 + version of the catalog | u32 the next table number
//! u32 count of migrations that were made, ascending, each: u32 number | name
//! u32 count of tables, each:
//!   u32 number | name | u8 kind (0 ordered, 1 hash) | u64 rows expected
//!   u8 1 if closed to snapshots, plus 2 if it takes loads only, plus 4 if it is sealed
//!   u32 count of secondary indexes, each:
//!     u32 number of its table | name | u8 flag: 1 if unique | u32 count of parts, each:
//!       u8 source (0 value, 1 key) | u32 offset | u32 length | u8 type | u8 1 if descending
//!   u8 columns: 0 none (bytes under bytes), 1 they follow, 2 unknown, 3 a schema follows, 4 one of rows that expire
//!   if they follow, of the key and then of the row: u32 count of columns, each: name | type
//!   a schema: u32 count of columns of the key, each: name | type
//!     u32 the next column number | u32 count of versions, ascending, each:
//!       u16 version | u32 count of columns, each:
//!         u32 number | name | type | u8 1 if it has a default, which then follows: u32 length | bytes
//!     of rows that expire: u32 number of the column that says when
//!   u32 count of groups of columns, each: name | u8 1 if closed to snapshots | columns, as above
//! ```
//!
//! The parts of an index are bytes at fixed places, as above, or columns: then the flag of the index is 2 for an index
//! of columns, 3 for a unique one, and its parts are: u32 number of the column | u8 1 if descending.
//!
//! A name is its length (u32) and its UTF-8; so is the type of a column, in its text form. Types of
//! parts: 0 unsigned, 1 signed, 2 bytes, 3 text.
//!
//! Version 1 has no word for its version, and begins with the next table number, which is below 2^31.
//! It says nothing of columns: those of its tables are unknown. Version 2 has no schemas and no indexes of columns. Up to
//! version 3 there are no migrations, and no numbers of the tables of indexes: the n-th has the number of its table + 1 + n.
//! Version 5 has groups, with the numbers after the table's; without any, version 4 is written, which has none.

use crate::{
    Column, ColumnPart, GroupSpec, IndexKind, IndexParts, KeyPart, Layout, PartType, Placement,
    SecondarySpec, Source, TableId, TableLayout, TableSchema, TableSpec, Writes,
};
use chiliad_log::codec::{Decoder, put_blob};
use chiliad_log::entry;
use chiliad_row::{History, Schema, SchemaColumn};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The numbers that the tables of a database have in its whole life, at most: some of the memory of
/// each worker is in proportion to them.
pub const TABLE_NUMBERS_MAX: u32 = 1 << 22;

/// The version that is written where a table has groups, and the first that has them.
const VERSION: u32 = 5;
/// The version that is written where none has.
const VERSION_WITHOUT_GROUPS: u32 = 4;
/// The first that has migrations, and numbers of indexes.
const VERSION_OF_NUMBERS: u32 = 4;
/// The first that says something of columns.
const VERSION_OF_COLUMNS: u32 = 2;
/// The flag of an index of columns.
const OF_COLUMNS: u8 = 2;
/// Tells a version from a table number.
const MARK: u32 = 1 << 31;
const _: () = assert!(TABLE_NUMBERS_MAX < MARK, "no count of numbers looks like a mark");
const _: () = assert!(TABLE_NUMBERS_MAX <= entry::TABLE_MAX, "the log has room for all numbers");

/// The tables that users have created, with their numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Blob {
    /// The number of the next table.
    pub next: u32,
    /// Ascending.
    pub tables: Vec<(u32, TableSpec)>,
    /// The numbers of the indexes of those tables, by number, of which they are not the numbers after the table's.
    pub moved_indexes: BTreeMap<u32, Vec<TableId>>,
    /// The migrations that were made, ascending, with their names.
    pub applied: Vec<(u32, String)>,
}

impl Blob {
    /// Adds a table, the last one, whose indexes have these numbers.
    pub fn add(&mut self, number: u32, spec: TableSpec, indexes: Vec<TableId>) {
        debug_assert!(indexes.len() == spec.secondary.len(), "a number for each index");
        let usual = usual_numbers(number, &spec);
        if !usual.zip(&indexes).all(|(usual, is)| usual == *is) {
            self.moved_indexes.insert(number, indexes);
        }
        self.tables.push((number, spec));
    }

    /// The numbers of the tables of a table's indexes.
    #[must_use]
    pub fn numbers_of_indexes(&self, number: u32, spec: &TableSpec) -> Vec<TableId> {
        let usual = || usual_numbers(number, spec).take(spec.secondary.len()).collect();
        self.moved_indexes.get(&number).cloned().unwrap_or_else(usual)
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let has_groups = self.tables.iter().any(|(_, spec)| !spec.groups.is_empty());
        let version = if has_groups { VERSION } else { VERSION_WITHOUT_GROUPS };
        out.extend_from_slice(&(MARK | version).to_le_bytes());
        out.extend_from_slice(&self.next.to_le_bytes());
        put_count(&mut out, self.applied.len());
        for (number, name) in &self.applied {
            out.extend_from_slice(&number.to_le_bytes());
            put_blob(&mut out, name.as_bytes());
        }
        put_count(&mut out, self.tables.len());
        for (number, spec) in &self.tables {
            out.extend_from_slice(&number.to_le_bytes());
            put_blob(&mut out, spec.name.as_bytes());
            out.push(u8::from(spec.index == IndexKind::Hash));
            out.extend_from_slice(&(spec.rows_expected as u64).to_le_bytes());
            out.push(u8::from(spec.present_only) | writes_bits(spec.writes));
            put_count(&mut out, spec.secondary.len());
            for (index, table) in spec.secondary.iter().zip(self.numbers_of_indexes(*number, spec))
            {
                out.extend_from_slice(&table.0.to_le_bytes());
                put_index(&mut out, index);
            }
            put_layout(&mut out, &spec.layout);
            if has_groups {
                put_groups(&mut out, &spec.groups);
            }
        }
        out
    }

    /// Reads a catalog; `None` if the bytes are none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut from = Decoder::new(bytes);
        let (version, next) = match from.u32()? {
            next @ 0..MARK => (1, next),
            marked => (marked & !MARK, from.u32()?),
        };
        if !(1..=VERSION).contains(&version) {
            return None;
        }
        let mut blob = Self { next, ..Self::default() };
        if version >= VERSION_OF_NUMBERS {
            blob.applied = take_applied(&mut from)?;
        }
        let mut given_out = BTreeSet::new();
        for _ in 0..from.u32()? {
            let number = from.u32()?;
            let (spec, numbers) = take_table(&mut from, version)?;
            let last = blob.tables.last().map(|(last, _)| *last);
            let known = blob.tables.iter().any(|(_, other)| other.name == spec.name);
            if last.is_some_and(|last| number <= last) || known || spec.validate().is_err() {
                return None;
            }
            number.checked_add(u32::try_from(spec.numbers()).ok()?)?;
            let numbers = numbers.unwrap_or_else(|| blob.numbers_of_indexes(number, &spec));
            let groups: Vec<_> =
                (0..spec.groups.len()).map(|at| TableId(number).group(at)).collect();
            for it in [TableId(number)].iter().chain(&groups).chain(&numbers) {
                if it.0 >= next || !given_out.insert(it.0) {
                    return None;
                }
            }
            blob.add(number, spec, numbers);
        }
        (from.is_empty() && blob.next <= TABLE_NUMBERS_MAX).then_some(blob)
    }
}

/// The numbers that the indexes of a table have unless they were added later: those after its groups.
fn usual_numbers(number: u32, spec: &TableSpec) -> impl Iterator<Item = TableId> + use<> {
    (TableId(number).group(spec.groups.len()).0..).map(TableId)
}

fn take_applied(from: &mut Decoder<'_>) -> Option<Vec<(u32, String)>> {
    let mut applied: Vec<(u32, String)> = Vec::new();
    for _ in 0..from.u32()? {
        let number = from.u32()?;
        if applied.last().is_some_and(|(last, _)| number <= *last) {
            return None;
        }
        applied.push((number, from.text()?.to_owned()));
    }
    Some(applied)
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    debug_assert!(u32::try_from(count).is_ok(), "counts have 32 bits");
    out.extend_from_slice(&(count as u32).to_le_bytes());
}

fn writes_bits(writes: Writes) -> u8 {
    match writes {
        Writes::Transactions => 0,
        Writes::Loads => 2,
        Writes::Nobody => 4,
    }
}

fn put_index(out: &mut Vec<u8>, index: &SecondarySpec) {
    put_blob(out, index.name.as_bytes());
    match &index.parts {
        IndexParts::Bytes(parts) => {
            out.push(u8::from(index.unique));
            put_count(out, parts.len());
            parts.iter().for_each(|part| put_bytes_part(out, part));
        }
        IndexParts::Columns(parts) => {
            out.push(OF_COLUMNS | u8::from(index.unique));
            put_count(out, parts.len());
            for part in parts {
                out.extend_from_slice(&part.number.to_le_bytes());
                out.push(u8::from(part.descending));
            }
        }
    }
}

fn put_bytes_part(out: &mut Vec<u8>, part: &KeyPart) {
    out.push(u8::from(part.source == Source::Key));
    put_count(out, part.offset);
    put_count(out, part.length);
    out.push(match part.part_type {
        PartType::Unsigned => 0,
        PartType::Signed => 1,
        PartType::Bytes => 2,
        PartType::Text => 3,
    });
    out.push(u8::from(part.descending));
}

/// A table, and the numbers of its indexes where the version has them.
fn take_table(from: &mut Decoder<'_>, version: u32) -> Option<(TableSpec, Option<Vec<TableId>>)> {
    let name = from.text()?.to_owned();
    let index = if take_flag(from)? { IndexKind::Hash } else { IndexKind::Ordered };
    let rows_expected = usize::try_from(from.u64()?).ok()?;
    let bits = from.u8()?;
    let present_only = bits & 1 != 0;
    let known = [Writes::Transactions, Writes::Loads, Writes::Nobody];
    let writes = known.into_iter().find(|&writes| writes_bits(writes) == bits & !1)?;
    let (mut secondary, mut numbers) = (Vec::new(), Vec::new());
    for _ in 0..from.u32()? {
        if version >= VERSION_OF_NUMBERS {
            numbers.push(TableId(from.u32()?));
        }
        secondary.push(take_index(from)?);
    }
    let has_columns = version >= VERSION_OF_COLUMNS;
    let layout = if has_columns { take_layout(from)? } else { TableLayout::Unknown };
    let groups = if version >= VERSION { take_groups(from)? } else { Vec::new() };
    let placement = Placement::default();
    let spec = TableSpec {
        name,
        index,
        rows_expected,
        secondary,
        groups,
        present_only,
        writes,
        placement,
        layout,
    };
    Some((spec, (version >= VERSION_OF_NUMBERS).then_some(numbers)))
}

fn put_groups(out: &mut Vec<u8>, groups: &[GroupSpec]) {
    put_count(out, groups.len());
    for group in groups {
        put_blob(out, group.name.as_bytes());
        out.push(u8::from(group.present_only));
        put_layout(out, &group.layout);
    }
}

fn take_groups(from: &mut Decoder<'_>) -> Option<Vec<GroupSpec>> {
    let mut groups = Vec::new();
    for _ in 0..from.u32()? {
        let (name, present_only) = (from.text()?.to_owned(), take_flag(from)?);
        groups.push(GroupSpec { name, present_only, layout: take_layout(from)? });
    }
    Some(groups)
}

fn put_layout(out: &mut Vec<u8>, layout: &TableLayout) {
    let layout = match layout {
        TableLayout::Bytes => return out.push(0),
        TableLayout::Columns(layout) => layout,
        TableLayout::Unknown => return out.push(2),
        TableLayout::Schema(schema) => {
            out.push(if schema.expires.is_some() { 4 } else { 3 });
            put_schema(out, schema);
            schema.expires.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            return;
        }
    };
    out.push(1);
    put_columns(out, &layout.key);
    put_columns(out, &layout.row);
}

fn put_columns(out: &mut Vec<u8>, columns: &[Column]) {
    put_count(out, columns.len());
    for column in columns {
        put_blob(out, column.name.as_bytes());
        put_blob(out, column.column_type.to_string().as_bytes());
    }
}

fn put_schema(out: &mut Vec<u8>, schema: &TableSchema) {
    put_columns(out, &schema.key);
    out.extend_from_slice(&schema.rows.next_column().to_le_bytes());
    put_count(out, schema.rows.versions().len());
    for (version, schema) in schema.rows.versions() {
        out.extend_from_slice(&version.to_le_bytes());
        put_count(out, schema.columns().len());
        for column in schema.columns() {
            out.extend_from_slice(&column.number.to_le_bytes());
            put_blob(out, column.name.as_bytes());
            put_blob(out, column.column_type.to_string().as_bytes());
            out.push(u8::from(column.default.is_some()));
            column.default.iter().for_each(|bytes| put_blob(out, bytes));
        }
    }
}

fn take_layout(from: &mut Decoder<'_>) -> Option<TableLayout> {
    match from.u8()? {
        0 => Some(TableLayout::Bytes),
        1 => {
            let (key, row) = (take_columns(from)?, take_columns(from)?);
            Some(TableLayout::Columns(Layout { key, row }))
        }
        2 => Some(TableLayout::Unknown),
        3 => Some(TableLayout::Schema(Arc::new(take_schema(from)?))),
        4 => {
            let schema = take_schema(from)?;
            let expires = Some(from.u32()?);
            Some(TableLayout::Schema(Arc::new(TableSchema { expires, ..schema })))
        }
        _ => None,
    }
}

fn take_schema(from: &mut Decoder<'_>) -> Option<TableSchema> {
    let key = take_columns(from)?;
    let next_column = from.u32()?;
    let mut versions = Vec::new();
    for _ in 0..from.u32()? {
        let version = from.u16()?;
        let mut columns = Vec::new();
        for _ in 0..from.u32()? {
            let number = from.u32()?;
            let name = from.text()?.to_owned();
            let mut column = SchemaColumn::new(number, &name, from.text()?.parse().ok()?);
            column.default = if take_flag(from)? { Some(from.blob()?.to_vec()) } else { None };
            columns.push(column);
        }
        versions.push((version, Schema::new(columns).ok()?));
    }
    let rows = History::from_parts(versions, next_column).ok()?;
    Some(TableSchema { key, rows, expires: None })
}

fn take_columns(from: &mut Decoder<'_>) -> Option<Vec<Column>> {
    let mut columns = Vec::new();
    for _ in 0..from.u32()? {
        let name = from.text()?.to_owned();
        columns.push(Column { name, column_type: from.text()?.parse().ok()? });
    }
    Some(columns)
}

fn take_index(from: &mut Decoder<'_>) -> Option<SecondarySpec> {
    let name = from.text()?.to_owned();
    let flag = from.u8().filter(|flag| flag & !(OF_COLUMNS | 1) == 0)?;
    let unique = flag & 1 != 0;
    let count = from.u32()?;
    let parts = if flag & OF_COLUMNS == 0 {
        let parts = (0..count).map(|_| take_bytes_part(from));
        IndexParts::Bytes(parts.collect::<Option<_>>()?)
    } else {
        let parts = (0..count)
            .map(|_| Some(ColumnPart { number: from.u32()?, descending: take_flag(from)? }));
        IndexParts::Columns(parts.collect::<Option<_>>()?)
    };
    Some(SecondarySpec { name, parts, unique })
}

fn take_bytes_part(from: &mut Decoder<'_>) -> Option<KeyPart> {
    let source = if take_flag(from)? { Source::Key } else { Source::Value };
    let (offset, length) = (from.u32()? as usize, from.u32()? as usize);
    let part_type = match from.u8()? {
        0 => PartType::Unsigned,
        1 => PartType::Signed,
        2 => PartType::Bytes,
        3 => PartType::Text,
        _ => return None,
    };
    Some(KeyPart { source, offset, length, part_type, descending: take_flag(from)? })
}

fn take_flag(from: &mut Decoder<'_>) -> Option<bool> {
    match from.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_row::{SchemaChange, Value};

    fn some() -> Blob {
        let part = |source, part_type, descending| KeyPart {
            source,
            offset: 3,
            length: 8,
            part_type,
            descending,
        };
        let index = SecondarySpec {
            name: "by_name".into(),
            parts: vec![
                part(Source::Value, PartType::Text, false),
                part(Source::Key, PartType::Signed, true),
                part(Source::Value, PartType::Bytes, false),
                part(Source::Value, PartType::Unsigned, false),
            ]
            .into(),
            unique: true,
        };
        let sealed = TableSpec { writes: Writes::Nobody, ..TableSpec::ordered("four") };
        let column = |name: &str, of: &str| Column::new(name, of.parse().expect("a type"));
        let layout = Layout {
            key: vec![column("0", "u64"), column("1", "desc(option(text(9)))")],
            row: vec![column("balance", "i64"), column("note", "string")],
        };
        let unknown = TableSpec { layout: TableLayout::Unknown, ..TableSpec::ordered("five") };
        let by_age = SecondarySpec {
            name: "by_age".into(),
            parts: IndexParts::Columns(vec![ColumnPart { number: 1, descending: true }]),
            unique: true,
        };
        let schema = TableLayout::Schema(Arc::new(schema()));
        let six = TableSpec { layout: schema, ..TableSpec::ordered("six") }.with_index(by_age);
        Blob {
            next: 12,
            applied: vec![(1, "first".into()), (7, "seventh".into())],
            moved_indexes: BTreeMap::from([(9, vec![TableId(11)])]),
            tables: vec![
                (0, TableSpec::ordered("one").with_index(index).with_layout(layout)),
                (5, TableSpec::hash("two", 1000).present_only()),
                (6, TableSpec::hash("three", 1000).present_only().read_only()),
                (7, sealed),
                (8, unknown),
                (9, six),
            ],
        }
    }

    /// Three versions: a column with a default came, and one went.
    fn schema() -> TableSchema {
        let parsed = |text: &str| text.parse::<chiliad_row::ColumnType>().expect(text);
        let name = SchemaColumn::new(0, "name", parsed("string"));
        let age = SchemaColumn::new(1, "age", parsed("u8"));
        let mut rows = History::new(Schema::new(vec![name, age]).expect("a schema"));
        let add = SchemaChange::Add {
            name: "city".into(),
            column_type: parsed("option(string)"),
            default: Some(Value::Text("Lund".into())),
        };
        rows.change(&[add]).expect("a change");
        rows.change(&[SchemaChange::Drop { name: "name".into() }]).expect("a change");
        let key = vec![Column::new("id", parsed("u64"))];
        TableSchema { key, rows, expires: Some(1) }
    }

    #[test]
    fn it_comes_back() {
        assert_eq!(Blob::decode(&some().encode()), Some(some()));
        assert_eq!(Blob::decode(&Blob::default().encode()), Some(Blob::default()));
    }

    #[test]
    fn the_version_before_is_read() {
        // The next number, then one table, with one index of one part.
        let mut bytes =
            [&9u32.to_le_bytes()[..], &1u32.to_le_bytes(), &4u32.to_le_bytes()].concat();
        put_blob(&mut bytes, b"old");
        bytes.extend_from_slice(&[0; 9]);
        bytes.push(1);
        put_count(&mut bytes, 1);
        let part_type = PartType::Unsigned;
        let (source, descending) = (Source::Value, false);
        let part = KeyPart { source, offset: 0, length: 8, part_type, descending };
        let index = SecondarySpec { name: "i".into(), parts: vec![part].into(), unique: true };
        put_index(&mut bytes, &index);
        let spec = TableSpec::ordered("old").present_only().with_index(index);
        let spec = TableSpec { layout: TableLayout::Unknown, ..spec };
        let blob = Blob { next: 9, tables: vec![(4, spec)], ..Blob::default() };
        assert_eq!(Blob::decode(&bytes), Some(blob.clone()));
        assert_eq!(Blob::decode(&blob.encode()), Some(blob), "and stays what it is");
        bytes.splice(0..0, (MARK | VERSION).to_le_bytes());
        assert_eq!(Blob::decode(&bytes), None, "now columns are missing");
        bytes[0] += 1;
        assert_eq!(Blob::decode(&bytes), None, "a version to come");
    }

    #[test]
    fn what_is_cut_short_or_out_of_order_is_none() {
        let bytes = some().encode();
        for length in 0..bytes.len() {
            assert_eq!(Blob::decode(&bytes[..length]), None, "{length}");
        }
        let mut twisted = some();
        twisted.tables.reverse();
        assert_eq!(Blob::decode(&twisted.encode()), None);
        let small = Blob { next: 5, ..some() };
        assert_eq!(Blob::decode(&small.encode()), None);
        let large = Blob { next: TABLE_NUMBERS_MAX + 1, ..some() };
        assert_eq!(Blob::decode(&large.encode()), None);
        let mut within = some();
        within.tables[1].0 = 1;
        assert_eq!(Blob::decode(&within.encode()), None, "the number of the first one's index");
        let mut namesakes = some();
        namesakes.tables[1].1.name = "one".into();
        assert_eq!(Blob::decode(&namesakes.encode()), None);
    }
}
