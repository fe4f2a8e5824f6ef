//! Prices of units of work: in instructions in files, in parts of one in descriptions.

use chiliad_simulator::description::PRICE_BITS;
use std::ops::RangeInclusive;

/// The least and the most instructions of a unit of work.
pub const PRICES: RangeInclusive<f64> = 0.004..=100_000.0;

/// Instructions as a description has them.
pub fn in_256ths(instructions: f64) -> u32 {
    (instructions * f64::from(1 << PRICE_BITS)).round().max(1.0) as u32
}

/// A price as a file has it.
pub fn shown_price(price: u32) -> String {
    format!("{:.3}", f64::from(price) / f64::from(1 << PRICE_BITS))
}
