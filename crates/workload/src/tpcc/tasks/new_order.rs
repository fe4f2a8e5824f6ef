//! New-order as tasks.
//!
//! ```text
//!   root ── items (up to four lines each) ── item of a line ── stock of the line
//!        ── tax of the warehouse
//!        ── terms of the customer
//!        ── next order of the district ── insert ORDER, NEW-ORDER, ORDER by customer
//!                                      ── make room for the lines ── insert lines (two each)
//! ```
//!
//! Items come first in the order. One that is not in use sets a word that all writers read: they do nothing then, and
//! the transaction has rolled back without having written (clause 2.4.2.3). Lines are inserted by steps that have no other way
//! to the order's number and to room in the index than through those that come first; what they need of their items lies
//! in the transaction's lines by then.

use super::{
    CUSTOMER_TERMS, INSERT_LINES, INSERT_ORDER, ITEM, ITEMS, MAKE_ROOM, NEXT_ORDER, STOCK,
    TpccTasks, WAREHOUSE_TERMS, hint, step,
};
use crate::row::{Kind as _, Text};
use crate::tasks::{get, log_column, set};
use crate::tpcc::new_order::{LINES_MAX, Line, Request, Terms, take};
use crate::tpcc::random::has_original;
use crate::tpcc::schema::{customer_info, district, item, key, stock, stock_info, warehouse};
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Lines, Task, Tasks};
use chiliad_swarm::{Record, View};

/// Lines of scratch: whether it rolls back, what three rows say, and what each line comes to.
pub(super) const SCRATCH_LINES: usize = LINE + LINES_MAX;
const ROLLS_BACK: usize = 0;
const WAREHOUSE: usize = 1;
const CUSTOMER: usize = 2;
const DISTRICT: usize = 3;
const LINE: usize = 4;

/// Lines for which one task enqueues the look-ups of items.
const FAN: usize = 4;

/// Lines that one task inserts: its parent cannot have a child for each.
const INSERTED: usize = 2;

// Offsets of timestamps: all items, then what is only read, then what writes; lines in their order.
const AT_ITEM: u64 = 1;
const AT_TERMS: u64 = AT_ITEM + LINES_MAX as u64;
const AT_DISTRICT: u64 = AT_TERMS + 2;
const AT_ORDER: u64 = AT_DISTRICT + 1;
const AT_ROOM: u64 = AT_ORDER + 3;
const AT_STOCK: u64 = AT_ROOM + 1;
const AT_LINE: u64 = AT_STOCK + LINES_MAX as u64;
const _: () = assert!(AT_LINE + LINES_MAX as u64 <= crate::tasks::RANGE, "all have their place");

/// In the words of a line, beside the amount: its item may be a brand; and it is one.
const BRAND: u64 = 1 << 32;

