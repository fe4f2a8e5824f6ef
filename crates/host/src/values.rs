//! How the values of flags are written: times, sizes, ranges, numbers within bounds.
//!
//! Every refusal says what is accepted; the caller adds the name of the flag.

use std::ops::Range;
use std::time::Duration;

/// Units of time, the longest suffix first.
const TIME_UNITS: [(&str, f64); 6] =
    [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("min", 60.0), ("s", 1.0), ("h", 3600.0)];

/// Units of memory, the longest suffix first.
const SIZE_UNITS: [(&str, u64); 8] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("B", 1),
];

/// The longest time that a flag accepts: a week.
const SECONDS_MAX: f64 = 604_800.0;

/// Parses `10s`, `40ms`, `1.5min`.
pub fn time(text: &str) -> Result<Duration, String> {
    const ACCEPTED: &str = "accepted: a time with its unit (ns, us, ms, s, min, h), such as 10s or \
                            40ms, up to 168h";
    let (number, unit) = TIME_UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))
        .ok_or_else(|| format!("a time without a unit; {ACCEPTED}"))?;
    let number: f64 = number.parse().map_err(|_| format!("not a time; {ACCEPTED}"))?;
    let seconds = number * unit;
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("out of range; {ACCEPTED}"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Parses a time that is 0 or never over (`none`).
pub fn time_or_endless(text: &str) -> Result<Duration, String> {
    match text {
        "none" => Ok(Duration::MAX),
        "0" => Ok(Duration::ZERO),
        _ => time(text).map_err(|refusal| refusal + ", 0, or none"),
    }
}

/// Parses a time above zero, or `none` for one that never comes.
pub fn time_or_never(text: &str) -> Result<Duration, String> {
    match text {
        "none" => Ok(Duration::MAX),
        _ => time_above_zero(text).map_err(|refusal| refusal + ", or none"),
    }
}

/// Parses a time that is not zero.
pub fn time_above_zero(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    if time.is_zero() {
        return Err("must be longer than zero; accepted: a time such as 10s or 40ms".into());
    }
    Ok(time)
}

/// Parses a size that may be none.
pub fn size_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { size(text).map_err(|refusal| refusal + ", or 0") }
}

/// Parses `4GiB`, `512MB`, `1048576`.
pub fn size(text: &str) -> Result<u64, String> {
    const ACCEPTED: &str = "accepted: a number of bytes, or with B, KiB, MiB, GiB, TiB, KB, MB or \
                            GB, such as 4GiB";
    let (number, unit) = SIZE_UNITS
        .iter()
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
        .unwrap_or((text, 1));
    let number: u64 = number.parse().map_err(|_| format!("not a size; {ACCEPTED}"))?;
    number
        .checked_mul(unit)
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| format!("out of range; {ACCEPTED}"))
}

/// Parses `A..B`: seeds from A up to, but without, B.
pub fn seeds(text: &str) -> Result<Range<u64>, String> {
    const ACCEPTED: &str = "accepted: A..B with A below B, such as 0..1000 (B is not run)";
    let (low, high) = text.split_once("..").ok_or_else(|| format!("not a range; {ACCEPTED}"))?;
    let parse = |number: &str| number.parse().map_err(|_| format!("not a range; {ACCEPTED}"));
    let range: Range<u64> = parse(low)?..parse(high)?;
    if range.is_empty() {
        return Err(format!("an empty range; {ACCEPTED}"));
    }
    Ok(range)
}

/// Parses a whole number from `low` to `high`.
pub fn whole(text: &str, low: u64, high: u64) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        Ok(_) => Err(format!("out of range; accepted: {low} to {high}")),
        Err(_) => Err(format!("not a whole number; accepted: {low} to {high}")),
    }
}

/// As [`whole`], for counts in memory.
pub fn count(text: &str, low: usize, high: usize) -> Result<usize, String> {
    let number = whole(text, low as u64, high as u64)?;
    usize::try_from(number).map_err(|_| format!("out of range; accepted: {low} to {high}"))
}

/// Parses a number from `low` to `high`.
pub fn real(text: &str, low: f64, high: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        Ok(_) => Err(format!("out of range; accepted: {low} to {high}")),
        Err(_) => Err(format!("not a number; accepted: {low} to {high}")),
    }
}

/// Parses a percentage.
pub fn percent(text: &str) -> Result<f64, String> {
    real(text.strip_suffix('%').unwrap_or(text), 0.0, 100.0)
}

/// A time as it is written in results: in its largest whole unit; `none` for one that never comes.
pub fn show_time(time: Duration) -> String {
    if time == Duration::MAX {
        return "none".into();
    }
    let ns = time.as_nanos();
    for (unit, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)] {
        if ns.is_multiple_of(size) {
            return format!("{}{unit}", ns / size);
        }
    }
    format!("{ns}ns")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        for (text, shown) in [
            ("10s", "10s"),
            ("40ms", "40ms"),
            ("1.5s", "1500ms"),
            ("200us", "200us"),
            ("2min", "120s"),
            ("7ns", "7ns"),
            ("0s", "0s"),
        ] {
            assert_eq!(show_time(time(text).expect(text)), shown);
        }
        for text in ["", "10", "s", "-1s", "1e9s", "xs", "10 parsecs"] {
            assert!(time(text).expect_err(text).contains("accepted:"), "{text}");
        }
        assert!(time_above_zero("0ms").is_err());
        assert_eq!(time_or_endless("0"), Ok(Duration::ZERO));
        for never in [time_or_endless("none"), time_or_never("none")] {
            assert_eq!(show_time(never.expect("none")), "none");
        }
        assert!(time_or_never("0").expect_err("0").contains("none"));
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("4GiB"), Ok(4 << 30));
        assert_eq!(size("512MB"), Ok(512_000_000));
        assert_eq!(size("77"), Ok(77));
        for text in ["", "0", "GiB", "4Gib", "-1", "99999999999TiB"] {
            assert!(size(text).expect_err(text).contains("accepted:"), "{text}");
        }
    }

    #[test]
    fn ranges_of_seeds_are_read() {
        assert_eq!(seeds("0..1000"), Ok(0..1000));
        for text in ["", "5", "5..5", "9..1", "a..b", "0..=3"] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_stay_in_their_bounds() {
        assert_eq!(whole("3", 1, 8), Ok(3));
        assert!(whole("9", 1, 8).is_err() && whole("x", 1, 8).is_err());
        assert!(real("2.5", 0.0, 2.0).is_err() && real("nan", 0.0, 2.0).is_err());
        assert_eq!(percent("80%"), Ok(80.0));
    }
}
