//! The meaning of the bytes of keys and rows: the columns of a table, as data.
//!
//! The engine orders bytes and stores bytes. The layout says what they were written as, so that a table
//! can be opened again only as what it is; schemes and the log know nothing of it.

use core::fmt;
use core::str::FromStr;

/// `option(..)` and `desc(..)` around each other, at most.
pub(crate) const WRAPS_MAX: usize = 8;

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

/// The type of the bytes of a column. Its text form, by which it is stored, is that of the variants'
/// examples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnType {
    /// `bool`.
    Bool,
    /// `u8`, `u16`, `u32`, `u64`, `u128`: an unsigned integer of so many bits.
    Unsigned(u16),
    /// `i8`, `i16`, `i32`, `i64`, `i128`: a signed one.
    Signed(u16),
    /// `f32`, `f64`: a floating-point number.
    Float(u16),
    /// `bytes(16)`: as many bytes, always.
    Bytes(u32),
    /// `text(16)`: UTF-8 of at most as many bytes.
    Text(u32),
    /// `blob`: bytes, as many as there are.
    Blob,
    /// `string`: UTF-8 of any length.
    String,
    /// `option(u32)`: that, or nothing.
    Optional(Box<Self>),
    /// `desc(u32)`: in reverse order.
    Descending(Box<Self>),
    /// `custom(money)`, `custom(money, 8)`: a type of the application's own, and its bytes where they are
    /// always as many.
    Custom {
        /// Its name.
        name: String,
        /// How many bytes it has.
        bytes: Option<u32>,
    },
}

/// The columns of a table, as far as the catalog knows them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TableLayout {
    /// The table holds bytes under bytes.
    #[default]
    Bytes,
    /// It has these columns.
    Columns(Layout),
    /// It was created when catalogs said nothing of columns: the first opening as a table of
    /// columns declares them ([`crate::Store::adopt_layout`]).
    Unknown,
}

/// Whether a name may have this letter.
pub(crate) fn is_of_name(letter: char) -> bool {
    !letter.is_whitespace() && !letter.is_control() && !matches!(letter, ',' | '(' | ')')
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

impl ColumnType {
    /// A type of the application's own, whose values have so many bytes, if they always do.
    #[must_use]
    pub fn custom(name: &str, bytes: Option<u32>) -> Self {
        Self::Custom { name: name.into(), bytes }
    }

    /// This type as a part of a key that may be missing.
    #[must_use]
    pub fn optional(self) -> Self {
        Self::Optional(Box::new(self))
    }

    /// This type as a part of a key in reverse order.
    #[must_use]
    pub fn descending(self) -> Self {
        Self::Descending(Box::new(self))
    }

    /// Bytes that it takes in a row; `None` where that depends on the value.
    #[must_use]
    pub fn row_bytes(&self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::Unsigned(bits) | Self::Signed(bits) | Self::Float(bits) => {
                Some(*bits as usize / 8)
            }
            Self::Bytes(length) => Some(*length as usize),
            // And one for its length.
            Self::Text(most) => Some(*most as usize + 1),
            Self::Custom { bytes, .. } => bytes.map(|bytes| bytes as usize),
            Self::Blob | Self::String | Self::Optional(_) | Self::Descending(_) => None,
        }
    }

    /// The type that is written as one word.
    fn word(word: &str) -> Option<Self> {
        Some(match word {
            "bool" => Self::Bool,
            "u8" => Self::Unsigned(8),
            "u16" => Self::Unsigned(16),
            "u32" => Self::Unsigned(32),
            "u64" => Self::Unsigned(64),
            "u128" => Self::Unsigned(128),
            "i8" => Self::Signed(8),
            "i16" => Self::Signed(16),
            "i32" => Self::Signed(32),
            "i64" => Self::Signed(64),
            "i128" => Self::Signed(128),
            "f32" => Self::Float(32),
            "f64" => Self::Float(64),
            "blob" => Self::Blob,
            "string" => Self::String,
            _ => return None,
        })
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => write!(f, "bool"),
            Self::Unsigned(bits) => write!(f, "u{bits}"),
            Self::Signed(bits) => write!(f, "i{bits}"),
            Self::Float(bits) => write!(f, "f{bits}"),
            Self::Bytes(length) => write!(f, "bytes({length})"),
            Self::Text(most) => write!(f, "text({most})"),
            Self::Blob => write!(f, "blob"),
            Self::String => write!(f, "string"),
            Self::Optional(of) => write!(f, "option({of})"),
            Self::Descending(of) => write!(f, "desc({of})"),
            Self::Custom { name, bytes: None } => write!(f, "custom({name})"),
            Self::Custom { name, bytes: Some(bytes) } => write!(f, "custom({name}, {bytes})"),
        }
    }
}

