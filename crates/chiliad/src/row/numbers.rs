//! Numbers, characters, truth values, bytes.

use super::stored::{Stored, put_blob};
use crate::{ColumnType, Typed};
use chiliad_api::row::{BadValue, ValueSource};

/// The parts of an implementation for a type of always as many bytes: `$bytes` of a value, and a value of them.
macro_rules! of_bytes {
    ($type:ty, $value:ident => $to:expr, $bytes:ident => $from:expr) => {
        const VALUE_BYTES: Option<usize> = Some(size_of::<$type>());

        #[inline]
        fn write_value(&self, out: &mut Vec<u8>) {
            let $value = self;
            out.extend_from_slice(&$to);
        }

        #[inline]
        fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
            let $bytes = source.take()?;
            $from
        }

        #[inline]
        fn put_cell(&self, cell: &mut [u8]) {
            let $value = self;
            cell.copy_from_slice(&$to);
        }

        #[inline]
        fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
            let wrong = |_| BadValue::new("a value of another length");
            let $bytes = cell.try_into().map_err(wrong)?;
            $from
        }
    };
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            of_bytes!($type, value => value.to_le_bytes(), bytes => Ok(<$type>::from_le_bytes(bytes)));
        }
    )*};
}
numbers!(u16, u32, u64, u128, i8, i16, i32, i64, i128, f32, f64);

impl Stored for bool {
    of_bytes!(bool, value => [u8::from(*value)], bytes => match u8::from_le_bytes(bytes) {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(BadValue::new("a truth value that is neither 0 nor 1")),
    });
}

impl Typed for char {
    fn column_type() -> ColumnType {
        ColumnType::Char
    }
}

impl Stored for char {
    of_bytes!(char, value => u32::from(*value).to_le_bytes(), bytes => {
        let value = char::from_u32(u32::from_le_bytes(bytes));
        value.ok_or_else(|| BadValue::new("a code of no character"))
    });
}

/// A list of them is a `blob`, an array of them is `bytes`.
impl Stored for u8 {
    of_bytes!(u8, value => [*value], bytes => {
        let [value] = bytes;
        Ok(value)
    });

    fn list_type() -> ColumnType {
        ColumnType::Blob
    }

    fn array_type(length: u32) -> ColumnType {
        ColumnType::Bytes(length)
    }

    fn write_list_cell(items: &[Self], out: &mut Vec<u8>) {
        out.extend_from_slice(items);
    }

    fn read_list_cell(cell: &[u8]) -> Result<Vec<Self>, BadValue> {
        Ok(cell.to_vec())
    }

    fn write_list(items: &[Self], out: &mut Vec<u8>) {
        put_blob(items, out);
    }

    fn read_list(source: &mut ValueSource<'_>) -> Result<Vec<Self>, BadValue> {
        source.blob().map(<[u8]>::to_vec)
    }

    fn write_items(items: &[Self], out: &mut Vec<u8>) {
        out.extend_from_slice(items);
    }

    fn read_array<const N: usize>(source: &mut ValueSource<'_>) -> Result<[Self; N], BadValue> {
        source.take()
    }
}
