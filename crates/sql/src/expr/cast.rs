//! Values of one type as values of another.

use super::arithmetic::out_of_range;
use crate::codec::times::DAY;
use crate::codec::{canonical, from_text, shown};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;
use crate::types::Type;
use std::borrow::Cow;

/// A conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cast {
    pub from: Type,
    pub to: Type,
    pub modifier: i32,
    /// A text that is too long is cut rather than refused.
    pub explicit: bool,
}

/// The type that operands of these two types are given, if there is one.
pub(crate) fn common(one: Type, two: Type) -> Option<Type> {
    use Type as T;
    if one == two {
        return Some(if one == T::Unknown { T::Text } else { one });
    }
    let number = |of: Type| match of {
        T::Int2 => 1,
        T::Int4 => 2,
        T::Oid => 3,
        T::Int8 => 4,
        T::Numeric => 5,
        T::Float4 => 6,
        T::Float8 => 7,
        _ => 0,
    };
    Some(match (one, two) {
        (T::Unknown, other) | (other, T::Unknown) => other,
        (one, two) if one.is_number() && two.is_number() => {
            match (one, two) {
                // A number with places and one of single precision meet in double precision.
                (T::Numeric, T::Float4) | (T::Float4, T::Numeric) => T::Float8,
                _ if number(one) > number(two) => one,
                _ => two,
            }
        }
        (one, two) if one.is_text() && two.is_text() => {
            if matches!((one, two), (T::Bpchar, _) | (_, T::Bpchar)) && one == two {
                T::Bpchar
            } else {
                T::Text
            }
        }
        (T::Date, T::Timestamp) | (T::Timestamp, T::Date) => T::Timestamp,
        (T::Date | T::Timestamp, T::Timestamptz) | (T::Timestamptz, T::Date | T::Timestamp) => {
            T::Timestamptz
        }
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => T::Jsonb,
        _ => return None,
    })
}

/// Whether `CAST` makes the one type the other.
pub(crate) fn castable(from: Type, to: Type) -> bool {
    use Type as T;
    assignable(from, to)
        || (from.is_text() && !matches!(to, T::Record | T::Void))
        || matches!((from, to), (T::Bool, T::Int4) | (T::Int4, T::Bool))
        || matches!((from, to), (T::Json | T::Jsonb, _) if to.is_number() || to == T::Bool)
        || to == T::Void
}

/// Whether a value of the one type may be put into a column of the other.
pub(crate) fn assignable(from: Type, to: Type) -> bool {
    use Type as T;
    from == to
        || from == T::Unknown
        || (from.is_number() && to.is_number())
        || (to.is_text() && from != T::Record)
        || matches!(
            (from, to),
            (T::Date, T::Timestamp | T::Timestamptz)
                | (T::Timestamp, T::Date | T::Time | T::Timestamptz)
                | (T::Timestamptz, T::Date | T::Time | T::Timestamp)
                | (T::Json, T::Jsonb)
                | (T::Jsonb, T::Json)
        )
}

/// The value as one of another type.
pub(crate) fn cast<'a>(datum: Datum<'a>, how: Cast) -> Result<Datum<'a>> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    let converted = convert(datum, how)?;
    fit(converted, how, true)
}

/// A value of `how.to` as a column of this modifier stores it: as after [`cast`], but without the blanks that fill a
/// `char`.
pub(crate) fn stored_as<'a>(datum: Datum<'a>, how: Cast) -> Result<Datum<'a>> {
    fit(datum, how, false)
}

