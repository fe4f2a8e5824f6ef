//! The tables whose rows are the same in every house: kinds, states, exchanges, fees and taxes.

use crate::InsertRow;
use crate::random::Random;
use crate::tpce::rules::tier;
use crate::tpce::schema::{
    EXCHANGES, TAX_RATES, Tables, charge, commission_rate, exchange, key, status_type, taxrate,
    trade_type,
};
use crate::tpce::text::{Line, digits};
use crate::tpce::trading::{TYPES, status};
use chiliad_api::Result;

/// Quantities from which on a commission is lower.
const BRACKETS: [u32; 4] = [0, 200, 400, 800];

pub(super) fn all(tables: &Tables, insert: &mut InsertRow<'_>) -> Result<()> {
    for number in 0..TAX_RATES {
        let mut row = [0; taxrate::BYTES];
        taxrate::TX_RATE.set(&mut row, tax(number));
        let name = Line::of(&[b"Tax ", &digits::<3>(number.into())]);
        taxrate::TX_NAME.set(&mut row, name.bytes());
        insert(tables.taxrate, &key::tax(number), &row)?;
    }
    for number in 0..EXCHANGES {
        let mut row = [0; exchange::BYTES];
        exchange::EX_OPEN.set(&mut row, 930);
        exchange::EX_CLOSE.set(&mut row, 1730);
        let name = Line::of(&[b"Exchange ", &digits::<1>(number.into())]);
        exchange::EX_NAME.set(&mut row, name.bytes());
        insert(tables.exchange, &[number], &row)?;
    }
    for (number, name) in (0..).zip(status::NAMES) {
        let mut row = [0; status_type::BYTES];
        status_type::ST_NAME.set(&mut row, name);
        insert(tables.status_type, &[number], &row)?;
    }
    for (number, kind) in (0..).zip(TYPES) {
        let mut row = [0; trade_type::BYTES];
        trade_type::TT_IS_SELL.set(&mut row, kind.is_sell.into());
        trade_type::TT_IS_MRKT.set(&mut row, kind.is_market.into());
        trade_type::TT_NAME.set(&mut row, kind.name);
        insert(tables.trade_type, &[number], &row)?;
    }
    fees(tables, insert)
}

/// Charges and commissions.
fn fees(tables: &Tables, insert: &mut InsertRow<'_>) -> Result<()> {
    for trade_type in 0..TYPES.len() as u8 {
        for tier in 1..=3 {
            let mut row = [0; charge::BYTES];
            charge::CH_CHRG.set(&mut row, charge_of(trade_type, tier));
            insert(tables.charge, &key::charge(trade_type, tier), &row)?;
        }
    }
    for tier in 1..=3 {
        for trade_type in 0..TYPES.len() as u8 {
            for exchange in 0..EXCHANGES {
                for from in BRACKETS {
                    let mut row = [0; commission_rate::BYTES];
                    let rate = rate(tier, trade_type, exchange, from);
                    commission_rate::CR_RATE.set(&mut row, rate);
                    let key = key::commission(tier, trade_type, exchange, from);
                    insert(tables.commission_rate, &key, &row)?;
                }
            }
        }
    }
    Ok(())
}

/// CH_CHRG: cents.
pub(super) fn charge_of(trade_type: u8, tier: u8) -> u32 {
    100 * (4 - u32::from(tier)) + 50 * u32::from(trade_type)
}

/// CR_RATE: less for a higher tier, and for more shares.
pub(super) fn rate(tier: u8, trade_type: u8, exchange: u8, from: u32) -> u32 {
    let bracket = BRACKETS.iter().filter(|&&it| it < from).count() as u32;
    let base = 80 + 2 * u32::from(trade_type) + u32::from(exchange);
    base - 10 * u32::from(tier) - 8 * bracket
}

/// The quantity at which the bracket of `quantity` begins.
fn from_quantity(quantity: u32) -> u32 {
    BRACKETS.into_iter().rfind(|&from| from <= quantity).unwrap_or(0)
}

/// TX_RATE: 5 to 20 percent.
pub(super) fn tax(number: u16) -> u32 {
    Random::new(u64::from(number), 0x7a5e).range(5_000, 20_000)
}

/// The numbers of the two taxes that a customer pays.
pub(super) fn tax_number(customer: u32, which: u8) -> u16 {
    let half = u32::from(TAX_RATES / 2);
    let mut random = Random::new(u64::from(customer), 0x7a6);
    let numbers = [random.below(half), half + random.below(half)];
    numbers[usize::from(which)] as u16
}

/// The charge, the rate of the commission and the rate of the taxes of a customer's trade.
pub(super) fn costs(customer: u32, trade_type: u8, exchange: u8, quantity: u32) -> [u32; 3] {
    let tier = tier(customer);
    let rate = rate(tier, trade_type, exchange, from_quantity(quantity));
    let taxes = [0, 1].map(|which| tax(tax_number(customer, which)));
    [charge_of(trade_type, tier), rate, taxes[0] + taxes[1]]
}
