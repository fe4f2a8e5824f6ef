//! The trades of the past: a broker's customers trade, one trade after another, and what that leaves is loaded.
//!
//! Trades of a partition's brokers take numbers by turns. All are completed; nothing is sold that is not held.

use super::fixed::costs;
use super::market::exchange_of;
use super::{balances, opening, tax_status};
use crate::InsertRow;
use crate::random::{Chance, Random};
use crate::tpce::rows::{self, Done, Order};
use crate::tpce::rules::{Rules, customer_of, executor};
use crate::tpce::schema::{Tables, holding_summary, key};
use crate::tpce::trading::{self, DAY, Settling, TYPES, commission, price, status, value};
use chiliad_api::Result;
use std::collections::BTreeMap;

/// Trades that are paid for at once, in percent.
pub(in crate::tpce) const CASH: f64 = 80.0;

/// Trades that another one than the owner makes, in percent.
pub(in crate::tpce) const BY_OTHERS: f64 = 10.0;

/// A row of HOLDING.
struct Holding {
    trade: u64,
    quantity: i64,
    price: u32,
    second: u64,
}

/// What trading leaves beside the rows that were inserted.
pub(super) struct Traded {
    /// By account.
    pub balances: BTreeMap<u32, i64>,
    pub commissions: u64,
}

/// The trades of one broker's customers.
pub(super) struct Past<'l> {
    rules: &'l Rules,
    tables: &'l Tables,
    broker: u32,
    partition: u32,
    random: Random,
    accounts: Vec<u32>,
    /// By account and security.
    holdings: BTreeMap<(u32, u32), Vec<Holding>>,
    traded: Traded,
}

impl<'l> Past<'l> {
    pub fn new(rules: &'l Rules, tables: &'l Tables, broker: u32, seed: u64) -> Self {
        let balances: BTreeMap<u32, i64> = balances(rules, broker).into_iter().collect();
        Self {
            rules,
            tables,
            broker,
            partition: rules.partition_of(broker),
            random: Random::new(seed, 0x7ade_0000_0000 + u64::from(broker)),
            accounts: balances.keys().copied().collect(),
            holdings: BTreeMap::new(),
            traded: Traded { balances, commissions: 0 },
        }
    }

    /// Makes up all trades.
    pub fn trade(mut self, insert: &mut InsertRow<'_>) -> Result<Traded> {
        let count = self.rules.trades_of_broker();
        let brokers = self.rules.brokers_of(self.partition);
        let days = u64::from(self.rules.trade_days) * DAY;
        for turn in 0..count {
            let own = 1 + turn * brokers.len() as u64 + u64::from(self.broker - brokers.start);
            let second = opening(self.rules) - days + turn * days / count;
            let order = self.draw(second);
            self.complete(key::trade_of(self.partition, own), &order, insert)?;
        }
        for ((account, security), holdings) in &self.holdings {
            let held: i64 = holdings.iter().map(|it| it.quantity).sum();
            if held != 0 {
                let mut row = [0; holding_summary::BYTES];
                holding_summary::HS_QTY.set(&mut row, held);
                insert(self.tables.holding_summary, &key::two(*account, *security), &row)?;
            }
            for it in holdings {
                let row = rows::hold(it.quantity, it.price, it.second);
                let key = key::holding(*account, *security, it.trade);
                insert(self.tables.holding, &key, &row)?;
            }
        }
        Ok(self.traded)
    }

    fn draw(&mut self, second: u64) -> Order {
        let random = &mut self.random;
        let account = self.accounts[random.below(self.accounts.len() as u32) as usize];
        let basket = self.rules.basket(account);
        let security = basket.start + random.below(basket.len() as u32);
        let quantity = trading::draw_quantity(random);
        let mut trade_type = trading::draw_type(random);
        let holdings = self.holdings.get(&(account, security)).into_iter().flatten();
        let held: i64 = holdings.map(|it| it.quantity).sum();
        let kind = TYPES[usize::from(trade_type)];
        if kind.is_sell && held < i64::from(quantity) {
            trade_type = if kind.is_market { 0 } else { 2 };
        }
        let customer = customer_of(account);
        let by_other = random.chance(Chance::percent(BY_OTHERS));
        let [charge, ..] = costs(customer, trade_type, exchange_of(security), quantity);
        Order {
            account,
            security,
            trade_type,
            is_cash: random.chance(Chance::percent(CASH)),
            is_lifo: random.below(2) == 1,
            quantity,
            bid: price(security, second),
            charge,
            executor: if by_other { executor(self.rules, account) } else { customer },
            second,
        }
    }

    /// Makes the trade, and inserts its rows.
    fn complete(&mut self, trade: u64, order: &Order, insert: &mut InsertRow<'_>) -> Result<()> {
        let (tables, &Order { account, security, second, .. }) = (self.tables, order);
        let [_, rate, taxes] =
            costs(customer_of(account), order.trade_type, exchange_of(security), order.quantity);
        let settling = self.settle(trade, order, insert)?;
        let tax_status = tax_status(account);
        let commission = commission(value(order.quantity.into(), order.bid), rate);
        let done = Done {
            second,
            price: order.bid,
            commission,
            tax: settling.tax(tax_status, taxes),
            tax_status,
        };
        let mut row = order.row();
        done.complete(&mut row);
        insert(tables.trade, &key::trade(trade), &row)?;
        insert(tables.trade_account, &key::trade_by(account, trade), &[])?;
        insert(tables.trade_security, &key::trade_by(security, trade), &[])?;
        for status in order.status()..=status::COMPLETED {
            insert(tables.trade_history, &key::state(trade, status), &rows::dated(second))?;
        }
        let amount = rows::brings(&row, tax_status);
        insert(tables.settlement, &key::trade(trade), &rows::settle(&row, amount))?;
        if order.is_cash {
            insert(tables.cash_transaction, &key::trade(trade), &rows::pay(&row, amount))?;
            *self.traded.balances.entry(account).or_default() += amount;
        }
        self.traded.commissions += u64::from(commission);
        Ok(())
    }

    /// Settles with what the account holds of the security.
    fn settle(
        &mut self,
        trade: u64,
        order: &Order,
        insert: &mut InsertRow<'_>,
    ) -> Result<Settling> {
        let is_sell = TYPES[usize::from(order.trade_type)].is_sell;
        let mut settling = Settling::new(is_sell, order.quantity, order.bid);
        let holdings = self.holdings.entry((order.account, order.security)).or_default();
        if order.is_lifo {
            holdings.reverse();
        }
        for it in holdings.iter_mut() {
            if let Some(after) = settling.take(it.quantity, it.price) {
                let change = rows::change(it.quantity, after);
                insert(self.tables.holding_history, &key::change(it.trade, trade), &change)?;
                it.quantity = after;
            }
        }
        if order.is_lifo {
            holdings.reverse();
        }
        holdings.retain(|it| it.quantity != 0);
        let left = settling.left();
        if left != 0 {
            let change = rows::change(0, left);
            insert(self.tables.holding_history, &key::change(trade, trade), &change)?;
            let (price, second) = (order.bid, order.second);
            holdings.push(Holding { trade, quantity: left, price, second });
        }
        Ok(settling)
    }
}
