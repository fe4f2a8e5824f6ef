//! Integers in the bytes of a row that are added to without a look at the rest of it.

use crate::{ColumnType, VERSION_BYTES, split};
use core::fmt;

/// The integers that a row can have, little-endian, and how many bits they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "each is the type of its name")]
pub enum Integer {
    U8,
    U16,
    U32,
    U64,
    U128,
    I8,
    I16,
    I32,
    I64,
    I128,
}

/// Adds to the bytes of one integer; `false`, and nothing has changed, if the sum is none of its type.
macro_rules! add {
    ($integer:ty, $cell:expr, $n:expr, $sum:expr) => {{
        let Ok(raw) = <[u8; size_of::<$integer>()]>::try_from(&*$cell) else { return false };
        match $sum(<$integer>::from_le_bytes(raw), $n) {
            Some(sum) => $cell.copy_from_slice(&<$integer>::to_le_bytes(sum)),
            None => return false,
        }
        true
    }};
}

/// The sum by way of a wider type.
macro_rules! narrow {
    ($integer:ty, $cell:expr, $n:expr) => {
        add!($integer, $cell, $n, |old: $integer, n: i64| {
            <$integer>::try_from(i128::from(old) + i128::from(n)).ok()
        })
    };
}

impl Integer {
    /// The integer of a column of this type; `None` where it is another type, or one that may have no value.
    #[must_use]
    pub const fn of(column_type: &ColumnType) -> Option<Self> {
        Some(match column_type {
            ColumnType::Unsigned(8) => Self::U8,
            ColumnType::Unsigned(16) => Self::U16,
            ColumnType::Unsigned(32) => Self::U32,
            ColumnType::Unsigned(64) => Self::U64,
            ColumnType::Unsigned(128) => Self::U128,
            ColumnType::Signed(8) => Self::I8,
            ColumnType::Signed(16) => Self::I16,
            ColumnType::Signed(32) => Self::I32,
            ColumnType::Signed(64) => Self::I64,
            ColumnType::Signed(128) => Self::I128,
            _ => return None,
        })
    }

    /// Bytes that it takes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
            Self::U128 | Self::I128 => 16,
        }
    }

    /// The name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::U128 => "u128",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::I128 => "i128",
        }
    }

    /// Adds `n` to the integer of these bytes, and says whether the sum is one.
    fn add(self, cell: &mut [u8], n: i64) -> bool {
        match self {
            Self::U8 => narrow!(u8, cell, n),
            Self::U16 => narrow!(u16, cell, n),
            Self::U32 => narrow!(u32, cell, n),
            Self::U64 => narrow!(u64, cell, n),
            Self::U128 => {
                add!(u128, cell, n, |old: u128, n| old.checked_add_signed(i128::from(n)))
            }
            Self::I8 => narrow!(i8, cell, n),
            Self::I16 => narrow!(i16, cell, n),
            Self::I32 => narrow!(i32, cell, n),
            Self::I64 => narrow!(i64, cell, n),
            Self::I128 => add!(i128, cell, n, |old: i128, n| old.checked_add(i128::from(n))),
        }
    }
}

/// A number of a row: where it lies, and its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number {
    offset: usize,
    integer: Integer,
    version: Option<u16>,
}

impl Number {
    /// The integer that begins so many bytes from the start of the row.
    #[must_use]
    pub const fn at(offset: usize, integer: Integer) -> Self {
        Self { offset, integer, version: None }
    }

    /// The integer that begins so many bytes from the start of the body of rows of this version of a schema; other rows
    /// have it elsewhere, or do not have it.
    #[must_use]
    pub const fn of_version(version: u16, offset: usize, integer: Integer) -> Self {
        Self { offset: offset.saturating_add(VERSION_BYTES), integer, version: Some(version) }
    }

    /// Whether the row has the number.
    ///
    /// # Errors
    /// [`BadNumber::OtherVersion`], [`BadNumber::BeyondRow`].
    #[inline]
    pub fn check(self, row: &[u8]) -> Result<(), BadNumber> {
        // A row of another version has other columns, and perhaps fewer.
        if let (Some(version), Ok((found, _))) = (self.version, split(row))
            && version != found
        {
            return Err(BadNumber::OtherVersion { version, found });
        }
        let needed = self.offset.saturating_add(self.integer.bytes());
        if row.len() < needed {
            return Err(BadNumber::BeyondRow { bytes: row.len(), needed });
        }
        Ok(())
    }

    /// Adds `n` to it.
    ///
    /// # Errors
    /// Those of [`Number::check`]; [`BadNumber::Overflow`]. The row is as it was then.
    #[inline]
    pub fn add(self, row: &mut [u8], n: i64) -> Result<(), BadNumber> {
        self.check(row)?;
        let end = self.offset + self.integer.bytes();
        match self.integer.add(&mut row[self.offset..end], n) {
            true => Ok(()),
            false => Err(BadNumber::Overflow { integer: self.integer, n }),
        }
    }
}

