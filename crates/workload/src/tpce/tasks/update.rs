//! Trade-update as tasks.
//!
//! ```text
//!   root ── find the trades, where they are not known ── parts of them, each trade shown and corrected ── merge
//! ```

use super::parts::AT_LOG;
use super::{CORRECT, TpceTasks};
use crate::tasks::RANGE;
use crate::tpce::list::List;
use crate::tpce::request;
use crate::tpce::schema::{cash_transaction, key, settlement, trade};
use crate::tpce::trade_update::{
    Change, Request, Shown, change_cash, change_executor, change_settlement, state_of,
};
use chiliad_api::TableId;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::{Entry, Record, View};

impl<M: Machine> TpceTasks<'_, M> {
    pub(super) fn begin_update<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
        request: &Request,
    ) {
        match request.change {
            Change::Executors { count, .. } => {
                let count = count as u32;
                let parts = [0, self.parts.min(count), count];
                self.begin_parts(view, task, CORRECT, parts);
            }
            Change::Settlements { account, .. } => {
                self.begin_find(view, task, self.tables.trade_account, account);
            }
            Change::Cash { security, .. } => {
                self.begin_find(view, task, self.tables.trade_security, security);
            }
        }
    }

    /// Shows a part of the trades, and changes them. Words: which part, and how many trades.
    pub(super) fn correct<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (number, asked) = self.asked(task);
        let request::Request::TradeUpdate(request) = asked else {
            view.trap("another transaction's step")
        };
        let (part, share) = self.part_of(task);
        let trades = match request.bounds() {
            Some(_) => self.listed(number, share),
            None => {
                let (mut some, drawn) = (List::new(), request.drawn());
                let skipped = drawn.as_slice().iter().skip(share.start as usize);
                skipped.take(share.len()).for_each(|&trade| some.push(trade));
                some
            }
        };
        let (mut shown, mut entry) = (0_u64, Entry::default());
        for &trade in trades.as_slice() {
            shown = shown.wrapping_add(self.correct_trade(view, request, trade, &mut entry));
        }
        let at = task.timestamp / RANGE * RANGE + AT_LOG + u64::from(part);
        self.log.write(view, at, |logged| *logged = entry);
        self.end_part(view, task, [shown, 0]);
    }

    fn correct_trade<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        request: &Request,
        number: u64,
        entry: &mut Entry,
    ) -> u64 {
        let (tables, key) = (&self.tables, key::trade(number));
        let trade_row = view.get(tables.trade, &key);
        let mut trade = trade_row.first::<{ trade::BYTES }>();
        let [is_completed, is_cash] = state_of(&trade);
        let settled = is_completed.then(|| view.get(tables.settlement, &key));
        let paid = (is_completed && is_cash).then(|| view.get(tables.cash_transaction, &key));
        let mut settlement = settled.map(|row| row.first::<{ settlement::BYTES }>());
        let mut cash = paid.map(|row| row.first::<{ cash_transaction::BYTES }>());
        let shown = Shown {
            trade: &trade,
            settlement: settlement.as_ref().map(|row| &row[..]),
            cash: cash.as_ref().map(|row| &row[..]),
        };
        let shown = shown.fold().wrapping_add(self.states(view, number));
        let mut change = |(table, row): (TableId, Record<'_, T>), from: usize, bytes: &[u8]| {
            // A text: its length, and so many letters.
            let end = from + 1 + usize::from(bytes[from]);
            let text = bytes.get(from..end).unwrap_or(&[]);
            row.write(from, text);
            if self.log.kept().is_some() {
                entry.part(table, &key, from, text);
            }
        };
        match request.change {
            Change::Executors { .. } => {
                change_executor(&mut trade);
                change((tables.trade, trade_row), trade::T_EXEC_NAME.offset(), &trade);
            }
            Change::Settlements { .. } => {
                if let (Some(row), Some(bytes)) = (settled, &mut settlement) {
                    change_settlement(bytes, is_cash);
                    let from = settlement::SE_CASH_TYPE.offset();
                    change((tables.settlement, row), from, bytes);
                }
            }
            Change::Cash { .. } => {
                if let (Some(row), Some(bytes)) = (paid, &mut cash) {
                    change_cash(bytes);
                    let from = cash_transaction::CT_NAME.offset();
                    change((tables.cash_transaction, row), from, bytes);
                }
            }
        }
        shown
    }
}
