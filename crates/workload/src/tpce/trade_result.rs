//! Trade-result: the exchange has made a trade. It takes the oldest trade of a broker that waits for that, settles with what the
//! account holds, and pays everybody.
//!
//! A trade that has waited for its price is sent to the exchange first, and the price is noted as the last one of its
//! security: what Market-Feed does of it in the specification.

use super::costs::{HoldingsOf, RateOf, commission_rate, taxes};
use super::list::List;
use super::rows::{self, Done};
use super::schema::{
    Tables, broker, customer, customer_account, holding, holding_summary, key, last_trade,
    security, trade, trade_type,
};
use super::trading::{Settling, commission, fold, scaled, status, value};
use crate::workload::{free, present};
use chiliad_api::{Get, Range, Result, Row, Transaction};

/// A message of the exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub broker: u32,
    /// The price at which it was traded, in ten-thousandths of the last one.
    pub moves: u32,
    pub second: u64,
}

/// Holdings with which one trade settles at most: it is of so many hundred shares.
pub(super) const CHANGES_MAX: usize = 8;

/// A trade as its row says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub account: u32,
    pub security: u32,
    pub trade_type: u8,
    pub quantity: u32,
    pub bid: u32,
    pub is_lifo: bool,
    pub is_pending: bool,
}

impl Asked {
    pub fn read(row: &[u8]) -> Self {
        Self {
            account: trade::T_CA_ID.get(row),
            security: trade::T_S_ID.get(row),
            trade_type: trade::T_TT_ID.get(row),
            quantity: trade::T_QTY.get(row),
            bid: trade::T_BID_PRICE.get(row),
            is_lifo: trade::T_LIFO.get(row) != 0,
            is_pending: trade::T_ST_ID.get(row) == status::PENDING,
        }
    }

    /// The key of a holding of its account and security, by its trade.
    pub fn holding(&self, trade: u64) -> [u8; 16] {
        key::holding(self.account, self.security, trade)
    }

    pub fn holdings(&self) -> HoldingsOf {
        let Self { account, security, is_lifo, quantity, .. } = *self;
        HoldingsOf { account, security, is_lifo, quantity }
    }
}

/// The rows besides the trade's that are changed.
struct Found {
    trade: Row,
    account: Row,
    broker: Row,
    last_trade: Row,
    position: Option<Row>,
}

impl Request {
    /// `None` where no trade waits.
    pub fn run<T: Transaction + ?Sized>(&self, tables: &Tables, tx: &mut T) -> Result<Option<u64>> {
        let (low, high) = (key::trade_by(self.broker, 0), key::trade_by(self.broker, u64::MAX));
        let scanned = tx.scan(tables.trade_queue, Range::closed(&low, &high).limit(1))?;
        let Some(&entry) = tx.entries(scanned)?.first() else { return Ok(None) };
        let number = key::last_trade(tx.key(entry)?);
        tx.remove_row(entry.row)?;

        let trade = present(tx.get_for_update(tables.trade, &key::trade(number))?)?;
        let asked = Asked::read(tx.bytes(trade)?);
        let (found, kind) = self.find(tables, tx, trade, &asked)?;
        let mut second = self.second;
        if asked.is_pending {
            tx.remove(tables.trade_request, &key::trade(number))?;
            let state = key::state(number, status::SUBMITTED);
            free(tx.insert(tables.trade_history, &state, &rows::dated(second)))?;
            second += 1;
        }
        let price = self.price(tx.bytes(found.last_trade)?, &asked);
        let row = tx.modify(found.last_trade)?;
        note(row, price, asked.quantity, second);

        let is_sell = trade_type::TT_IS_SELL.get(tx.bytes(kind)?) != 0;
        let settling = Settling::new(is_sell, asked.quantity, price);
        let settling = settle(tables, tx, (number, &asked), found.position, settling, second)?;
        let done = done(tables, tx, &asked, &found, &settling, (price, second))?;
        self.pay(tables, tx, number, &found, &done).map(Some)
    }

    /// The rows to be changed, and the trade's kind.
    fn find<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        trade: Row,
        asked: &Asked,
    ) -> Result<(Found, Row)> {
        let [account, broker, security] =
            [asked.account, self.broker, asked.security].map(key::one);
        let (position, kind) = (key::two(asked.account, asked.security), [asked.trade_type]);
        let gets = [
            Get::update(tables.customer_account, &account),
            Get::update(tables.broker, &broker),
            Get::update(tables.last_trade, &security),
            Get::update(tables.holding_summary, &position),
            Get::read(tables.trade_type, &kind),
        ];
        let mut rows = [None; 5];
        tx.get_many(&gets, &mut rows)?;
        let found = Found {
            trade,
            account: present(rows[0])?,
            broker: present(rows[1])?,
            last_trade: present(rows[2])?,
            position: rows[3],
        };
        Ok((found, present(rows[4])?))
    }

    /// The price at which it was traded.
    pub fn price(&self, last_trade: &[u8], asked: &Asked) -> u32 {
        if asked.is_pending {
            return asked.bid;
        }
        scaled(last_trade::LT_PRICE.get(last_trade), self.moves)
    }

    /// Completes the trade, and pays.
    fn pay<T: Transaction + ?Sized>(
        &self,
        tables: &Tables,
        tx: &mut T,
        number: u64,
        found: &Found,
        done: &Done,
    ) -> Result<u64> {
        let mut copy = [0; trade::BYTES];
        let row = tx.modify(found.trade)?;
        done.complete(row);
        copy.copy_from_slice(row);
        let state = key::state(number, status::COMPLETED);
        free(tx.insert(tables.trade_history, &state, &rows::dated(done.second)))?;
        count(tx.modify(found.broker)?, done.commission);
        let amount = rows::brings(&copy, done.tax_status);
        let key = key::trade(number);
        free(tx.insert(tables.settlement, &key, &rows::settle(&copy, amount)))?;
        if trade::T_IS_CASH.get(&copy) != 0 {
            let row = tx.modify(found.account)?;
            let balance = customer_account::CA_BAL.get(row).wrapping_add(amount);
            customer_account::CA_BAL.set(row, balance);
            free(tx.insert(tables.cash_transaction, &key, &rows::pay(&copy, amount)))?;
        }
        Ok(shown(number, done, amount))
    }
}

