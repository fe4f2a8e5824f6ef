//! Numbers as text.

use super::text::invalid;
use crate::error::{Result, SqlError};
use crate::types::Type;

/// The least and the greatest number of a type of integers.
pub(crate) fn bounds(of: Type) -> (i64, i64) {
    match of {
        Type::Int2 => (i16::MIN.into(), i16::MAX.into()),
        Type::Int4 => (i32::MIN.into(), i32::MAX.into()),
        Type::Oid => (0, u32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

pub(super) fn integer(of: Type, text: &str) -> Result<i64> {
    short_integer(of, text.as_bytes()).map_or_else(|| any_integer(of, text), Ok)
}

/// The number of this type that digits with a sign or none stand for, as most numbers are written; `None` for other texts.
#[inline]
pub(crate) fn short_integer(of: Type, text: &[u8]) -> Option<i64> {
    /// As many digits as any number of the type may have.
    const DIGITS_MAX: usize = 18;
    let (digits, negative) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut value = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    let (low, high) = bounds(of);
    Some(if negative { -value } else { value }).filter(|value| (low..=high).contains(value))
}

/// The value of a text with blanks around it, or why it has none.
fn any_integer(of: Type, text: &str) -> Result<i64> {
    let digits = text.trim_matches(|it: char| it.is_ascii_whitespace());
    let bare = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    if bare.is_empty() || !bare.bytes().all(|it| it.is_ascii_digit()) {
        return Err(invalid(of, text));
    }
    let (low, high) = bounds(of);
    let value = digits.parse().ok().filter(|it| (low..=high).contains(it));
    value.ok_or_else(|| {
        SqlError::numeric_out_of_range(format!("value \"{digits}\" is out of range for type {of}"))
    })
}

pub(super) fn float(of: Type, text: &str) -> Result<f64> {
    let digits = text.trim_matches(|it: char| it.is_ascii_whitespace());
    let named = digits.bytes().any(|it| matches!(it.to_ascii_lowercase(), b'n' | b'i'));
    let value: f64 = digits.parse().map_err(|_| invalid(of, text))?;
    let (value, zero) = match of {
        Type::Float4 => {
            let single: f32 = digits.parse().map_err(|_| invalid(of, text))?;
            (f64::from(single), single == 0.0)
        }
        _ => (value, value == 0.0),
    };
    let has_digit = digits.bytes().take_while(|it| !matches!(it, b'e' | b'E'));
    let was_zero = has_digit.into_iter().all(|it| !matches!(it, b'1'..=b'9'));
    if !named && (value.is_infinite() || zero && !was_zero) {
        let message = format!("\"{digits}\" is out of range for type {of}");
        return Err(SqlError::numeric_out_of_range(message));
    }
    Ok(value)
}

pub(super) fn push_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend(&digits[at..]);
}

/// The shortest digits that stand for the number alone, with an exponent where PostgreSQL writes one.
pub(super) fn push_float(value: f64, single: bool, out: &mut Vec<u8>) {
    if !value.is_finite() {
        let name = match () {
            () if value.is_nan() => "NaN",
            () if value > 0.0 => "Infinity",
            () => "-Infinity",
        };
        out.extend(name.bytes());
        return;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the number is one of single precision")]
    let text = if single { format!("{:e}", value as f32) } else { format!("{value:e}") };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let digits = digits.replace('.', "");
    out.extend(sign.bytes());
    let beyond = if single { 6 } else { 15 };
    if exponent < -4 || exponent >= beyond {
        let (first, rest) = digits.split_at(1);
        out.extend(first.bytes());
        if !rest.is_empty() {
            out.push(b'.');
            out.extend(rest.bytes());
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.extend(format!("e{sign}{:02}", exponent.abs()).bytes());
    } else if exponent < 0 {
        out.extend(b"0.");
        out.extend((1..-exponent).map(|_| b'0'));
        out.extend(digits.bytes());
    } else {
        let whole = usize::try_from(exponent).unwrap_or_default() + 1;
        if digits.len() <= whole {
            out.extend(digits.bytes());
            out.extend((digits.len()..whole).map(|_| b'0'));
        } else {
            out.extend(digits[..whole].bytes());
            out.push(b'.');
            out.extend(digits[whole..].bytes());
        }
    }
}
