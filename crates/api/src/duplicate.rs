//! A key that is taken: which, and in which table.

use crate::layout::{Column, ColumnType};
use chiliad_storage::key::{BadKey, KeyPart, Source};
use core::fmt;

/// As much of a key as is shown, in bytes of its text.
const SHOWN_MAX: usize = 200;

/// An insertion found its key present.
#[derive(Clone, Debug)]
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

    fn shown(&self) -> String {
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
fn show_all(columns: &[Column], key: &[u8]) -> Result<String, BadKey> {
    let mut source = Source::new(key);
    let values = columns.iter().map(|column| show(&column.column_type, &mut source));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    match &values[..] {
        _ if !source.is_empty() => Err(BadKey),
        [one] => Ok(one.clone()),
        several => Ok(format!("({})", several.join(", "))),
    }
}

fn show(column_type: &ColumnType, source: &mut Source<'_>) -> Result<String, BadKey> {
    fn of<T: KeyPart<Decoded: ToString> + ?Sized>(
        source: &mut Source<'_>,
    ) -> Result<String, BadKey> {
        T::read(source).map(|value| value.to_string())
    }
    match column_type {
        ColumnType::Bool => of::<bool>(source),
        ColumnType::Unsigned(8) => of::<u8>(source),
        ColumnType::Unsigned(16) => of::<u16>(source),
        ColumnType::Unsigned(32) => of::<u32>(source),
        ColumnType::Unsigned(64) => of::<u64>(source),
        ColumnType::Unsigned(128) => of::<u128>(source),
        ColumnType::Signed(8) => of::<i8>(source),
        ColumnType::Signed(16) => of::<i16>(source),
        ColumnType::Signed(32) => of::<i32>(source),
        ColumnType::Signed(64) => of::<i64>(source),
        ColumnType::Signed(128) => of::<i128>(source),
        ColumnType::Text(_) | ColumnType::String => {
            <str as KeyPart>::read(source).map(|text| format!("{text:?}"))
        }
        ColumnType::Blob => Ok(bytes_text(&<[u8] as KeyPart>::read(source)?)),
        ColumnType::Bytes(length) => {
            let bytes = (0..*length).map(|_| source.take::<1>().map(|[byte]| byte));
            Ok(bytes_text(&bytes.collect::<Result<Vec<u8>, _>>()?))
        }
        ColumnType::Optional(of) => match bool::read(source)? {
            true => Ok(format!("Some({})", show(of, source)?)),
            false => Ok("None".into()),
        },
        ColumnType::Descending(of) => source.complemented(|source| show(of, source)),
        ColumnType::Float(_)
        | ColumnType::Unsigned(_)
        | ColumnType::Signed(_)
        | ColumnType::Custom { .. } => Err(BadKey),
    }
}

fn bytes_text(bytes: &[u8]) -> String {
    format!("b\"{}\"", bytes.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_storage::key::{Desc, encode_into};

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
