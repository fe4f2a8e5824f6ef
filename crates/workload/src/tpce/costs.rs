//! The fees and taxes of a trade: trade-order estimates with them, trade-result takes them.

use super::schema::{Tables, commission_rate, customer_taxrate, holding, key, taxrate};
use super::trading::Settling;
use crate::workload::present;
use chiliad_api::{Entry, Get, Range, Result, Transaction};

/// The least shares that a holding has: the least that are traded at a time.
const SHARES_MIN: u32 = 100;

/// The rate of the commission.
pub(super) fn commission_rate<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    kind: RateOf,
) -> Result<u32> {
    let [low, high] = kind.bounds();
    let range = Range::closed(&low, &high).reverse().limit(1);
    let scanned = tx.scan(tables.commission_rate, range)?;
    let entry = present(tx.entries(scanned)?.first())?;
    Ok(commission_rate::CR_RATE.get(tx.bytes(entry.row)?))
}

/// The properties of a trade by which its rates are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateOf {
    pub tier: u8,
    pub trade_type: u8,
    pub exchange: u8,
    pub quantity: u32,
}

impl RateOf {
    /// The rows among which the last one is the rate's.
    pub fn bounds(&self) -> [[u8; 7]; 2] {
        [0, self.quantity]
            .map(|from| key::commission(self.tier, self.trade_type, self.exchange, from))
    }
}

/// The rates of a customer's taxes, in all.
pub(super) fn taxes<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    customer: u32,
) -> Result<u32> {
    let keys = [0, 1].map(|which| key::tax_of(customer, which));
    let gets = keys.each_ref().map(|key| Get::read(tables.customer_taxrate, key));
    let mut rows = [None; 2];
    tx.get_many(&gets, &mut rows)?;
    let mut numbers = [[0; 2]; 2];
    for (number, row) in numbers.iter_mut().zip(rows) {
        *number = key::tax(customer_taxrate::CX_TX_ID.get(tx.bytes(present(row)?)?));
    }
    let gets = numbers.each_ref().map(|key| Get::read(tables.taxrate, key));
    tx.get_many(&gets, &mut rows)?;
    let mut sum = 0_u32;
    for row in rows {
        sum = sum.wrapping_add(taxrate::TX_RATE.get(tx.bytes(present(row)?)?));
    }
    Ok(sum)
}

/// An account's holdings of a security, in the order in which trades settle with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct HoldingsOf {
    pub account: u32,
    pub security: u32,
    /// The last one first.
    pub is_lifo: bool,
    /// Shares that are traded.
    pub quantity: u32,
}

impl HoldingsOf {
    /// The bounds of their keys.
    pub fn bounds(&self) -> [[u8; 16]; 2] {
        [0, u64::MAX].map(|trade| key::holding(self.account, self.security, trade))
    }

    /// As many of them as may be settled with.
    pub fn range<'b>(&self, [low, high]: &'b [[u8; 16]; 2]) -> Range<'b> {
        let range = Range { reverse: self.is_lifo, ..Range::closed(low, high) };
        range.limit((self.quantity / SHARES_MIN) as usize)
    }

    /// Settles with them, if there are any of the other sign, and gives those that change to `change`: the entry, the
    /// trade it is of, and its shares before and after.
    pub fn settle<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        settling: &mut Settling,
        change: &mut dyn FnMut(Entry, u64, [i64; 2]),
    ) -> Result<()> {
        let bounds = self.bounds();
        let scanned = tx.scan(tables.holding, self.range(&bounds))?;
        for &entry in tx.entries(scanned)? {
            let row = tx.bytes(entry.row)?;
            let held = holding::H_QTY.get(row);
            if let Some(after) = settling.take(held, holding::H_PRICE.get(row)) {
                change(entry, key::last_trade(tx.key(entry)?), [held, after]);
            }
        }
        Ok(())
    }
}