/// Why nothing was added to a number of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadNumber {
    /// The sum is out of the type's range.
    Overflow {
        /// The type.
        integer: Integer,
        /// What was to be added.
        n: i64,
    },
    /// The row ends before the number does.
    BeyondRow {
        /// Bytes of the row.
        bytes: usize,
        /// Bytes that it needs.
        needed: usize,
    },
    /// The row was written under another version of the schema.
    OtherVersion {
        /// The version in which the number lies there.
        version: u16,
        /// The row's version.
        found: u16,
    },
    /// No column of the row has this name.
    UnknownColumn(String),
    /// The column is no integer, or may have no value.
    NotInteger {
        /// The column.
        column: String,
        /// Its type, in text form.
        column_type: String,
    },
}

impl fmt::Display for BadNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overflow { integer, n } => {
                write!(f, "the sum with {n} is out of the range of {}", integer.name())
            }
            Self::BeyondRow { bytes, needed } => {
                write!(
                    f,
                    "a row of {bytes} bytes; a number that ends at byte {needed} is not in it"
                )
            }
            Self::OtherVersion { version, found } => {
                write!(f, "a number of rows of version {version}; the row is of version {found}")
            }
            Self::UnknownColumn(column) => write!(f, "no column {column}"),
            Self::NotInteger { column, column_type } => {
                write!(f, "the column {column} is {column_type}: integers are added to")
            }
        }
    }
}

impl std::error::Error for BadNumber {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_within_their_type_and_their_bytes() {
        for (text, low, high) in [
            ("u8", 0, i128::from(u8::MAX)),
            ("i8", i128::from(i8::MIN), i128::from(i8::MAX)),
            ("u16", 0, i128::from(u16::MAX)),
            ("i16", i128::from(i16::MIN), i128::from(i16::MAX)),
            ("u32", 0, i128::from(u32::MAX)),
            ("i32", i128::from(i32::MIN), i128::from(i32::MAX)),
            ("u64", 0, i128::from(u64::MAX)),
            ("i64", i128::from(i64::MIN), i128::from(i64::MAX)),
            ("i128", i128::MIN, i128::MAX),
        ] {
            let integer = Integer::of(&text.parse().expect(text)).expect(text);
            assert_eq!(integer.name(), text);
            let bytes = integer.bytes();
            for (start, n, sum) in [
                (high, 1, None),
                (high - 1, 1, Some(high)),
                (low, -1, None),
                (high, -1, Some(high - 1)),
            ] {
                let mut row = [&[7; 3], &start.to_le_bytes()[..bytes], &[9]].concat();
                let before = row.clone();
                let added = Number::at(3, integer).add(&mut row, n);
                match sum {
                    Some(sum) => {
                        assert_eq!(added, Ok(()), "{text} {start} {n}");
                        assert_eq!(row[3..3 + bytes], sum.to_le_bytes()[..bytes], "{text}");
                    }
                    None => {
                        assert_eq!(added, Err(BadNumber::Overflow { integer, n }));
                        assert_eq!(row, before, "{text}");
                    }
                }
                assert_eq!((&row[..3], row[3 + bytes]), (&[7; 3][..], 9), "{text}");
            }
        }
        let mut greatest = u128::MAX.to_le_bytes();
        assert!(Number::at(0, Integer::U128).add(&mut greatest, 1).is_err());
        assert_eq!(Number::at(0, Integer::U128).add(&mut greatest, i64::MIN), Ok(()));
        assert_eq!(u128::from_le_bytes(greatest), u128::MAX - (1 << 63));
    }

    #[test]
    fn a_number_that_is_not_in_the_row_is_refused() {
        let number = Number::at(2, Integer::U32);
        let short = BadNumber::BeyondRow { bytes: 5, needed: 6 };
        assert_eq!(number.add(&mut [0; 5], 1), Err(short));
        assert!(Number::at(usize::MAX, Integer::U8).add(&mut [0; 5], 1).is_err());
        let number = Number::of_version(3, 0, Integer::U8);
        assert_eq!(number.add(&mut [3, 0, 1], 1), Ok(()));
        let other = BadNumber::OtherVersion { version: 3, found: 2 };
        assert_eq!(number.add(&mut [2, 0, 1], 1), Err(other));
        assert_eq!(number.check(&[3]), Err(BadNumber::BeyondRow { bytes: 1, needed: 3 }));
    }

    #[test]
    fn other_columns_are_no_numbers() {
        for text in ["f64", "bool", "string", "option(i64)", "decimal", "char", "bytes(8)"] {
            assert_eq!(Integer::of(&text.parse().expect(text)), None, "{text}");
        }
    }
}
