//! Values as one word: what a person reads, and what a default is written as.

use super::{DECIMAL_END, Value};
use crate::column_type::DAY;
use crate::parts::SECOND;
use crate::{BadValue, ColumnType};
use core::fmt::{self, Display};

impl fmt::Display for Value {
    /// Numbers and texts as they are, bytes in hexadecimal, instants by ISO 8601 in UTC, parts in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Unit => f.write_str("()"),
            Self::Bool(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Decimal { mantissa, scale } => decimal(*mantissa, usize::from(*scale), f),
            Self::Char(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Self::Duration { seconds, nanoseconds } => {
                write!(f, "{seconds}")?;
                fraction(*nanoseconds, f)?;
                f.write_str("s")
            }
            Self::Instant { seconds, nanoseconds } => {
                let days = seconds.div_euclid(86_400);
                date(days, f)?;
                f.write_str("T")?;
                clock(seconds.rem_euclid(86_400).unsigned_abs(), *nanoseconds, f)?;
                f.write_str("Z")
            }
            Self::Date(days) => date((*days).into(), f),
            Self::Time(nanoseconds) => {
                let second = u64::from(SECOND);
                let below = u32::try_from(nanoseconds % second).unwrap_or_default();
                clock(nanoseconds / second, below, f)
            }
            Self::Ip(address) => address.fmt(f),
            Self::Uuid(bytes) => {
                for (at, byte) in bytes.iter().enumerate() {
                    f.write_str(if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" })?;
                    write!(f, "{byte:02x}")?;
                }
                Ok(())
            }
            Self::List(items) => list("[", items, "]", f),
            Self::Enum { number, fields } if fields.is_empty() => number.fmt(f),
            Self::Enum { number, fields } => {
                number.fmt(f)?;
                list("(", fields, ")", f)
            }
        }
    }
}

fn list(begin: &str, items: &[Value], end: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(begin)?;
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { ", " })?;
        item.fmt(f)?;
    }
    f.write_str(end)
}

fn decimal(mantissa: i128, scale: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digits = format!("{:0width$}", mantissa.unsigned_abs(), width = scale + 1);
    let (whole, places) = digits.split_at(digits.len() - scale);
    let sign = if mantissa < 0 { "-" } else { "" };
    let point = if places.is_empty() { "" } else { "." };
    write!(f, "{sign}{whole}{point}{places}")
}

fn fraction(nanoseconds: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if nanoseconds == 0 {
        return Ok(());
    }
    write!(f, ".{}", format!("{nanoseconds:09}").trim_end_matches('0'))
}

fn clock(seconds: u64, nanoseconds: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    fraction(nanoseconds, f)
}

/// A day by the Gregorian calendar.
fn date(days: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Years that begin in March, so that the leap day is their last; 400 of them repeat.
    let day = days + 719_468;
    let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    write!(f, "{year:04}-{month:02}-{day:02}")
}

impl Value {
    /// The value of `column_type` that `text` stands for: of types that are one word. `null` stands for no value of an
    /// option.
    ///
    /// # Errors
    /// When it stands for none.
    pub fn parse(column_type: &ColumnType, text: &str) -> Result<Self, BadValue> {
        use ColumnType as T;
        let parsed = match column_type {
            T::Unit => (text == "()").then_some(Self::Unit),
            T::Bool => text.parse().ok().map(Self::Bool),
            T::Unsigned(_) => text.parse().ok().map(Self::Unsigned),
            T::Signed(_) => text.parse().ok().map(Self::Signed),
            T::Float(_) => text.parse().ok().map(Self::Float),
            T::Decimal => parse_decimal(text),
            T::Char => text.parse().ok().map(Self::Char),
            T::Text(_) | T::String => Some(Self::Text(text.into())),
            T::Bytes(_) | T::Blob => parse_bytes(text).map(Self::Bytes),
            T::Ip => text.parse().ok().map(Self::Ip),
            T::Uuid => {
                let bytes = parse_bytes(&text.replace('-', ""));
                let value = bytes.and_then(|bytes| bytes.try_into().ok()).map(Self::Uuid);
                value.filter(|value| value.to_string() == text.to_lowercase())
            }
            T::Optional(_) if text == "null" => Some(Self::Null),
            T::Optional(of) => return Self::parse(of, text),
            T::Enum(variants) => {
                let variant = variants.iter().find(|variant| variant.name == text);
                variant.map(|variant| Self::Enum { number: variant.number, fields: Vec::new() })
            }
            _ => None,
        };
        let wrong = || BadValue::new(format!("{text:?} is no value of {column_type}"));
        let value = parsed.ok_or_else(wrong)?;
        // And within the bounds of the type.
        value.encode(column_type, &mut Vec::new()).map_err(|_| wrong())?;
        Ok(value)
    }
}

fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

fn parse_decimal(text: &str) -> Option<Value> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || !are_digits(digits) || !are_digits(places) || text.ends_with('.') {
        return None;
    }
    let mantissa: i128 = format!("{whole}{places}").parse().ok()?;
    let scale = u8::try_from(places.len()).ok()?;
    (mantissa.unsigned_abs() < DECIMAL_END).then_some(Value::Decimal { mantissa, scale })
}

const _: () = assert!(DAY == 86_400 * SECOND as u64, "a day in nanoseconds");

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(column_type: &str, text: &str) -> Result<Value, BadValue> {
        Value::parse(&column_type.parse().expect(column_type), text)
    }

    #[test]
    fn words_come_back() {
        for (column_type, text) in [
            ("u8", "255"),
            ("i8", "-128"),
            ("f64", "-0.5"),
            ("decimal", "-0.50"),
            ("decimal", "12"),
            ("bool", "true"),
            ("char", "ü"),
            ("string", "as it is"),
            ("blob", "00ff"),
            ("ip", "::1"),
            ("uuid", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            ("option(u8)", "null"),
            ("option(u8)", "7"),
        ] {
            let value = parsed(column_type, text).expect(text);
            assert_eq!(value.to_string(), text, "{column_type}");
        }
        let variant = parsed("enum(0 Red, 5 Blue)", "Blue").expect("a variant");
        assert_eq!(variant, Value::Enum { number: 5, fields: vec![] });
    }

    #[test]
    fn other_words_are_refused() {
        for (column_type, text) in [
            ("u8", "256"),
            ("u8", "-1"),
            ("u8", ""),
            ("i8", "128"),
            ("decimal", "1."),
            ("decimal", "-"),
            ("decimal", "1e3"),
            ("bool", "yes"),
            ("char", "ab"),
            ("text(2)", "abc"),
            ("bytes(1)", "0"),
            ("bytes(1)", "0001"),
            ("blob", "0x"),
            ("uuid", "67e5504410b1426f9247bb680e5fe0c8"),
            ("list(u8)", "1"),
            ("enum(0 Red, 1 Blue(u8))", "Blue"),
        ] {
            assert!(parsed(column_type, text).is_err(), "{column_type} {text:?}");
        }
    }

    #[test]
    fn instants_are_dates_of_the_calendar() {
        let at = |seconds, nanoseconds| Value::Instant { seconds, nanoseconds }.to_string();
        assert_eq!(at(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400, 500_000_000), "2000-02-29T00:00:00.5Z");
        assert_eq!(at(-1, 999_999_999), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(at(4_107_542_399, 0), "2100-02-28T23:59:59Z");
        assert_eq!(Value::Time(DAY - 1).to_string(), "23:59:59.999999999");
        assert_eq!(Value::Date(-719_468).to_string(), "0000-03-01");
    }
}
