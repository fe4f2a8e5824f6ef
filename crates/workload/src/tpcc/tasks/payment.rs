//! Payment as tasks.
//!
//! ```text
//!   root ── pay the warehouse
//!        ── pay the district
//!        ── names of warehouse and district ── insert HISTORY
//!        ── find the customer, who is named ── insert HISTORY
//!                                           ── pay the customer ── note bad credit
//! ```
//!
//! HISTORY needs the names and the number of the customer, which two steps leave in lines of their own where it is not in the
//! request. The one with the longer way enqueues it, or, with a counter, the last to come. Had it run before the other, it would be
//! taken back when that writes. No total has a part in this: steps that add to one are taken back often, and alone.

use super::{
    FIND_CUSTOMER, INSERT_HISTORY, NOTE_BAD_CREDIT, PAY_CUSTOMER, PAY_DISTRICT, PAY_WAREHOUSE,
    TpccTasks,
};
use super::{READ_NAMES, hint, step};
use crate::row::{Column, Kind as _, Text};
use crate::tasks::{get, log_column, set};
use crate::tpcc::customer::pay;
use crate::tpcc::payment::{NOTE_MAX, Names, Request};
use crate::tpcc::schema::{
    BY_NAME, NameBounds, Tables, customer, customer_data, customer_info, district, key, total,
    warehouse,
};
use crate::tpcc::terminal::By;
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Lines, Task, Tasks};
use chiliad_swarm::{Record, View};

// Lines of scratch.
const NAMES: usize = 1;
const CUSTOMER: usize = 2;
const FOUND: usize = 3;

// Offsets of timestamps.
const AT_NAMES: u64 = 1;
const AT_FIND: u64 = 2;
const AT_WAREHOUSE: u64 = 3;
const AT_DISTRICT: u64 = 4;
const AT_CUSTOMER: u64 = 5;
const AT_NOTE: u64 = 6;
const AT_HISTORY: u64 = 7;

/// Bytes of W_NAME and D_NAME.
const NAME_BYTES: usize = 11;

/// Bytes of a customer's primary key.
const CUSTOMER_KEY_BYTES: usize = 5;

/// The most customers of a district.
const CUSTOMERS_MAX: usize = 3000;

