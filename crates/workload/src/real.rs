//! Powers, exponentials and logarithms that are the same on every host.
//!
//! A library's may differ in the last bit, and a simulated run is a function of its flags and its seed on
//! whatever host. These use nothing but the four operations of IEEE 754, which are exact everywhere, in
//! a fixed order. They are good to some units in the last place (a power to fourteen digits) for
//! the ordinary numbers that distributions are made of, and say nothing of infinities, zeroes and subnormal numbers.

/// ln 2 in two parts: the first times any exponent is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// `x` to the power of `y`, for positive `x`.
#[inline]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    exp(y * ln(x))
}

/// The natural logarithm of a positive number.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > core::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let exponent = exponent as f64;
    exponent * LN2_HIGH + (exponent * LN2_LOW + ln_of_ratio((mantissa - 1.0) / (mantissa + 1.0)))
}

/// ln(1 + x), for `x` above -1, without losing what is small in `x`.
#[inline]
pub(crate) fn ln_1p(x: f64) -> f64 {
    if x.abs() < 0.3 { ln_of_ratio(x / (2.0 + x)) } else { ln(1.0 + x) }
}

/// ln((1 + s) / (1 - s)), for `s` up to 0.18 in amount: 2 (s + s^3 / 3 + s^5 / 5 + ...).
#[inline]
fn ln_of_ratio(s: f64) -> f64 {
    let z = s * s;
    let (z2, z4, z8) = (z * z, z * z * (z * z), z * z * (z * z) * (z * z * (z * z)));
    let low = (1.0 / 3.0 + z / 5.0) + z2 * (1.0 / 7.0 + z / 9.0);
    let middle = (1.0 / 11.0 + z / 13.0) + z2 * (1.0 / 15.0 + z / 17.0);
    let high = (1.0 / 19.0 + z / 21.0) + z2 * (1.0 / 23.0);
    2.0 * s + 2.0 * s * z * (low + z4 * middle + z8 * high)
}

/// e to the power of `x`.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let exponent = (x * core::f64::consts::LOG2_E).round();
    let rest = (x - exponent * LN2_HIGH) - exponent * LN2_LOW;
    (1.0 + exp_m1_of_small(rest)) * f64::from_bits(((exponent as i64 + 1023) as u64) << 52)
}

/// e to the power of `x`, less one, without losing what is small.
#[inline]
pub(crate) fn exp_m1(x: f64) -> f64 {
    if x.abs() < 0.35 { exp_m1_of_small(x) } else { exp(x) - 1.0 }
}

/// The series for `r` up to 0.35 in amount: r + r^2 / 2! + r^3 / 3! + ...
#[inline]
fn exp_m1_of_small(r: f64) -> f64 {
    const F: [f64; 15] = {
        let mut inverse = [1.0; 15];
        let mut n = 1;
        while n < 15 {
            inverse[n] = inverse[n - 1] / n as f64;
            n += 1;
        }
        inverse
    };
    let (r2, r4) = (r * r, r * r * (r * r));
    let low = (F[2] + r * F[3]) + r2 * (F[4] + r * F[5]);
    let middle = (F[6] + r * F[7]) + r2 * (F[8] + r * F[9]);
    let high = (F[10] + r * F[11]) + r2 * (F[12] + r * F[13]);
    r + r2 * (low + r4 * middle + r4 * r4 * high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 4e-15 * theirs.abs(), "{ours:e} is not {theirs:e}");
    }

    #[test]
    fn they_agree_with_the_library() {
        let mut x = 1e-9;
        while x < 1e10 {
            near(ln(x) + 100.0, x.ln() + 100.0);
            near(ln_1p(x), x.ln_1p());
            near(ln_1p(-x / (1.0 + x)), (-x / (1.0 + x)).ln_1p());
            for y in [-2.0, -1.3, -0.6, 0.2, 0.4, 1.0, 2.5] {
                // The logarithm's error is multiplied by what it is multiplied by.
                let (ours, theirs) = (pow(x, y), x.powf(y));
                assert!((ours / theirs - 1.0).abs() < 2e-14, "{x:e} to the power of {y}");
            }
            x *= 1.37;
        }
        let mut x = 1e-9;
        while x < 600.0 {
            for x in [x, -x] {
                near(exp(x), x.exp());
                near(exp_m1(x), x.exp_m1());
            }
            x *= 1.21;
        }
    }

    /// To the last bit: a change of any of these changes every simulated run with a skew.
    #[test]
    fn they_are_what_they_were() {
        let bits = [pow(0.3, 2.5), pow(20e6, 0.4), ln(3.0), exp(-1.7), exp_m1(0.01), ln_1p(0.02)]
            .map(f64::to_bits);
        assert_eq!(bits, BITS);
    }

    const BITS: [u64; 6] = [
        4_587_264_983_580_736_552,
        4_650_534_431_277_225_882,
        4_607_626_529_066_517_259,
        4_595_749_887_897_340_423,
        4_576_947_148_659_168_063,
        4_581_364_940_122_793_969,
    ];
}
