//! Rows: how a Rust value becomes the bytes of a row and comes back.
//!
//! Fields of fixed size stand at fixed offsets, little-endian, without padding; one field of
//! variable length may follow them and takes the rest of the row. Because offsets are fixed, a
//! secondary index is declared as data, and one field can be read or changed without decoding the
//! others ([`Field`]).

mod field;
mod text;

pub use field::{Field, Fixed, Indexable};
pub use text::Text;

use crate::error::malformed;
use crate::raw::SecondarySpec;
use crate::{Column, Error, Result, Typed};
use chiliad_engine::VALUE_BYTES_MAX;

/// A value that can be a row of a table. Usually derived:
///
/// ```
/// use chiliad::{Field, Row, Text};
///
/// #[derive(Row, Debug, PartialEq)]
/// #[index(by_owner(owner))]
/// #[index(by_rank(branch, balance desc))]
/// pub struct Account {
///     owner: Text<24>,
///     branch: u16,
///     balance: i64,
///     open: bool,
///     note: String, // of variable length, hence last
/// }
///
/// let account = Account {
///     owner: Text::new("ann")?,
///     branch: 7,
///     balance: -250,
///     open: true,
///     note: "prefers letters".into(),
/// };
/// let mut bytes = Vec::new();
/// account.encode(&mut bytes);
/// assert_eq!(Account::decode(&bytes)?, account);
///
/// // One field, without decoding the rest; `Account::BALANCE` is generated.
/// assert_eq!(Account::BALANCE.get(&bytes)?, -250);
/// Account::BALANCE.set(&mut bytes, &100);
/// assert_eq!(Account::decode(&bytes)?.balance, 100);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// The derive macro accepts fields whose type is [`Fixed`], then at most one `String` or
/// `Vec<u8>`, and generates
///
/// - a constant of type [`Field`] for each field of fixed size, named like it in upper case;
/// - a constant of type [`Index`](crate::Index) for each `#[index(name(field, field desc))]`; with
///   `#[index(name(field), unique)]` no two rows may share the key;
/// - with `#[row(crate = path)]`, code that finds this crate under another path.
///
/// A field of variable length that is not the last one does not compile:
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// struct Note {
///     body: String,
///     author: u64,
/// }
/// ```
///
/// nor does an index over a field that is not there, or that has no order in a key:
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// #[index(by_author(writer))]
/// struct Note {
///     author: u64,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// #[index(by_weight(weight))]
/// struct Parcel {
///     weight: f64,
/// }
/// ```
///
/// nor does a field of a type that has no fixed size:
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// struct Note {
///     tags: std::collections::BTreeSet<u8>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row",
    note = "`#[derive(chiliad::Row)]` makes a struct one"
)]
pub trait Row: Sized {
    /// Bytes of the fields of fixed size.
    const BYTES_FIXED: usize;
    /// Whether more bytes may follow them.
    const VARIABLE: bool;

    /// Its columns, in the order of their bytes: what the catalog keeps of the type. A table is opened
    /// only with a row type that has the same columns as the one that it was created with, in number,
    /// names, types and order; so they must tell all that the bytes depend on.
    #[must_use]
    fn columns() -> Vec<Column>;

    /// The secondary indexes of a table of such rows.
    #[must_use]
    fn indexes() -> Vec<SecondarySpec> {
        Vec::new()
    }

    /// Appends the row's bytes.
    fn encode(&self, row: &mut Vec<u8>);

    /// The row that the bytes stand for.
    ///
    /// # Errors
    /// [`Error::ValueSize`] and others, when the bytes are no row of this type.
    fn decode(row: &[u8]) -> Result<Self>;

    /// Refuses bytes that are too few, or too many, for a row of this type.
    ///
    /// # Errors
    /// [`Error::ValueSize`].
    fn check_length(row: &[u8]) -> Result<()> {
        let high = if Self::VARIABLE { VALUE_BYTES_MAX } else { Self::BYTES_FIXED };
        let accepted = (Self::BYTES_FIXED, high);
        if row.len() < accepted.0 || row.len() > accepted.1 {
            return Err(Error::ValueSize { bytes: row.len(), accepted });
        }
        Ok(())
    }
}

/// A type that can be the last, variable field of a row: `String` and `Vec<u8>`.
pub trait Tail: Typed + Sized {
    /// Its bytes.
    fn bytes(&self) -> &[u8];

