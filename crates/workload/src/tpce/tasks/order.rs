//! Trade-order as tasks.
//!
//! ```text
//!   root ── owner: account, customer, broker, permission
//!        ── worth of the account's securities, where it buys on credit
//!        ── security and price ── holdings to settle with ── costs ── insert the trade ── ways to find it
//! ```
//!
//! What is shown of the costs needs the owner's tier, which is in a line of the transaction. An order that is rolled back, which its
//! request says, ends with its costs: it has read what it reads, and writes nothing. The trade takes the number after the
//! greatest one, so the tasks that insert trades follow each other.

use super::parts::AT_FIRST;
use super::{
    INSERT_TRADE, INSERT_WAY, KNOWN, ORDER_COSTS, ORDER_HOLDINGS, ORDER_OWNER, ORDER_SECURITY,
    ORDER_WORTH, TpceTasks,
};
use crate::tasks::{get, hint, step};
use crate::tpce::costs::{HoldingsOf, RateOf};
use crate::tpce::request;
use crate::tpce::rows;
use crate::tpce::schema::{
    BY_COMPANY, BY_NAME, broker, charge, commission_rate, customer, customer_account,
    customer_taxrate, holding, holding_summary, key, last_trade, security, taxrate, trade_type,
};
use crate::tpce::text;
use crate::tpce::trade_order::{Estimate, NameBounds, Owner, Request, trades_of};
use crate::tpce::trading::{Settling, commission, status, value};
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::{Record, View};

// Lines of scratch.
const OWNER: usize = KNOWN;
const SECURITY: usize = KNOWN + 1;
const WORTH: usize = KNOWN + 3;
const COSTS: usize = KNOWN + 4;
const NUMBER: usize = KNOWN + 5;

// Offsets of timestamps.
const AT_WORTH: u64 = AT_FIRST + 1;
const AT_SECURITY: u64 = AT_FIRST + 2;
const AT_HOLDINGS: u64 = AT_FIRST + 3;
const AT_COSTS: u64 = AT_FIRST + 4;
const AT_TRADE: u64 = AT_FIRST + 5;
const AT_WAY: u64 = AT_FIRST + 6;