/// Notes a price as the last one of a security.
pub(super) fn note(row: &mut [u8], price: u32, quantity: u32, second: u64) {
    last_trade::LT_PRICE.set(row, price);
    let volume = last_trade::LT_VOL.get(row).wrapping_add(quantity.into());
    last_trade::LT_VOL.set(row, volume);
    last_trade::LT_DTS.set(row, second);
}

/// Counts a trade for its broker.
pub(super) fn count(row: &mut [u8], commission: u32) {
    broker::B_NUM_TRADES.set(row, broker::B_NUM_TRADES.get(row).wrapping_add(1));
    let total = broker::B_COMM_TOTAL.get(row).wrapping_add(commission.into());
    broker::B_COMM_TOTAL.set(row, total);
}

/// What is shown of it.
pub(super) fn shown(number: u64, done: &Done, amount: i64) -> u64 {
    let costs = u64::from(done.commission) << 32 | u64::from(done.tax);
    fold(&[number, done.price.into(), costs, amount as u64])
}

/// Settles with what the account holds of the security.
fn settle<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    (number, asked): (u64, &Asked),
    position: Option<Row>,
    mut settling: Settling,
    second: u64,
) -> Result<Settling> {
    let (price, traded) = (settling.price(), settling.left());
    let held = match position {
        Some(row) => holding_summary::HS_QTY.get(tx.bytes(row)?),
        None => 0,
    };
    if settling.meets(held) {
        let mut changes = List::<Option<(Row, u64, [i64; 2])>, CHANGES_MAX>::new();
        asked.holdings().settle(tables, tx, &mut settling, &mut |entry, first, quantities| {
            changes.push(Some((entry.row, first, quantities)));
        })?;
        for &(row, first, [before, after]) in changes.as_slice().iter().flatten() {
            if after == 0 {
                tx.remove_row(row)?;
            } else {
                holding::H_QTY.set(tx.modify(row)?, after);
            }
            let change = rows::change(before, after);
            free(tx.insert(tables.holding_history, &key::change(first, number), &change))?;
        }
    }
    let Asked { account, security, .. } = *asked;
    let left = settling.left();
    if left != 0 {
        let change = rows::change(0, left);
        free(tx.insert(tables.holding_history, &key::change(number, number), &change))?;
        let row = rows::hold(left, price, second);
        free(tx.insert(tables.holding, &key::holding(account, security, number), &row))?;
    }
    let after = held.wrapping_add(traded);
    match position {
        Some(row) if after == 0 => tx.remove_row(row)?,
        Some(row) => holding_summary::HS_QTY.set(tx.modify(row)?, after),
        None => {
            let key = key::two(account, security);
            free(tx.insert(tables.holding_summary, &key, &after.to_le_bytes()))?;
        }
    }
    Ok(settling)
}

/// What the trade has cost, with tax and commission.
fn done<T: Transaction + ?Sized>(
    tables: &Tables,
    tx: &mut T,
    asked: &Asked,
    found: &Found,
    settling: &Settling,
    (price, second): (u32, u64),
) -> Result<Done> {
    let row = tx.bytes(found.account)?;
    let customer = customer_account::CA_C_ID.get(row);
    let tax_status = customer_account::CA_TAX_ST.get(row);
    let (customer_key, security) = (key::one(customer), key::one(asked.security));
    let gets = [Get::read(tables.customer, &customer_key), Get::read(tables.security, &security)];
    let mut rows = [None; 2];
    tx.get_many(&gets, &mut rows)?;
    let rate_of = RateOf {
        tier: customer::C_TIER.get(tx.bytes(present(rows[0])?)?),
        trade_type: asked.trade_type,
        exchange: security::S_EX_ID.get(tx.bytes(present(rows[1])?)?),
        quantity: asked.quantity,
    };
    let mut tax = 0;
    if settling.is_taxed(tax_status) {
        tax = settling.tax(tax_status, taxes(tables, tx, customer)?);
    }
    let rate = commission_rate(tables, tx, rate_of)?;
    let commission = commission(value(asked.quantity.into(), price), rate);
    Ok(Done { second, price, commission, tax, tax_status })
}