    /// The value that the bytes stand for.
    ///
    /// # Errors
    /// When there is none.
    fn from_bytes(bytes: &[u8]) -> Result<Self>;
}

impl Tail for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(bytes.to_vec())
    }
}

impl Tail for String {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        core::str::from_utf8(bytes).map(Self::from).map_err(|_| malformed("text is not UTF-8"))
    }
}

/// A row of one field of fixed size.
impl<T: Fixed> Row for T {
    const BYTES_FIXED: usize = T::BYTES;
    const VARIABLE: bool = false;

    fn columns() -> Vec<Column> {
        vec![Column::new("0", T::column_type())]
    }

    fn encode(&self, row: &mut Vec<u8>) {
        let start = row.len();
        row.resize(start + T::BYTES, 0);
        self.write(&mut row[start..]);
    }

    fn decode(row: &[u8]) -> Result<Self> {
        Self::check_length(row)?;
        T::read(row)
    }
}

/// A row that is its bytes.
impl Row for Vec<u8> {
    const BYTES_FIXED: usize = 0;
    const VARIABLE: bool = true;

    fn columns() -> Vec<Column> {
        vec![Column::new("0", Self::column_type())]
    }

    fn encode(&self, row: &mut Vec<u8>) {
        row.extend_from_slice(self);
    }

    fn decode(row: &[u8]) -> Result<Self> {
        Tail::from_bytes(row)
    }
}

/// A row that is a text.
impl Row for String {
    const BYTES_FIXED: usize = 0;
    const VARIABLE: bool = true;

    fn columns() -> Vec<Column> {
        vec![Column::new("0", Self::column_type())]
    }

    fn encode(&self, row: &mut Vec<u8>) {
        row.extend_from_slice(self.as_bytes());
    }

    fn decode(row: &[u8]) -> Result<Self> {
        Tail::from_bytes(row)
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Text};
    use crate::Error;

    #[derive(crate::Row, Debug, PartialEq, Clone)]
    struct All {
        a: u8,
        b: i16,
        c: u32,
        d: i64,
        e: bool,
        f: f64,
        g: [u8; 3],
        h: Text<5>,
        r#type: u16,
        tail: Vec<u8>,
    }

    fn all() -> All {
        All {
            a: 200,
            b: -2,
            c: 3,
            d: i64::MIN,
            e: true,
            f: -0.5,
            g: *b"xyz",
            h: Text::new("ab").unwrap(),
            r#type: 513,
            tail: vec![9, 9],
        }
    }

    #[test]
    fn fields_stand_where_their_constants_say() {
        let mut bytes = Vec::new();
        all().encode(&mut bytes);
        assert_eq!(All::BYTES_FIXED, 1 + 2 + 4 + 8 + 1 + 8 + 3 + 6 + 2);
        assert_eq!(bytes.len(), All::BYTES_FIXED + 2);
        assert_eq!(&bytes[All::B.offset()..All::B.end()], &[0xfe, 0xff]);
        assert_eq!(&bytes[All::TYPE.offset()..All::TYPE.end()], &[1, 2]);
        assert_eq!(&bytes[All::H.offset()..All::H.end()], b"\x02ab\0\0\0");
        assert_eq!(All::decode(&bytes).unwrap(), all());
    }

    #[test]
    fn one_field_changes_alone() {
        let mut bytes = Vec::new();
        all().encode(&mut bytes);
        All::C.set(&mut bytes, &77);
        assert_eq!(All::decode(&bytes).unwrap(), All { c: 77, ..all() });
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let mut bytes = Vec::new();
        all().encode(&mut bytes);
        let short = &bytes[..All::BYTES_FIXED - 1];
        assert!(matches!(All::decode(short), Err(Error::ValueSize { .. })));
        assert!(matches!(All::C.get(&bytes[..3]), Err(Error::ValueSize { .. })));
        let mut no_bool = bytes.clone();
        no_bool[All::E.offset()] = 2;
        assert!(All::decode(&no_bool).is_err());
        let mut no_length = bytes.clone();
        no_length[All::H.offset()] = 6;
        assert!(All::decode(&no_length).is_err());
        let mut no_text = bytes;
        no_text[All::H.offset() + 1] = 0xff;
        assert!(All::decode(&no_text).is_err());
        assert!(u64::decode(&[0; 9]).is_err());
        assert!(String::decode(&[0xff]).is_err());
    }
}
