//! Delivery as tasks: a chain for each district, side by side.
//!
//! ```text
//!   root ── districts (up to five each) ── the oldest new order, and its row ── its lines ── its customer
//! ```

use super::{
    DELIVER_CUSTOMER, DELIVER_DISTRICTS, DELIVER_LINES, DELIVER_ORDER, TpccTasks, hint, step,
};
use crate::tasks::{get, log_column, set};
use crate::tpcc::customer::deliver;
use crate::tpcc::delivery::{DISTRICTS_MAX, Request};
use crate::tpcc::schema::{customer, key, order, order_line};
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Task, Tasks};
use chiliad_swarm::View;

/// The line of scratch before that of the first district.
const DISTRICT: usize = 0;

/// Districts whose orders one task begins with.
const FAN: usize = 5;

/// Steps of a district.
const STEPS: u64 = 3;

/// Bytes of a key of NEW-ORDER.
const KEY_BYTES: usize = 7;

const _: () = assert!(STEPS * (DISTRICTS_MAX as u64) < crate::tasks::RANGE, "all have their place");

impl<M: Machine> TpccTasks<'_, M> {
    pub(super) fn begin_delivery<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        for first in (1..=client.delivery.districts).step_by(FAN) {
            step(view, task, DELIVER_DISTRICTS, 0, &[request, first.into()], request);
        }
    }

    /// Enqueues the first step of some districts. Word: the first of them.
    pub(super) fn deliver_districts<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let first = task.word(1);
        for d in (first..=client.delivery.districts.into()).take(FAN) {
            let queue = hint(self.tables.new_order, &key::order(client.delivery.w, d as u8, 0));
            step(view, task, DELIVER_ORDER, at(d), &[request, d], queue);
        }
    }

    /// Takes the oldest new order of a district out of its queue and gives it its carrier. Word: the district.
    pub(super) fn deliver_order<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let (w, d) = (client.delivery.w, task.word(1) as u8);
        let tables = &self.tables;
        let (low, high) = (key::order(w, d, 0), key::order(w, d, u32::MAX));
        let mut oldest = None;
        view.scan(tables.new_order, &Range::closed(&low, &high).limit(1), &mut |entry| {
            let mut key = [0; KEY_BYTES];
            entry.key(&mut key);
            oldest = Some(key::order_number(&key));
            false
        });
        let Some(o) = oldest else { return };
        view.remove(tables.new_order, &key::order(w, d, o));
        let row = view.get(tables.order, &key::order(w, d, o));
        set(row, order::O_CARRIER_ID, client.delivery.carrier);
        let lines = get(row, order::O_OL_CNT);
        let c = get(row, order::O_C_ID);
        self.scratch.set(request, DISTRICT + usize::from(d), 0, 1);
        let words = [request, d.into(), o.into(), lines.into(), c.into()];
        let hint = hint(tables.order_line, &key::order_line(w, d, o, 0));
        step(view, task, DELIVER_LINES, at(d.into()) + 1, &words, hint);
        self.log.write(view, task.timestamp, |entry| {
            let order = key::order(w, d, o);
            entry.none(tables.new_order, &order);
            let row = (tables.order, &order[..]);
            log_column(entry, row, order::O_CARRIER_ID, client.delivery.carrier);
        });
    }

    /// Dates the lines of an order. Words: district, order, how many lines, and the customer.
    pub(super) fn deliver_lines<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, date, .. } = client.delivery;
        let (d, o, c) = (task.word(1) as u8, task.word(2) as u32, task.word(4));
        let (low, high) = (key::order_line(w, d, o, 0), key::order_line(w, d, o, u8::MAX));
        let range = Range::closed(&low, &high).limit(task.word(3) as usize);
        let mut amount = 0;
        view.scan(self.tables.order_line, &range, &mut |line| {
            set(line, order_line::OL_DELIVERY_D, date);
            amount += u64::from(get(line, order_line::OL_AMOUNT));
            true
        });
        self.log.write(view, task.timestamp, |entry| {
            for number in 1..=task.word(3) as u8 {
                let key = key::order_line(w, d, o, number);
                let row = (self.tables.order_line, &key[..]);
                log_column(entry, row, order_line::OL_DELIVERY_D, date);
            }
        });
        let customer = hint(self.tables.customer, &key::customer(w, d, c as u16));
        step(
            view,
            task,
            DELIVER_CUSTOMER,
            at(d.into()) + 2,
            &[request, d.into(), c, amount],
            customer,
        );
    }

    /// Words: district, customer and amount.
    pub(super) fn deliver_customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (_, client) = self.client(task);
        let (d, c, amount) = (task.word(1) as u8, task.word(2) as u16, task.word(3) as i64);
        let row = view.get(self.tables.customer, &key::customer(client.delivery.w, d, c));
        let mut bytes = row.first::<{ customer::BYTES }>();
        deliver(&mut bytes, amount);
        row.write(0, &bytes);
        self.log.write(view, task.timestamp, |entry| {
            let key = key::customer(client.delivery.w, d, c);
            entry.part(self.tables.customer, &key, 0, &bytes);
        });
    }

    /// How many districts had an order.
    pub(super) fn shown_delivery(&self, request: u64) -> u64 {
        (1..=DISTRICTS_MAX).map(|d| self.scratch.get(request, DISTRICT + d, 0)).sum()
    }
}

/// Where the steps of a district begin.
fn at(d: u64) -> u64 {
    1 + STEPS * (d - 1)
}
