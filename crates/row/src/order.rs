//! Keys of values: bytes that compare as the values do, made from a value's bytes without a value between.
//!
//! | type | key |
//! | --- | --- |
//! | unsigned integers, `char`, `time`, a variant's number, lengths of time | big-endian |
//! | signed integers, `date`, seconds of a `instant` | big-endian with the sign bit flipped |
//! | `f32`, `f64` | by the total order of IEEE 754: the sign bit flipped, or for negative numbers all bits |
//! | `decimal` | its sign, the power of ten of its first digit, its digits; equal numbers have equal keys |
//! | `bool`, `bytes(n)`, `uuid` | the bytes |
//! | `text`, `string`, `blob` | the bytes, 00 as 01 01 and 01 as 01 02, then 00 |
//! | `ip` | 4 or 6, the address |
//! | `option` | 0, or 1 and the value: no value comes first |
//! | `desc` | the complement |
//! | `array`, `tuple`, `struct` | the parts in order |
//! | `list` | 1 before each item, 0 after the last: a list comes before its continuations |
//! | `enum` | the variant's number, what it carries in order |
//!
//! They are the encodings of [`key`](crate::key), and no key of a type is a proper prefix of another one.

use crate::key::{self, KeyPart};
use crate::parts::below_a_second;
use crate::{BadValue, ColumnType, Decimal, Value, ValueSource};
use std::net::IpAddr;

/// Appends the key of a column that has these bytes, or no value.
///
/// # Errors
/// When they are no value of `column_type`, or the type has no order. What was appended so far stays in `out`.
pub fn write_key(
    column_type: &ColumnType,
    cell: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), BadValue> {
    if column_type.is_nullable() {
        out.push(u8::from(cell.is_some()));
    }
    let Some(cell) = cell else {
        return if column_type.is_nullable() {
            Ok(())
        } else {
            Err(BadValue::new("no value where there must be one"))
        };
    };
    match column_type.of_cell() {
        of if of.is_open() => write_open(of, cell, out),
        of => {
            let mut source = ValueSource::new(cell);
            write(of, &mut source, out)?;
            if source.is_empty() { Ok(()) } else { Err(BadValue::new("bytes after a value")) }
        }
    }
}

/// Takes the value of a column of `column_type` from the head of a key.
///
/// # Errors
/// When there is none, or the type has no order.
pub fn read_key(column_type: &ColumnType, source: &mut key::Source<'_>) -> Result<Value, BadValue> {
    read(column_type, source)
}

fn no_order(column_type: &ColumnType) -> BadValue {
    BadValue::new(format!("{column_type} has no order"))
}

