//! Decimal numbers.

use crate::error::{Result, SqlError};
use core::cmp::Ordering;
use core::fmt;

/// Most digits.
const DIGITS_MAX: u8 = 38;
/// No mantissa is as great.
const END: u128 = 10_u128.pow(38);
/// A quotient has at least as many digits that count.
const QUOTIENT_DIGITS: i32 = 16;

/// A decimal number: `mantissa` divided by ten to the power of `scale`. At most 38 digits, of which as many may be decimal
/// places; those at the end count for how it is shown, not for how it compares. (`==` tells apart what is shown
/// differently.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// So that each value of SQL is smaller by a third: the mantissa alone would ask for 16 bytes' alignment.
#[repr(Rust, packed(8))]
pub struct Numeric {
    /// All digits.
    pub mantissa: i128,
    /// Decimal places.
    pub scale: u8,
}

#[cold]
fn overflow() -> SqlError {
    SqlError::numeric_out_of_range("value overflows numeric format")
        .with_detail(format!("A number has at most {DIGITS_MAX} digits here."))
}

fn power(of: u8) -> i128 {
    10_i128.pow(u32::from(of.min(DIGITS_MAX)))
}

#[expect(clippy::should_implement_trait, reason = "they fail, which operators cannot")]
impl Numeric {
    /// Zero.
    pub const ZERO: Self = Self { mantissa: 0, scale: 0 };

    /// A number of these parts.
    ///
    /// # Errors
    /// 22003 for more than 38 digits.
    pub fn new(mantissa: i128, scale: u8) -> Result<Self> {
        if mantissa.unsigned_abs() >= END || scale > DIGITS_MAX {
            return Err(overflow());
        }
        Ok(Self { mantissa, scale })
    }

    /// A whole number.
    #[must_use]
    pub fn of_int(value: i64) -> Self {
        Self { mantissa: value.into(), scale: 0 }
    }

    /// The number nearest to `value` of as many digits as the type of `value` keeps.
    ///
    /// # Errors
    /// 22003 for one that is not finite or too great.
    pub fn of_float(value: f64, single: bool) -> Result<Self> {
        if !value.is_finite() {
            return Err(SqlError::feature_not_supported(format!("{value} as numeric")));
        }
        let digits = if single { 5 } else { 14 };
        Self::parse(&format!("{value:.digits$e}")).map(Self::trimmed)
    }

    /// The number that a text stands for; `None`: none.
    ///
    /// # Errors
    /// 22P02; 22003 for more than 38 digits.
    pub fn parse(text: &str) -> Result<Self> {
        match Self::parse_short(text.as_bytes()) {
            Some(short) => Ok(short),
            None => Self::parse_any(text),
        }
    }

    /// The number that digits with a sign or none and a point or none stand for, as most numbers are written; `None` for
    /// other texts.
    fn parse_short(text: &[u8]) -> Option<Self> {
        /// Of so many digits every number has 64 bits.
        const SHORT_MAX: usize = 18;
        let (digits, negative) = match text {
            [b'-', digits @ ..] => (digits, true),
            digits => (digits, false),
        };
        if digits.len() > SHORT_MAX || !digits.first()?.is_ascii_digit() {
            return None;
        }
        let (mut mantissa, mut point) = (0_i64, None);
        for (at, byte) in digits.iter().enumerate() {
            match byte {
                b'0'..=b'9' => mantissa = mantissa * 10 + i64::from(byte - b'0'),
                b'.' if point.is_none() => point = Some(at),
                _ => return None,
            }
        }
        let places = point.map_or(0, |point| digits.len() - point - 1);
        let mantissa = i128::from(if negative { -mantissa } else { mantissa });
        Some(Self { mantissa, scale: u8::try_from(places).ok()? })
    }