/// Ways to find a trade, and its first state.
const WAYS: u64 = 4;

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_order<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        request: &Request,
    ) {
        let (number, tables) = (task.word(0), &self.tables);
        let near = match request.by_company {
            Some(_) => number,
            None => hint(tables.security, &key::one(request.security)),
        };
        step(view, task, ORDER_SECURITY, AT_SECURITY, &[number], near);
        let near = hint(tables.customer_account, &key::one(request.account));
        step(view, task, ORDER_OWNER, AT_FIRST, &[number], near);
        if !request.is_cash {
            let near = hint(tables.holding_summary, &key::two(request.account, 0));
            step(view, task, ORDER_WORTH, AT_WORTH, &[number], near);
        }
    }

    fn order<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) -> (u64, &Request) {
        match self.asked(task) {
            (number, request::Request::TradeOrder(request)) => (number, request),
            _ => view.trap("another transaction's step"),
        }
    }

    pub(super) fn order_owner<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let tables = &self.tables;
        let row = view.get(tables.customer_account, &key::one(request.account));
        let mut owner = Owner::default();
        owner.account(&row.first::<{ customer_account::CA_NAME.offset() }>());
        let customer = view.get(tables.customer, &key::one(owner.customer));
        let broker = view.get(tables.broker, &key::one(owner.broker));
        if let Some(tax_id) = request.other() {
            let permission = key::permission(request.account, &tax_id);
            // It is there, by the rules; nothing of it is shown.
            let _ = view.get(tables.account_permission, &permission);
        }
        let name = broker::B_NAME.get(&broker.first::<{ broker::BYTES }>()).len();
        let tiers = u64::from(get(customer, customer::C_TIER)) << 8 | u64::from(owner.tax_status);
        let words =
            [owner.customer.into(), owner.broker.into(), tiers, owner.balance as u64, name as u64];
        for (word, value) in words.into_iter().enumerate() {
            self.scratch.set(number, OWNER, word, value);
        }
    }

    /// The owner, as the line says.
    fn known_owner(&self, number: u64) -> Owner {
        let word = |word| self.scratch.get(number, OWNER, word);
        Owner {
            customer: word(0) as u32,
            broker: word(1) as u32,
            tier: (word(2) >> 8) as u8,
            tax_status: word(2) as u8,
            balance: word(3) as i64,
            name: word(4) as usize,
        }
    }

    pub(super) fn order_worth<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let worth = self.assets(view, request.account);
        self.scratch.set(number, WORTH, 0, worth as u64);
    }

    pub(super) fn order_security<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let tables = &self.tables;
        let row = self.security_asked(view, request);
        let (security, exchange) = (get(row, security::S_ID), get(row, security::S_EX_ID));
        let market = view.get(tables.last_trade, &key::one(security));
        let kind = view.get(tables.trade_type, &[request.trade_type]);
        let is_market = get(kind, trade_type::TT_IS_MRKT) != 0;
        let price = request.price(get(market, last_trade::LT_PRICE), is_market);
        self.scratch.set(number, SECURITY, 0, exchange.into());
        let is_sell = get(kind, trade_type::TT_IS_SELL);
        let words = [number, security.into(), price.into(), is_sell.into()];
        let near = hint(tables.holding_summary, &key::two(request.account, security));
        step(view, task, ORDER_HOLDINGS, AT_HOLDINGS, &words, near);
    }

    /// The security, by its number or by its company.
    fn security_asked<'r, T: Tasks<Machine = M>>(
        &self,
        view: &'r View<'_, T>,
        request: &Request,
    ) -> Record<'r, T> {
        let tables = &self.tables;
        let Some((company, number)) = request.by_company else {
            return view.get(tables.security, &key::one(request.security));
        };
        let (bounds, mut found) = (NameBounds::new(company), None);
        view.scan_index(tables.company, BY_NAME, &bounds.range(), &mut |entry| {
            found = Some(u32::from_be_bytes(entry.first::<4>()));
            false
        });
        let Some(company) = found.take() else { view.trap("no company has this name") };
        let issue = key::issue(company, &text::issue(number));
        view.scan_index(
            tables.security,
            BY_COMPANY,
            &Range::closed(&issue, &issue),
            &mut |entry| {
                found = Some(u32::from_be_bytes(entry.first::<4>()));
                false
            },
        );
        let Some(security) = found else { view.trap("a company without this security") };
        view.get(tables.security, &key::one(security))
    }

    /// Words: the security, its price, and whether it is sold.
    pub(super) fn order_holdings<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let (security, price) = (task.word(1) as u32, task.word(2) as u32);
        let mut settling = Settling::new(task.word(3) != 0, request.quantity, price);
        let position = key::two(request.account, security);
        let held = match view.find(self.tables.holding_summary, &position) {
            Some(row) => get(row, holding_summary::HS_QTY),
            None => 0,
        };
        if settling.meets(held) {
            self.settle_with(view, &request.holdings(security), &mut settling, &mut |_, _| {});
        }
        let [bought, sold] = settling.sums();
        let words = [number, price.into(), bought as u64, sold as u64];
        step(view, task, ORDER_COSTS, AT_COSTS, &words, number);
    }

    /// Settles with holdings, and gives those that change to `change`: the trade each is of, and its shares before and after.
    pub(super) fn settle_with<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        holdings: &HoldingsOf,
        settling: &mut Settling,
        change: &mut dyn FnMut(u64, [i64; 2]),
    ) {
        let bounds = holdings.bounds();
        view.scan(self.tables.holding, &holdings.range(&bounds), &mut |row| {
            let mut key = [0; 16];
            row.key(&mut key);
            let held = get(row, holding::H_QTY);
            if let Some(after) = settling.take(held, get(row, holding::H_PRICE)) {
                change(key::last_trade(&key), [held, after]);
            }
            settling.left() != 0
        });
    }

    /// Words: the price, and what the settled shares were bought and sold for.
    pub(super) fn order_costs<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let (owner, price) = (self.known_owner(number), task.word(1) as u32);
        let settling = Settling::settled([task.word(2), task.word(3)].map(|word| word as i64));
        let exchange = self.scratch.get(number, SECURITY, 0) as u8;
        let charge = key::charge(request.trade_type, owner.tier);
        let charge = get(view.get(self.tables.charge, &charge), charge::CH_CHRG);
        let rate = self.rate(view, request.rate_of(owner.tier, exchange));
        let mut tax = 0;
        if settling.is_taxed(owner.tax_status) {
            tax = settling.tax(owner.tax_status, self.taxes(view, owner.customer));
        }
        let commission = commission(value(request.quantity.into(), price), rate);
        let words = [price, charge, commission, tax].map(u64::from);
        for (word, value) in words.into_iter().enumerate() {
            self.scratch.set(number, COSTS, word, value);
        }
        if !request.rolls_back {
            let words = [number, price.into(), charge.into()];
            let near = hint(self.tables.trade, &trades_of(request.partition)[0]);
            step(view, task, INSERT_TRADE, AT_TRADE, &words, near);
        }
    }

    /// The rate of a commission.
    pub(super) fn rate<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, of: RateOf) -> u32 {
        let [low, high] = of.bounds();
        let range = Range::closed(&low, &high).reverse().limit(1);
        let mut rate = None;
        view.scan(self.tables.commission_rate, &range, &mut |row| {
            rate = Some(get(row, commission_rate::CR_RATE));
            false
        });
        match rate {
            Some(rate) => rate,
            None => view.trap("a commission without a rate"),
        }
    }

    /// The rates of a customer's taxes, in all.
    pub(super) fn taxes<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, customer: u32) -> u32 {
        [0, 1].into_iter().fold(0, |sum: u32, which| {
            let of = view.get(self.tables.customer_taxrate, &key::tax_of(customer, which));
            let tax = key::tax(get(of, customer_taxrate::CX_TX_ID));
            sum.wrapping_add(get(view.get(self.tables.taxrate, &tax), taxrate::TX_RATE))
        })
    }

    /// Inserts the trade under the number after the greatest one. Words: price and charge.
    pub(super) fn insert_trade<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let [low, high] = trades_of(request.partition);
        let mut last = None;
        let range = Range::between(&low, &high).reverse().limit(1);
        view.scan(self.tables.trade, &range, &mut |row| {
            let mut key = [0; 8];
            row.key(&mut key);
            last = Some(key::last_trade(&key));
            false
        });
        let Some(last) = last else { view.trap("a partition without a trade") };
        let trade = last.wrapping_add(1);
        let order = request.order(task.word(1) as u32, task.word(2) as u32);
        let row = order.row();
        view.insert(self.tables.trade, &key::trade(trade), &row);
        self.log.write(view, task.timestamp, |entry| {
            entry.row(self.tables.trade, &key::trade(trade), &row);
        });
        self.scratch.set(number, NUMBER, 0, trade);
        let is_pending = order.status() == status::PENDING;
        for way in 0..WAYS + u64::from(is_pending) {
            let words = [number, trade, way, task.word(1)];
            step(view, task, INSERT_WAY, AT_WAY + way, &words, number << 8 | way);
        }
    }

    /// Inserts a way to find the trade, its state or its request. Words: the trade, which of them, and the price.
    pub(super) fn insert_way<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (number, request) = self.order(view, task);
        let (trade, tables, broker) =
            (task.word(1), &self.tables, self.scratch.get(number, OWNER, 1) as u32);
        let order = request.order(task.word(3) as u32, 0);
        let by = |of| key::trade_by(of, trade);
        let mut insert = |table, key: &[u8], row: &[u8]| {
            view.insert(table, key, row);
            self.log.write(view, task.timestamp, |entry| entry.row(table, key, row));
        };
        match task.word(2) {
            0 => {
                let state = key::state(trade, order.status());
                insert(tables.trade_history, &state, &rows::dated(order.second));
            }
            1 => insert(tables.trade_account, &by(order.account), &[]),
            2 => insert(tables.trade_security, &by(order.security), &[]),
            3 => insert(tables.trade_queue, &by(broker), &[]),
            _ => insert(tables.trade_request, &key::trade(trade), &order.request(broker)),
        }
    }

    pub(super) fn shown_order(&self, number: u64, request: &Request) -> Option<u64> {
        if request.rolls_back {
            return None;
        }
        let word = |line, word| self.scratch.get(number, line, word);
        let [price, charge, commission, tax] = [0, 1, 2, 3].map(|at| word(COSTS, at) as u32);
        let estimate = Estimate { price, charge, commission, tax };
        let owner = self.known_owner(number);
        Some(request.shown(word(NUMBER, 0), &owner, &estimate, word(WORTH, 0) as i64))
    }
}
