//! Rows and keys of tables as values, and back.

use crate::catalog::{Column, Place, Table};
use crate::codec::shown;
use crate::datum::{Datum, OwnedDatum};
use crate::error::{Result, SqlError};
use crate::expr::{compare, padded};
use crate::numeric::Numeric;
use crate::types::Type;
use chiliad_api::{Column as LayoutColumn, TableLayout, TableSpec};
use chiliad_row::key::{KeyPart as _, Source};
use chiliad_row::{
    BadRow, BadValue, ColumnType, Head, RowFormat, VERSION_BYTES, Value, read_key, split,
    with_version, write_key,
};
use std::borrow::Cow;

/// The length that most keys do not exceed.
pub(crate) const KEY_BYTES: usize = 16;
/// Bytes for which there is room in a row besides those of fixed size, to begin with.
const ROOM: usize = 64;
/// Microseconds and nanoseconds.
const MICRO: u32 = 1_000;
const SECOND: i64 = 1_000_000;

/// How a table's keys and rows are read and written.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    format: RowFormat,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Rows name the version of the schema; this one is written.
    Versioned(u16),
    /// Rows are columns of fixed size, of so many bytes, and one of variable size without its end, if there is one.
    Unversioned { fixed: usize, open: bool },
    /// Keys and rows are bytes.
    Bytes,
}

#[cold]
fn corrupt(bad: impl core::fmt::Display) -> SqlError {
    SqlError::data_corrupted(format!("stored bytes are none of the table: {bad}"))
}

impl From<BadRow> for SqlError {
    #[cold]
    fn from(bad: BadRow) -> Self {
        corrupt(bad)
    }
}

impl Storage {
    pub fn new(spec: &TableSpec, row: &[LayoutColumn]) -> Self {
        let row_types: Vec<ColumnType> = row.iter().map(|it| it.column_type.clone()).collect();
        let form = match &spec.layout {
            TableLayout::Schema(schema) => Form::Versioned(schema.rows.version()),
            TableLayout::Columns(_) => Form::Unversioned {
                fixed: row_types.iter().filter_map(ColumnType::value_bytes).sum(),
                open: row_types.last().is_some_and(|last| last.value_bytes().is_none()),
            },
            TableLayout::Bytes | TableLayout::Unknown => Form::Bytes,
        };
        Self { format: RowFormat::of(&row_types), form }
    }

    /// Puts a row in place of what `out` holds: `write` appends the cell of each place in turn, and returns whether there is
    /// a value.
    fn write(
        &self,
        out: &mut Vec<u8>,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> Result<bool>,
    ) -> Result<()> {
        out.clear();
        out.reserve(VERSION_BYTES + self.format.head().bytes() + ROOM);
        if self.form == Form::Bytes {
            return (0..self.format.columns()).try_for_each(|place| write(place, out).map(|_| ()));
        }
        if let Form::Versioned(version) = self.form {
            with_version(version, out);
        }
        let mut body = self.format.begin(out);
        for place in 0..self.format.columns() {
            body.cell(|out| write(place, out))?;
        }
        body.end();
        self.end(out);
        Ok(())
    }

    /// The row in `out` has its version and its body: rows of one form leave out an end that their length tells.
    fn end(&self, out: &mut Vec<u8>) {
        if let Form::Unversioned { fixed, open: true } = self.form {
            out.drain(fixed..fixed + Head::END_BYTES);
        }
    }
}