    fn parse_any(text: &str) -> Result<Self> {
        let wrong =
            || SqlError::invalid_text(format!("invalid input syntax for type numeric: \"{text}\""));
        let trimmed = text.trim_matches(|it: char| it.is_ascii_whitespace());
        let (negative, digits) = match trimmed.as_bytes().first() {
            Some(b'-') => (true, &trimmed[1..]),
            Some(b'+') => (false, &trimmed[1..]),
            _ => (false, trimmed),
        };
        if matches!(digits.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity") {
            return Err(SqlError::feature_not_supported(format!("{trimmed} as numeric")));
        }
        let (digits, exponent) = match digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => {
                (digits, exponent.parse::<i32>().map_err(|_| wrong())?.clamp(-10_000, 10_000))
            }
            None => (digits, 0),
        };
        let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
        let are_digits = |part: &str| part.bytes().all(|it| it.is_ascii_digit());
        if whole.len() + places.len() == 0 || !are_digits(whole) || !are_digits(places) {
            return Err(wrong());
        }
        let scale = i32::try_from(places.len()).map_err(|_| overflow())? - exponent;
        let mut mantissa = 0_i128;
        for digit in whole.bytes().chain(places.bytes()) {
            mantissa = mantissa.checked_mul(10).ok_or_else(overflow)? + i128::from(digit - b'0');
        }
        if negative {
            mantissa = -mantissa;
        }
        if scale < 0 {
            let zeros = u8::try_from(-scale).ok().filter(|it| *it <= DIGITS_MAX);
            if mantissa == 0 {
                return Ok(Self::ZERO);
            }
            let factor = zeros.map(power).ok_or_else(overflow)?;
            return Self::new(mantissa.checked_mul(factor).ok_or_else(overflow)?, 0);
        }
        let scale = u8::try_from(scale).map_err(|_| overflow());
        match scale {
            Ok(scale) if scale <= DIGITS_MAX => Self::new(mantissa, scale),
            // Places beyond the last that there can be.
            Ok(scale) => Self { mantissa, scale }.rounded(DIGITS_MAX),
            Err(error) => Err(error),
        }
    }

    /// This number without zeros at the end of its places.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        while self.scale > 0 && self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.scale -= 1;
        }
        self
    }

    /// This number with so many places, rounded half away from zero.
    ///
    /// # Errors
    /// 22003 where that has more than 38 digits.
    pub fn rounded(self, scale: u8) -> Result<Self> {
        if scale == self.scale {
            return Ok(self);
        }
        if scale > self.scale {
            let factor = power(scale.min(DIGITS_MAX) - self.scale);
            let mantissa = self.mantissa.checked_mul(factor).ok_or_else(overflow)?;
            return Self::new(mantissa, scale.min(DIGITS_MAX));
        }
        let dropped = self.scale - scale;
        if dropped > DIGITS_MAX {
            return Ok(Self { mantissa: 0, scale });
        }
        let factor = power(dropped);
        let (mut mantissa, rest) = (self.mantissa / factor, self.mantissa % factor);
        if rest.unsigned_abs() >= factor.unsigned_abs() - rest.unsigned_abs() {
            mantissa += self.mantissa.signum();
        }
        Self::new(mantissa, scale)
    }

    /// As `round(x, places)`: places below zero are digits before the point.
    ///
    /// # Errors
    /// 22003 for more than 38 digits.
    pub fn round_to(self, places: i64) -> Result<Self> {
        if places >= 0 {
            let scale = u8::try_from(places).unwrap_or(u8::MAX).min(DIGITS_MAX);
            return self.rounded(scale);
        }
        let zeros = u8::try_from(-places).unwrap_or(u8::MAX);
        if zeros > DIGITS_MAX {
            return Ok(Self::ZERO);
        }
        let factor = power(zeros);
        let half = Self { mantissa: self.trunc(0).mantissa, scale: 0 };
        let (mut mantissa, rest) = (half.mantissa / factor, half.mantissa % factor);
        if rest.unsigned_abs() >= factor.unsigned_abs() - rest.unsigned_abs() {
            mantissa += half.mantissa.signum();
        }
        Self::new(mantissa.checked_mul(factor).ok_or_else(overflow)?, 0)
    }

    /// This number with at most so many places, the others cut off.
    #[must_use]
    pub fn trunc(self, scale: u8) -> Self {
        if scale >= self.scale {
            return self;
        }
        Self { mantissa: self.mantissa / power(self.scale - scale), scale }
    }

    /// The greatest whole number that is not greater.
    #[must_use]
    pub fn floor(self) -> Self {
        Self { mantissa: self.mantissa.div_euclid(power(self.scale)), scale: 0 }
    }

    /// The least whole number that is not less.
    #[must_use]
    pub fn ceil(self) -> Self {
        let floor = self.floor();
        let exact = self.mantissa.rem_euclid(power(self.scale)) == 0;
        Self { mantissa: floor.mantissa + i128::from(!exact), scale: 0 }
    }

    /// Both with the same scale.
    fn aligned(self, other: Self) -> Result<(i128, i128, u8)> {
        let scale = self.scale.max(other.scale);
        let raise = |of: Self| of.mantissa.checked_mul(power(scale - of.scale));
        match (raise(self), raise(other)) {
            (Some(one), Some(two)) => Ok((one, two, scale)),
            _ => Err(overflow()),
        }
    }

    /// The sum.
    ///
    /// # Errors
    /// 22003.
    pub fn add(self, other: Self) -> Result<Self> {
        let (one, two, scale) = self.aligned(other)?;
        Self::new(one.checked_add(two).ok_or_else(overflow)?, scale)
    }

    /// The difference.
    ///
    /// # Errors
    /// 22003.
    pub fn sub(self, other: Self) -> Result<Self> {
        self.add(other.negated())
    }

    /// The negative.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }

    /// The product.
    ///
    /// # Errors
    /// 22003.
    pub fn mul(self, other: Self) -> Result<Self> {
        let product = |one: Self, two: Self| {
            let mantissa = one.mantissa.checked_mul(two.mantissa)?;
            let scale = one.scale + two.scale;
            if scale > DIGITS_MAX && mantissa.unsigned_abs() < END {
                return Self { mantissa, scale }.rounded(DIGITS_MAX).ok();
            }
            Self::new(mantissa, scale).ok()
        };
        let exact = product(self, other);
        let product = exact.or_else(|| product(self.trimmed(), other.trimmed()));
        product.ok_or_else(overflow)
    }

    /// The quotient, with as many places as PostgreSQL gives it.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn div(self, other: Self) -> Result<Self> {
        if other.mantissa == 0 {
            return Err(SqlError::division_by_zero("division by zero"));
        }
        let (one, two) = (self.leading(), other.leading());
        let weight = one.0 - two.0 - i32::from(one.1 <= two.1);
        let places = (QUOTIENT_DIGITS - weight * 4).max(self.scale.into()).max(other.scale.into());
        let places = places.clamp(0, DIGITS_MAX.into());
        let (dividend, divisor) = (self.mantissa.unsigned_abs(), other.mantissa.unsigned_abs());
        // Digits of the quotient of the mantissas after the point, and one more to round by.
        let extra = places + i32::from(other.scale) - i32::from(self.scale) + 1;
        let (mut quotient, mut rest) = (dividend / divisor, dividend % divisor);
        for _ in 0..extra {
            rest = rest.checked_mul(10).ok_or_else(overflow)?;
            quotient = quotient.checked_mul(10).ok_or_else(overflow)? + rest / divisor;
            rest %= divisor;
        }
        for _ in extra..0 {
            quotient /= 10;
        }
        let quotient = (quotient + 5) / 10;
        let quotient = i128::try_from(quotient).map_err(|_| overflow())?;
        let negative = (self.mantissa < 0) != (other.mantissa < 0);
        let scale = u8::try_from(places).unwrap_or_default();
        Self::new(if negative { -quotient } else { quotient }, scale)
    }

    /// The place and the value of the first digit to the base of 10,000, as PostgreSQL stores a number.
    fn leading(self) -> (i32, i128) {
        if self.mantissa == 0 {
            return (0, 0);
        }
        // The digits with as many places as a multiple of four.
        let scale = self.scale.div_ceil(4) * 4;
        let mut weight = -i32::from(scale / 4);
        let mut digits = self.mantissa.unsigned_abs();
        let shift = u32::from(scale - self.scale);
        let mut first = 0;
        // The lowest digit has fewer decimal digits by `shift`.
        let lowest = digits % 10_u128.pow(4 - shift) * 10_u128.pow(shift);
        digits /= 10_u128.pow(4 - shift);
        if digits == 0 {
            first = lowest;
        }
        while digits > 0 {
            first = digits % 10_000;
            digits /= 10_000;
            weight += 1;
        }
        (weight, i128::try_from(first).unwrap_or_default())
    }

    /// The rest of a division, with the sign of this number.
    ///
    /// # Errors
    /// 22012, 22003.
    pub fn rem(self, other: Self) -> Result<Self> {
        if other.mantissa == 0 {
            return Err(SqlError::division_by_zero("division by zero"));
        }
        let (one, two, scale) = self.aligned(other)?;
        Self::new(one % two, scale)
    }

    /// How it compares.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        if self.scale == other.scale {
            return { self.mantissa }.cmp(&{ other.mantissa });
        }
        let parts = |of: Self| {
            let unit = power(of.scale);
            let fraction = of.mantissa.rem_euclid(unit) * power(DIGITS_MAX - of.scale);
            (of.mantissa.div_euclid(unit), fraction)
        };
        parts(self).cmp(&parts(other))
    }

    /// The nearest floating-point number.
    #[must_use]
    pub fn to_float(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The nearest whole number; `None`, where it has more than 64 bits.
    #[must_use]
    pub fn to_int(self) -> Option<i64> {
        i64::try_from(self.rounded(0).ok()?.mantissa).ok()
    }

    /// This number as a column of `numeric(precision, scale)` holds it.
    ///
    /// # Errors
    /// 22003, where it has more digits before the point.
    pub fn fit(self, modifier: i32) -> Result<Self> {
        if modifier < 4 {
            return Ok(self);
        }
        let (precision, scale) = ((modifier - 4) >> 16 & 0xffff, (modifier - 4) & 0x7ff);
        let scale = u8::try_from(scale).unwrap_or(DIGITS_MAX).min(DIGITS_MAX);
        let rounded = self.rounded(scale)?;
        let digits = u8::try_from(precision).unwrap_or(DIGITS_MAX).min(DIGITS_MAX);
        if digits < DIGITS_MAX && rounded.mantissa.abs() >= power(digits) {
            let whole = i32::from(digits) - i32::from(scale);
            let bound = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
            return Err(SqlError::numeric_out_of_range("numeric field overflow").with_detail(
                format!(
                    "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
                ),
            ));
        }
        Ok(rounded)
    }

    /// Appends its text.
    pub(crate) fn push_text(self, out: &mut Vec<u8>) {
        // Room for a sign, a digit, a point and all places.
        let mut text = [0_u8; 3 + u8::MAX as usize];
        let mut at = text.len();
        let (scale, mut count, mut rest) =
            (usize::from(self.scale), 0, self.mantissa.unsigned_abs());
        while rest > 0 || count <= scale {
            if count == scale && scale > 0 {
                at -= 1;
                text[at] = b'.';
            }
            // Most are short, and a division of 64 bits is much quicker.
            let digit = match u64::try_from(rest) {
                Ok(short) => {
                    rest = u128::from(short / 10);
                    u8::try_from(short % 10)
                }
                Err(_) => {
                    let digit = rest % 10;
                    rest /= 10;
                    u8::try_from(digit)
                }
            };
            at -= 1;
            text[at] = b'0' + digit.unwrap_or_default();
            count += 1;
        }
        if self.mantissa < 0 {
            at -= 1;
            text[at] = b'-';
        }
        out.extend_from_slice(&text[at..]);
    }
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.push_text(&mut text);
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Numeric {
        Numeric::parse(text).expect(text)
    }

    #[test]
    fn texts_come_back() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.50", "-0.50"),
            (" +12. ", "12"),
            (".5", "0.5"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            ("-.05", "-0.05"),
            ("007.10", "7.10"),
            ("-0", "0"),
            ("123456789012345678", "123456789012345678"),
            ("12345678901234567.8", "12345678901234567.8"),
            ("-1234567890123456789.01", "-1234567890123456789.01"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
        ] {
            assert_eq!(number(text).to_string(), shown);
        }
        for text in ["", "-", "-.", "1.2.3", "x", "1e", "--1", "1_0"] {
            assert_eq!(Numeric::parse(text).expect_err(text).sqlstate, "22P02");
        }
        assert_eq!(Numeric::parse("1e39").expect_err("too long").sqlstate, "22003");
    }

    /// What PostgreSQL 15 prints.
    #[test]
    fn quotients_have_the_places_of_postgresql() {
        for (one, two, quotient) in [
            ("1", "3", "0.33333333333333333333"),
            ("10", "3", "3.3333333333333333"),
            ("1", "7", "0.14285714285714285714"),
            ("100000", "3", "33333.333333333333"),
            ("2", "1", "2.0000000000000000"),
            ("6.0", "4", "1.5000000000000000"),
            ("-7", "2", "-3.5000000000000000"),
            ("0", "5", "0.00000000000000000000"),
            ("0.001", "3", "0.00033333333333333333"),
        ] {
            let found = number(one).div(number(two)).expect(one);
            assert_eq!(found.to_string(), quotient, "{one} / {two}");
        }
        assert_eq!(number("1").div(Numeric::ZERO).expect_err("zero").sqlstate, "22012");
    }

    #[test]
    fn sums_products_and_roundings() {
        assert_eq!(number("1.5").add(number("2.25")).expect("fits").to_string(), "3.75");
        assert_eq!(number("1.50").mul(number("2.0")).expect("fits").to_string(), "3.000");
        assert_eq!(number("-2.5").rounded(0).expect("fits").to_string(), "-3");
        assert_eq!(number("2.345").rounded(2).expect("fits").to_string(), "2.35");
        assert_eq!(number("1250").round_to(-2).expect("fits").to_string(), "1300");
        assert_eq!(number("-7.5").rem(number("2")).expect("fits").to_string(), "-1.5");
        assert_eq!(number("-1.1").floor().to_string(), "-2");
        assert_eq!(number("-1.1").ceil().to_string(), "-1");
        assert_eq!(number("1.10").compare(number("1.1")), Ordering::Equal);
        assert_eq!(number("-1.2").compare(number("-1.10")), Ordering::Less);
        let fitted = number("123.456").fit((5 << 16 | 2) + 4).expect("fits");
        assert_eq!(fitted.to_string(), "123.46");
        assert_eq!(number("1000").fit((5 << 16 | 2) + 4).expect_err("long").sqlstate, "22003");
    }
}
