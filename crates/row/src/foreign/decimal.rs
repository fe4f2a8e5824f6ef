//! The type of the crate `rust_decimal`.

use super::{Foreign, parts_of_keys};
use crate::{BadValue, Decimal};

/// It has integers of 96 bits and at most 28 decimal places. Zeros at the end of a number with more are left out; a number
/// that has more even so is refused. There is one zero: a negative one loses its sign.
impl Foreign for rust_decimal::Decimal {
    type Plain = Decimal;

    fn to_plain(&self) -> Decimal {
        let scale = u8::try_from(self.scale()).ok();
        let plain = scale.and_then(|scale| Decimal::new(self.mantissa(), scale).ok());
        plain.expect("at most 29 digits, and 28 of them decimal places")
    }

    fn of_plain(plain: Decimal) -> Result<Self, BadValue> {
        let (mut mantissa, mut scale) = (plain.mantissa(), u32::from(plain.scale()));
        loop {
            if let Ok(decimal) = Self::try_from_i128_with_scale(mantissa, scale) {
                return Ok(decimal);
            }
            if scale == 0 || mantissa % 10 != 0 {
                return Err(BadValue::new("a decimal of more digits than rust_decimal has"));
            }
            mantissa /= 10;
            scale -= 1;
        }
    }
}

parts_of_keys!(rust_decimal::Decimal);
