//! Functions of texts.

use super::functions::Function as F;
use crate::datum::Datum;
use crate::error::{Result, SqlError};

/// The longest text that a function makes, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 20;

fn text(datum: &Datum<'_>) -> Result<String> {
    match datum {
        Datum::Text(text) => Ok(text.clone().into_owned()),
        Datum::Null => Ok(String::new()),
        _ => Err(SqlError::internal("a function of other arguments")),
    }
}

fn int(datum: Option<&Datum<'_>>) -> Option<i64> {
    match datum {
        Some(Datum::Int(value)) => Some(*value),
        _ => None,
    }
}

/// Functions whose first argument need not be a text.
fn of_any<'r>(function: F, arguments: &[Datum<'_>]) -> Result<Datum<'r>> {
    match function {
        F::Concat => {
            let parts = arguments.iter().map(text).collect::<Result<Vec<_>>>()?;
            Ok(Datum::text(parts.concat()))
        }
        F::ConcatWs => {
            let Some((separator, parts)) = arguments.split_first() else { return Ok(Datum::Null) };
            if separator.is_null() {
                return Ok(Datum::Null);
            }
            let parts = parts.iter().filter(|it| !it.is_null()).map(text);
            Ok(Datum::text(parts.collect::<Result<Vec<_>>>()?.join(&text(separator)?)))
        }
        F::Join => join(arguments),
        F::Chr => {
            let code = int(arguments.first()).unwrap_or(0);
            let letter = u32::try_from(code).ok().and_then(char::from_u32);
            let letter = letter.filter(|it| *it != '\0').ok_or_else(|| {
                SqlError::program_limit(format!("requested character not valid: {code}"))
            })?;
            Ok(Datum::text(letter.to_string()))
        }
        F::OctetLength => Ok(Datum::Int(length_of(match arguments.first() {
            Some(Datum::Text(text)) => text.len(),
            Some(Datum::Bytes(bytes)) => bytes.len(),
            _ => 0,
        }))),
        _ => Err(SqlError::internal("a function of other arguments")),
    }
}

pub(super) fn call<'r>(function: F, arguments: &[Datum<'_>]) -> Result<Datum<'r>> {
    match function {
        F::Concat | F::ConcatWs | F::Join | F::Chr | F::OctetLength => {
            return of_any(function, arguments);
        }
        _ => {}
    }
    let first = text(arguments.first().unwrap_or(&Datum::Null))?;
    let second = arguments.get(1);
    Ok(match function {
        F::Lower => Datum::text(first.to_lowercase()),
        F::Upper => Datum::text(first.to_uppercase()),
        F::Initcap => Datum::text(initcap(&first)),
        F::Length => Datum::Int(length_of(first.chars().count())),
        F::Substring => {
            let start = int(second).unwrap_or(1);
            Datum::text(substring(&first, start, int(arguments.get(2)))?)
        }
        F::Left | F::Right => Datum::text(end_of(&first, int(second).unwrap_or(0), function)),
        F::Lpad | F::Rpad => {
            let filler = arguments.get(2).map_or(Ok(" ".into()), text)?;
            Datum::text(pad(&first, int(second).unwrap_or(0), &filler, function)?)
        }
        F::Trim | F::LeftTrim | F::RightTrim => {
            let letters: Vec<char> = second.map_or(Ok(" ".into()), text)?.chars().collect();
            Datum::text(match function {
                F::Trim => first.trim_matches(&*letters).to_owned(),
                F::LeftTrim => first.trim_start_matches(&*letters).to_owned(),
                _ => first.trim_end_matches(&*letters).to_owned(),
            })
        }
        F::Replace => {
            let (from, to) = (text(&arguments[1])?, text(&arguments[2])?);
            if from.is_empty() {
                return Ok(Datum::text(first));
            }
            let growth = first.matches(&*from).count().saturating_mul(to.len());
            bounded(first.len().saturating_add(growth))?;
            Datum::text(first.replace(&from, &to))
        }
        F::Reverse => Datum::text(first.chars().rev().collect::<String>()),
        F::Repeat => {
            let times = usize::try_from(int(second).unwrap_or(0)).unwrap_or(0);
            bounded(first.len().saturating_mul(times))?;
            Datum::text(first.repeat(times))
        }
        F::Strpos => {
            let at = first.find(&text(&arguments[1])?);
            Datum::Int(at.map_or(0, |at| length_of(first[..at].chars().count()) + 1))
        }
        F::SplitPart => {
            Datum::text(split_part(&first, &text(&arguments[1])?, int(arguments.get(2)))?)
        }
        F::StartsWith => Datum::Bool(first.starts_with(&text(&arguments[1])?)),
        F::Ascii => Datum::Int(first.chars().next().map_or(0, |it| u32::from(it).into())),
        _ => return Err(SqlError::internal("a function of other arguments")),
    })
}

