//! Trade-result as tasks.
//!
//! ```text
//!   root ── take the oldest trade of the queue ── note the price ── settle ── complete the trade ── count it for the broker
//!                                              ── send it to the exchange                         ── settlement
//!                                                                                                 ── pay the account
//! ```

use super::parts::AT_FIRST;
use super::{COMPLETE, KNOWN, NOTE_PRICE, PAY, SETTLE, TAKE_TRADE, TpceTasks};
use crate::tasks::{get, hint, log_column, set, step};
use crate::tpce::costs::RateOf;
use crate::tpce::list::List;
use crate::tpce::request;
use crate::tpce::rows::{self, Done};
use crate::tpce::schema::{
    broker, customer, customer_account, holding, holding_summary, key, last_trade, security, trade,
    trade_type,
};
use crate::tpce::trade_result::{Asked, CHANGES_MAX, Request, count, note, shown};
use crate::tpce::trading::{Settling, commission, status, value};
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::{Entry, View};

// The line of scratch.
const DONE: usize = KNOWN;

// Offsets of timestamps.
const AT_SUBMIT: u64 = AT_FIRST + 1;
const AT_PRICE: u64 = AT_FIRST + 2;
const AT_SETTLE: u64 = AT_FIRST + 3;
const AT_COMPLETE: u64 = AT_FIRST + 4;
const AT_PAY: u64 = AT_FIRST + 5;

// The tasks of `PAY`.
const TO_SUBMIT: u64 = 0;
const TO_COUNT: u64 = 1;
const TO_SETTLE: u64 = 2;
const TO_PAY: u64 = 3;

