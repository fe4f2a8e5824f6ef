//! Trade-status as tasks.
//!
//! ```text
//!   root ── owner: account, customer, broker
//!        ── find the last trades ── parts of them, each trade with its security, exchange, state and kind ── merge
//! ```

use super::parts::AT_FIRST;
use super::{KNOWN, OWNER, TpceTasks};
use crate::tasks::{get, hint, step};
use crate::tpce::request;
use crate::tpce::schema::{
    broker, customer, customer_account, exchange, key, security, status_type, trade, trade_type,
};
use crate::tpce::trade_status::{Request, shown_owner, shown_trade};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::View;

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_status<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        request: &Request,
    ) {
        let near = hint(self.tables.customer_account, &key::one(request.account));
        step(view, task, OWNER, AT_FIRST, &[task.word(0)], near);
        self.begin_find(view, task, self.tables.trade_account, request.account);
    }

    pub(super) fn owner<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, asked) = self.asked(task);
        let request::Request::TradeStatus(request) = asked else {
            view.trap("another transaction's step")
        };
        let row = view.get(self.tables.customer_account, &key::one(request.account));
        let customer = key::one(get(row, customer_account::CA_C_ID));
        let broker = key::one(get(row, customer_account::CA_B_ID));
        let customer = view.get(self.tables.customer, &customer).first::<{ customer::BYTES }>();
        let broker = view.get(self.tables.broker, &broker).first::<{ broker::BYTES }>();
        self.scratch.set(number, KNOWN, 0, shown_owner(&customer, &broker));
    }

    /// Shows a part of the trades that were found. Words: which part, and how many trades.
    pub(super) fn show_trades<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, asked) = self.asked(task);
        let (_, share) = self.part_of(task);
        let is_status = matches!(asked, request::Request::TradeStatus(_));
        let mut shown = 0_u64;
        for &trade in self.listed(number, share).as_slice() {
            let of = match is_status {
                true => self.with_names(view, trade),
                false => self.with_history(view, trade),
            };
            shown = shown.wrapping_add(of);
        }
        self.end_part(view, task, [shown, 0]);
    }

    /// A trade with the names that belong to it.
    fn with_names<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, number: u64) -> u64 {
        let tables = &self.tables;
        let row = view.get(tables.trade, &key::trade(number)).first::<{ trade::BYTES }>();
        let security = key::one(trade::T_S_ID.get(&row));
        let security = view.get(tables.security, &security).first::<{ security::BYTES }>();
        let status = view.get(tables.status_type, &[trade::T_ST_ID.get(&row)]);
        let kind = view.get(tables.trade_type, &[trade::T_TT_ID.get(&row)]);
        let hall = view.get(tables.exchange, &[security::S_EX_ID.get(&security)]);
        shown_trade([
            &row,
            &security,
            &status.first::<{ status_type::BYTES }>(),
            &kind.first::<{ trade_type::BYTES }>(),
            &hall.first::<{ exchange::BYTES }>(),
        ])
    }
}