fn write_open(column_type: &ColumnType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BadValue> {
    match column_type {
        ColumnType::String | ColumnType::Blob => {
            bytes.write(out);
            Ok(())
        }
        other => Err(no_order(other)),
    }
}

/// The value at the head of `source`, as a key.
fn write(
    column_type: &ColumnType,
    source: &mut ValueSource<'_>,
    out: &mut Vec<u8>,
) -> Result<(), BadValue> {
    use ColumnType as T;
    match column_type {
        T::Unit => {}
        T::Bool => out.extend(source.take::<1>()?),
        T::Unsigned(bits) => reversed(source, usize::from(*bits) / 8, out).map(drop)?,
        T::Signed(bits) => {
            let first = reversed(source, usize::from(*bits) / 8, out)?;
            out[first] ^= 0x80;
        }
        T::Float(bits) => {
            let first = reversed(source, usize::from(*bits) / 8, out)?;
            if out[first] & 0x80 == 0 {
                out[first] ^= 0x80;
            } else {
                out[first..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        T::Decimal => {
            let mantissa = i128::from_le_bytes(source.take()?);
            let [scale] = source.take()?;
            Decimal::new(mantissa, scale)?.write(out);
        }
        T::Char => reversed(source, 4, out).map(drop)?,
        T::Bytes(length) => out.extend(source.slice(*length as usize)?),
        T::Text(most) => {
            let [length] = source.take()?;
            let text = source.slice(*most as usize)?.get(..usize::from(length));
            text.ok_or_else(|| BadValue::new("a text longer than its column"))?.write(out);
        }
        T::String | T::Blob => source.blob()?.write(out),
        T::Duration => {
            reversed(source, 8, out)?;
            reversed(source, 4, out)?;
        }
        T::Instant => {
            let first = reversed(source, 8, out)?;
            out[first] ^= 0x80;
            reversed(source, 4, out)?;
        }
        T::Date => {
            let first = reversed(source, 4, out)?;
            out[first] ^= 0x80;
        }
        T::Time => reversed(source, 8, out).map(drop)?,
        T::Ip => out.extend(source.take::<17>()?),
        T::Uuid => out.extend(source.take::<16>()?),
        _ => return write_parts(column_type, source, out),
    }
    Ok(())
}

/// The same of types made of others.
fn write_parts(
    column_type: &ColumnType,
    source: &mut ValueSource<'_>,
    out: &mut Vec<u8>,
) -> Result<(), BadValue> {
    use ColumnType as T;
    match column_type {
        T::Optional(of) => {
            let [is_some] = source.take()?;
            out.push(is_some);
            if is_some == 0 {
                source.slice(of.value_bytes().unwrap_or(0))?;
            } else {
                write(of, source, out)?;
            }
        }
        T::Descending(of) => {
            let start = out.len();
            write(of, source, out)?;
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        T::Array(of, length) => {
            for _ in 0..*length {
                write(of, source, out)?;
            }
        }
        T::List(of) => {
            for _ in 0..u32::from_le_bytes(source.take()?) {
                out.push(1);
                write(of, source, out)?;
            }
            out.push(0);
        }
        T::Tuple(types) => types.iter().try_for_each(|of| write(of, source, out))?,
        T::Struct(members) => {
            members.iter().try_for_each(|member| write(&member.column_type, source, out))?;
        }
        T::Enum(variants) => {
            let number = u16::from_le_bytes(source.take()?);
            let variant = variants.iter().find(|variant| variant.number == number);
            let variant = variant.ok_or_else(|| BadValue::new("the number of no variant"))?;
            out.extend(number.to_be_bytes());
            variant.fields.types().try_for_each(|of| write(of, source, out))?;
        }
        _ => return Err(no_order(column_type)),
    }
    Ok(())
}

/// Appends the next `length` bytes from the last to the first; returns where they begin.
fn reversed(
    source: &mut ValueSource<'_>,
    length: usize,
    out: &mut Vec<u8>,
) -> Result<usize, BadValue> {
    let first = out.len();
    out.extend(source.slice(length)?.iter().rev());
    Ok(first)
}

impl From<key::BadKey> for BadValue {
    fn from(bad: key::BadKey) -> Self {
        Self::new(bad.to_string())
    }
}

fn read(column_type: &ColumnType, source: &mut key::Source<'_>) -> Result<Value, BadValue> {
    use ColumnType as T;
    Ok(match column_type {
        T::Unit => Value::Unit,
        T::Bool => Value::Bool(bool::read(source)?),
        T::Unsigned(bits) => Value::Unsigned(match bits {
            8 => u8::read(source)?.into(),
            16 => u16::read(source)?.into(),
            32 => u32::read(source)?.into(),
            64 => u64::read(source)?.into(),
            _ => u128::read(source)?,
        }),
        T::Signed(bits) => Value::Signed(match bits {
            8 => i8::read(source)?.into(),
            16 => i16::read(source)?.into(),
            32 => i32::read(source)?.into(),
            64 => i64::read(source)?.into(),
            _ => i128::read(source)?,
        }),
        T::Float(32) => Value::Float(f32::read(source)?.into()),
        T::Float(_) => Value::Float(f64::read(source)?),
        T::Decimal => {
            let decimal = Decimal::read(source)?;
            Value::Decimal { mantissa: decimal.mantissa(), scale: decimal.scale() }
        }
        T::Char => Value::Char(char::read(source)?),
        T::Bytes(length) => {
            let bytes = (0..*length).map(|_| u8::read(source));
            Value::Bytes(bytes.collect::<Result<_, _>>()?)
        }
        T::Text(_) | T::String => Value::Text(String::read(source)?),
        T::Blob => Value::Bytes(<[u8]>::read(source)?),
        T::Duration => {
            let seconds = u64::read(source)?;
            Value::Duration { seconds, nanoseconds: below_a_second(u32::read(source)?)? }
        }
        T::Instant => {
            let seconds = i64::read(source)?;
            Value::Instant { seconds, nanoseconds: below_a_second(u32::read(source)?)? }
        }
        T::Date => Value::Date(i32::read(source)?),
        T::Time => Value::Time(u64::read(source)?),
        T::Ip => Value::Ip(IpAddr::read(source)?),
        T::Uuid => Value::Uuid(<[u8; 16]>::read(source)?),
        _ => return read_parts(column_type, source),
    })
}

/// The same of types made of others.
fn read_parts(column_type: &ColumnType, source: &mut key::Source<'_>) -> Result<Value, BadValue> {
    use ColumnType as T;
    Ok(match column_type {
        T::Optional(of) => {
            if bool::read(source)? {
                read(of, source)?
            } else {
                Value::Null
            }
        }
        T::Descending(of) => source.complemented(|source| read(of, source))?,
        T::Array(of, length) => {
            let items = (0..*length).map(|_| read(of, source));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        T::List(of) => {
            let mut items = Vec::new();
            while bool::read(source)? {
                items.push(read(of, source)?);
            }
            Value::List(items)
        }
        T::Tuple(types) => {
            let items = types.iter().map(|of| read(of, source));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        T::Struct(members) => {
            let items = members.iter().map(|member| read(&member.column_type, source));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        T::Enum(variants) => {
            let number = u16::read(source)?;
            let variant = variants.iter().find(|variant| variant.number == number);
            let variant = variant.ok_or_else(|| BadValue::new("the number of no variant"))?;
            let fields = variant.fields.types().map(|of| read(of, source));
            Value::Enum { number, fields: fields.collect::<Result<_, _>>()? }
        }
        _ => return Err(no_order(column_type)),
    })
}
