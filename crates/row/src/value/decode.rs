//! Values from bytes: the reverse of `encode`, and as strict. Each value has one form.

use super::{DECIMAL_END, Value};
use crate::column_type::DAY;
use crate::parts::{below_a_second, to_address};
use crate::{BadValue, ColumnType, ValueSource};

impl Value {
    /// The value of `column_type` at the head of `source`.
    ///
    /// # Errors
    /// When there is none.
    pub fn decode(
        column_type: &ColumnType,
        source: &mut ValueSource<'_>,
    ) -> Result<Self, BadValue> {
        use ColumnType as T;
        Ok(match column_type {
            T::Unit => Self::Unit,
            T::Bool => Self::Bool(flag(source)?),
            T::Unsigned(bits) => Self::Unsigned(u128::from_le_bytes(wide(source, *bits)?)),
            T::Signed(bits) => {
                // The sign goes to where 128 bits have it, and back.
                let unused = 128 - u32::from(*bits);
                Self::Signed((i128::from_le_bytes(wide(source, *bits)?) << unused) >> unused)
            }
            T::Float(32) => Self::Float(f32::from_le_bytes(source.take()?).into()),
            T::Float(_) => Self::Float(f64::from_le_bytes(source.take()?)),
            T::Decimal => {
                let mantissa = i128::from_le_bytes(source.take()?);
                let [scale] = source.take()?;
                if mantissa.unsigned_abs() >= DECIMAL_END || scale > 38 {
                    return Err(BadValue::new("a decimal of more than 38 digits"));
                }
                Self::Decimal { mantissa, scale }
            }
            T::Char => {
                let code = u32::from_le_bytes(source.take()?);
                let value = char::from_u32(code);
                Self::Char(value.ok_or_else(|| BadValue::new("a code of no character"))?)
            }
            T::Bytes(length) | T::Custom { bytes: Some(length), .. } => {
                Self::Bytes(source.slice(*length as usize)?.to_vec())
            }
            T::Text(most) => {
                let [length] = source.take()?;
                let room = source.slice(*most as usize)?;
                let (text, zeros) = room
                    .split_at_checked(usize::from(length))
                    .ok_or_else(|| BadValue::new("a text longer than its column"))?;
                if zeros.iter().any(|&byte| byte != 0) {
                    return Err(BadValue::new("bytes after the end of a text"));
                }
                Self::Text(utf8(text)?)
            }
            T::String | T::Json => Self::Text(utf8(source.blob()?)?),
            T::Blob | T::Custom { bytes: None, .. } => Self::Bytes(source.blob()?.to_vec()),
            T::Duration => {
                let seconds = u64::from_le_bytes(source.take()?);
                Self::Duration {
                    seconds,
                    nanoseconds: below_a_second(u32::from_le_bytes(source.take()?))?,
                }
            }
            T::Instant => {
                let seconds = i64::from_le_bytes(source.take()?);
                Self::Instant {
                    seconds,
                    nanoseconds: below_a_second(u32::from_le_bytes(source.take()?))?,
                }
            }
            T::Date => Self::Date(i32::from_le_bytes(source.take()?)),
            T::Time => {
                let nanoseconds = u64::from_le_bytes(source.take()?);
                if nanoseconds >= DAY {
                    return Err(BadValue::new("a time of day after its end"));
                }
                Self::Time(nanoseconds)
            }
            T::Ip => Self::Ip(to_address(source.take()?)?),
            T::Uuid => Self::Uuid(source.take()?),
            _ => return Self::decode_parts(column_type, source),
        })
    }

    /// The same of types made of others.
    fn decode_parts(
        column_type: &ColumnType,
        source: &mut ValueSource<'_>,
    ) -> Result<Self, BadValue> {
        use ColumnType as T;
        Ok(match column_type {
            T::Optional(of) => {
                if flag(source)? {
                    Self::decode(of, source)?
                } else {
                    let zeros = source.slice(of.value_bytes().unwrap_or(0))?;
                    if zeros.iter().any(|&byte| byte != 0) {
                        return Err(BadValue::new("bytes where there is no value"));
                    }
                    Self::Null
                }
            }
            T::Descending(of) => Self::decode(of, source)?,
            T::Array(of, length) => Self::List(items(*length as usize, of, source)?),
            T::List(of) => {
                let count = u32::from_le_bytes(source.take()?) as usize;
                Self::List(items(count, of, source)?)
            }
            T::Tuple(types) => {
                let items = types.iter().map(|of| Self::decode(of, source));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            T::Struct(members) => {
                let items = members.iter().map(|member| Self::decode(&member.column_type, source));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            T::Enum(variants) => {
                let number = u16::from_le_bytes(source.take()?);
                let variant = variants.iter().find(|variant| variant.number == number);
                let variant = variant.ok_or_else(|| {
                    BadValue::new(format!("the number {number}, which no variant has"))
                })?;
                let fields = variant.fields.types().map(|of| Self::decode(of, source));
                Self::Enum { number, fields: fields.collect::<Result<_, _>>()? }
            }
            _ => return Err(BadValue::new("a type of no values")),
        })
    }

    /// The value of a column of `column_type` that has these bytes, or none.
    ///
    /// # Errors
    /// When they are no value of that type.
    pub fn decode_cell(column_type: &ColumnType, cell: Option<&[u8]>) -> Result<Self, BadValue> {
        let Some(cell) = cell else {
            return if column_type.is_nullable() {
                Ok(Self::Null)
            } else {
                Err(BadValue::new("no value where there must be one"))
            };
        };
        match column_type.of_cell() {
            ColumnType::String | ColumnType::Json => utf8(cell).map(Self::Text),
            of if of.is_open() => Ok(Self::Bytes(cell.to_vec())),
            of => {
                let mut source = ValueSource::new(cell);
                let value = Self::decode(of, &mut source)?;
                if source.is_empty() {
                    Ok(value)
                } else {
                    Err(BadValue::new("bytes after a value"))
                }
            }
        }
    }
}

fn flag(source: &mut ValueSource<'_>) -> Result<bool, BadValue> {
    match source.take()? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(BadValue::new("a truth value that is neither 0 nor 1")),
    }
}

/// An integer of so many bits, with zeros above.
fn wide(source: &mut ValueSource<'_>, bits: u16) -> Result<[u8; 16], BadValue> {
    let bytes = source.slice(usize::from(bits) / 8)?;
    let mut wide = [0; 16];
    wide[..bytes.len()].copy_from_slice(bytes);
    Ok(wide)
}

fn utf8(bytes: &[u8]) -> Result<String, BadValue> {
    let text = core::str::from_utf8(bytes).map_err(|_| BadValue::new("text is not UTF-8"))?;
    Ok(text.into())
}

/// `count` values.
fn items(
    count: usize,
    of: &ColumnType,
    source: &mut ValueSource<'_>,
) -> Result<Vec<Value>, BadValue> {
    // Each has a byte at least.
    if count > source.left() {
        return Err(BadValue::cut_short());
    }
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(Value::decode(of, source)?);
    }
    Ok(items)
}