impl Table {
    /// The body of a row in the current version.
    pub(crate) fn body<'r>(&self, row: &'r [u8]) -> Result<Cow<'r, [u8]>> {
        match self.storage.form {
            Form::Bytes | Form::Unversioned { open: false, .. } => Ok(Cow::Borrowed(row)),
            Form::Unversioned { fixed, open: true } => {
                let (head, tail) =
                    row.split_at_checked(fixed).ok_or_else(|| corrupt("cut short"))?;
                let end = u32::try_from(tail.len()).unwrap_or(u32::MAX);
                Ok(Cow::Owned([head, &end.to_le_bytes(), tail].concat()))
            }
            Form::Versioned(version) => {
                let (found, body) = split(row).map_err(corrupt)?;
                if found == version {
                    return Ok(Cow::Borrowed(body));
                }
                let TableLayout::Schema(schema) = &self.spec.layout else {
                    return Err(corrupt("no schema"));
                };
                schema.rows.read(row).map_err(|bad| match bad {
                    // Written by a version that is newer than the catalog that was looked at.
                    BadRow::UnknownVersion(_) => {
                        SqlError::serialization_failure("the table's definition has changed")
                    }
                    bad => corrupt(bad),
                })
            }
        }
    }

    /// Appends the values of a row's columns, nulls for all but these.
    pub(crate) fn decode<'r>(
        &self,
        key: &'r [u8],
        body: &'r [u8],
        columns: impl IntoIterator<Item = usize>,
        out: &mut Vec<Datum<'r>>,
    ) -> Result<()> {
        let start = out.len();
        out.resize_with(start + self.columns.len(), Datum::default);
        self.decode_into(key, body, columns, out.get_mut(start..).unwrap_or_default(), |it| it)
    }

    /// Puts the values of these columns of a row into their slots, each as `own` makes it, and maybe those of other columns
    /// of the key.
    pub(crate) fn decode_into<'r, 's>(
        &self,
        key: &'r [u8],
        body: &'r [u8],
        columns: impl IntoIterator<Item = usize>,
        slots: &mut [Datum<'s>],
        own: impl Fn(Datum<'r>) -> Datum<'s>,
    ) -> Result<()> {
        let mut parts = 0;
        for at in columns {
            let column = &self.columns[at];
            match column.place {
                Place::Row(place) => slots[at] = own(self.row_value(column, body, place)?),
                Place::Key(part) => parts = parts.max(part + 1),
            }
        }
        self.decode_key(key, parts, slots, own)
    }

    /// A key as an error tells of it: `(a, b)=(1, x)`; `None` for bytes that are no key.
    pub(crate) fn key_shown(&self, key: &[u8]) -> Option<String> {
        let mut slots = vec![Datum::Null; self.columns.len()];
        self.decode_key(key, self.key.len(), &mut slots, |it| it).ok()?;
        Some(self.key_of_row_shown(&slots))
    }

    /// As [`Table::key_shown`], of a row of these values.
    pub(crate) fn key_of_row_shown(&self, row: &[Datum<'_>]) -> String {
        let columns = self.key.iter().map(|&at| &self.columns[at]);
        let names: Vec<&str> = columns.map(|it| it.name.as_str()).collect();
        let values = self.key.iter().map(|&at| shown(self.columns[at].sql_type, &row[at]));
        let values: Vec<String> = values.collect();
        format!("({})=({})", names.join(", "), values.join(", "))
    }

    /// The value of one column of a row.
    pub(crate) fn value<'r>(&self, key: &'r [u8], body: &'r [u8], at: usize) -> Result<Datum<'r>> {
        let column = &self.columns[at];
        match column.place {
            Place::Row(place) => self.row_value(column, body, place),
            Place::Key(part) => {
                let mut slots = vec![Datum::Null; self.columns.len()];
                self.decode_key(key, part + 1, &mut slots, |it| it)?;
                Ok(core::mem::take(&mut slots[at]))
            }
        }
    }

    /// The value of a column that lies at this place of a row.
    #[inline]
    fn row_value<'r>(&self, column: &Column, body: &'r [u8], place: usize) -> Result<Datum<'r>> {
        if self.storage.form == Form::Bytes {
            return Ok(Datum::Bytes(Cow::Borrowed(body)));
        }
        decode_cell(column, self.storage.format.cell(body, place)?)
    }

    /// Puts the values of so many columns of the key, from its first, into their slots, each as `own` makes it: a part can be
    /// read only after those before it.
    fn decode_key<'r, 's>(
        &self,
        key: &'r [u8],
        parts: usize,
        slots: &mut [Datum<'s>],
        own: impl Fn(Datum<'r>) -> Datum<'s>,
    ) -> Result<()> {
        let columns = self.key.get(..parts).unwrap_or_default();
        if self.storage.form == Form::Bytes {
            if let &[at] = columns {
                slots[at] = own(Datum::Bytes(Cow::Borrowed(key)));
            }
            return Ok(());
        }
        let mut source = Source::new(key);
        for &at in columns {
            let column = &self.columns[at];
            slots[at] = match column.column_type {
                ColumnType::Signed(32) => {
                    Datum::Int(i32::read(&mut source).map_err(corrupt)?.into())
                }
                ColumnType::Signed(64) => Datum::Int(i64::read(&mut source).map_err(corrupt)?),
                _ => {
                    let value = read_key(&column.column_type, &mut source).map_err(corrupt)?;
                    of_value(column, value)?
                }
            };
        }
        Ok(())
    }

    /// The key of a row of these values, in the columns' order; `hidden` is that of a row without a primary key.
    pub(crate) fn key_of(&self, row: &[Datum<'_>], hidden: Option<i64>) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        self.append_key(row, hidden, &mut key)?;
        Ok(key)
    }

    /// As [`Table::key_of`], at the end of `key`.
    pub(crate) fn append_key(
        &self,
        row: &[Datum<'_>],
        hidden: Option<i64>,
        key: &mut Vec<u8>,
    ) -> Result<()> {
        key.reserve(KEY_BYTES);
        match hidden {
            Some(number) => append_row_number(number, key),
            None => {
                self.encode_key(key, |at| Ok(row.get(at).map_or(Datum::Null, Datum::borrowed)))?;
            }
        }
        Ok(())
    }

    /// Appends the key of a row with these values of columns, which are asked for by their places; nothing for a table
    /// without a primary key.
    pub(crate) fn encode_key<'v>(
        &self,
        out: &mut Vec<u8>,
        mut value: impl FnMut(usize) -> Result<Datum<'v>>,
    ) -> Result<()> {
        for &at in &self.key {
            let (column, datum) = (&self.columns[at], value(at)?);
            match &datum {
                Datum::Bytes(bytes) if self.storage.form == Form::Bytes => {
                    out.extend_from_slice(bytes);
                }
                _ if self.storage.form == Form::Bytes => {}
                datum if append_key(column, datum, out)? => {}
                datum => return Err(unfit(column, datum)),
            }
        }
        Ok(())
    }

    /// Puts the bytes of a row of these values in place of what `out` holds.
    pub(crate) fn encode(&self, row: &[Datum<'_>], out: &mut Vec<u8>) -> Result<()> {
        self.encode_each(out, |at, column, out| {
            encode_cell(column, row.get(at).unwrap_or(&Datum::Null), out)
        })
    }

    /// As [`Table::encode`], where all but these columns, none of them of the key, are as in `body`: the values of others
    /// need not be there.
    pub(crate) fn encode_changed(
        &self,
        body: &[u8],
        row: &[Datum<'_>],
        is_changed: impl Fn(usize) -> bool,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        if self.storage.form == Form::Bytes {
            return self.encode_each(out, |at, column, out| match is_changed(at) {
                true => encode_cell(column, &row[at], out),
                false => {
                    out.extend_from_slice(body);
                    Ok(true)
                }
            });
        }
        out.clear();
        out.reserve(VERSION_BYTES + body.len() + ROOM);
        if let Form::Versioned(version) = self.storage.form {
            with_version(version, out);
        }
        let start = out.len();
        out.extend_from_slice(body);
        for (at, column) in self.columns.iter().enumerate() {
            if let Place::Row(place) = column.place
                && is_changed(at)
            {
                let encode = |out: &mut Vec<u8>| encode_cell(column, &row[at], out);
                self.storage.format.replace(out, start, place, encode)?;
            }
        }
        self.storage.end(out);
        Ok(())
    }

    /// Puts the bytes of a row in place of what `out` holds: `write` appends those of a column, which it gets with its place
    /// among the columns, and returns whether there is a value.
    pub(crate) fn encode_each(
        &self,
        out: &mut Vec<u8>,
        mut write: impl FnMut(usize, &Column, &mut Vec<u8>) -> Result<bool>,
    ) -> Result<()> {
        self.storage.write(out, |place, out| {
            let at = self.stored.get(place).copied().flatten();
            match at.and_then(|at| Some((at, self.columns.get(at)?))) {
                Some((at, column)) => write(at, column, out),
                None => Ok(false),
            }
        })
    }

    /// For each cell of a row of this table the cell of `before` that has the same bytes, if there is one for all of them.
    /// `places` are those of this table's columns in `before`.
    pub(crate) fn cells_of(&self, before: &Self, places: &[usize]) -> Option<Vec<usize>> {
        if before.storage.form == Form::Bytes {
            // Its row is no body with cells.
            return None;
        }
        let mut cells = vec![None; self.storage.format.columns()];
        for (column, &at) in self.columns.iter().zip(places) {
            let Place::Row(place) = column.place else { continue };
            let old = &before.columns[at];
            if let Place::Row(from) = old.place
                && old.column_type == column.column_type
                && (old.sql_type, old.modifier) == (column.sql_type, column.modifier)
            {
                cells[place] = Some(from);
            }
        }
        cells.into_iter().collect()
    }

    /// Puts the bytes of a row in place of what `out` holds: of these cells of a row of `before`, as
    /// [`Table::cells_of`] has found them.
    pub(crate) fn take_cells(
        &self,
        before: &Self,
        body: &[u8],
        cells: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        self.storage.write(out, |place, out| {
            let cell = match cells.get(place) {
                Some(&cell) => before.storage.format.cell(body, cell)?,
                None => None,
            };
            out.extend_from_slice(cell.unwrap_or_default());
            Ok(cell.is_some())
        })
    }

    /// The key and the bytes of a row of these values, one for each column in its order, for programs that load a table
    /// of which SQL has declared the primary key.
    ///
    /// # Errors
    /// 22003 and its kin for a value that its column does not hold; 23502 for a null where there must be a value.
    pub fn stored(&self, row: &[Datum<'_>]) -> Result<(Vec<u8>, Vec<u8>)> {
        self.check_nulls(row)?;
        let mut bytes = Vec::new();
        self.encode(row, &mut bytes)?;
        Ok((self.key_of(row, None)?, bytes))
    }

    /// Refuses a row that lacks a value where there must be one.
    pub(crate) fn check_nulls(&self, row: &[Datum<'_>]) -> Result<()> {
        for (column, datum) in self.columns.iter().zip(row) {
            if datum.is_null() && !column.is_nullable {
                return Err(SqlError::not_null_violation(format!(
                    "null value in column \"{}\" of relation \"{}\" violates not-null constraint",
                    column.name, self.name
                ))
                .with_detail(self.failing(row)));
            }
        }
        Ok(())
    }

    /// The error for a row that does not meet a condition.
    #[cold]
    pub(crate) fn violates(&self, check: &str, row: &[Datum<'_>]) -> SqlError {
        SqlError::check_violation(format!(
            "new row for relation \"{}\" violates check constraint \"{check}\"",
            self.name
        ))
        .with_detail(self.failing(row))
    }

    /// The row in an error.
    fn failing(&self, row: &[Datum<'_>]) -> String {
        let values = self.columns.iter().zip(row).map(|(column, datum)| match datum {
            Datum::Null => "null".into(),
            datum => shown(column.sql_type, datum),
        });
        format!("Failing row contains ({}).", values.collect::<Vec<String>>().join(", "))
    }

    /// Appends a part of the key of an index (`None`: the primary key) for a look-up; `false`: no row has such a value.
    pub(crate) fn append_part(
        &self,
        index: Option<usize>,
        part: usize,
        datum: &Datum<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        match index {
            None if self.storage.form == Form::Bytes => {
                if let Datum::Bytes(bytes) = datum {
                    out.extend_from_slice(bytes);
                }
                Ok(!datum.is_null())
            }
            None => append_key(&self.columns[self.key[part]], datum, out),
            Some(index) => {
                let (at, descending) = self.indexes[index].parts[part];
                let start = out.len();
                let fits = append_key(&self.columns[at], datum, out)?;
                if descending {
                    out[start..].iter_mut().for_each(|byte| *byte = !*byte);
                }
                Ok(fits)
            }
        }
    }

    /// Whether a part of an index goes from great to small.
    pub(crate) fn part_descends(&self, index: Option<usize>, part: usize) -> bool {
        match index {
            None => descends(&self.columns[self.key[part]].column_type),
            Some(index) => self.indexes[index].parts[part].1,
        }
    }

    /// The column of a part of an index.
    pub(crate) fn part_column(&self, index: Option<usize>, part: usize) -> Option<usize> {
        match index {
            None => self.key.get(part).copied(),
            Some(index) => self.indexes[index].parts.get(part).map(|(at, _)| *at),
        }
    }
}

fn descends(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Descending(of) => !descends(of),
        ColumnType::Optional(of) => descends(of),
        _ => false,
    }
}

/// A type without what says that it may have no value, or that it is in reverse order.
fn bare(column_type: &ColumnType) -> &ColumnType {
    match column_type {
        ColumnType::Optional(of) | ColumnType::Descending(of) => bare(of),
        other => other,
    }
}

/// Appends the key of a row without a primary key.
pub(crate) fn append_row_number(number: i64, out: &mut Vec<u8>) {
    number.cast_unsigned().write(out);
}

/// Appends a value as a part of a key; `false`: the type has no such value.
fn append_key(column: &Column, datum: &Datum<'_>, out: &mut Vec<u8>) -> Result<bool> {
    let column_type = &column.column_type;
    // Most keys are whole numbers, which need no cell between.
    match (column_type, datum) {
        (ColumnType::Signed(32), Datum::Int(value)) => {
            return Ok(i32::try_from(*value).map(|value| value.write(out)).is_ok());
        }
        (ColumnType::Signed(64), Datum::Int(value)) => {
            value.write(out);
            return Ok(true);
        }
        _ => {}
    }
    let trimmed = match datum {
        Datum::Text(text) => Datum::text(stored(column, text)),
        datum => datum.borrowed(),
    };
    let Some(value) = to_value(column_type, &trimmed) else { return Ok(false) };
    let Ok(cell) = value.encode_cell(column_type) else { return Ok(false) };
    write_key(column_type, cell.as_deref(), out).map_err(corrupt)?;
    Ok(true)
}

/// The value of a column that has these bytes, or none.
fn decode_cell<'r>(column: &Column, cell: Option<&'r [u8]>) -> Result<Datum<'r>> {
    let Some(cell) = cell else { return Ok(Datum::Null) };
    let of = column.column_type.of_cell();
    let little = |cell: &[u8]| {
        let mut bytes = [if cell.last().is_some_and(|it| it & 0x80 != 0) { 0xff } else { 0 }; 8];
        bytes[..cell.len()].copy_from_slice(cell);
        i64::from_le_bytes(bytes)
    };
    let text = |bytes: &'r [u8]| core::str::from_utf8(bytes).map_err(corrupt);
    Ok(match of {
        ColumnType::Signed(8..=64) => Datum::Int(little(cell)),
        ColumnType::String => Datum::Text(pad(column, text(cell)?.into())),
        ColumnType::Json => Datum::Text(text(cell)?.into()),
        ColumnType::Text(_) => {
            let (length, rest) = cell.split_first().ok_or_else(|| corrupt("no length"))?;
            let bytes = rest.get(..usize::from(*length)).ok_or_else(|| corrupt("a length"))?;
            Datum::Text(pad(column, text(bytes)?.into()))
        }
        ColumnType::Blob | ColumnType::Bytes(_) => Datum::Bytes(cell.into()),
        ColumnType::Bool => Datum::Bool(cell == [1]),
        _ => {
            let value = Value::decode_cell(&column.column_type, Some(cell)).map_err(corrupt)?;
            return of_value(column, value);
        }
    })
}

/// A text with the blanks of its type, which are not stored.
fn pad<'r>(column: &Column, text: Cow<'r, str>) -> Cow<'r, str> {
    match usize::try_from(column.modifier - 4) {
        Ok(length) if column.sql_type == Type::Bpchar => padded(text, length),
        _ => text,
    }
}

fn of_value(column: &Column, value: Value) -> Result<OwnedDatum> {
    let int = |value: i128| -> Result<OwnedDatum> {
        Ok(match column.sql_type {
            Type::Numeric => Datum::Numeric(Numeric::new(value, 0)?),
            _ => Datum::Int(i64::try_from(value).map_err(corrupt)?),
        })
    };
    Ok(match value {
        Value::Null => Datum::Null,
        Value::Bool(value) => Datum::Bool(value),
        Value::Unsigned(value) => int(i128::try_from(value)
            .map_err(|_| SqlError::numeric_out_of_range("numeric out of range"))?)?,
        Value::Signed(value) => int(value)?,
        Value::Float(value) => Datum::Float(value),
        Value::Decimal { mantissa, scale } => {
            Datum::Numeric(Numeric { mantissa, scale }.fit(column.modifier)?)
        }
        Value::Char(letter) => Datum::text(letter.to_string()),
        Value::Text(text) => Datum::Text(pad(column, text.into())),
        Value::Bytes(bytes) if column.sql_type == Type::Bytea => Datum::bytes(bytes),
        Value::Instant { seconds, nanoseconds } => Datum::Timestamp(match seconds {
            i64::MIN | i64::MAX => seconds,
            seconds => {
                let below = i64::from(nanoseconds / MICRO);
                seconds.saturating_mul(SECOND).saturating_add(below)
            }
        }),
        Value::Date(days) => Datum::Date(days),
        Value::Time(nanoseconds) => {
            Datum::Time(i64::try_from(nanoseconds / u64::from(MICRO)).unwrap_or(0))
        }
        Value::Uuid(bytes) => Datum::Uuid(bytes),
        Value::Ip(address) => Datum::text(address.to_string()),
        value => {
            let mut json = String::new();
            value.write_json(&column.column_type, &mut json);
            Datum::text(crate::codec::canonical(&json).unwrap_or(json))
        }
    })
}

/// The value as one of a column's type; `None`: it has no such value.
fn to_value(column_type: &ColumnType, datum: &Datum<'_>) -> Option<Value> {
    let int = || match datum {
        Datum::Int(value) => Some(i128::from(*value)),
        Datum::Numeric(value) => {
            let whole = value.trimmed();
            (whole.scale == 0).then_some(whole.mantissa)
        }
        _ => None,
    };
    if datum.is_null() {
        return column_type.is_nullable().then_some(Value::Null);
    }
    let value = match (bare(column_type), datum) {
        (ColumnType::Bool, Datum::Bool(value)) => Value::Bool(*value),
        (ColumnType::Signed(_), _) => Value::Signed(int()?),
        (ColumnType::Unsigned(_), _) => Value::Unsigned(u128::try_from(int()?).ok()?),
        // A number that is none has one form, and zero one sign, so that equal values have one key.
        (ColumnType::Float(_), Datum::Float(value)) if value.is_nan() => Value::Float(f64::NAN),
        (ColumnType::Float(_), Datum::Float(value)) => Value::Float(value + 0.0),
        (ColumnType::Decimal, Datum::Numeric(value)) => {
            Value::Decimal { mantissa: value.mantissa, scale: value.scale }
        }
        (ColumnType::Char, Datum::Text(text)) => {
            let mut letters = text.chars();
            Value::Char(letters.next().filter(|_| letters.next().is_none())?)
        }
        (ColumnType::Text(_) | ColumnType::String | ColumnType::Json, Datum::Text(text)) => {
            Value::Text(text.clone().into_owned())
        }
        (ColumnType::Bytes(_) | ColumnType::Blob, Datum::Bytes(bytes)) => {
            Value::Bytes(bytes.to_vec())
        }
        (ColumnType::Instant, Datum::Timestamp(time)) => match *time {
            time @ (i64::MIN | i64::MAX) => Value::Instant { seconds: time, nanoseconds: 0 },
            time => {
                let below = u32::try_from(time.rem_euclid(SECOND)).unwrap_or(0);
                Value::Instant { seconds: time.div_euclid(SECOND), nanoseconds: below * MICRO }
            }
        },
        (ColumnType::Date, Datum::Date(days)) => Value::Date(*days),
        (ColumnType::Time, Datum::Time(time)) => {
            Value::Time(u64::try_from(*time).ok()?.checked_mul(u64::from(MICRO))?)
        }
        (ColumnType::Uuid, Datum::Uuid(bytes)) => Value::Uuid(*bytes),
        (ColumnType::Ip, Datum::Text(text)) => Value::Ip(text.parse().ok()?),
        _ => return None,
    };
    Some(value)
}

/// Appends the bytes of a column of this value; `false`: it has none.
pub(crate) fn encode_cell(column: &Column, datum: &Datum<'_>, out: &mut Vec<u8>) -> Result<bool> {
    match (column.column_type.of_cell(), datum) {
        (_, Datum::Null) if column.is_nullable => return Ok(false),
        (ColumnType::String, Datum::Text(text)) => {
            out.extend_from_slice(stored(column, text).as_bytes());
        }
        (ColumnType::Blob, Datum::Bytes(bytes)) => out.extend_from_slice(bytes),
        (ColumnType::Signed(64), Datum::Int(value)) => out.extend_from_slice(&value.to_le_bytes()),
        (ColumnType::Signed(32), Datum::Int(value)) => {
            let value = i32::try_from(*value).map_err(|_| unfit(column, datum))?;
            out.extend_from_slice(&value.to_le_bytes());
        }
        _ => {
            let value = to_value(&column.column_type, datum).ok_or_else(|| unfit(column, datum))?;
            let appended = value.append_cell(&column.column_type, out);
            return appended.map_err(|_: BadValue| unfit(column, datum));
        }
    }
    Ok(true)
}

/// A text without the blanks at its end that do not count.
fn stored<'t>(column: &Column, text: &'t str) -> &'t str {
    if column.sql_type == Type::Bpchar { text.trim_end_matches(' ') } else { text }
}

/// The column does not hold the value.
#[cold]
fn unfit(column: &Column, datum: &Datum<'_>) -> SqlError {
    let name = &column.name;
    let of = bare(&column.column_type);
    match (of, datum) {
        (_, Datum::Null) => SqlError::not_null_violation(format!(
            "null value in column \"{name}\" violates not-null constraint"
        )),
        (ColumnType::Signed(_) | ColumnType::Unsigned(_), _) => SqlError::numeric_out_of_range(
            format!("value of column \"{name}\" is out of range for its type {of}"),
        ),
        (ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::Char, _) => {
            SqlError::string_too_long(format!(
                "value of column \"{name}\" does not fit its type {of}"
            ))
        }
        (ColumnType::Ip, _) => {
            SqlError::invalid_text(format!("value of column \"{name}\" is no address"))
        }
        _ => SqlError::feature_not_supported(format!(
            "column \"{name}\" has the type {of}, which SQL does not write"
        )),
    }
}

/// Whether two values are those of one key.
pub(crate) fn same(one: &Datum<'_>, two: &Datum<'_>) -> bool {
    compare(one, two).is_some_and(core::cmp::Ordering::is_eq)
}
