//! Dates and times as text.

use crate::error::{Result, SqlError};
use crate::types::Type;

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;
/// Days from 1970-01-01 to 2000-01-01, from which PostgreSQL counts.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
/// The first day that PostgreSQL has, 4713-11-24 BC, and the day after the last one of timestamps.
const FIRST_DAY: i64 = -2_440_588;
const END_DAY: i64 = 106_741_035;

/// The year, the month and the day of a number of days from 1970-01-01.
pub(crate) fn civil(days: i64) -> (i64, u32, u32) {
    // Years that begin in March, so that the leap day is their last; 400 of them repeat.
    let day = days + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// The days from 1970-01-01 of a date that exists.
pub(crate) fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => return None,
    };
    if day == 0 || day > length {
        return None;
    }
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

pub(super) fn push_date(days: i32, out: &mut Vec<u8>) {
    match days {
        i32::MIN => out.extend(b"-infinity"),
        i32::MAX => out.extend(b"infinity"),
        days => {
            let before_christ = push_day(days.into(), out);
            out.extend(if before_christ { &b" BC"[..] } else { b"" });
        }
    }
}

/// Appends a date without its era; returns whether that is the one before Christ.
fn push_day(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil(days);
    let shown = if year > 0 { year } else { 1 - year };
    out.extend(format!("{shown:04}-{month:02}-{day:02}").bytes());
    year <= 0
}

pub(super) fn push_time(time: i64, out: &mut Vec<u8>) {
    let (second, below) = (time / 1_000_000, time % 1_000_000);
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    out.extend(clock.bytes());
    if below != 0 {
        let fraction = format!(".{below:06}");
        out.extend(fraction.trim_end_matches('0').bytes());
    }
}

pub(super) fn push_timestamp(time: i64, zone: bool, out: &mut Vec<u8>) {
    match time {
        i64::MIN => return out.extend(b"-infinity"),
        i64::MAX => return out.extend(b"infinity"),
        _ => {}
    }
    let before_christ = push_day(time.div_euclid(DAY), out);
    out.push(b' ');
    push_time(time.rem_euclid(DAY), out);
    out.extend(if zone { &b"+00"[..] } else { b"" });
    out.extend(if before_christ { &b" BC"[..] } else { b"" });
}

/// A text in parts.
#[derive(Default)]
struct Parts {
    /// Days from 1970-01-01.
    date: Option<i64>,
    /// Microseconds from midnight.
    time: Option<i64>,
    /// Microseconds by which the clock is before UTC.
    zone: Option<i64>,
}

enum Wrong {
    Syntax,
    Range,
}

fn wrong(of: Type, text: &str, wrong: &Wrong) -> SqlError {
    match wrong {
        Wrong::Syntax => {
            SqlError::invalid_datetime(format!("invalid input syntax for type {of}: \"{text}\""))
        }
        Wrong::Range => SqlError::datetime_out_of_range(format!(
            "date/time field value out of range: \"{text}\""
        )),
    }
}

pub(super) fn parse_date(text: &str) -> Result<i32> {
    match text.trim().to_ascii_lowercase().as_str() {
        "infinity" => return Ok(i32::MAX),
        "-infinity" => return Ok(i32::MIN),
        "epoch" => return Ok(0),
        _ => {}
    }
    let parts = parts(text).map_err(|it| wrong(Type::Date, text, &it))?;
    let days = parts.date.ok_or_else(|| wrong(Type::Date, text, &Wrong::Syntax))?;
    Ok(i32::try_from(days).unwrap_or(i32::MAX - 1))
}

pub(super) fn parse_time(text: &str) -> Result<i64> {
    let parts = parts(text).map_err(|it| wrong(Type::Time, text, &it))?;
    parts.time.ok_or_else(|| wrong(Type::Time, text, &Wrong::Syntax))
}

pub(super) fn parse_timestamp(of: Type, text: &str) -> Result<i64> {
    match text.trim().to_ascii_lowercase().as_str() {
        "infinity" => return Ok(i64::MAX),
        "-infinity" => return Ok(i64::MIN),
        "epoch" => return Ok(0),
        _ => {}
    }
    let parts = parts(text).map_err(|it| wrong(of, text, &it))?;
    let days = parts.date.ok_or_else(|| wrong(of, text, &Wrong::Syntax))?;
    let zone = if of == Type::Timestamptz { parts.zone.unwrap_or(0) } else { 0 };
    if !(FIRST_DAY..END_DAY).contains(&days) {
        return Err(wrong(of, text, &Wrong::Range));
    }
    Ok(days * DAY + parts.time.unwrap_or(0) - zone)
}

