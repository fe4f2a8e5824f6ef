//! Values as bytes.
//!
//! | type | bytes of a value within another one |
//! | --- | --- |
//! | `unit` | none |
//! | `bool` | 0 or 1 |
//! | integers, floating-point numbers | little-endian |
//! | `decimal` | the integer (i128), the decimal places (u8) |
//! | `char` | its code (u32) |
//! | `bytes(n)`, `uuid`, `custom(.., n)` | the bytes |
//! | `text(n)` | its length (u8), the text, zeros up to n bytes |
//! | `string`, `json`, `blob`, `custom(..)` | its length (u32), the bytes |
//! | `duration`, `instant` | seconds (u64, i64), nanoseconds (u32) |
//! | `date`, `time` | days (i32), nanoseconds (u64) |
//! | `ip` | 4 or 6, the address in network order, zeros up to 16 bytes |
//! | `option` | 0, or 1 and the value; zeros for no value of a type of fixed size |
//! | `array(t, n)`, `tuple`, `struct` | the parts in order |
//! | `list` | how many (u32), the items in order |
//! | `enum` | the variant's number (u16), what it carries in order |
//!
//! A column has the bytes of its value, but that the length of a `string`, `json`, `blob` or `custom(..)` is told by its
//! end in the row, and that of an `option` by a null bit.

use super::{DECIMAL_END, Value};
use crate::column_type::DAY;
use crate::parts::{SECOND, of_address};
use crate::{BadValue, ColumnType};

