//! Numbers and dates as people read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A number with three figures, and a unit of thousands where it is large.
pub fn short(number: f64) -> String {
    let (scaled, unit) = match number.abs() {
        size if size >= 1e9 => (number / 1e9, " G"),
        size if size >= 1e6 => (number / 1e6, " M"),
        size if size >= 1e4 => (number / 1e3, " k"),
        _ => (number, ""),
    };
    let decimals = match scaled.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        // Two figures after the zeros.
        size => (1.0 - size.log10().floor()).min(7.0) as usize,
    };
    format!("{scaled:.decimals$}{unit}")
}

/// A time in minutes and seconds.
pub fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// The day and the minute of a moment, in universal time.
pub fn date(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a day since 1970, by eras of 400 years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (0.1234, "0.12"),
            (0.00031, "0.00031"),
            (1e-12, "0.0000000"),
            (1.5, "1.50"),
            (999.6, "1000"),
            (9_500.0, "9500"),
            (12_345.0, "12.3 k"),
            (1_234_567.0, "1.23 M"),
            (3.2e9, "3.20 G"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn days_have_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (20_777, (2026, 11, 20)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(civil(days), date);
        }
        let moment = UNIX_EPOCH + Duration::from_secs(20_777 * 86_400 + 3_661);
        assert_eq!(date(moment), "2026-11-20 01:01 UTC");
        assert_eq!(minutes(Duration::from_secs(59)), "59 s");
        assert_eq!(minutes(Duration::from_secs(61)), "1 min 1 s");
    }
}
