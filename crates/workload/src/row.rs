//! Packed rows: typed columns at constant offsets of a byte slice, little-endian, no padding and no
//! struct in between. A column is a constant, so that reading one is one load:
//! `district::D_NEXT_O_ID.get(bytes)`.

use core::marker::PhantomData;

/// A type that a column can hold.
pub trait Kind {
    /// Bytes that it takes.
    const BYTES: usize;
    /// The result of reading it.
    type Value<'a>;
    /// Reads it from its bytes.
    fn read(bytes: &[u8]) -> Self::Value<'_>;
    /// Writes it to its bytes.
    fn write(bytes: &mut [u8], value: Self::Value<'_>);
}

/// A column of a row: what it holds, and where.
pub struct Column<K> {
    at: usize,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Column<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Column<K> {}

impl<K: Kind> Column<K> {
    /// The column that begins `at` bytes from the start of the row.
    #[must_use]
    pub const fn at(at: usize) -> Self {
        Self { at, kind: PhantomData }
    }

    /// Bytes before it.
    #[must_use]
    pub const fn offset(self) -> usize {
        self.at
    }

    /// Bytes that it takes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        K::BYTES
    }

    /// The offset after it.
    #[must_use]
    pub const fn end(self) -> usize {
        self.at + K::BYTES
    }

    /// Reads it.
    #[inline]
    #[must_use]
    pub fn get(self, row: &[u8]) -> K::Value<'_> {
        K::read(&row[self.at..self.at + K::BYTES])
    }

    /// Writes it.
    #[inline]
    pub fn set(self, row: &mut [u8], value: K::Value<'_>) {
        K::write(&mut row[self.at..self.at + K::BYTES], value);
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Kind for $integer {
            const BYTES: usize = size_of::<$integer>();
            type Value<'a> = $integer;
            #[inline]
            fn read(bytes: &[u8]) -> $integer {
                let mut raw = [0; size_of::<$integer>()];
                raw.copy_from_slice(bytes);
                <$integer>::from_le_bytes(raw)
            }
            #[inline]
            fn write(bytes: &mut [u8], value: $integer) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i64);

/// A date and time in five bytes: seconds of two centuries fit. Zero stands for null.
pub struct Date;

impl Kind for Date {
    const BYTES: usize = 5;
    type Value<'a> = u64;
    #[inline]
    fn read(bytes: &[u8]) -> u64 {
        let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        u64::from(low) | u64::from(bytes[4]) << 32
    }
    #[inline]
    fn write(bytes: &mut [u8], value: u64) {
        bytes.copy_from_slice(&value.to_le_bytes()[..5]);
    }
}

/// Text of exactly `N` bytes.
pub struct Chars<const N: usize>;

impl<const N: usize> Kind for Chars<N> {
    const BYTES: usize = N;
    type Value<'a> = &'a [u8];
    #[inline]
    fn read(bytes: &[u8]) -> &[u8] {
        bytes
    }
    #[inline]
    fn write(bytes: &mut [u8], value: &[u8]) {
        bytes.copy_from_slice(value);
    }
}

/// A length byte and room for text of up to `N - 1` bytes (the engine's `PartType::Text`).
pub struct Text<const N: usize>;

impl<const N: usize> Kind for Text<N> {
    const BYTES: usize = N;
    type Value<'a> = &'a [u8];
    #[inline]
    fn read(bytes: &[u8]) -> &[u8] {
        // A reader of a state that never was may find any length byte: stay within the column.
        let length = usize::from(bytes[0]).min(N - 1);
        &bytes[1..=length]
    }
    #[inline]
    fn write(bytes: &mut [u8], value: &[u8]) {
        bytes[0] = value.len() as u8;
        bytes[1..=value.len()].copy_from_slice(value);
    }
}

/// The last column of a row: everything from an offset to the end.
#[derive(Clone, Copy)]
pub struct Tail(pub usize);

impl Tail {
    /// Reads it.
    #[inline]
    #[must_use]
    pub fn get(self, row: &[u8]) -> &[u8] {
        &row[self.0..]
    }
}

/// Declares the columns of a row in order as constants, and `BYTES`, the bytes of all of them.
macro_rules! columns {
    ($($name:ident : $kind:ty),+ $(,)?) => {
        $crate::row::columns!(@ 0; $($name : $kind,)+);
    };
    (@ $at:expr; $name:ident : $kind:ty, $($rest:tt)*) => {
        #[doc = concat!("Column `", stringify!($name), "`.")]
        pub const $name: $crate::row::Column<$kind> = $crate::row::Column::at($at);
        $crate::row::columns!(@ $name.end(); $($rest)*);
    };
    (@ $at:expr;) => {
        /// Bytes of the columns of fixed size.
        pub const BYTES: usize = $at;
    };
}

pub(crate) use columns;

#[cfg(test)]
mod tests {
    mod sample {
        use crate::row::{Chars, Date, Text};
        crate::row::columns! {
            ID: u16,
            WHEN: Date,
            NAME: Text<5>,
            BALANCE: i64,
            STATE: Chars<2>,
        }
        pub const REST: crate::row::Tail = crate::row::Tail(BYTES);
    }

    #[test]
    fn columns_lie_side_by_side_and_keep_their_values() {
        assert_eq!(sample::BYTES, 2 + 5 + 5 + 8 + 2);
        let mut row = vec![0xff; sample::BYTES + 3];
        sample::ID.set(&mut row, 513);
        sample::WHEN.set(&mut row, (1 << 40) - 2);
        sample::NAME.set(&mut row, b"abc");
        sample::BALANCE.set(&mut row, -1000);
        sample::STATE.set(&mut row, b"XY");
        assert_eq!(sample::ID.get(&row), 513);
        assert_eq!(sample::WHEN.get(&row), (1 << 40) - 2);
        assert_eq!(sample::NAME.get(&row), b"abc");
        assert_eq!(sample::BALANCE.get(&row), -1000);
        assert_eq!(sample::STATE.get(&row), b"XY");
        assert_eq!(sample::REST.get(&row), [0xff; 3]);
        assert_eq!(sample::NAME.offset(), 7);
    }

    #[test]
    fn a_senseless_length_byte_stays_within_its_column() {
        let row = [0xff; sample::BYTES];
        assert_eq!(sample::NAME.get(&row).len(), 4);
    }
}
