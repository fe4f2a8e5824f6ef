//! Customer-position as tasks.
//!
//! ```text
//!   root ── the customer ── accounts (parts of the scan) ── an account: its securities and their prices
//!                        ── the last of those parts ── merge
//!        ── find the last trades ── parts of them
//! ```
//!
//! Where trades are shown too, their last part begins the merging task, which has the longer way to go; in a line for each account
//! is what the accounts have found.

use super::parts::{AT_FIRST, AT_PART};
use super::{ACCOUNT, ACCOUNTS, CUSTOMER, KNOWN, OF_ACCOUNTS, TpceTasks};
use crate::tasks::{get, hint, step};
use crate::tpce::customer_position::{
    POSITIONS_MAX, Request, accounts_of, shown_account, shown_customer, shown_state, shown_trade,
};
use crate::tpce::list::List;
use crate::tpce::request;
use crate::tpce::rules::ACCOUNTS_MAX;
use crate::tpce::schema::{
    BY_TAX, customer, customer_account, holding_summary, key, last_trade, trade, trade_history,
};
use crate::tpce::text;
use crate::tpce::trading::{status, value};
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::View;

/// Parts of the scan of accounts: a task has at most eight children.
const ACCOUNT_PARTS: u32 = 2;

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_position<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        request: &Request,
    ) {
        let near = hint(self.tables.customer, &key::one(request.customer));
        step(view, task, CUSTOMER, AT_FIRST, &[task.word(0)], near);
        if let Some(account) = request.history {
            self.begin_find(view, task, self.tables.trade_account, account);
        }
    }

    pub(super) fn customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, asked) = self.asked(task);
        let request::Request::CustomerPosition(request) = asked else {
            view.trap("another transaction's step")
        };
        let key = if request.by_tax {
            let (tax_id, mut found) = (text::tax_id(request.customer), None);
            let range = Range::closed(&tax_id, &tax_id).limit(1);
            view.scan_index(self.tables.customer, BY_TAX, &range, &mut |entry| {
                found = Some(entry.first::<4>());
                false
            });
            let Some(key) = found else { view.trap("nobody has this tax number") };
            key
        } else {
            key::one(request.customer)
        };
        let row = view.get(self.tables.customer, &key).first::<{ customer::BYTES }>();
        self.scratch.set(number, KNOWN, 0, shown_customer(&row));
        let customer = customer::C_ID.get(&row);
        let near = hint(self.tables.customer_account, &accounts_of(customer)[0]);
        for part in 0..ACCOUNT_PARTS {
            let words = [number, customer.into(), part.into()];
            step(view, task, ACCOUNTS, AT_FIRST + 1, &words, near);
        }
    }

    /// Words: the customer, and which part of its accounts.
    pub(super) fn accounts<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, asked) = self.asked(task);
        let (customer, part) = (task.word(1) as u32, task.word(2) as u32);
        let first = customer.wrapping_mul(ACCOUNTS_MAX);
        let part_of =
            crate::ranges::share(ACCOUNTS_MAX, part.min(ACCOUNT_PARTS - 1), ACCOUNT_PARTS);
        let low = key::one(first.wrapping_add(part_of.start));
        let high = key::one(first.wrapping_add(part_of.end));
        let range = Range::between(&low, &high).limit(part_of.len());
        view.scan(self.tables.customer_account, &range, &mut |row| {
            let mut key = [0; 4];
            row.key(&mut key);
            let account = key::primary(&key);
            let balance = get(row, customer_account::CA_BAL);
            let near = hint(self.tables.holding_summary, &key::two(account, 0));
            let words = [number, account.into(), balance as u64];
            step(view, task, ACCOUNT, AT_PART, &words, near);
            true
        });
        let with_trades =
            matches!(asked, request::Request::CustomerPosition(it) if it.history.is_some());
        if part + 1 == ACCOUNT_PARTS && !with_trades {
            self.begin_merge(view, task);
        }
    }

    /// Words: the account and its balance.
    pub(super) fn account<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let number = task.word(0);
        let (account, balance) = (task.word(1) as u32, task.word(2) as i64);
        let shown = shown_account(account, balance, self.assets(view, account));
        let line = OF_ACCOUNTS + (account % ACCOUNTS_MAX) as usize;
        self.scratch.set(number, line, 0, shown);
    }

    /// What all securities of an account are worth.
    pub(super) fn assets<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, account: u32) -> i64 {
        let (low, high) = (key::two(account, 0), key::two(account, u32::MAX));
        let range = Range::closed(&low, &high).limit(POSITIONS_MAX);
        let mut positions = List::<(u32, i64), POSITIONS_MAX>::new();
        view.scan(self.tables.holding_summary, &range, &mut |row| {
            let mut key = [0; 8];
            row.key(&mut key);
            positions.push((key::second(&key), get(row, holding_summary::HS_QTY)));
            true
        });
        positions.as_slice().iter().fold(0, |sum: i64, &(security, quantity)| {
            let row = view.get(self.tables.last_trade, &key::one(security));
            sum.wrapping_add(value(quantity, get(row, last_trade::LT_PRICE)))
        })
    }

    /// A trade and its states, as customer-position shows them.
    pub(super) fn with_history<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        trade: u64,
    ) -> u64 {
        let row = view.get(self.tables.trade, &key::trade(trade)).first::<{ trade::BYTES }>();
        shown_trade(&row).wrapping_add(self.states(view, trade))
    }

    /// The states of a trade.
    pub(super) fn states<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, trade: u64) -> u64 {
        let (low, high) = (key::state(trade, 0), key::state(trade, status::COMPLETED));
        let mut shown = 0_u64;
        view.scan(self.tables.trade_history, &Range::closed(&low, &high), &mut |row| {
            let state = shown_state(&row.first::<{ trade_history::BYTES }>());
            shown = shown.wrapping_add(state);
            true
        });
        shown
    }
}
