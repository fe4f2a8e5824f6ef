//! Payment as tasks.
//!
//! ```text
//!   root ── pay the warehouse
//!        ── pay the district
//!        ── pay the customer ── note bad credit
//!                            ── insert HISTORY
//! ```
//!
//! HISTORY needs the names of warehouse and district and the number of the customer, which the three steps leave in lines of
//! their own. One of them enqueues it: that of the customer, for whom the longest way may lead through an index, or, with a
//! counter, the last to come. Had it run before them, it would be taken back when they write.

use super::{
    INSERT_HISTORY, NOTE_BAD_CREDIT, PAY_CUSTOMER, PAY_DISTRICT, PAY_WAREHOUSE, TpccTasks,
};
use super::{hint, step};
use crate::row::{Column, Kind as _, Text};
use crate::tasks::{RANGE, get, log_column, set};
use crate::tpcc::customer::pay;
use crate::tpcc::payment::{NOTE_MAX, Names, Request};
use crate::tpcc::schema::{
    BY_NAME, NameBounds, Tables, customer, customer_data, customer_info, district, key, warehouse,
};
use crate::tpcc::terminal::By;
use chiliad_api::Range;
use chiliad_machine::Machine;
use chiliad_machine::tasks::{Lines, Task, Tasks};
use chiliad_swarm::{Record, View};

// Lines of scratch.
const WAREHOUSE: usize = 1;
const CUSTOMER: usize = 2;
const DISTRICT: usize = 3;

// Offsets of timestamps.
const AT_WAREHOUSE: u64 = 1;
const AT_DISTRICT: u64 = 2;
const AT_CUSTOMER: u64 = 3;
const AT_NOTE: u64 = 4;
const AT_HISTORY: u64 = 5;

/// Bytes of W_NAME and D_NAME.
const NAME_BYTES: usize = 11;

/// Bytes of a customer's primary key.
const CUSTOMER_KEY_BYTES: usize = 5;

/// The most customers of a district.
const CUSTOMERS_MAX: usize = 3000;

impl<M: Machine> TpccTasks<'_, M> {
    pub(super) fn begin_payment<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, c_w, c_d, by, .. } = client.payment;
        let tables = &self.tables;
        let warehouse = hint(tables.warehouse, &key::warehouse(w));
        step(view, task, PAY_WAREHOUSE, self.at(AT_WAREHOUSE), &[request], warehouse);
        let district = hint(tables.district, &key::district(w, d));
        step(view, task, PAY_DISTRICT, self.at(AT_DISTRICT), &[request], district);
        let customer = match by {
            By::Number(c) => hint(tables.customer, &key::customer(c_w, c_d, c)),
            By::Name(_) => request,
        };
        step(view, task, PAY_CUSTOMER, self.at(AT_CUSTOMER), &[request], customer);
    }

    /// Where a step that HISTORY needs has its place: those that count themselves have the same.
    fn at(&self, own: u64) -> u64 {
        if self.joins.is_some() { AT_WAREHOUSE } else { own }
    }

    /// A step that HISTORY needs is over.
    fn paid<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let goes_on = match &self.joins {
            Some(joins) => joins.is_last(request, 0, 3),
            None => task.function == PAY_CUSTOMER,
        };
        if goes_on {
            let history = key::history(client.terminal.number, client.payment.sequence);
            let hint = hint(self.tables.history, &history);
            step(view, task, INSERT_HISTORY, AT_HISTORY, &[request], hint);
        }
    }

    pub(super) fn pay_warehouse<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, amount, .. } = client.payment;
        let row = view.get(self.tables.warehouse, &key::warehouse(w));
        let paid = get(row, warehouse::W_YTD).wrapping_add(u64::from(amount));
        set(row, warehouse::W_YTD, paid);
        for (word, value) in name(row, warehouse::W_NAME).into_iter().enumerate() {
            self.scratch.set(request, WAREHOUSE, word, value);
        }
        self.paid(view, task);
        self.log.write(view, own(task, AT_WAREHOUSE), |entry| {
            let row = (self.tables.warehouse, &key::warehouse(w)[..]);
            log_column(entry, row, warehouse::W_YTD, paid);
        });
    }

    pub(super) fn pay_district<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { w, d, amount, .. } = client.payment;
        let row = view.get(self.tables.district, &key::district(w, d));
        let paid = get(row, district::D_YTD).wrapping_add(u64::from(amount));
        set(row, district::D_YTD, paid);
        for (word, value) in name(row, district::D_NAME).into_iter().enumerate() {
            self.scratch.set(request, DISTRICT, word, value);
        }
        self.paid(view, task);
        self.log.write(view, own(task, AT_DISTRICT), |entry| {
            let row = (self.tables.district, &key::district(w, d)[..]);
            log_column(entry, row, district::D_YTD, paid);
        });
    }

    pub(super) fn pay_customer<T: Tasks<Machine = M>>(&self, view: &View<'_, T>, task: &Task) {
        let (request, client) = self.client(task);
        let Request { c_w, c_d, by, amount, .. } = client.payment;
        let c = number(view, &self.tables, c_w, c_d, by);
        let key = key::customer(c_w, c_d, c);
        let row = view.get(self.tables.customer, &key);
        let mut bytes = row.first::<{ customer::BYTES }>();
        let balance = pay(&mut bytes, amount);
        row.write(0, &bytes);
        let info = view.get(self.tables.customer_info, &key);
        let info = info.first::<{ customer_info::C_CREDIT.end() }>();
        let shown = u64::from(customer_info::C_DISCOUNT.get(&info)) ^ balance as u64;
        self.scratch.set(request, CUSTOMER, 0, c.into());
        self.scratch.set(request, CUSTOMER, 1, shown);
        if customer_info::C_CREDIT.get(&info) == b"BC" {
            let data = hint(self.tables.customer_data, &key);
            step(view, task, NOTE_BAD_CREDIT, AT_NOTE, &[request, c.into()], data);
        }
        self.paid(view, task);
        self.log.write(view, own(task, AT_CUSTOMER), |entry| {
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
        let word = |line, word| self.scratch.get(request, line, word);
        let mut letters = [0; 16];
        let name = letters_of([word(WAREHOUSE, 0), word(WAREHOUSE, 1)], &mut letters);
        let mut names = Names::of_warehouse(name);
        names.append(letters_of([word(DISTRICT, 0), word(DISTRICT, 1)], &mut letters));
        let (row, end) = client.payment.history(word(CUSTOMER, 0) as u16, &names);
        let key = key::history(client.terminal.number, client.payment.sequence);
        view.insert(self.tables.history, &key, &row[..end]);
        self.log.write(view, task.timestamp, |entry| {
            entry.row(self.tables.history, &key, &row[..end]);
        });
    }

    pub(super) fn shown_payment(&self, request: u64) -> u64 {
        self.scratch.get(request, CUSTOMER, 1)
    }
}

/// The timestamp of what a step has written, by its own place in the transaction.
fn own(task: &Task, at: u64) -> u64 {
    task.timestamp / RANGE * RANGE + at
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