/// A text that is no column type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoColumnType;

impl fmt::Display for NoColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no column type")
    }
}

impl std::error::Error for NoColumnType {}

impl FromStr for ColumnType {
    type Err = NoColumnType;

    fn from_str(text: &str) -> core::result::Result<Self, NoColumnType> {
        // From the outside in, and back: a text cannot make it recurse.
        let (mut wraps, mut inner) = (Vec::new(), text);
        while let Some((wrap, of)) = wrapped(inner) {
            wraps.push(wrap);
            inner = of;
            if wraps.len() > WRAPS_MAX {
                return Err(NoColumnType);
            }
        }
        let innermost = ColumnType::word(inner).or_else(|| with_arguments(inner));
        let wrap = |of, wrap: &Wrap| wrap(of);
        Ok(wraps.iter().rev().fold(innermost.ok_or(NoColumnType)?, wrap))
    }
}

/// Makes a type of the one that it stands around.
type Wrap = fn(ColumnType) -> ColumnType;

/// Splits what stands around a type from the type.
fn wrapped(text: &str) -> Option<(Wrap, &str)> {
    let text = text.strip_suffix(')')?;
    let optional = text.strip_prefix("option(").map(|of| (ColumnType::optional as Wrap, of));
    optional.or_else(|| Some((ColumnType::descending, text.strip_prefix("desc(")?)))
}

fn with_arguments(text: &str) -> Option<ColumnType> {
    let (kind, arguments) = text.strip_suffix(')')?.split_once('(')?;
    match kind {
        "bytes" => number(arguments).map(ColumnType::Bytes),
        "text" => number(arguments).map(ColumnType::Text),
        "custom" => {
            let (name, bytes) = match arguments.split_once(", ") {
                Some((name, bytes)) => (name, Some(number(bytes)?)),
                None => (arguments, None),
            };
            let is_name = !name.is_empty() && name.chars().all(is_of_name);
            is_name.then(|| ColumnType::custom(name, bytes))
        }
        _ => None,
    }
}

/// A number as we write it: without signs and leading zeros.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number: &u32| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back_from_their_text() {
        for text in [
            "bool",
            "u8",
            "u16",
            "u32",
            "u64",
            "u128",
            "i8",
            "i16",
            "i32",
            "i64",
            "i128",
            "f32",
            "f64",
            "bytes(0)",
            "bytes(16)",
            "text(255)",
            "blob",
            "string",
            "option(u8)",
            "desc(text(3))",
            "option(desc(option(string)))",
            "custom(money)",
            "custom(my::Money<i64>, 8)",
        ] {
            let parsed: ColumnType = text.parse().expect(text);
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_types() {
        let deep = format!("{}u8{}", "option(".repeat(1_000_000), ")".repeat(1_000_000));
        for text in [
            "",
            "u7",
            "u08",
            "u8 ",
            "i256",
            "f16",
            "bytes",
            "bytes()",
            "bytes(-1)",
            "bytes(01)",
            "bytes(4294967296)",
            "text(3",
            "text(3))",
            "option()",
            "option(u8",
            "desc",
            "custom()",
            "custom(a, )",
            "custom(a, 08)",
            "custom(a b)",
            "custom(a(b))",
            "blob(3)",
            "U8",
            &deep,
        ] {
            assert_eq!(text.parse::<ColumnType>(), Err(NoColumnType), "{:.40}", text);
        }
    }

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
