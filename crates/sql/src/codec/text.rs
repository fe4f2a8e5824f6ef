//! Values as text.

use super::{bytes, json, numbers, times};
use crate::datum::Datum;
use crate::error::{Result, SqlError};
use crate::numeric::Numeric;
use crate::types::Type;

/// The text stands for no value of the type.
#[cold]
pub(crate) fn invalid(of: Type, text: &str) -> SqlError {
    SqlError::invalid_text(format!("invalid input syntax for type {of}: \"{text}\""))
}

/// The value of `of` that a text stands for.
///
/// # Errors
/// 22P02, 22003, 22007, 22008 for a text that stands for none.
pub fn from_text(of: Type, text: &str) -> Result<Datum<'_>> {
    Ok(match of {
        Type::Bool => Datum::Bool(boolean(text).ok_or_else(|| invalid(of, text))?),
        Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid => Datum::Int(numbers::integer(of, text)?),
        Type::Float4 | Type::Float8 => Datum::Float(numbers::float(of, text)?),
        Type::Numeric => Datum::Numeric(Numeric::parse(text)?),
        Type::Text | Type::Varchar | Type::Bpchar | Type::Name | Type::Unknown => {
            Datum::Text(text.into())
        }
        Type::Bytea => Datum::Bytes(bytes::parse(text)?.into()),
        Type::Date => Datum::Date(times::parse_date(text)?),
        Type::Time => Datum::Time(times::parse_time(text)?),
        Type::Timestamp | Type::Timestamptz => Datum::Timestamp(times::parse_timestamp(of, text)?),
        Type::Uuid => Datum::Uuid(bytes::parse_uuid(text).ok_or_else(|| invalid(of, text))?),
        Type::Json => {
            json::check(text).map_err(|_| invalid(of, text))?;
            Datum::Text(text.into())
        }
        Type::Jsonb => Datum::Text(json::canonical(text).map_err(|_| invalid(of, text))?.into()),
        Type::Void => Datum::Null,
        Type::Record => {
            return Err(SqlError::feature_not_supported("input of anonymous composite types"));
        }
    })
}

/// As [`from_text`], of bytes.
///
/// # Errors
/// Those of [`from_text`], and 22021 for bytes that are no text.
#[inline]
pub fn from_text_bytes(of: Type, bytes: &[u8]) -> Result<Datum<'_>> {
    if matches!(of, Type::Int2 | Type::Int4 | Type::Int8)
        && let Some(value) = numbers::short_integer(of, bytes)
    {
        return Ok(Datum::Int(value));
    }
    from_text(of, text_of(bytes)?)
}

/// Reads bytes as a text.
///
/// # Errors
/// 22021 for bytes that are no UTF-8, or have a zero byte among them.
pub(super) fn text_of(bytes: &[u8]) -> Result<&str> {
    let text = str::from_utf8(bytes).ok().filter(|it| !it.contains('\0'));
    text.ok_or_else(|| SqlError::not_utf8("invalid byte sequence for encoding \"UTF8\""))
}

fn boolean(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || text == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" {
        Some(false)
    } else {
        None
    }
}

/// Appends a value of `of` as text. A null has none: it appends nothing.
pub fn to_text(of: Type, datum: &Datum<'_>, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Datum::Int(value) => numbers::push_integer(*value, out),
        Datum::Float(value) => numbers::push_float(*value, of == Type::Float4, out),
        Datum::Numeric(value) => value.push_text(out),
        Datum::Text(text) => out.extend(text.as_bytes()),
        Datum::Bytes(value) => bytes::push_hex(value, out),
        Datum::Date(days) => times::push_date(*days, out),
        Datum::Time(time) => times::push_time(*time, out),
        Datum::Timestamp(time) => times::push_timestamp(*time, of == Type::Timestamptz, out),
        Datum::Uuid(value) => bytes::push_uuid(value, out),
        Datum::Record(parts) => {
            out.push(b'(');
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                let text = shown(type_of(part), part);
                let plain = !text.is_empty()
                    && !text.contains(['"', '\\', '(', ')', ','])
                    && !text.contains(char::is_whitespace);
                if part.is_null() || plain {
                    out.extend(text.bytes());
                } else {
                    let quoted = text.replace('\\', "\\\\").replace('"', "\"\"");
                    out.extend(format!("\"{quoted}\"").bytes());
                }
            }
            out.push(b')');
        }
    }
}

/// The type as which a part of a record is shown.
fn type_of(datum: &Datum<'_>) -> Type {
    match datum {
        Datum::Timestamp(_) => Type::Timestamptz,
        Datum::Float(_) => Type::Float8,
        _ => Type::Text,
    }
}

