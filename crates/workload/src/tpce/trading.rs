//! Trading as arithmetic: kinds of trades, what they cost, and what they do to holdings. Money is in whole cents.

use crate::random::Random;

/// A kind of trade: a row of TRADE_TYPE.
#[derive(Clone, Copy, Debug)]
pub(super) struct TradeType {
    pub name: &'static [u8],
    pub is_sell: bool,
    /// Traded at the market's price, at once; if not, at a price that is asked for.
    pub is_market: bool,
    /// The chance of it, in percent.
    pub percent: u32,
}

/// By TT_ID.
pub(super) const TYPES: [TradeType; 5] = [
    TradeType { name: b"Market-Buy", is_sell: false, is_market: true, percent: 30 },
    TradeType { name: b"Market-Sell", is_sell: true, is_market: true, percent: 30 },
    TradeType { name: b"Limit-Buy", is_sell: false, is_market: false, percent: 20 },
    TradeType { name: b"Limit-Sell", is_sell: true, is_market: false, percent: 10 },
    TradeType { name: b"Stop-Loss", is_sell: true, is_market: false, percent: 10 },
];

/// A kind of trade, as often as its chance says.
pub(super) fn draw_type(random: &mut Random) -> u8 {
    let (mut left, mut kind) = (random.below(100), 0);
    while left >= TYPES[usize::from(kind)].percent {
        left -= TYPES[usize::from(kind)].percent;
        kind += 1;
    }
    kind
}

/// How many shares a trade is of.
pub(super) fn draw_quantity(random: &mut Random) -> u32 {
    100 << random.below(4)
}

/// The states of a trade, in the order in which it has them: ST_ID.
pub(super) mod status {
    /// Waits for its price.
    pub const PENDING: u8 = 0;
    /// Sent to the exchange.
    pub const SUBMITTED: u8 = 1;
    /// Over.
    pub const COMPLETED: u8 = 2;
    /// ST_NAME, by ST_ID.
    pub const NAMES: [&[u8]; 3] = [b"Pending", b"Submitted", b"Completed"];
}

/// Seconds in which an exchange is open, in a day.
pub(super) const DAY: u64 = 28_800;

/// The first second of the calendar: all dates count from here.
pub(super) const CALENDAR: u64 = 1_100_000_000;

/// The price of a security at a second of the calendar: it goes up and down between 20.00 and 30.00.
pub(super) fn price(security: u32, second: u64) -> u32 {
    let mut random = Random::new(u64::from(security), 0x9a1ce);
    let half = u64::from(random.range(2_000, 20_000));
    let at = (second + u64::from(random.below(40_000))) % (2 * half);
    let height = if at < half { at } else { 2 * half - at };
    2_000 + (height * 1_000 / half) as u32
}

/// Ten-thousandths of a price.
pub(super) fn scaled(price: u32, share: u32) -> u32 {
    let scaled = (u64::from(price) * u64::from(share) / 10_000) as u32;
    scaled.clamp(100, 1_000_000)
}

/// The worth of so many shares.
pub(super) fn value(quantity: i64, price: u32) -> i64 {
    quantity.wrapping_mul(i64::from(price))
}

/// The commission of a trade whose worth is `value`, at a rate in ten-thousandths.
pub(super) fn commission(value: i64, rate: u32) -> u32 {
    (value.wrapping_mul(i64::from(rate)) / 10_000) as u32
}

/// What a trade takes from holdings, and what that is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Settling {
    /// Shares that are not settled yet: above zero bought, below zero sold.
    left: i64,
    price: u32,
    /// The worth of the settled ones when they were bought, and when they were sold.
    bought: i64,
    sold: i64,
}

impl Settling {
    pub fn new(is_sell: bool, quantity: u32, price: u32) -> Self {
        let quantity = i64::from(quantity);
        let left = if is_sell { -quantity } else { quantity };
        Self { left, price, bought: 0, sold: 0 }
    }

    /// Shares that no holding has settled: they become one.
    pub fn left(&self) -> i64 {
        self.left
    }

    /// Shares that are settled, by what they were worth when they were bought and when they were sold.
    pub fn settled([bought, sold]: [i64; 2]) -> Self {
        Self { left: 0, price: 0, bought, sold }
    }

    /// The worth of the settled shares when they were bought, and when they were sold.
    pub fn sums(&self) -> [i64; 2] {
        [self.bought, self.sold]
    }

    /// The price of the trade.
    pub fn price(&self) -> u32 {
        self.price
    }