/// Holdings with which a trade settles: the trade of each, and its shares before and after.
type Changes = List<(u64, [i64; 2]), CHANGES_MAX>;

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_result<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        request: &Request,
    ) {
        let near = hint(self.tables.trade_queue, &key::trade_by(request.broker, 0));
        step(view, task, TAKE_TRADE, AT_FIRST, &[task.word(0)], near);
    }

    fn message<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) -> (u64, &Request) {
        match self.asked(task) {
            (number, request::Request::TradeResult(request)) => (number, request),
            _ => view.trap("another transaction's step"),
        }
    }

    fn trade<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, number: u64) -> [u8; trade::BYTES] {
        view.get(self.tables.trade, &key::trade(number)).first()
    }

    /// Takes the oldest trade of a broker out of its queue.
    pub(super) fn take_trade<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (number, request) = self.message(view, task);
        let (low, high) =
            (key::trade_by(request.broker, 0), key::trade_by(request.broker, u64::MAX));
        let mut oldest = None;
        let range = Range::closed(&low, &high).limit(1);
        view.scan(self.tables.trade_queue, &range, &mut |entry| {
            let mut key = [0; 12];
            entry.key(&mut key);
            oldest = Some(key::last_trade(&key));
            false
        });
        let Some(trade) = oldest else { return };
        view.remove(self.tables.trade_queue, &key::trade_by(request.broker, trade));
        self.log.write(view, task.timestamp, |entry| {
            entry.none(self.tables.trade_queue, &key::trade_by(request.broker, trade));
        });
        let asked = Asked::read(&self.trade(view, trade));
        if asked.is_pending {
            step(view, task, PAY, AT_SUBMIT, &[number, TO_SUBMIT, trade], number);
        }
        let near = hint(self.tables.last_trade, &key::one(asked.security));
        step(view, task, NOTE_PRICE, AT_PRICE, &[number, trade], near);
    }

    /// Notes the price at which it was traded. Word: the trade.
    pub(super) fn note_price<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, request) = self.message(view, task);
        let asked = Asked::read(&self.trade(view, task.word(1)));
        let row = view.get(self.tables.last_trade, &key::one(asked.security));
        let mut bytes = row.first::<{ last_trade::BYTES }>();
        let price = request.price(&bytes, &asked);
        note(&mut bytes, price, asked.quantity, second(request, &asked));
        row.write(0, &bytes);
        self.log.write(view, task.timestamp, |entry| {
            entry.part(self.tables.last_trade, &key::one(asked.security), 0, &bytes);
        });
        let words = [number, task.word(1), price.into()];
        let near = hint(self.tables.holding_summary, &key::two(asked.account, asked.security));
        step(view, task, SETTLE, AT_SETTLE, &words, near);
    }

    /// Settles with what the account holds of the security. Words: the trade and its price.
    pub(super) fn settle<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (number, request) = self.message(view, task);
        let (trade, price) = (task.word(1), task.word(2) as u32);
        let asked = Asked::read(&self.trade(view, trade));
        let tables = &self.tables;
        let kind = view.get(tables.trade_type, &[asked.trade_type]);
        let is_sell = get(kind, trade_type::TT_IS_SELL) != 0;
        let mut settling = Settling::new(is_sell, asked.quantity, price);
        let (traded, position) = (settling.left(), key::two(asked.account, asked.security));
        let found = view.find(tables.holding_summary, &position);
        let held = found.map(|row| get(row, holding_summary::HS_QTY));
        let mut changes = Changes::new();
        if settling.meets(held.unwrap_or(0)) {
            self.settle_with(view, &asked.holdings(), &mut settling, &mut |first, quantities| {
                changes.push((first, quantities));
            });
            self.change_holdings(view, (trade, &asked), &changes);
        }
        let left = settling.left();
        let new = (left != 0).then(|| rows::hold(left, price, second(request, &asked)));
        if let Some(row) = &new {
            let change = rows::change(0, left);
            view.insert(tables.holding_history, &key::change(trade, trade), &change);
            view.insert(tables.holding, &asked.holding(trade), row);
        }
        let after = held.unwrap_or(0).wrapping_add(traded);
        match held {
            Some(_) if after == 0 => view.remove(tables.holding_summary, &position),
            Some(_) => {
                let row = view.get(tables.holding_summary, &position);
                set(row, holding_summary::HS_QTY, after);
            }
            None => view.insert(tables.holding_summary, &position, &after.to_le_bytes()),
        }
        self.log.write(view, task.timestamp, |entry| {
            self.log_changes(entry, (trade, &asked), &changes);
            if let Some(row) = &new {
                let change = rows::change(0, left);
                entry.row(tables.holding_history, &key::change(trade, trade), &change);
                entry.row(tables.holding, &asked.holding(trade), row);
            }
            match after {
                0 => entry.none(tables.holding_summary, &position),
                _ => entry.row(tables.holding_summary, &position, &after.to_le_bytes()),
            }
        });
        let [bought, sold] = settling.sums().map(|sum| sum as u64);
        let near = hint(tables.trade, &key::trade(trade));
        step(view, task, COMPLETE, AT_COMPLETE, &[number, trade, price.into(), bought, sold], near);
    }

    /// Changes the holdings with which a trade has settled.
    fn change_holdings<T: Tasks<Machine = M>>(
        &self,
        view: &mut View<'_, T>,
        (trade, asked): (u64, &Asked),
        changes: &Changes,
    ) {
        let tables = &self.tables;
        for &(first, [before, after]) in changes.as_slice() {
            let key = asked.holding(first);
            match after {
                0 => view.remove(tables.holding, &key),
                _ => set(view.get(tables.holding, &key), holding::H_QTY, after),
            }
            let change = rows::change(before, after);
            view.insert(tables.holding_history, &key::change(first, trade), &change);
        }
    }

    fn log_changes(&self, entry: &mut Entry, (trade, asked): (u64, &Asked), changes: &Changes) {
        let tables = &self.tables;
        for &(first, [before, after]) in changes.as_slice() {
            let key = asked.holding(first);
            match after {
                0 => entry.none(tables.holding, &key),
                _ => log_column(entry, (tables.holding, &key), holding::H_QTY, after),
            }
            let change = rows::change(before, after);
            entry.row(tables.holding_history, &key::change(first, trade), &change);
        }
    }

    /// Completes the trade. Words: the trade, its price, and what the settled shares were bought and sold for.
    pub(super) fn complete<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (number, request) = self.message(view, task);
        let (trade, price) = (task.word(1), task.word(2) as u32);
        let mut row = self.trade(view, trade);
        let (asked, tables) = (Asked::read(&row), &self.tables);
        let account = view.get(tables.customer_account, &key::one(asked.account));
        let customer = get(account, customer_account::CA_C_ID);
        let tax_status = get(account, customer_account::CA_TAX_ST);
        let tier = get(view.get(tables.customer, &key::one(customer)), customer::C_TIER);
        let security = view.get(tables.security, &key::one(asked.security));
        let exchange = get(security, security::S_EX_ID);
        let settling = Settling::settled([task.word(3), task.word(4)].map(|word| word as i64));
        let mut tax = 0;
        if settling.is_taxed(tax_status) {
            tax = settling.tax(tax_status, self.taxes(view, customer));
        }
        let Asked { trade_type, quantity, .. } = asked;
        let rate = self.rate(view, RateOf { tier, trade_type, exchange, quantity });
        let commission = commission(value(quantity.into(), price), rate);
        let done = Done { second: second(request, &asked), price, commission, tax, tax_status };
        done.complete(&mut row);
        view.get(tables.trade, &key::trade(trade)).write(0, &row);
        let (state, dated) = (key::state(trade, status::COMPLETED), rows::dated(done.second));
        view.insert(tables.trade_history, &state, &dated);
        self.log.write(view, task.timestamp, |entry| {
            entry.row(tables.trade, &key::trade(trade), &row);
            entry.row(tables.trade_history, &state, &dated);
        });
        let amount = rows::brings(&row, tax_status);
        self.scratch.set(number, DONE, 0, shown(trade, &done, amount));
        let near = hint(tables.broker, &key::one(request.broker));
        step(view, task, PAY, AT_PAY, &[number, TO_COUNT, commission.into()], near);
        let near = hint(tables.settlement, &key::trade(trade));
        step(view, task, PAY, AT_PAY + 1, &[number, TO_SETTLE, trade, amount as u64], near);
        if trade::T_IS_CASH.get(&row) != 0 {
            let near = hint(tables.customer_account, &key::one(asked.account));
            step(view, task, PAY, AT_PAY + 2, &[number, TO_PAY, trade, amount as u64], near);
        }
    }

    /// One of the small steps. Words: which, then the trade or the commission, and what the trade brings.
    pub(super) fn pay<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (_, request) = self.message(view, task);
        let (trade, amount, tables) = (task.word(2), task.word(3) as i64, &self.tables);
        match task.word(1) {
            TO_SUBMIT => {
                view.remove(tables.trade_request, &key::trade(trade));
                let state = key::state(trade, status::SUBMITTED);
                let dated = rows::dated(request.second);
                view.insert(tables.trade_history, &state, &dated);
                self.log.write(view, task.timestamp, |entry| {
                    entry.none(tables.trade_request, &key::trade(trade));
                    entry.row(tables.trade_history, &state, &dated);
                });
            }
            TO_COUNT => {
                let broker = key::one(request.broker);
                let row = view.get(tables.broker, &broker);
                let mut bytes = row.first::<{ broker::B_NAME.offset() }>();
                count(&mut bytes, task.word(2) as u32);
                row.write(0, &bytes);
                self.log
                    .write(view, task.timestamp, |it| it.part(tables.broker, &broker, 0, &bytes));
            }
            TO_SETTLE => {
                let (key, row) = (key::trade(trade), self.trade(view, trade));
                let settled = rows::settle(&row, amount);
                view.insert(tables.settlement, &key, &settled);
                self.log
                    .write(view, task.timestamp, |it| it.row(tables.settlement, &key, &settled));
            }
            _ => {
                let row = self.trade(view, trade);
                let key = key::one(trade::T_CA_ID.get(&row));
                let account = view.get(tables.customer_account, &key);
                let balance = get(account, customer_account::CA_BAL).wrapping_add(amount);
                set(account, customer_account::CA_BAL, balance);
                let (number, paid) = (key::trade(trade), rows::pay(&row, amount));
                view.insert(tables.cash_transaction, &number, &paid);
                self.log.write(view, task.timestamp, |entry| {
                    let row = (tables.customer_account, &key[..]);
                    log_column(entry, row, customer_account::CA_BAL, balance);
                    entry.row(tables.cash_transaction, &number, &paid);
                });
            }
        }
    }

    pub(super) fn shown_result(&self, number: u64) -> u64 {
        self.scratch.get(number, DONE, 0)
    }
}

/// When the trade was made: a second after it was sent, where it had to be.
fn second(request: &Request, asked: &Asked) -> u64 {
    request.second + u64::from(asked.is_pending)
}