/// A value as text.
pub(crate) fn shown(of: Type, datum: &Datum<'_>) -> String {
    let mut out = Vec::new();
    to_text(of, datum, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        assert_eq!(from_text_bytes(Type::Int4, b"-17"), Ok(Datum::Int(-17)));
        assert_eq!(from_text_bytes(Type::Int4, b" 17 "), Ok(Datum::Int(17)));
        assert_eq!(from_text_bytes(Type::Text, "\u{e9}".as_bytes()), Ok(Datum::text("\u{e9}")));
        for of in [Type::Text, Type::Int4, Type::Numeric, Type::Bytea] {
            for bytes in [&b"1\0"[..], b"\xff", b"1\xc3"] {
                let error = from_text_bytes(of, bytes).expect_err("no text");
                assert_eq!(error.sqlstate, "22021", "{of}, {bytes:?}");
            }
        }
    }

    /// The texts are those of PostgreSQL 15, with the time zone UTC.
    #[test]
    fn texts_are_those_of_postgresql() {
        for (of, text, expected) in [
            (Type::Bool, " TRUE ", "t"),
            (Type::Bool, "of", "f"),
            (Type::Int4, " -17 ", "-17"),
            (Type::Int8, "9223372036854775807", "9223372036854775807"),
            (Type::Float8, "0.1", "0.1"),
            (Type::Float8, "1e15", "1e+15"),
            (Type::Float8, "123456789012345", "123456789012345"),
            (Type::Float8, "-0", "-0"),
            (Type::Float8, "1e-5", "1e-05"),
            (Type::Float8, "0.0001", "0.0001"),
            (Type::Float8, "nan", "NaN"),
            (Type::Float8, "-inf", "-Infinity"),
            (Type::Float8, "1.7976931348623157e308", "1.7976931348623157e+308"),
            (Type::Float4, "1000000", "1e+06"),
            (Type::Float4, "0.1", "0.1"),
            (Type::Float4, "16777216", "1.6777216e+07"),
            (Type::Numeric, "1.500", "1.500"),
            (Type::Bytea, "\\x00fF", "\\x00ff"),
            (Type::Bytea, "a\\\\b\\001", "\\x615c6201"),
            (Type::Date, "2000-02-29", "2000-02-29"),
            (Type::Date, "20240101", "2024-01-01"),
            (Type::Date, "1999-12-31 +00", "1999-12-31"),
            (Type::Date, "0044-03-15 BC", "0044-03-15 BC"),
            (Type::Date, "infinity", "infinity"),
            (Type::Time, "04:05:06.789", "04:05:06.789"),
            (Type::Time, "24:00", "24:00:00"),
            (Type::Timestamp, "2004-10-19 10:23:54.5", "2004-10-19 10:23:54.5"),
            (Type::Timestamp, "2004-10-19T10:23:54Z", "2004-10-19 10:23:54"),
            (Type::Timestamptz, "2004-10-19 10:23:54+02", "2004-10-19 08:23:54+00"),
            (Type::Timestamptz, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999+00"),
            (Type::Timestamptz, "epoch", "1970-01-01 00:00:00+00"),
            (
                Type::Uuid,
                "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            ),
            (Type::Json, "{\"b\" :1}", "{\"b\" :1}"),
            (
                Type::Jsonb,
                "{\"bb\":1, \"c\" : [true,null, 1.0e1], \"a\":{}, \"c\":\"\\u00fc\"}",
                "{\"a\": {}, \"c\": \"ü\", \"bb\": 1}",
            ),
        ] {
            let datum = from_text(of, text).expect(text);
            assert_eq!(shown(of, &datum), expected, "{of} {text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (of, text, sqlstate) in [
            (Type::Bool, "maybe", "22P02"),
            (Type::Bool, "", "22P02"),
            (Type::Int2, "32768", "22003"),
            (Type::Int4, "1.5", "22P02"),
            (Type::Int8, "9223372036854775808", "22003"),
            (Type::Float8, "1e400", "22003"),
            (Type::Float4, "1e40", "22003"),
            (Type::Float8, "abc", "22P02"),
            (Type::Bytea, "\\x0", "22P02"),
            (Type::Bytea, "\\9", "22P02"),
            (Type::Date, "2001-02-29", "22008"),
            (Type::Date, "yesterday's", "22007"),
            (Type::Date, "1999-12-31 x", "22007"),
            (Type::Time, "25:00", "22008"),
            (Type::Timestamp, "2000-01-01 00:61", "22008"),
            (Type::Uuid, "a0eebc99", "22P02"),
            (Type::Jsonb, "{", "22P02"),
            (Type::Jsonb, "01", "22P02"),
            (Type::Json, "", "22P02"),
        ] {
            assert_eq!(from_text(of, text).expect_err(text).sqlstate, sqlstate, "{of} {text}");
        }
    }
}