impl<M: Machine> TpccTasks<'_, M> {
    pub(super) fn begin_payment<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, by, .. } = client.payment;
        let tables = &self.tables;
        let warehouse = hint(tables.warehouse, &key::warehouse(w));
        step(view, task, PAY_WAREHOUSE, AT_WAREHOUSE, &[request], warehouse);
        let district = hint(tables.district, &key::district(w, d));
        step(view, task, PAY_DISTRICT, AT_DISTRICT, &[request], district);
        match by {
            By::Number(c) => self.begin_customer(view, task, c),
            By::Name(_) => step(view, task, FIND_CUSTOMER, self.at_find(), &[request], request),
        }
        step(view, task, READ_NAMES, AT_NAMES, &[request], warehouse);
    }

    /// Where the search for a customer has its place: steps that count themselves have the same.
    fn at_find(&self) -> u64 {
        if self.joins.is_some() { AT_NAMES } else { AT_FIND }
    }

    /// Looks for a customer who is named. It is a step of its own, since it takes longer than all others, and reads nothing that
    /// anybody writes.
    pub(super) fn find_customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { c_w, c_d, by, .. } = client.payment;
        let c = number(view, &self.tables, c_w, c_d, by);
        self.scratch.set(request, FOUND, 0, c.into());
        self.begin_customer(view, task, c);
        self.found(view, task);
    }

    fn begin_customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task, c: u16) {
        let (request, client) = self.client(task);
        let Request { c_w, c_d, .. } = client.payment;
        let customer = hint(self.tables.customer, &key::customer(c_w, c_d, c));
        step(view, task, PAY_CUSTOMER, AT_CUSTOMER, &[request, c.into()], customer);
    }

    /// Reads what HISTORY has of warehouse and district.
    pub(super) fn read_names<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, .. } = client.payment;
        let row = view.get(self.tables.warehouse, &key::warehouse(w));
        let of_warehouse = name(row, warehouse::W_NAME);
        let row = view.get(self.tables.district, &key::district(w, d));
        let of_district = name(row, district::D_NAME);
        for (word, value) in of_warehouse.into_iter().chain(of_district).enumerate() {
            self.scratch.set(request, NAMES, word, value);
        }
        self.found(view, task);
    }

    /// A step that HISTORY needs is over.
    fn found<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let is_last = match (client.payment.by, &self.joins) {
            (By::Number(_), _) => true,
            (By::Name(_), Some(joins)) => joins.is_last(request, 0, 2),
            (By::Name(_), None) => task.function == FIND_CUSTOMER,
        };
        if is_last {
            let history = key::history(client.terminal.number, client.payment.sequence);
            let hint = hint(self.tables.history, &history);
            step(view, task, INSERT_HISTORY, AT_HISTORY, &[request], hint);
        }
    }

    pub(super) fn pay_warehouse<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (_, client) = self.client(task);
        let Request { w, amount, .. } = client.payment;
        let (table, total) = match self.tables.totals {
            Some(totals) => (totals.warehouse, total::YTD),
            None => (self.tables.warehouse, warehouse::W_YTD),
        };
        let row = view.get(table, &key::warehouse(w));
        let paid = get(row, total).wrapping_add(u64::from(amount));
        set(row, total, paid);
        self.log.write(view, task.timestamp, |entry| {
            log_column(entry, (table, &key::warehouse(w)[..]), total, paid);
        });
    }

    pub(super) fn pay_district<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (_, client) = self.client(task);
        let Request { w, d, amount, .. } = client.payment;
        let (table, total) = match self.tables.totals {
            Some(totals) => (totals.district, total::YTD),
            None => (self.tables.district, district::D_YTD),
        };
        let row = view.get(table, &key::district(w, d));
        let paid = get(row, total).wrapping_add(u64::from(amount));
        set(row, total, paid);
        self.log.write(view, task.timestamp, |entry| {
            log_column(entry, (table, &key::district(w, d)[..]), total, paid);
        });
    }

    pub(super) fn pay_customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { c_w, c_d, amount, .. } = client.payment;
        let c = task.word(1) as u16;
        let key = key::customer(c_w, c_d, c);
        let row = view.get(self.tables.customer, &key);
        let mut bytes = row.first::<{ customer::BYTES }>();
        let balance = pay(&mut bytes, amount);
        row.write(0, &bytes);
        let info = view.get(self.tables.customer_info, &key);
        let info = info.first::<{ customer_info::C_CREDIT.end() }>();
        let shown = u64::from(customer_info::C_DISCOUNT.get(&info)) ^ balance as u64;
        self.scratch.set(request, CUSTOMER, 0, shown);
        if customer_info::C_CREDIT.get(&info) == b"BC" {
            let data = hint(self.tables.customer_data, &key);
            step(view, task, NOTE_BAD_CREDIT, AT_NOTE, &[request, c.into()], data);
        }
        self.log.write(view, task.timestamp, |entry| {
            entry.part(self.tables.customer, &key, 0, &bytes);
        });
    }

    /// Writes the payment in front of C_DATA and cuts it at its limit (clause 2.5.2.2).
    pub(super) fn note_bad_credit<T: Tasks<Machine = M>>(
        &self,
        view: &mut View<'_, T>,
        task: &Task,
    ) {
        let (_, client) = self.client(task);
        let (request, c) = (&client.payment, task.word(1) as u16);
        let key = key::customer(request.c_w, request.c_d, c);
        let mut note = [0; NOTE_MAX];
        let length = request.note(c, &mut note);
        let mut data = [0; customer_data::C_DATA_MAX + NOTE_MAX];
        data[..length].copy_from_slice(&note[..length]);
        let row = view.get(self.tables.customer_data, &key);
        let kept = row.len().min(customer_data::C_DATA_MAX);
        row.read(0, &mut data[length..length + kept]);
        let end = (length + kept).min(request.data_max);
        view.replace(self.tables.customer_data, &key, &data[..end]);
        self.log.write(view, task.timestamp, |entry| {
            entry.row(self.tables.customer_data, &key, &data[..end]);
        });
    }

    pub(super) fn insert_history<T: Tasks<Machine = M>>(
        &self,
        view: &mut View<'_, T>,
        task: &Task,
    ) {
        let (request, client) = self.client(task);
        let c = match client.payment.by {
            By::Number(c) => c,
            By::Name(_) => self.scratch.get(request, FOUND, 0) as u16,
        };
        let word = |word| self.scratch.get(request, NAMES, word);
        let mut letters = [0; 16];
        let mut names = Names::of_warehouse(letters_of([word(0), word(1)], &mut letters));
        names.append(letters_of([word(2), word(3)], &mut letters));
        let (row, end) = client.payment.history(c, &names);
        let key = key::history(client.terminal.number, client.payment.sequence);
        view.insert(self.tables.history, &key, &row[..end]);
        self.log.write(view, task.timestamp, |entry| {
            entry.row(self.tables.history, &key, &row[..end]);
        });
    }

    pub(super) fn shown_payment(&self, request: u64) -> u64 {
        self.scratch.get(request, CUSTOMER, 0)
    }
}

/// W_NAME or D_NAME as two words.
fn name<T: Lines>(row: Record<'_, T>, column: Column<Text<NAME_BYTES>>) -> [u64; 2] {
    let mut bytes = [0; 16];
    row.read(column.offset(), &mut bytes[..NAME_BYTES]);
    let halves = bytes.as_chunks::<8>().0;
    [halves[0], halves[1]].map(u64::from_le_bytes)
}

/// The letters in two such words.
fn letters_of(words: [u64; 2], target: &mut [u8; 16]) -> &[u8] {
    for (bytes, word) in target.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    Text::<NAME_BYTES>::read(&target[..NAME_BYTES])
}

/// The number of a customer who is named: of those with the last name the one in the middle, by first name (clause
/// 2.5.2.2, case 2).
pub(super) fn number<T: Lines>(view: &View<'_, T>, tables: &Tables, w: u16, d: u8, by: By) -> u16 {
    let last = match by {
        By::Number(c) => return c,
        By::Name(last) => last,
    };
    let bounds = NameBounds::new(w, d, &last);
    let range = Range::between(bounds.low(), bounds.high());
    let (mut found, mut count) = ([0; CUSTOMERS_MAX], 0);
    view.scan_index(tables.customer_info, BY_NAME, &range, &mut |entry| {
        // Its value is the primary key, which ends with the number.
        let [.., high, low] = entry.first::<CUSTOMER_KEY_BYTES>();
        found[count] = u16::from_be_bytes([high, low]);
        count += 1;
        count < CUSTOMERS_MAX
    });
    if count == 0 {
        view.trap("nobody has this name");
    }
    found[(count - 1) / 2]
}
