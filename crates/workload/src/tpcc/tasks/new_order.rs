//! New-order as tasks.
//!
//! ```text
//!   root ── items (of two lines or three) ── stocks of these lines
//!        ── terms of the warehouse and the customer
//!        ── next order of the district ── insert ORDER, NEW-ORDER, ORDER by customer
//!                                      ── make room for the lines ── insert lines (two each)
//! ```
//!
//! Items come first in the order. One that is not in use sets a word that all writers read: they do nothing then, and
//! the transaction has rolled back without having written (clause 2.4.2.3). Lines are inserted by steps that have no other way
//! to the order's number and to room in the index than through those that come first; what they need of their items lies
//! in the transaction's lines by then.

use super::{
    INSERT_LINES, INSERT_ORDER, ITEMS, MAKE_ROOM, NEXT_ORDER, STOCKS, TERMS, TpccTasks, hint, step,
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
const TERMS_LINE: usize = 1;
const DISTRICT: usize = 2;
const LINE: usize = 3;

/// Groups of lines: with what else it begins, the root has eight children.
const GROUPS: usize = 6;

/// Lines of a group at most.
const GROUP_MAX: usize = LINES_MAX.div_ceil(GROUPS - 1);

/// Lines that one task inserts: its parent cannot have a child for each.
const INSERTED: usize = 2;

// Offsets of timestamps: all items, then what is only read, then what writes; lines in their order.
const AT_ITEM: u64 = 1;
const AT_TERMS: u64 = AT_ITEM + LINES_MAX as u64;
const AT_DISTRICT: u64 = AT_TERMS + 1;
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
        let order = &client.new_order;
        let tables = &self.tables;
        for first in (0..order.lines().len()).step_by(self.group(order)) {
            let words = [request, first as u64];
            let item = hint(tables.item, &order.lines()[first].item_key);
            step(view, task, ITEMS, AT_ITEM + first as u64, &words, item);
        }
        let district = hint(tables.district, &key::district(order.w, order.d));
        step(view, task, NEXT_ORDER, AT_DISTRICT, &[request], district);
        let customer = hint(tables.customer_info, &key::customer(order.w, order.d, order.c));
        step(view, task, TERMS, AT_TERMS, &[request], customer);
    }

    /// The items of some lines: their prices, and whether they are in use. Word: the first line.
    pub(super) fn items<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        for (at, line) in self.lines(task, &client.new_order) {
            let Some(row) = view.find(self.tables.item, &line.item_key) else {
                self.scratch.set(request, ROLLS_BACK, 0, 1);
                return;
            };
            let mut data = [0; DATA_MAX];
            let data = rest(row, item::I_DATA.0, &mut data);
            let amount = get(row, item::I_PRICE).wrapping_mul(u32::from(line.quantity));
            let may_be_brand = u64::from(has_original(data)) * BRAND;
            self.scratch.set(request, LINE + at, 0, u64::from(amount) | may_be_brand);
        }
        let first = task.word(1);
        if let Some(line) = client.new_order.lines().get(first as usize) {
            let stock = hint(self.tables.stock, &key::stock(line.supplier, line.item));
            step(view, task, STOCKS, AT_STOCK + first, &[request, first], stock);
        }
    }

    /// What the warehouse and the customer have to do with the price. Neither row is written on the lines that are read.
    pub(super) fn terms<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, c, .. } = client.new_order;
        let row = view.get(self.tables.warehouse, &key::warehouse(w));
        let tax = get(row, warehouse::W_TAX);
        let row = view.get(self.tables.customer_info, &key::customer(w, d, c));
        let mut bytes = [0; customer_info::C_LAST.end()];
        row.read(0, &mut bytes);
        let last = Text::<17>::read(&bytes[customer_info::C_LAST.offset()..]).len();
        let words = [
            customer_info::C_DISCOUNT.get(&bytes).into(),
            customer_info::C_CREDIT.get(&bytes)[0].into(),
            last as u64,
            tax.into(),
        ];
        for (word, value) in words.into_iter().enumerate() {
            self.scratch.set(request, TERMS_LINE, word, value);
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

    /// Takes some lines out of the stock. Word: the first line.
    pub(super) fn stocks<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        if self.rolls_back(request) {
            return;
        }
        let mut taken = [None; GROUP_MAX];
        for ((_, line), taken) in self.lines(task, &client.new_order).zip(&mut taken) {
            let key = key::stock(line.supplier, line.item);
            let row = view.get(self.tables.stock, &key);
            let mut bytes = row.first::<{ stock::BYTES }>();
            take(&mut bytes, u32::from(line.quantity), line.supplier != client.new_order.w);
            row.write(0, &bytes);
            *taken = Some((key, bytes));
        }
        self.log.write(view, task.timestamp, |entry| {
            for (key, bytes) in taken.iter().flatten() {
                entry.part(self.tables.stock, key, 0, bytes);
            }
        });
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

    /// Lines of an order that one task looks at: as few as its root has children for. That of an order that is logged has one more
    /// child.
    fn group(&self, order: &Request) -> usize {
        let groups = GROUPS - usize::from(self.log.kept().is_some());
        order.lines().len().div_ceil(groups).max(1)
    }

    /// The lines that a task is about, from the one that its first word after the request says.
    fn lines<'r>(
        &self,
        task: &Task,
        order: &'r Request,
    ) -> impl Iterator<Item = (usize, &'r Line)> {
        let first = task.word(1) as usize;
        order.lines().iter().enumerate().skip(first).take(self.group(order))
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
            discount: word(TERMS_LINE, 0) as u16,
            credit: word(TERMS_LINE, 1) as u8,
            last: word(TERMS_LINE, 2) as u8,
            taxes: [word(TERMS_LINE, 3) as u16, word(DISTRICT, 1) as u16],
        };
        let lines = (0..order.lines().len()).map(|at| word(LINE + at, 1));
        let sum = lines.clone().map(|line| line & !BRAND).sum();
        let brands = lines.fold(0, |brands, line| brands << 1 | u64::from(line & BRAND != 0));
        Some(terms.shown(sum, brands))
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