fn parts(text: &str) -> core::result::Result<Parts, Wrong> {
    let mut parts = Parts::default();
    let mut rest = text.trim();
    if !rest.is_ascii() {
        return Err(Wrong::Syntax);
    }
    let before_christ = rest.len() > 3 && rest[rest.len() - 3..].eq_ignore_ascii_case(" bc");
    if before_christ {
        rest = rest[..rest.len() - 3].trim_end();
    }
    let word = rest.find([' ', 'T', 't']).unwrap_or(rest.len());
    if !rest[..word].contains(':') {
        parts.date = Some(date(&rest[..word], before_christ)?);
        rest = rest[word..].trim_start_matches([' ', 'T', 't']);
    } else if before_christ {
        return Err(Wrong::Syntax);
    }
    if rest.is_empty() {
        return Ok(parts);
    }
    let clock = rest.find(|it: char| !matches!(it, '0'..='9' | ':' | '.')).unwrap_or(rest.len());
    // A date may have a zone without a time: drivers send one.
    if clock > 0 || parts.date.is_none() {
        parts.time = Some(time(&rest[..clock])?);
    }
    let zone = rest[clock..].trim();
    parts.zone = match zone.to_ascii_lowercase().as_str() {
        "" => None,
        "z" | "utc" | "gmt" => Some(0),
        _ => Some(offset(zone)?),
    };
    Ok(parts)
}

fn number<N: core::str::FromStr>(digits: &str) -> core::result::Result<N, Wrong> {
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return Err(Wrong::Syntax);
    }
    digits.parse().map_err(|_| Wrong::Range)
}

fn date(text: &str, before_christ: bool) -> core::result::Result<i64, Wrong> {
    let (year, month, day) = if text.len() == 8 && text.bytes().all(|it| it.is_ascii_digit()) {
        (&text[..4], &text[4..6], &text[6..])
    } else if let Some((month, rest)) = text.split_once('/') {
        let (day, year) = rest.split_once('/').ok_or(Wrong::Syntax)?;
        (year, month, day)
    } else {
        let (year, rest) = text.split_once('-').ok_or(Wrong::Syntax)?;
        let (month, day) = rest.split_once('-').ok_or(Wrong::Syntax)?;
        (year, month, day)
    };
    let (year, month, day): (i64, u32, u32) = (number(year)?, number(month)?, number(day)?);
    if year == 0 || year > 5_874_897 {
        return Err(Wrong::Range);
    }
    let year = if before_christ { 1 - year } else { year };
    let days = days_of(year, month, day).ok_or(Wrong::Range)?;
    if days < FIRST_DAY { Err(Wrong::Range) } else { Ok(days) }
}

fn time(text: &str) -> core::result::Result<i64, Wrong> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = clock.split(':');
    let hour: i64 = number(fields.next().ok_or(Wrong::Syntax)?)?;
    let minute: i64 = number(fields.next().ok_or(Wrong::Syntax)?)?;
    let second: i64 = fields.next().map_or(Ok(0), number)?;
    if fields.next().is_some() || fraction.contains('.') {
        return Err(Wrong::Syntax);
    }
    let mut digits = fraction.as_bytes().to_vec();
    let round = digits.get(6).is_some_and(|it| *it >= b'5');
    digits.resize(6, b'0');
    let below: i64 = number(&String::from_utf8(digits).unwrap_or_default())?;
    let time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + below + i64::from(round);
    if hour > 24 || minute > 59 || second > 60 || time > DAY {
        return Err(Wrong::Range);
    }
    Ok(time)
}

fn offset(text: &str) -> core::result::Result<i64, Wrong> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return Err(Wrong::Syntax),
    };
    let bare = digits.replace(':', "");
    let seconds: i64 = match bare.len() {
        1 | 2 => number::<i64>(&bare)? * 3600,
        4 => number::<i64>(&bare[..2])? * 3600 + number::<i64>(&bare[2..])? * 60,
        _ => return Err(Wrong::Syntax),
    };
    if seconds > 15 * 3600 + 59 * 60 { Err(Wrong::Range) } else { Ok(sign * seconds * 1_000_000) }
}
