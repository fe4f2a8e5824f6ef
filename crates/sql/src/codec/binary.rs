//! Values in the binary format.

use super::json;
use super::numbers::bounds;
use super::text::text_of;
use super::times::{DAY, EPOCH_DAYS};
use crate::datum::{Datum, OwnedDatum};
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;
use crate::types::Type;

/// Microseconds from 1970-01-01 to 2000-01-01.
const EPOCH: i64 = EPOCH_DAYS as i64 * DAY;

#[cold]
fn wrong(of: Type) -> SqlError {
    SqlError::invalid_binary(format!("incorrect binary data format for type {of}"))
}

fn array<const N: usize>(of: Type, bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| wrong(of))
}

/// The value of `of` that these bytes stand for.
///
/// # Errors
/// 22P03, 22021, 22003 for bytes that stand for none.
pub fn from_binary(of: Type, bytes: &[u8]) -> Result<OwnedDatum> {
    Ok(match of {
        Type::Bool => match bytes {
            [value] => Datum::Bool(*value != 0),
            _ => return Err(wrong(of)),
        },
        Type::Int2 => Datum::Int(i16::from_be_bytes(array(of, bytes)?).into()),
        Type::Int4 => Datum::Int(i32::from_be_bytes(array(of, bytes)?).into()),
        Type::Int8 => Datum::Int(i64::from_be_bytes(array(of, bytes)?)),
        Type::Oid => Datum::Int(u32::from_be_bytes(array(of, bytes)?).into()),
        Type::Float4 => Datum::Float(f32::from_be_bytes(array(of, bytes)?).into()),
        Type::Float8 => Datum::Float(f64::from_be_bytes(array(of, bytes)?)),
        Type::Numeric => Datum::Numeric(numeric(bytes)?),
        Type::Text | Type::Varchar | Type::Bpchar | Type::Name | Type::Unknown => {
            Datum::Text(text_of(bytes)?.to_owned().into())
        }
        Type::Bytea => Datum::Bytes(bytes.to_vec().into()),
        Type::Date => Datum::Date(match i32::from_be_bytes(array(of, bytes)?) {
            days @ (i32::MIN | i32::MAX) => days,
            days => days
                .checked_add(EPOCH_DAYS)
                .ok_or_else(|| SqlError::datetime_out_of_range("date out of range"))?,
        }),
        Type::Time => {
            let time = i64::from_be_bytes(array(of, bytes)?);
            if !(0..=DAY).contains(&time) {
                return Err(SqlError::datetime_out_of_range("time out of range"));
            }
            Datum::Time(time)
        }
        Type::Timestamp | Type::Timestamptz => {
            Datum::Timestamp(match i64::from_be_bytes(array(of, bytes)?) {
                time @ (i64::MIN | i64::MAX) => time,
                time => time
                    .checked_add(EPOCH)
                    .ok_or_else(|| SqlError::datetime_out_of_range("timestamp out of range"))?,
            })
        }
        Type::Uuid => Datum::Uuid(array(of, bytes)?),
        Type::Json => {
            let text = text_of(bytes)?;
            json::check(text).map_err(|_| super::text::invalid(of, text))?;
            Datum::Text(text.to_owned().into())
        }
        Type::Jsonb => {
            let [1, json @ ..] = bytes else { return Err(wrong(of)) };
            let text = text_of(json)?;
            let canonical = json::canonical(text);
            Datum::Text(canonical.map_err(|_| super::text::invalid(of, text))?.into())
        }
        Type::Void => Datum::Null,
        Type::Record => {
            return Err(SqlError::feature_not_supported("input of anonymous composite types"));
        }
    })
}

/// Digits to the base of 10,000 after four numbers: how many, the weight of the first, the sign, the places shown.
fn numeric(bytes: &[u8]) -> Result<Numeric> {
    let (head, digits) = bytes.split_first_chunk::<8>().ok_or_else(|| wrong(Type::Numeric))?;
    let half = |at: usize| i16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign, scale) = (half(0), half(2), half(4).cast_unsigned(), half(6));
    let scale = u8::try_from(scale).map_err(|_| wrong(Type::Numeric))?;
    if usize::try_from(count).ok() != Some(digits.len() / 2) || digits.len() % 2 != 0 {
        return Err(wrong(Type::Numeric));
    }
    if !matches!(sign, 0 | 0x4000) {
        return Err(SqlError::feature_not_supported("numeric that is no number"));
    }
    let overflow = || SqlError::numeric_out_of_range("value overflows numeric format");
    let mut mantissa = 0_i128;
    for pair in digits.chunks_exact(2) {
        let digit = i16::from_be_bytes([pair[0], pair[1]]);
        if !(0..10_000).contains(&digit) {
            return Err(wrong(Type::Numeric));
        }
        mantissa = mantissa.checked_mul(10_000).ok_or_else(overflow)? + i128::from(digit);
    }
    // Decimal places of the last digit.
    let places = (i32::from(count) - 1 - i32::from(weight)) * 4;
    for _ in places..0 {
        mantissa = mantissa.checked_mul(10).ok_or_else(overflow)?;
    }
    let mut places = places.max(0);
    while places > i32::from(scale) {
        mantissa /= 10;
        places -= 1;
    }
    let mantissa = if sign == 0 { mantissa } else { -mantissa };
    let scale_now = u8::try_from(places).map_err(|_| overflow())?;
    Numeric::new(mantissa, scale_now)?.rounded(scale)
}

