//! The texts of a brokerage house: names made of a number, and the two forms between which trade-update changes some.

use super::list::List;
use crate::random::Random;

/// A text that is put together.
#[derive(Clone, Copy)]
pub(super) struct Line(List<u8, 60>);

impl Line {
    /// The parts, one after another.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut line = Self(List::new());
        parts.iter().copied().flatten().for_each(|&byte| line.0.push(byte));
        line
    }

    pub fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// The digits of a number.
pub(super) fn digits<const N: usize>(mut number: u64) -> [u8; N] {
    let mut digits = [b'0'; N];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    digits
}

/// The tax number of a customer.
pub(super) type TaxId = [u8; 10];

pub(super) fn tax_id(customer: u32) -> TaxId {
    // Multiplied by an odd number that is no multiple of 5, so that no two are equal.
    digits((u64::from(customer) * 7_654_321 + 13) % 10_000_000_000)
}

const FIRST: [&[u8]; 8] =
    [b"Ada", b"Barbara", b"Charles", b"Donald", b"Edsger", b"Frances", b"Grace", b"Tony"];
const LAST: [&[u8]; 8] =
    [b"Allen", b"Codd", b"Dijkstra", b"Gray", b"Hoare", b"Hopper", b"Knuth", b"Liskov"];

/// First and last name of a customer.
pub(super) fn names(customer: u32) -> [&'static [u8]; 2] {
    let mut random = Random::new(u64::from(customer), 0x4a3e);
    [FIRST[random.below(8) as usize], LAST[random.below(8) as usize]]
}

/// T_EXEC_NAME: the customer that a trade is made by.
pub(super) fn exec_name(customer: u32) -> Line {
    let [first, last] = names(customer);
    Line::of(&[first, b" ", last])
}

/// T_EXEC_NAME in its other form: with an X between the names, or without.
pub(super) fn other_exec_name(name: &[u8]) -> Line {
    let Some(at) = name.iter().position(|&byte| byte == b' ') else { return Line::of(&[name]) };
    let (first, rest) = name.split_at(at);
    match rest.strip_prefix(b" X ") {
        Some(last) => Line::of(&[first, b" ", last]),
        None => Line::of(&[first, b" X", rest]),
    }
}

/// SE_CASH_TYPE in its first form, and in the other one.
pub(super) fn cash_types(is_cash: bool) -> [&'static [u8]; 2] {
    if is_cash { [b"Cash Account", b"Cash"] } else { [b"Margin Account", b"Margin"] }
}

/// SE_CASH_TYPE in its other form.
pub(super) fn other_cash_type(is_cash: bool, now: &[u8]) -> &'static [u8] {
    let [one, other] = cash_types(is_cash);
    if now == one { other } else { one }
}

/// CT_NAME.
pub(super) fn cash_name(trade_type: u8, quantity: u32, security: u32) -> Line {
    let (kind, quantity) =
        (super::trading::TYPES[usize::from(trade_type)].name, digits::<4>(quantity.into()));
    Line::of(&[kind, b" ", &quantity, b" shares of ", &symbol(security)])
}

/// CT_NAME in its other form: Shares, or shares.
pub(super) fn other_cash_name(name: &[u8]) -> Line {
    let mut line = Line::of(&[name]);
    let bytes = &mut line.0;
    let at = bytes.as_slice().windows(6).position(|word| word.eq_ignore_ascii_case(b"shares"));
    if let Some(at) = at {
        bytes.change(at, |byte| byte ^ 0x20);
    }
    line
}

/// S_SYMB.
pub(super) fn symbol(security: u32) -> [u8; 8] {
    let mut symbol = *b"S0000000";
    symbol[1..].copy_from_slice(&digits::<7>(security.into()));
    symbol
}

/// CO_NAME.
pub(super) fn company_name(company: u32) -> Line {
    Line::of(&[b"Company ", &digits::<7>(company.into())])
}

/// S_ISSUE: which of the securities of its company.
pub(super) fn issue(number: u32) -> [u8; 6] {
    if number == 0 { *b"COMMON" } else { *b"PREF_A" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_forms_lead_back() {
        let name = exec_name(77);
        let other = other_exec_name(name.bytes());
        assert!(other.bytes().windows(3).any(|part| part == b" X "));
        assert_eq!(other_exec_name(other.bytes()).bytes(), name.bytes());
        let cash = cash_name(1, 400, 33);
        assert_eq!(cash.bytes(), b"Market-Sell 0400 shares of S0000033");
        let other = other_cash_name(cash.bytes());
        assert_eq!(other.bytes(), b"Market-Sell 0400 Shares of S0000033");
        assert_eq!(other_cash_name(other.bytes()).bytes(), cash.bytes());
        for is_cash in [false, true] {
            let [one, other] = cash_types(is_cash);
            assert_eq!(other_cash_type(is_cash, one), other);
            assert_eq!(other_cash_type(is_cash, other), one);
        }
        assert_eq!(other_exec_name(b"Nobody").bytes(), b"Nobody");
    }

    #[test]
    fn tax_numbers_are_of_one_customer_each() {
        let mut ids: Vec<TaxId> = (0..200_000).map(tax_id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 200_000);
    }
}