fn convert(datum: Datum<'_>, Cast { from, to, .. }: Cast) -> Result<Datum<'_>> {
    use Type as T;
    Ok(match (datum, to) {
        (datum, to) if from == to => datum,
        (Datum::Int(value), T::Int2 | T::Int4 | T::Int8 | T::Oid) => integer(value, to)?,
        (Datum::Int(value), T::Float4) => Datum::Float(single(value as f64)),
        (Datum::Int(value), T::Float8) => Datum::Float(value as f64),
        (Datum::Int(value), T::Numeric) => Datum::Numeric(Numeric::of_int(value)),
        (Datum::Int(value), T::Bool) => Datum::Bool(value != 0),
        (Datum::Bool(value), T::Int4) => Datum::Int(value.into()),
        (Datum::Float(value), T::Int2 | T::Int4 | T::Int8 | T::Oid) => {
            let rounded = value.round_ties_even();
            // The bound itself is a float; the greatest number of 64 bits is none.
            if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                return Err(out_of_range(to));
            }
            #[expect(clippy::cast_possible_truncation, reason = "it is within 64 bits")]
            integer(rounded as i64, to)?
        }
        (Datum::Float(value), T::Float4) => {
            let narrow = single(value);
            if narrow.is_infinite() && value.is_finite() {
                return Err(SqlError::numeric_out_of_range("value out of range: overflow"));
            }
            Datum::Float(narrow)
        }
        (Datum::Float(value), T::Float8) => Datum::Float(value),
        (Datum::Float(value), T::Numeric) => {
            Datum::Numeric(Numeric::of_float(value, from == T::Float4)?)
        }
        (Datum::Numeric(value), T::Int2 | T::Int4 | T::Int8 | T::Oid) => {
            integer(value.to_int().ok_or_else(|| out_of_range(to))?, to)?
        }
        (Datum::Numeric(value), T::Float4) => Datum::Float(single(value.to_float())),
        (Datum::Numeric(value), T::Float8) => Datum::Float(value.to_float()),
        (Datum::Date(days), T::Timestamp | T::Timestamptz) => Datum::Timestamp(match days {
            i32::MIN => i64::MIN,
            i32::MAX => i64::MAX,
            days => i64::from(days).checked_mul(DAY).ok_or_else(|| {
                SqlError::datetime_out_of_range("date out of range for timestamp")
            })?,
        }),
        (Datum::Timestamp(time), T::Date) => Datum::Date(match time {
            i64::MIN => i32::MIN,
            i64::MAX => i32::MAX,
            time => i32::try_from(time.div_euclid(DAY)).unwrap_or(i32::MAX),
        }),
        (Datum::Timestamp(time), T::Time) => Datum::Time(time.rem_euclid(DAY)),
        (Datum::Timestamp(time), T::Timestamp | T::Timestamptz) => Datum::Timestamp(time),
        (Datum::Text(text), to) if to.is_text() => match from {
            T::Bpchar => Datum::Text(trimmed(text)),
            _ => Datum::Text(text),
        },
        (Datum::Text(text), T::Jsonb) if from == T::Json => {
            let wrong = |_| SqlError::invalid_text("invalid input syntax for type json");
            Datum::Text(canonical(&text).map_err(wrong)?.into())
        }
        (Datum::Text(text), T::Json) if from == T::Jsonb => Datum::Text(text),
        (Datum::Text(text), to) => from_text(to, &text)?.into_owned(),
        (datum, to) if to.is_text() => match datum {
            // As PostgreSQL's cast has it, unlike its output.
            Datum::Bool(value) => Datum::text(if value { "true" } else { "false" }),
            datum => Datum::Text(shown(from, &datum).into()),
        },
        (_, T::Void) => Datum::Null,
        (_, to) => return Err(SqlError::cannot_coerce(format!("cannot cast type {from} to {to}"))),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the nearest number of single precision")]
fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

fn integer(value: i64, to: Type) -> Result<Datum<'static>> {
    let fits = match to {
        Type::Int2 => i16::try_from(value).is_ok(),
        Type::Int4 => i32::try_from(value).is_ok(),
        Type::Oid => u32::try_from(value).is_ok(),
        _ => true,
    };
    if fits { Ok(Datum::Int(value)) } else { Err(out_of_range(to)) }
}

fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches(' ')),
        Cow::Owned(mut text) => {
            text.truncate(text.trim_end_matches(' ').len());
            Cow::Owned(text)
        }
    }
}

/// The value as the length or the precision of its type allows it.
fn fit(
    datum: Datum<'_>,
    Cast { to, modifier, explicit, .. }: Cast,
    pads: bool,
) -> Result<Datum<'_>> {
    match (datum, to) {
        (Datum::Text(text), Type::Name) if text.len() > 63 => {
            let end = text.floor_char_boundary(63);
            Ok(Datum::Text(text[..end].to_owned().into()))
        }
        (datum, _) if modifier < 0 => Ok(datum),
        (Datum::Numeric(value), Type::Numeric) => value.fit(modifier).map(Datum::Numeric),
        (Datum::Text(text), Type::Varchar | Type::Bpchar) => {
            let most = usize::try_from(modifier - 4).unwrap_or(0);
            let length = if text.is_ascii() { text.len() } else { text.chars().count() };
            if length <= most {
                let padded = pads && to == Type::Bpchar;
                return Ok(Datum::Text(if padded { self::padded(text, most) } else { text }));
            }
            let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
            if !explicit && !text[end..].bytes().all(|it| it == b' ') {
                let message = format!("value too long for type {to}({most})");
                return Err(SqlError::string_too_long(message));
            }
            Ok(Datum::Text(text[..end].to_owned().into()))
        }
        (Datum::Timestamp(time), Type::Timestamp | Type::Timestamptz)
            if time > i64::MIN && time < i64::MAX =>
        {
            let unit = 10_i64.pow(u32::try_from(6 - modifier.min(6)).unwrap_or(0));
            let rounded = time.saturating_add(unit / 2).div_euclid(unit) * unit;
            Ok(Datum::Timestamp(rounded))
        }
        (datum, _) => Ok(datum),
    }
}

/// Some blanks: a text gets them many at a time.
const BLANKS: &str = "                                                                ";

/// The text with blanks up to a length.
pub(crate) fn padded(text: Cow<'_, str>, length: usize) -> Cow<'_, str> {
    let letters = if text.is_ascii() { text.len() } else { text.chars().count() };
    if letters >= length {
        return text;
    }
    let mut left = length - letters;
    let mut padded = String::with_capacity(text.len() + left);
    padded.push_str(&text);
    while left > 0 {
        let piece = left.min(BLANKS.len());
        padded.push_str(&BLANKS[..piece]);
        left -= piece;
    }
    Cow::Owned(padded)
}