fn length_of(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn bounded(bytes: usize) -> Result<()> {
    if bytes > TEXT_BYTES_MAX {
        return Err(SqlError::program_limit("requested length too large"));
    }
    Ok(())
}

/// `||` of texts or of bytes.
fn join<'r>(arguments: &[Datum<'_>]) -> Result<Datum<'r>> {
    match arguments {
        [Datum::Text(one), Datum::Text(two)] => {
            bounded(one.len() + two.len())?;
            Ok(Datum::text([&**one, &**two].concat()))
        }
        [Datum::Bytes(one), Datum::Bytes(two)] => {
            bounded(one.len() + two.len())?;
            Ok(Datum::bytes([&**one, &**two].concat()))
        }
        _ => Err(SqlError::internal("a function of other arguments")),
    }
}

fn initcap(text: &str) -> String {
    let mut within = false;
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match within {
            true => out.extend(letter.to_lowercase()),
            false => out.extend(letter.to_uppercase()),
        }
        within = letter.is_alphanumeric();
    }
    out
}

/// Letters from place `start` (from 1) on: all, or so many, of which those before the first one count.
fn substring(text: &str, start: i64, length: Option<i64>) -> Result<String> {
    let end = match length {
        Some(..0) => {
            return Err(SqlError::new("22011", "negative substring length not allowed"));
        }
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let first = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
    let count = usize::try_from(end.saturating_sub(start.max(1))).unwrap_or(0);
    Ok(text.chars().skip(first).take(count).collect())
}

/// The first or the last letters; below zero all but so many of the other end.
fn end_of(text: &str, count: i64, function: F) -> String {
    let length = text.chars().count();
    let kept = match usize::try_from(count) {
        Ok(count) => count.min(length),
        Err(_) => {
            let without = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
            length.saturating_sub(without)
        }
    };
    match function {
        F::Left => text.chars().take(kept).collect(),
        _ => text.chars().skip(length - kept).collect(),
    }
}

fn pad(text: &str, length: i64, filler: &str, function: F) -> Result<String> {
    let length = usize::try_from(length).unwrap_or(0);
    bounded(length)?;
    let has = text.chars().count();
    if has >= length || filler.is_empty() {
        return Ok(text.chars().take(length).collect());
    }
    let padding: String = filler.chars().cycle().take(length - has).collect();
    Ok(match function {
        F::Lpad => padding + text,
        _ => text.to_owned() + &padding,
    })
}

fn split_part(text: &str, separator: &str, number: Option<i64>) -> Result<String> {
    let number = number.unwrap_or(0);
    if number == 0 {
        return Err(SqlError::invalid_parameter("field position must not be zero"));
    }
    let parts: Vec<&str> = match separator {
        "" => vec![text],
        separator => text.split(separator).collect(),
    };
    let at = match number {
        1.. => usize::try_from(number - 1).ok(),
        _ => {
            let back = usize::try_from(number.unsigned_abs()).ok();
            back.and_then(|back| parts.len().checked_sub(back))
        }
    };
    Ok(at.and_then(|at| parts.get(at)).unwrap_or(&"").to_string())
}
