//! Options within their limits, and key spaces divided into ranges.

use core::ops::Range;

/// Whether a value lies from `low` to `high`; if not, one line says so.
pub(crate) fn within(flag: &str, given: u64, low: u64, high: u64) -> Result<(), String> {
    if (low..=high).contains(&given) {
        return Ok(());
    }
    Err(format!("{flag} {given}: accepted is {low} to {high}"))
}

/// Whether a value is a percentage; if not, one line says so.
pub(crate) fn percent(flag: &str, given: f64) -> Result<(), String> {
    if (0.0..=100.0).contains(&given) {
        return Ok(());
    }
    Err(format!("{flag} {given}: accepted is 0 to 100 (percent)"))
}

/// The share of the part numbered `part` of `of` when `items` are divided evenly.
#[inline]
pub(crate) fn share(items: u32, part: u32, of: u32) -> Range<u32> {
    let bound = |part: u32| (u64::from(items) * u64::from(part) / u64::from(of)) as u32;
    bound(part)..bound(part + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once() {
        for (items, of) in [(18, 4), (7, 7), (3, 5), (u32::MAX, 65_536)] {
            let shares: Vec<_> = (0..of).map(|part| share(items, part, of)).collect();
            assert_eq!(shares[0].start, 0);
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert_eq!(shares[shares.len() - 1].end, items);
            let even = shares.iter().map(|it| it.len() as u32).collect::<Vec<_>>();
            assert!(even.iter().all(|len| len.abs_diff(items / of) <= 1));
        }
    }
}