impl<M: Machine> TpccTasks<'_, M> {
    pub(super) fn begin_new_order<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, c, .. } = client.new_order;
        let tables = &self.tables;
        let district = hint(tables.district, &key::district(w, d));
        step(view, task, NEXT_ORDER, AT_DISTRICT, &[request], district);
        for first in (0..client.new_order.lines().len()).step_by(FAN) {
            let words = [request, first as u64];
            step(view, task, ITEMS, AT_ITEM, &words, request);
        }
        let warehouse = hint(tables.warehouse, &key::warehouse(w));
        step(view, task, WAREHOUSE_TERMS, AT_TERMS, &[request], warehouse);
        let customer = hint(tables.customer_info, &key::customer(w, d, c));
        step(view, task, CUSTOMER_TERMS, AT_TERMS + 1, &[request], customer);
    }

    /// Enqueues the look-ups of some items.
    pub(super) fn items<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let first = task.word(1) as usize;
        for (at, line) in client.new_order.lines().iter().enumerate().skip(first).take(FAN) {
            let words = [request, at as u64];
            let item = hint(self.tables.item, &line.item_key);
            step(view, task, ITEM, AT_ITEM + at as u64, &words, item);
        }
    }

    /// An item: its price, and whether it is in use.
    pub(super) fn item<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let (at, line) = line(view, task, &client.new_order);
        let Some(row) = view.find(self.tables.item, &line.item_key) else {
            self.scratch.set(request, ROLLS_BACK, 0, 1);
            return;
        };
        let mut data = [0; DATA_MAX];
        let data = rest(row, item::I_DATA.0, &mut data);
        let amount = get(row, item::I_PRICE).wrapping_mul(u32::from(line.quantity));
        let may_be_brand = u64::from(has_original(data)) * BRAND;
        self.scratch.set(request, LINE + at, 0, u64::from(amount) | may_be_brand);
        let words = [request, at as u64];
        let stock = hint(self.tables.stock, &key::stock(line.supplier, line.item));
        step(view, task, STOCK, AT_STOCK + at as u64, &words, stock);
    }

    pub(super) fn warehouse_terms<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let row = view.get(self.tables.warehouse, &key::warehouse(client.new_order.w));
        self.scratch.set(request, WAREHOUSE, 0, get(row, warehouse::W_TAX).into());
    }

    pub(super) fn customer_terms<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, c, .. } = client.new_order;
        let row = view.get(self.tables.customer_info, &key::customer(w, d, c));
        let mut bytes = [0; customer_info::C_LAST.end()];
        row.read(0, &mut bytes);
        let last = Text::<17>::read(&bytes[customer_info::C_LAST.offset()..]).len();
        let words = [
            customer_info::C_DISCOUNT.get(&bytes).into(),
            customer_info::C_CREDIT.get(&bytes)[0].into(),
            last as u64,
        ];
        for (word, value) in words.into_iter().enumerate() {
            self.scratch.set(request, CUSTOMER, word, value);
        }
    }

    /// Takes the number of the order from its district.
    pub(super) fn next_order<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        if self.rolls_back(request) {
            return;
        }
        let Request { w, d, c, .. } = client.new_order;
        let row = view.get(self.tables.district, &key::district(w, d));
        let o = get(row, district::D_NEXT_O_ID);
        set(row, district::D_NEXT_O_ID, o.wrapping_add(1));
        self.scratch.set(request, DISTRICT, 0, o.into());
        self.scratch.set(request, DISTRICT, 1, get(row, district::D_TAX).into());
        let tables = &self.tables;
        let order = key::order(w, d, o);
        let hints = [
            hint(tables.order, &order),
            hint(tables.new_order, &order),
            hint(tables.order_customer, &key::order_customer(w, d, c, o)),
        ];
        for (which, hint) in (0..).zip(hints) {
            step(view, task, INSERT_ORDER, AT_ORDER + which, &[request, which, o.into()], hint);
        }
        step(view, task, MAKE_ROOM, AT_ROOM, &[request, o.into()], request);
        self.log.write(view, task.timestamp, |entry| {
            let row = (tables.district, &key::district(w, d)[..]);
            log_column(entry, row, district::D_NEXT_O_ID, o.wrapping_add(1));
        });
    }

    /// Makes room for the order's lines, and enqueues what inserts them. Word: the order.
    pub(super) fn make_room<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, .. } = client.new_order;
        let o = task.word(1);
        let lines = client.new_order.lines().len();
        view.make_room(self.tables.order_line, &key::order_line(w, d, o as u32, 1), lines);
        for first in (0..lines).step_by(INSERTED) {
            let words = [request, first as u64, o];
            step(view, task, INSERT_LINES, AT_LINE + first as u64, &words, request);
        }
    }

    /// Inserts the order, or one of the entries that lead to it.
    pub(super) fn insert_order<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (_, client) = self.client(task);
        let Request { w, d, c, .. } = client.new_order;
        let o = task.word(2) as u32;
        let (order, of_customer) = (key::order(w, d, o), key::order_customer(w, d, c, o));
        let row = client.new_order.order();
        let (table, key, row): (_, &[u8], &[u8]) = match task.word(1) {
            0 => (self.tables.order, &order, &row),
            1 => (self.tables.new_order, &order, &[]),
            _ => (self.tables.order_customer, &of_customer, &[]),
        };
        view.insert(table, key, row);
        self.log.write(view, task.timestamp, |entry| entry.row(table, key, row));
    }

    /// Takes a line out of the stock. Word: the line.
    pub(super) fn stock<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        if self.rolls_back(request) {
            return;
        }
        let (_, line) = line(view, task, &client.new_order);
        let key = key::stock(line.supplier, line.item);
        let row = view.get(self.tables.stock, &key);
        let mut bytes = row.first::<{ stock::BYTES }>();
        take(&mut bytes, u32::from(line.quantity), line.supplier != client.new_order.w);
        row.write(0, &bytes);
        self.log
            .write(view, task.timestamp, |entry| entry.part(self.tables.stock, &key, 0, &bytes));
    }

    /// Inserts lines. Words: the first of them, and the order.
    pub(super) fn insert_lines<T: Tasks<Machine = M>>(&self, view: &mut View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, .. } = client.new_order;
        let (first, o) = (task.word(1) as usize, task.word(2) as u32);
        let lines = client.new_order.lines().iter().enumerate().skip(first).take(INSERTED);
        let mut inserted = [None; INSERTED];
        for ((at, line), inserted) in lines.zip(&mut inserted) {
            let info = view.get(self.tables.stock_info, &key::stock(line.supplier, line.item));
            let mut dist = [0; 24];
            info.read(stock_info::s_dist(d).offset(), &mut dist);
            let amount = self.scratch.get(request, LINE + at, 0);
            let mut data = [0; DATA_MAX];
            let is_brand =
                amount & BRAND != 0 && has_original(rest(info, stock_info::S_DATA.0, &mut data));
            let amount = amount & !BRAND;
            self.scratch.set(request, LINE + at, 1, amount | (u64::from(is_brand) * BRAND));
            let key = key::order_line(w, d, o, at as u8 + 1);
            let row = line.row(amount as u32, &dist);
            view.insert(self.tables.order_line, &key, &row);
            *inserted = Some((key, row));
        }
        self.log.write(view, task.timestamp, |entry| {
            for (key, row) in inserted.iter().flatten() {
                entry.row(self.tables.order_line, key, row);
            }
        });
    }

    fn rolls_back(&self, request: u64) -> bool {
        self.scratch.get(request, ROLLS_BACK, 0) != 0
    }

    pub(super) fn shown_new_order(&self, request: u64, order: &Request) -> Option<u64> {
        if self.rolls_back(request) {
            return None;
        }
        let word = |line, word| self.scratch.get(request, line, word);
        let terms = Terms {
            discount: word(CUSTOMER, 0) as u16,
            credit: word(CUSTOMER, 1) as u8,
            last: word(CUSTOMER, 2) as u8,
            taxes: [word(WAREHOUSE, 0) as u16, word(DISTRICT, 1) as u16],
        };
        let lines = (0..order.lines().len()).map(|at| word(LINE + at, 1));
        let sum = lines.clone().map(|line| line & !BRAND).sum();
        let brands = lines.fold(0, |brands, line| brands << 1 | u64::from(line & BRAND != 0));
        Some(terms.shown(sum, brands))
    }
}

/// The line that a task is about, which its first word after the request says.
fn line<'r, T: Lines>(view: &View<'_, T>, task: &Task, order: &'r Request) -> (usize, &'r Line) {
    let at = task.word(1) as usize;
    match order.lines().get(at) {
        Some(line) => (at, line),
        None => view.trap("a line that the order does not have"),
    }
}

/// The longest I_DATA and S_DATA.
const DATA_MAX: usize = 50;

/// The last column of a row, as far as there is room for it.
fn rest<'b, T: Lines>(row: Record<'_, T>, from: usize, target: &'b mut [u8; DATA_MAX]) -> &'b [u8] {
    let target = &mut target[..row.len().saturating_sub(from).min(DATA_MAX)];
    row.read(from, target);
    target
}
