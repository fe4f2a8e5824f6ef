//! Values made of others, and those of variable size.

use super::stored::{Stored, put_blob, sum_bytes};
use crate::column::length;
use crate::{ColumnType, Typed};
use chiliad_api::row::{BadValue, ValueSource};

impl Stored for String {
    const VALUE_BYTES: Option<usize> = None;

    fn write_value(&self, out: &mut Vec<u8>) {
        put_blob(self.as_bytes(), out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        Self::read_cell(source.blob()?)
    }

    fn write_cell(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
        let text = core::str::from_utf8(cell).map_err(|_| BadValue::new("text is not UTF-8"))?;
        Ok(text.into())
    }
}

impl<T: Stored> Typed for Vec<T> {
    fn column_type() -> ColumnType {
        T::list_type()
    }
}

impl<T: Stored> Stored for Vec<T> {
    const VALUE_BYTES: Option<usize> = None;

    fn write_value(&self, out: &mut Vec<u8>) {
        T::write_list(self, out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        T::read_list(source)
    }

    fn write_cell(&self, out: &mut Vec<u8>) {
        T::write_list_cell(self, out);
    }

    fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
        T::read_list_cell(cell)
    }
}

impl<T: Stored> Stored for Option<T> {
    const VALUE_BYTES: Option<usize> = match T::VALUE_BYTES {
        Some(bytes) => Some(bytes + 1),
        None => None,
    };
    /// Whether there is a value is told elsewhere; of an option within an option, by the value's own flag.
    const CELL_BYTES: Option<usize> = if T::NULLABLE { T::VALUE_BYTES } else { T::CELL_BYTES };
    const NULLABLE: bool = true;

    fn write_value(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => {
                out.push(1);
                value.write_value(out);
            }
            None => out.resize(out.len() + Self::VALUE_BYTES.unwrap_or(1), 0),
        }
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        match source.take()? {
            [1] => T::read_value(source).map(Some),
            [0] if source.slice(T::VALUE_BYTES.unwrap_or(0))?.iter().all(|&byte| byte == 0) => {
                Ok(None)
            }
            [0] => Err(BadValue::new("bytes where there is no value")),
            _ => Err(BadValue::new("a truth value that is neither 0 nor 1")),
        }
    }

    fn put_cell(&self, cell: &mut [u8]) {
        match self {
            Some(value) if T::NULLABLE => {
                let mut bytes = Vec::with_capacity(cell.len());
                value.write_value(&mut bytes);
                cell.copy_from_slice(&bytes);
            }
            Some(value) => value.put_cell(cell),
            None => {}
        }
    }

    fn write_cell(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) if T::NULLABLE => value.write_value(out),
            Some(value) => value.write_cell(out),
            None => {}
        }
    }

    fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
        if !T::NULLABLE {
            return T::read_cell(cell).map(Some);
        }
        let mut source = ValueSource::new(cell);
        let value = T::read_value(&mut source)?;
        if source.is_empty() { Ok(Some(value)) } else { Err(BadValue::new("bytes after a value")) }
    }

    fn has_value(&self) -> bool {
        self.is_some()
    }

    fn none() -> Option<Self> {
        Some(None)
    }
}

impl<T: Stored, const N: usize> Typed for [T; N] {
    fn column_type() -> ColumnType {
        T::array_type(length(N))
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    const VALUE_BYTES: Option<usize> = match T::VALUE_BYTES {
        _ if N == 0 => Some(0),
        Some(bytes) => Some(bytes * N),
        None => None,
    };

    fn write_value(&self, out: &mut Vec<u8>) {
        T::write_items(self, out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        T::read_array(source)
    }
}

impl Typed for () {
    fn column_type() -> ColumnType {
        ColumnType::Unit
    }
}

impl Stored for () {
    const VALUE_BYTES: Option<usize> = Some(0);

    fn write_value(&self, _: &mut Vec<u8>) {}

    fn read_value(_: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        Ok(())
    }
}

macro_rules! tuples {
    ($(($($part:ident $at:tt),*))*) => {$(
        impl<$($part: Typed),*> Typed for ($($part,)*) {
            fn column_type() -> ColumnType {
                ColumnType::Tuple(vec![$($part::column_type()),*])
            }
        }

        impl<$($part: Stored),*> Stored for ($($part,)*) {
            const VALUE_BYTES: Option<usize> = sum_bytes(&[$($part::VALUE_BYTES),*]);

            fn write_value(&self, out: &mut Vec<u8>) {
                $(self.$at.write_value(out);)*
            }

            fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
                Ok(($($part::read_value(source)?,)*))
            }
        }
    )*};
}
tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}
