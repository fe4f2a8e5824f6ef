//! Decimals and their keys.

use crate::BadValue;
use crate::key::{BadKey, KeyPart, Sink, Source};
use crate::value::DECIMAL_END;

/// Decimal places, at most.
const SCALE_MAX: u8 = 38;
/// The sign of zero in a key; above it positive numbers, below it negative ones.
const ZERO: u8 = 1;
/// Powers of ten are at least -38.
const BIAS: i32 = 64;

/// A number of the type `decimal`: an integer of at most 38 digits, and how many of them are decimal places.
///
/// Its key is that of the number: 1.0 and 1.00 have one key, which comes back with as few places as there can be.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    mantissa: i128,
    scale: u8,
}

impl Decimal {
    /// `mantissa` divided by ten to the power of `scale`.
    ///
    /// # Errors
    /// For more than 38 digits or decimal places.
    pub fn new(mantissa: i128, scale: u8) -> Result<Self, BadValue> {
        if mantissa.unsigned_abs() >= DECIMAL_END || scale > SCALE_MAX {
            return Err(BadValue::new("a decimal of more than 38 digits"));
        }
        Ok(Self { mantissa, scale })
    }

    /// The integer.
    #[must_use]
    pub fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// Its decimal places.
    #[must_use]
    pub fn scale(self) -> u8 {
        self.scale
    }
}

impl KeyPart for Decimal {
    /// The sign, the power of ten, the digits.
    const BYTES_MAX: usize = 18;
    type Decoded = Self;

    fn write<S: Sink>(&self, sink: &mut S) {
        let mut digits = self.mantissa.unsigned_abs();
        if digits == 0 {
            sink.put([ZERO]);
            return;
        }
        // The first digit comes to the first of 38 places.
        let mut power = 37 - i32::from(self.scale);
        while digits < DECIMAL_END / 10 {
            digits *= 10;
            power -= 1;
        }
        let power = u8::try_from(power + BIAS).unwrap_or_default();
        let (sign, flip) = if self.mantissa < 0 { (ZERO - 1, 0xff) } else { (ZERO + 1, 0) };
        sink.put([sign, power ^ flip]);
        sink.put(digits.to_be_bytes().map(|byte| byte ^ flip));
    }

    fn read(source: &mut Source<'_>) -> Result<Self, BadKey> {
        let sign = u8::read(source)?;
        let negative = match sign {
            ZERO => return Ok(Self { mantissa: 0, scale: 0 }),
            sign if sign == ZERO - 1 => true,
            sign if sign == ZERO + 1 => false,
            _ => return Err(BadKey),
        };
        let flip = if negative { 0xff } else { 0 };
        let power = i32::from(u8::read(source)? ^ flip) - BIAS;
        let bytes = <[u8; 16]>::read(source)?.map(|byte| byte ^ flip);
        let mut digits = u128::from_be_bytes(bytes);
        if !(DECIMAL_END / 10..DECIMAL_END).contains(&digits) {
            return Err(BadKey);
        }
        // As few places as there can be.
        let mut scale = 37 - power;
        while scale > 0 && digits.is_multiple_of(10) {
            digits /= 10;
            scale -= 1;
        }
        let scale = u8::try_from(scale).map_err(|_| BadKey)?;
        let mantissa = i128::try_from(digits).map_err(|_| BadKey)?;
        Self::new(if negative { -mantissa } else { mantissa }, scale).map_err(|_| BadKey)
    }
}