    /// Whether holdings of so many shares in all are of the other sign, so that it settles with them.
    pub fn meets(&self, held: i64) -> bool {
        self.left != 0 && held != 0 && (self.left > 0) != (held > 0)
    }

    /// Settles with a holding of so many shares (below zero: sold without having had them), which came at `price`. Returns
    /// how many it has left; `None` if it does not change.
    pub fn take(&mut self, held: i64, price: u32) -> Option<i64> {
        if !self.meets(held) {
            return None;
        }
        let shares = self.left.unsigned_abs().min(held.unsigned_abs()) as i64;
        let [first, last] = [value(shares, price), value(shares, self.price)];
        let (bought, sold) = if held > 0 { (first, last) } else { (last, first) };
        self.bought = self.bought.wrapping_add(bought);
        self.sold = self.sold.wrapping_add(sold);
        self.left += shares * held.signum();
        Some(held - shares * held.signum())
    }

    /// The tax on the profit, at a rate in hundred-thousandths; none for accounts that do not pay any.
    pub fn tax(&self, tax_status: u8, rate: u32) -> u32 {
        if !self.is_taxed(tax_status) {
            return 0;
        }
        let profit = self.sold.wrapping_sub(self.bought);
        (profit.wrapping_mul(i64::from(rate)) / 100_000) as u32
    }

    /// Whether there is a profit, and the account pays taxes.
    pub fn is_taxed(&self, tax_status: u8) -> bool {
        tax_status != 0 && self.sold > self.bought
    }
}

/// SE_AMT: what a trade brings to an account. A tax is withheld from accounts of status 1.
pub(super) fn amount(is_sell: bool, value: i64, fees: u32, tax: u32, tax_status: u8) -> i64 {
    let withheld = if tax_status == 1 { i64::from(tax) } else { 0 };
    let gross = if is_sell { value } else { value.wrapping_neg() };
    gross.wrapping_sub(i64::from(fees)).wrapping_sub(withheld)
}

/// Words folded into one number, so that answers can be compared and no reading is left out.
pub(super) fn fold(words: &[u64]) -> u64 {
    words.iter().fold(0x7e, |sum: u64, &word| {
        (sum.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sale_settles_holdings_and_the_rest_is_owed() {
        let mut settling = Settling::new(true, 300, 2_500);
        assert_eq!(settling.take(100, 2_000), Some(0));
        assert_eq!(settling.take(-50, 2_000), None);
        assert_eq!(settling.take(150, 3_000), Some(0));
        assert_eq!(settling.left(), -50);
        // 100 * 25 + 150 * 25 less 100 * 20 and 150 * 30: a loss.
        assert!(!settling.is_taxed(1));
        assert_eq!((settling.bought, settling.sold), (650_000, 625_000));
        assert_eq!(settling.tax(1, 10_000), 0);
    }

    #[test]
    fn a_purchase_settles_what_was_owed() {
        let mut settling = Settling::new(false, 100, 2_000);
        assert_eq!(settling.take(-300, 2_100), Some(-200));
        assert_eq!(settling.left(), 0);
        assert_eq!(settling.take(-300, 2_100), None);
        assert_eq!(settling.tax(2, 10_000), 1_000);
        assert_eq!(settling.tax(0, 10_000), 0);
    }

    #[test]
    fn amounts() {
        assert_eq!(amount(true, 10_000, 300, 50, 1), 9_650);
        assert_eq!(amount(true, 10_000, 300, 50, 2), 9_700);
        assert_eq!(amount(false, 10_000, 300, 50, 1), -10_350);
        assert_eq!(commission(1_000_000, 25), 2_500);
    }

    #[test]
    fn prices_stay_in_their_range() {
        for security in 0..50 {
            for day in 0..100 {
                assert!((2_000..=3_000).contains(&price(security, day * 7_777)));
            }
        }
        assert_eq!(scaled(2_000, 9_900), 1_980);
        assert_eq!(scaled(100, 9_900), 100);
    }

    #[test]
    fn kinds_come_as_often_as_they_should() {
        let mut random = Random::new(1, 1);
        let mut counts = [0; 5];
        (0..100_000).for_each(|_| counts[usize::from(draw_type(&mut random))] += 1);
        for (count, kind) in counts.into_iter().zip(TYPES) {
            assert!((kind.percent * 950..kind.percent * 1050).contains(&count), "{counts:?}");
        }
    }
}
