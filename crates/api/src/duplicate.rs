//! A key that is taken: which, and in which table.

use crate::layout::Column;
use chiliad_row::key::Source;
use chiliad_row::{BadValue, ColumnType, Value, read_key};
use core::fmt;

/// As much of a key as is shown, in bytes of its text.
const SHOWN_MAX: usize = 200;

/// An insertion found its key present.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DuplicateKey {
    /// The table.
    pub table: String,
    /// The key, encoded.
    pub key: Vec<u8>,
    /// The columns that it is encoded from, where they are known.
    columns: Option<fn() -> Vec<Column>>,
}

impl DuplicateKey {
    /// A key of bytes.
    #[must_use]
    pub fn new(table: &str, key: &[u8]) -> Self {
        Self { table: table.into(), key: key.into(), columns: None }
    }

    /// This key, to be shown as these columns.
    #[must_use]
    pub fn of_columns(mut self, columns: fn() -> Vec<Column>) -> Self {
        self.columns = Some(columns);
        self
    }

    pub(crate) fn shown(&self) -> String {
        let columns = self.columns.map(|columns| columns());
        let values = columns.and_then(|columns| show_all(&columns, &self.key).ok());
        let mut shown = values.unwrap_or_else(|| format!("b\"{}\"", self.key.escape_ascii()));
        if shown.len() > SHOWN_MAX {
            shown.truncate(shown.floor_char_boundary(SHOWN_MAX));
            shown.push_str("...");
        }
        shown
    }
}

/// Equal keys of one table are equal, however they are shown.
impl PartialEq for DuplicateKey {
    fn eq(&self, other: &Self) -> bool {
        (&self.table, &self.key) == (&other.table, &other.key)
    }
}

impl Eq for DuplicateKey {}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the table {} has the key {} already", self.table, self.shown())
    }
}

/// The values of a key's columns: one by itself, several in parentheses.
fn show_all(columns: &[Column], key: &[u8]) -> Result<String, BadValue> {
    let mut source = Source::new(key);
    let show = |column: &Column| {
        let value = read_key(&column.column_type, &mut source)?;
        Ok(show(&column.column_type, &value))
    };
    let values = columns.iter().map(show).collect::<Result<Vec<_>, BadValue>>()?;
    match &values[..] {
        _ if !source.is_empty() => Err(BadValue::new("bytes after a key")),
        [one] => Ok(one.clone()),
        several => Ok(format!("({})", several.join(", "))),
    }
}

/// A value as a program writes it.
fn show(column_type: &ColumnType, value: &Value) -> String {
    match (column_type, value) {
        (ColumnType::Optional(_), Value::Null) => "None".into(),
        (ColumnType::Optional(of), value) => format!("Some({})", show(of, value)),
        (ColumnType::Descending(of), value) => show(of, value),
        (_, Value::Text(text)) => format!("{text:?}"),
        (_, Value::Bytes(bytes)) => bytes_text(bytes),
        (_, value) => value.to_string(),
    }
}

fn bytes_text(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_row::key::{Desc, encode_into};

    fn columns(types: &str) -> Vec<Column> {
        let column = |text: &str| Column::new("c", text.parse().expect("a type"));
        types.split(", ").map(column).collect()
    }

    #[test]
    fn a_key_is_shown_as_it_was_written() {
        let mut key = Vec::new();
        let parts = (9_u32, -2_i64, "a\0\"b\"", Desc(Some(true)), *b"xy", Desc("z"), None::<u8>);
        encode_into(&parts, &mut key);
        let types = "u32, i64, text(9), desc(option(bool)), bytes(2), desc(string), option(u8)";
        let shown = show_all(&columns(types), &key);
        assert_eq!(shown.as_deref(), Ok(r#"(9, -2, "a\0\"b\"", Some(true), b"xy", "z", None)"#));
        assert_eq!(show_all(&columns("blob"), b"a\x01\x01\0"), Ok("b\"a\\x00\"".into()));
    }

    #[test]
    fn what_is_not_of_the_columns_is_shown_as_bytes() {
        let shown = |columns: fn() -> Vec<Column>, key: &[u8]| {
            DuplicateKey::new("t", key).of_columns(columns).to_string()
        };
        let expected = "the table t has the key b\"\\x00\\x07\" already";
        assert_eq!(shown(|| columns("u32"), &[0, 7]), expected);
        assert_eq!(shown(|| columns("u8"), &[0, 7]), expected);
        assert_eq!(shown(|| columns("custom(sku)"), &[0, 7]), expected);
        assert_eq!(shown(|| columns("u16"), &[0, 7]), "the table t has the key 7 already");
        let long = DuplicateKey::new("t", &[b'a'; 4096]).to_string();
        assert!(long.len() < 300 && long.contains("aaa..."), "{long}");
    }
}
