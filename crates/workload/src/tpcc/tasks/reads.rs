//! The two transactions that only read, as tasks: order-status and stock-level.
//!
//! ```text
//!   root ── the customer ── the last order, and its lines
//!   root: stock-level, in one task: which items are on several lines is known only when all lines were read
//! ```

use super::payment::number;
use super::{CUSTOMER_STATUS, SHOW_ORDER, TpccTasks, hint, step};
use crate::tasks::get;
use crate::tpcc::order_status::{show_line, shown_customer, shown_order};
use crate::tpcc::schema::{customer, customer_info, district, key, order, order_line, stock};
use crate::tpcc::stock_level::{self, SLOTS};
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::View;

// Lines of scratch.
const CUSTOMER: usize = 1;
const ORDER: usize = 2;
const LOW_STOCKS: usize = 1;

/// The most bytes of a key of ORDER by customer.
const KEY_BYTES: usize = 8;

impl<M: Machine> TpccTasks<'_, M> {
    pub(super) fn begin_order_status<T: Tasks<Machine = M>>(
        &self,
        view: &View<'_, T>,
        task: &Task,
    ) {
        let (request, _) = self.client(task);
        step(view, task, CUSTOMER_STATUS, 1, &[request], request);
    }

    pub(super) fn customer_status<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let (w, d) = (client.order_status.w, client.order_status.d);
        let c = number(view, &self.tables, w, d, client.order_status.by);
        let key = key::customer(w, d, c);
        let balance = get(view.get(self.tables.customer, &key), customer::C_BALANCE);
        let info = view.get(self.tables.customer_info, &key);
        let info = info.first::<{ customer_info::C_FIRST.end() }>();
        self.scratch.set(request, CUSTOMER, 0, shown_customer(balance, &info));
        let orders = hint(self.tables.order_customer, &key::order_customer(w, d, c, 0));
        step(view, task, SHOW_ORDER, 2, &[request, c.into()], orders);
    }

    /// Shows the customer's last order. Word: the customer.
    pub(super) fn show_order<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let (w, d, c) = (client.order_status.w, client.order_status.d, task.word(1) as u16);
        let tables = &self.tables;
        let (low, high) = (key::order_customer(w, d, c, 0), key::order_customer(w, d, c, u32::MAX));
        let mut last = None;
        let range = Range::closed(&low, &high).reverse().limit(1);
        view.scan(tables.order_customer, &range, &mut |entry| {
            let mut key = [0; KEY_BYTES];
            entry.key(&mut key);
            last = Some(key::order_of_customer(&key));
            false
        });
        // Every customer has an order from the start (clause 4.3.3.1).
        let Some(o) = last else { view.trap("a customer without an order") };
        let row = view.get(tables.order, &key::order(w, d, o)).first::<{ order::BYTES }>();
        let mut shown = shown_order(&row);
        let (low, high) = (key::order_line(w, d, o, 0), key::order_line(w, d, o, u8::MAX));
        let range = Range::closed(&low, &high).limit(order::O_OL_CNT.get(&row).into());
        view.scan(tables.order_line, &range, &mut |line| {
            shown = show_line(shown, &line.first::<{ order_line::BYTES }>());
            true
        });
        self.scratch.set(request, ORDER, 0, shown);
    }

    pub(super) fn shown_order_status(&self, request: u64) -> u64 {
        self.scratch.get(request, CUSTOMER, 0) ^ self.scratch.get(request, ORDER, 0)
    }

    pub(super) fn stock_level<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let stock_level::Request { w, d, threshold, .. } = client.stock_level;
        let tables = &self.tables;
        let next = get(view.get(tables.district, &key::district(w, d)), district::D_NEXT_O_ID);
        let low = key::order_line(w, d, next.saturating_sub(20), 0);
        let high = key::order_line(w, d, next, 0);
        // The items met, hashed; 0 is free.
        let (mut met, mut count, mut low_stocks) = ([0; SLOTS], 0, 0);
        view.scan(tables.order_line, &Range::between(&low, &high), &mut |line| {
            let item = get(line, order_line::OL_I_ID);
            let mut slot = stock_level::slot(item) % SLOTS;
            while met[slot] != item && met[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            if met[slot] == 0 && item != 0 {
                (met[slot], count) = (item, count + 1);
            }
            // Twenty orders have fewer; the search needs a free slot.
            count < SLOTS - 1
        });
        for item in met.into_iter().filter(|&item| item != 0) {
            let stock = view.get(tables.stock, &key::stock(w, item));
            low_stocks += u64::from(get(stock, stock::S_QUANTITY) < threshold);
        }
        self.scratch.set(request, LOW_STOCKS, 0, low_stocks);
    }

    pub(super) fn shown_stock_level(&self, request: u64) -> u64 {
        self.scratch.get(request, LOW_STOCKS, 0)
    }
}