impl Value {
    /// Appends the bytes of a value of `column_type` within another one. A number may have any type that holds it.
    ///
    /// # Errors
    /// When the value is none of that type. What was appended so far stays in `out`.
    pub fn encode(&self, column_type: &ColumnType, out: &mut Vec<u8>) -> Result<(), BadValue> {
        use ColumnType as T;
        match (column_type, self) {
            (T::Unit, Self::Unit) => {}
            (T::Bool, Self::Bool(value)) => out.push(u8::from(*value)),
            (T::Unsigned(bits), Self::Unsigned(_) | Self::Signed(_)) => {
                let value = self.unsigned().filter(|value| fits(*value, *bits));
                put(value.map(u128::to_le_bytes), *bits, column_type, self, out)?;
            }
            (T::Signed(bits), Self::Unsigned(_) | Self::Signed(_)) => {
                let value = self.signed().filter(|value| fits_signed(*value, *bits));
                put(value.map(i128::to_le_bytes), *bits, column_type, self, out)?;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the nearest of the narrower type")]
            (T::Float(32), Self::Float(value)) => out.extend((*value as f32).to_le_bytes()),
            (T::Float(64), Self::Float(value)) => out.extend(value.to_le_bytes()),
            (T::Decimal, Self::Decimal { mantissa, scale })
                if mantissa.unsigned_abs() < DECIMAL_END && *scale <= 38 =>
            {
                out.extend_from_slice(&mantissa.to_le_bytes());
                out.push(*scale);
            }
            (T::Char, Self::Char(value)) => out.extend(u32::from(*value).to_le_bytes()),
            (T::Text(most), Self::Text(text)) if text.len() <= *most as usize && *most <= 255 => {
                out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
                out.extend(text.as_bytes());
                out.resize(out.len() + *most as usize - text.len(), 0);
            }
            (T::Bytes(length) | T::Custom { bytes: Some(length), .. }, Self::Bytes(bytes))
                if bytes.len() == *length as usize =>
            {
                out.extend(bytes);
            }
            (T::String | T::Json, Self::Text(text)) => put_blob(text.as_bytes(), out)?,
            (T::Blob | T::Custom { bytes: None, .. }, Self::Bytes(bytes)) => put_blob(bytes, out)?,
            (T::Duration, Self::Duration { seconds, nanoseconds }) if *nanoseconds < SECOND => {
                out.extend(seconds.to_le_bytes());
                out.extend(nanoseconds.to_le_bytes());
            }
            (T::Instant, Self::Instant { seconds, nanoseconds }) if *nanoseconds < SECOND => {
                out.extend(seconds.to_le_bytes());
                out.extend(nanoseconds.to_le_bytes());
            }
            (T::Date, Self::Date(days)) => out.extend(days.to_le_bytes()),
            (T::Time, Self::Time(nanoseconds)) if *nanoseconds < DAY => {
                out.extend(nanoseconds.to_le_bytes());
            }
            (T::Ip, Self::Ip(address)) => out.extend(of_address(*address)),
            (T::Uuid, Self::Uuid(bytes)) => out.extend(bytes),
            _ => return self.encode_parts(column_type, out),
        }
        Ok(())
    }

    /// The same of types made of others.
    fn encode_parts(&self, column_type: &ColumnType, out: &mut Vec<u8>) -> Result<(), BadValue> {
        use ColumnType as T;
        match (column_type, self) {
            (T::Optional(of), Self::Null) => {
                out.resize(out.len() + 1 + of.value_bytes().unwrap_or(0), 0);
            }
            (T::Optional(of), value) => {
                out.push(1);
                value.encode(of, out)?;
            }
            (T::Descending(of), value) => value.encode(of, out)?,
            (T::Array(of, length), Self::List(items)) if items.len() == *length as usize => {
                items.iter().try_for_each(|item| item.encode(of, out))?;
            }
            (T::List(of), Self::List(items)) => {
                let count = u32::try_from(items.len()).map_err(|_| too_long())?;
                out.extend(count.to_le_bytes());
                items.iter().try_for_each(|item| item.encode(of, out))?;
            }
            (T::Tuple(types), Self::List(items)) if items.len() == types.len() => {
                items.iter().zip(types).try_for_each(|(item, of)| item.encode(of, out))?;
            }
            (T::Struct(members), Self::List(items)) if items.len() == members.len() => {
                let mut pairs = items.iter().zip(members);
                pairs.try_for_each(|(item, member)| item.encode(&member.column_type, out))?;
            }
            (T::Enum(variants), Self::Enum { number, fields }) => {
                let variant = variants.iter().find(|variant| variant.number == *number);
                let types = variant.map(|variant| variant.fields.types().collect::<Vec<_>>());
                let types = types.filter(|types| types.len() == fields.len());
                let types = types.ok_or_else(|| none_of(column_type, self))?;
                out.extend(number.to_le_bytes());
                fields.iter().zip(types).try_for_each(|(field, of)| field.encode(of, out))?;
            }
            _ => return Err(none_of(column_type, self)),
        }
        Ok(())
    }

    /// The bytes of a column of `column_type` that has this value; `None` where it is no value.
    ///
    /// # Errors
    /// When the value is none of that type.
    pub fn encode_cell(&self, column_type: &ColumnType) -> Result<Option<Vec<u8>>, BadValue> {
        let mut cell = Vec::new();
        Ok(self.append_cell(column_type, &mut cell)?.then_some(cell))
    }

    /// As [`Value::encode_cell`], at the end of `out`; `false` where it is no value.
    ///
    /// # Errors
    /// When the value is none of that type. What was appended so far stays in `out`.
    pub fn append_cell(
        &self,
        column_type: &ColumnType,
        out: &mut Vec<u8>,
    ) -> Result<bool, BadValue> {
        if column_type.is_nullable() && *self == Self::Null {
            return Ok(false);
        }
        let (of, start) = (column_type.of_cell(), out.len());
        self.encode(of, out)?;
        if of.is_open() {
            // Its end tells its length.
            out.drain(start..start + 4);
        }
        Ok(true)
    }

    fn unsigned(&self) -> Option<u128> {
        match self {
            Self::Unsigned(value) => Some(*value),
            Self::Signed(value) => u128::try_from(*value).ok(),
            _ => None,
        }
    }

    fn signed(&self) -> Option<i128> {
        match self {
            Self::Unsigned(value) => i128::try_from(*value).ok(),
            Self::Signed(value) => Some(*value),
            _ => None,
        }
    }
}

fn fits(value: u128, bits: u16) -> bool {
    bits == 128 || value >> bits == 0
}

fn fits_signed(value: i128, bits: u16) -> bool {
    // All bits from the sign's on are equal.
    matches!(value >> (bits - 1), 0 | -1)
}

fn put(
    bytes: Option<[u8; 16]>,
    bits: u16,
    column_type: &ColumnType,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), BadValue> {
    let bytes = bytes.ok_or_else(|| none_of(column_type, value))?;
    out.extend(&bytes[..usize::from(bits) / 8]);
    Ok(())
}

fn put_blob(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BadValue> {
    let length = u32::try_from(bytes.len()).map_err(|_| too_long())?;
    out.extend(length.to_le_bytes());
    out.extend(bytes);
    Ok(())
}

fn too_long() -> BadValue {
    BadValue::new("a value of more than 4 GiB")
}

fn none_of(column_type: &ColumnType, value: &Value) -> BadValue {
    BadValue::new(format!("{value:?} is no value of {column_type}"))
}
