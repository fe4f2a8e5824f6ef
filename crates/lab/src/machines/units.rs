//! Numbers with their units, as machine files have them: read and written.

/// The most that a latency counts in cycles.
pub const CYCLES_MAX: u32 = 1_000_000;

const CLOCK_UNITS: [(&str, f64); 3] = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)];
const RATE_UNITS: [(&str, f64); 3] = [("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6)];
const TIME_UNITS: [(&str, f64); 3] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6)];

/// The values that [`clock`] reads.
pub const CLOCK: &str = "a frequency from 1MHz to 100GHz, such as \"2.4GHz\"";
/// The values that [`rate`] reads.
pub const RATE: &str = "a bandwidth from 1MB/s to 100TB/s, such as \"12.8GB/s\"";
/// The values that [`time`] reads.
pub const TIME: &str = "a time from 0.001ns to 1s, such as \"100ns\"";
/// The values that [`size`] reads.
pub const SIZE: &str = "a size such as \"32KiB\"";

fn number(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) =
        units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)))?;
    Some(number.trim_end().parse::<f64>().ok()? * unit)
}

/// Cycles per second.
pub fn clock(text: &str) -> Option<u64> {
    let hertz = number(text, &CLOCK_UNITS)?;
    (1e6..=1e11).contains(&hertz).then_some(hertz.round() as u64)
}

/// Bytes per second.
pub fn rate(text: &str) -> Option<f64> {
    number(text, &RATE_UNITS).filter(|rate| (1e6..=1e14).contains(rate))
}

/// Nanoseconds.
pub fn time(text: &str) -> Option<f64> {
    number(text, &TIME_UNITS).filter(|time| (1e-3..=1e9).contains(time))
}

/// Bytes.
pub fn size(text: &str) -> Option<u64> {
    chiliad_host::values::size(text).ok()
}

/// A frequency as [`clock`] reads it.
pub fn shown_clock(hertz: u64) -> String {
    let unit = CLOCK_UNITS.iter().find(|unit| hertz as f64 >= unit.1).unwrap_or(&CLOCK_UNITS[2]);
    format!("{}{}", hertz as f64 / unit.1, unit.0)
}

/// A size as [`size`] reads it.
pub fn shown_size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let unit = UNITS.iter().find(|unit| bytes >= unit.1 && bytes.is_multiple_of(unit.1));
    unit.map_or_else(|| format!("{bytes}B"), |unit| format!("{}{}", bytes / unit.1, unit.0))
}

/// Cycles of a clock as a time that [`time`] reads back to as many.
pub fn shown_time(cycles: u32, hertz: u64) -> String {
    let ns = f64::from(cycles) * 1e9 / hertz as f64;
    let short = format!("{ns:.1}ns");
    // As short as it can be told.
    let same = |text: &str| time(text).is_some_and(|ns| cycles_of(ns, hertz) == Some(cycles));
    if same(&short) { short } else { format!("{ns}ns") }
}

/// A time in whole cycles, at least one; `None` if they are too many.
pub fn cycles_of(ns: f64, hertz: u64) -> Option<u32> {
    let cycles = (ns * hertz as f64 / 1e9).round().max(1.0);
    (cycles <= 1e9).then_some(cycles as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for hertz in [1_000_000_000, 2_400_000_000, 2_299_998_000, 1_500_000] {
            assert_eq!(clock(&shown_clock(hertz)), Some(hertz));
            for cycles in [1, 7, 240, 99_999] {
                let ns = time(&shown_time(cycles, hertz)).expect("a time");
                assert_eq!(cycles_of(ns, hertz), Some(cycles), "{hertz}");
            }
        }
        for bytes in [64, 1 << 10, 48 << 10, 3 << 20, 1 << 30, 12_345] {
            assert_eq!(size(&shown_size(bytes)), Some(bytes));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "1", "GHz", "-1GHz", "0GHz", "inf GHz", "nanGHz", "200GHz"] {
            assert_eq!(clock(text), None, "{text}");
        }
        assert_eq!(time("0ns"), None);
        assert_eq!(rate("5GB"), None);
    }
}