/// Appends a value of `of` in the binary format. A null has none: it appends nothing.
pub fn to_binary(of: Type, datum: &Datum<'_>, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(u8::from(*value)),
        Datum::Int(value) => {
            let (low, high) = bounds(of);
            let bytes = value.clamp(&low, &high).to_be_bytes();
            let length = match of {
                Type::Int2 => 2,
                Type::Int4 | Type::Oid => 4,
                _ => 8,
            };
            out.extend(&bytes[8 - length..]);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the number is one of single precision"
        )]
        Datum::Float(value) if of == Type::Float4 => out.extend((*value as f32).to_be_bytes()),
        Datum::Float(value) => out.extend(value.to_be_bytes()),
        Datum::Numeric(value) => push_numeric(*value, out),
        Datum::Text(text) => {
            if of == Type::Jsonb {
                out.push(1);
            }
            out.extend(text.as_bytes());
        }
        Datum::Bytes(bytes) => out.extend(&**bytes),
        Datum::Date(days) => out.extend(match *days {
            days @ (i32::MIN | i32::MAX) => days.to_be_bytes(),
            days => (days - EPOCH_DAYS).to_be_bytes(),
        }),
        Datum::Time(time) => out.extend(time.to_be_bytes()),
        Datum::Timestamp(time) => out.extend(match *time {
            time @ (i64::MIN | i64::MAX) => time.to_be_bytes(),
            time => time.saturating_sub(EPOCH).to_be_bytes(),
        }),
        Datum::Uuid(bytes) => out.extend(bytes),
        Datum::Record(parts) => {
            let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
            out.extend(count.to_be_bytes());
            for part in parts.iter() {
                out.extend(Type::Text.oid().to_be_bytes());
                if part.is_null() {
                    out.extend((-1_i32).to_be_bytes());
                    continue;
                }
                let text = super::shown(Type::Text, part);
                out.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
                out.extend(text.bytes());
            }
        }
    }
}

fn push_numeric(value: Numeric, out: &mut Vec<u8>) {
    let places = value.scale.div_ceil(4) * 4;
    let shift = u32::from(places - value.scale);
    let mut rest = value.mantissa.unsigned_abs();
    let mut digits = Vec::new();
    // The lowest digit has fewer decimal digits by `shift`.
    let lowest = rest % 10_u128.pow(4 - shift) * 10_u128.pow(shift);
    rest /= 10_u128.pow(4 - shift);
    digits.push(u16::try_from(lowest).unwrap_or_default());
    while rest > 0 {
        digits.push(u16::try_from(rest % 10_000).unwrap_or_default());
        rest /= 10_000;
    }
    let mut weight = i16::try_from(digits.len()).unwrap_or_default() - 1 - i16::from(places / 4);
    while digits.last() == Some(&0) {
        digits.pop();
        weight -= 1;
    }
    let zeros = digits.iter().take_while(|it| **it == 0).count();
    digits.drain(..zeros);
    if digits.is_empty() {
        weight = 0;
    }
    let sign: u16 = if value.mantissa < 0 { 0x4000 } else { 0 };
    out.extend(u16::try_from(digits.len()).unwrap_or_default().to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(sign.to_be_bytes());
    out.extend(u16::from(value.scale).to_be_bytes());
    digits.iter().rev().for_each(|digit| out.extend(digit.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::super::from_text;
    use super::*;

    #[test]
    fn values_come_back() {
        for (of, text) in [
            (Type::Bool, "t"),
            (Type::Int2, "-5"),
            (Type::Int4, "70000"),
            (Type::Int8, "-9223372036854775808"),
            (Type::Oid, "4294967295"),
            (Type::Float4, "0.25"),
            (Type::Float8, "-1e300"),
            (Type::Numeric, "0"),
            (Type::Numeric, "0.00"),
            (Type::Numeric, "-12345.678900"),
            (Type::Numeric, "10000"),
            (Type::Numeric, "0.0001"),
            (Type::Numeric, "0.00001"),
            (Type::Text, "text ü"),
            (Type::Bytea, "\\x00ff"),
            (Type::Date, "1999-12-31"),
            (Type::Date, "-infinity"),
            (Type::Time, "23:59:59.5"),
            (Type::Timestamptz, "1999-12-31 00:00:00.000001+00"),
            (Type::Timestamp, "infinity"),
            (Type::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            (Type::Jsonb, "{\"a\": 1}"),
        ] {
            let datum = from_text(of, text).expect(text);
            let mut bytes = Vec::new();
            to_binary(of, &datum, &mut bytes);
            assert_eq!(from_binary(of, &bytes).expect(text), datum, "{of} {text}");
            for length in 0..bytes.len() {
                let _ = from_binary(of, &bytes[..length]);
            }
        }
    }

    #[test]
    fn numerics_have_the_bytes_of_postgresql() {
        let bytes = |text: &str| {
            let mut out = Vec::new();
            push_numeric(Numeric::parse(text).expect(text), &mut out);
            out
        };
        // select numeric_send(..) in PostgreSQL 15.
        assert_eq!(bytes("12345.678"), [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        assert_eq!(bytes("-0.5"), [0, 1, 255, 255, 64, 0, 0, 1, 19, 136]);
        assert_eq!(bytes("0"), [0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
