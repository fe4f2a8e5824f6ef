//! TPC-C's nine tables (clause 1.3), their keys and their columns.
//!
//! Groups of columns keep what a transaction changes apart from what it only looks at and from what it seldom needs,
//! in one table under one key:
//!
//! - STOCK: `stock` (quantity and counters: first, since stock-level reads nothing else), and its group `texts` (ten district
//!   texts, data);
//! - CUSTOMER: `customer` (name, address, credit terms: never changed, so the index by name is never touched after
//!   loading), and its groups `account` (balance and counters) and `data` (C_DATA);
//! - where it is asked for ([`TpccOptions::totals_apart`](super::TpccOptions)) W_YTD and D_YTD: the groups `total` of
//!   `warehouse` and `district`. Payments add to them without a look at them, and what else reads the rows of warehouse
//!   and district is not disturbed. The columns of those rows are zero then.
//!
//! `order_customer` is an index of ORDER by customer, kept by the procedures as a table of its own:
//! its 8-byte keys are shorter than a declared index would make them. The index of CUSTOMER by last
//! and first name is a declared one, [`BY_NAME`] of `customer`.
//!
//! Keys are big-endian, as short as the identifiers allow and at most 8 bytes in every ordered
//! table, one slice of the trie: warehouse 2 bytes, district 1, customer 2, order 4, line 1, item 4.
//! Identifiers are not repeated in the rows, but for C_ID in `customer`.

use super::random::LastName;
use chiliad_api::TableId;

/// The position of the index by (warehouse, district, last name, first name) in `customer`.
pub const BY_NAME: usize = 0;

/// The tables and groups of columns, once a database has numbered them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are TPC-C's")]
pub struct Tables {
    pub warehouse: TableId,
    pub district: TableId,
    /// The table itself.
    pub customer_info: TableId,
    /// Its group `account`.
    pub customer: TableId,
    /// Its group `data`.
    pub customer_data: TableId,
    pub history: TableId,
    pub new_order: TableId,
    pub order: TableId,
    pub order_customer: TableId,
    pub order_line: TableId,
    pub item: TableId,
    /// The table itself.
    pub stock: TableId,
    /// Its group `texts`.
    pub stock_info: TableId,
    pub totals: Option<Totals>,
}

/// The groups of W_YTD and D_YTD, where they are apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Totals {
    pub warehouse: TableId,
    pub district: TableId,
}

impl Tables {
    /// Names the tables that were created in this order; `totals_apart` as in the options that they were created by.
    ///
    /// # Panics
    /// When there are not as many.
    #[must_use]
    pub fn new(tables: &[TableId], totals_apart: bool) -> Self {
        let &[
            warehouse,
            district,
            customer_info,
            history,
            new_order,
            order,
            order_customer,
            order_line,
            item,
            stock,
        ] = tables
        else {
            panic!("TPC-C has 10 tables, one of them an index, not {}", tables.len())
        };
        let of_totals = || Totals { warehouse: warehouse.group(0), district: district.group(0) };
        let totals = totals_apart.then(of_totals);
        let [customer, customer_data] = [0, 1].map(|group| customer_info.group(group));
        let stock_info = stock.group(0);
        Self {
            warehouse,
            district,
            customer,
            customer_info,
            customer_data,
            history,
            new_order,
            order,
            order_customer,
            order_line,
            item,
            stock,
            stock_info,
            totals,
        }
    }
}

/// The part of the index by name that holds the customers of one district with one last name.
///
/// A text in an index key ends with a zero byte, so that a name comes before those it begins.
#[derive(Clone, Copy, Debug)]
pub struct NameBounds {
    low: [u8; NAME_BOUND_BYTES],
    high: [u8; NAME_BOUND_BYTES],
    length: usize,
}

/// Warehouse, district, up to 16 letters and the byte that ends them.
const NAME_BOUND_BYTES: usize = 2 + 1 + 16 + 1;

impl NameBounds {
    /// For last name `last` in district `d` of warehouse `w`.
    #[must_use]
    pub fn new(w: u16, d: u8, last: &LastName) -> Self {
        let last = last.as_bytes();
        let length = 4 + last.len();
        let mut low = [0; NAME_BOUND_BYTES];
        low[..3].copy_from_slice(&key::district(w, d));
        low[3..length - 1].copy_from_slice(last);
        let mut high = low;
        high[length - 1] = 1;
        Self { low, high, length }
    }

    /// Not above the least of them.
    #[must_use]
    pub fn low(&self) -> &[u8] {
        &self.low[..self.length]
    }

    /// Above the greatest of them.
    #[must_use]
    pub fn high(&self) -> &[u8] {
        &self.high[..self.length]
    }
}

/// The primary keys.
pub mod key {
    /// WAREHOUSE.
    #[inline]
    #[must_use]
    pub fn warehouse(w: u16) -> [u8; 2] {
        w.to_be_bytes()
    }

    /// DISTRICT.
    #[inline]
    #[must_use]
    pub fn district(w: u16, d: u8) -> [u8; 3] {
        let [a, b] = w.to_be_bytes();
        [a, b, d]
    }

    /// The three parts of CUSTOMER.
    #[inline]
    #[must_use]
    pub fn customer(w: u16, d: u8, c: u16) -> [u8; 5] {
        let ([a, b], [e, f]) = (w.to_be_bytes(), c.to_be_bytes());
        [a, b, d, e, f]
    }

    /// The customer's number in a key of CUSTOMER.
    #[inline]
    #[must_use]
    pub fn number_of_customer(key: &[u8]) -> u16 {
        match key {
            &[_, _, _, a, b] => u16::from_be_bytes([a, b]),
            _ => 0,
        }
    }

    /// HISTORY: the client that wrote it, and its count.
    #[inline]
    #[must_use]
    pub fn history(writer: u32, sequence: u32) -> [u8; 8] {
        (u64::from(writer) << 32 | u64::from(sequence)).to_be_bytes()
    }

    /// The writer in a key of HISTORY.
    #[inline]
    #[must_use]
    pub fn history_writer(key: &[u8]) -> u32 {
        match key {
            &[a, b, c, d, _, _, _, _] => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// The count in a key of HISTORY.
    #[inline]
    #[must_use]
    pub fn history_sequence(key: &[u8]) -> u32 {
        match key {
            &[_, _, _, _, a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// ORDER and NEW-ORDER.
    #[inline]
    #[must_use]
    pub fn order(w: u16, d: u8, o: u32) -> [u8; 7] {
        let [_, key @ ..] = (u64::from(w) << 40 | u64::from(d) << 32 | u64::from(o)).to_be_bytes();
        key
    }

    /// The order number in a key of ORDER or NEW-ORDER.
    #[inline]
    #[must_use]
    pub fn order_number(key: &[u8]) -> u32 {
        match key {
            &[_, _, _, a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// ORDER by customer. District and customer share two bytes: 4 bits and 12.
    #[inline]
    #[must_use]
    pub fn order_customer(w: u16, d: u8, c: u16, o: u32) -> [u8; 8] {
        let customer = u64::from(d) << 12 | u64::from(c);
        (u64::from(w) << 48 | customer << 32 | u64::from(o)).to_be_bytes()
    }

    /// ORDER-LINE.
    #[inline]
    #[must_use]
    pub fn order_line(w: u16, d: u8, o: u32, line: u8) -> [u8; 8] {
        let order = u64::from(w) << 48 | u64::from(d) << 40 | u64::from(o) << 8;
        (order | u64::from(line)).to_be_bytes()
    }

    /// The order and line number in a key of ORDER-LINE.
    #[inline]
    #[must_use]
    pub fn order_and_line(key: &[u8]) -> (u32, u8) {
        match key {
            &[_, _, _, a, b, c, d, line] => (u32::from_be_bytes([a, b, c, d]), line),
            _ => (0, 0),
        }
    }

    /// The order number in a key of ORDER by customer.
    #[inline]
    #[must_use]
    pub fn order_of_customer(key: &[u8]) -> u32 {
        match key {
            &[_, _, _, _, a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => 0,
        }
    }

    /// ITEM.
    #[inline]
    #[must_use]
    pub fn item(i: u32) -> [u8; 4] {
        i.to_be_bytes()
    }

    /// The two parts of STOCK.
    #[inline]
    #[must_use]
    pub fn stock(w: u16, i: u32) -> [u8; 6] {
        let ([a, b], [c, d, e, f]) = (w.to_be_bytes(), i.to_be_bytes());
        [a, b, c, d, e, f]
    }
}

/// WAREHOUSE. What changes comes last, here and in DISTRICT: see [`chiliad_api::Placement::apart`].
pub mod warehouse {
    use crate::row::{Chars, Text};
    crate::row::columns! {
        W_TAX: u16, W_NAME: Text<11>, W_STREET_1: Text<21>, W_STREET_2: Text<21>,
        W_CITY: Text<21>, W_STATE: Chars<2>, W_ZIP: Chars<9>, W_YTD: u64,
    }
}

/// W_YTD or D_YTD in a row of its own, where they are apart.
pub mod total {
    crate::row::columns! {
        YTD: u64,
    }
}

/// DISTRICT.
pub mod district {
    use crate::row::{Chars, Text};
    crate::row::columns! {
        D_TAX: u16, D_NAME: Text<11>, D_STREET_1: Text<21>, D_STREET_2: Text<21>,
        D_CITY: Text<21>, D_STATE: Chars<2>, D_ZIP: Chars<9>, D_YTD: u64, D_NEXT_O_ID: u32,
    }
}

/// CUSTOMER: what payments and deliveries change.
pub mod customer {
    crate::row::columns! {
        C_BALANCE: i64, C_YTD_PAYMENT: u64, C_PAYMENT_CNT: u32, C_DELIVERY_CNT: u32,
    }
}

/// CUSTOMER: what nobody changes.
pub mod customer_info {
    use crate::row::{Chars, Date, Text};
    crate::row::columns! {
        C_ID: u16, C_DISCOUNT: u16, C_CREDIT: Chars<2>, C_CREDIT_LIM: u64, C_LAST: Text<17>,
        C_FIRST: Text<17>, C_MIDDLE: Chars<2>, C_STREET_1: Text<21>, C_STREET_2: Text<21>,
        C_CITY: Text<21>, C_STATE: Chars<2>, C_ZIP: Chars<9>, C_PHONE: Chars<16>, C_SINCE: Date,
    }
}

/// CUSTOMER: C_DATA, the whole row.
pub mod customer_data {
    /// Column `C_DATA`: its greatest length.
    pub const C_DATA_MAX: usize = 500;
}

/// HISTORY.
pub mod history {
    use crate::row::{Date, Tail};
    crate::row::columns! {
        H_C_ID: u16, H_C_D_ID: u8, H_C_W_ID: u16, H_D_ID: u8, H_W_ID: u16, H_DATE: Date,
        H_AMOUNT: u32,
    }
    /// Column `H_DATA`: up to 24 characters.
    pub const H_DATA: Tail = Tail(BYTES);
}

/// ORDER. A carrier of zero stands for null.
pub mod order {
    use crate::row::Date;
    crate::row::columns! {
        O_C_ID: u16, O_ENTRY_D: Date, O_CARRIER_ID: u8, O_OL_CNT: u8, O_ALL_LOCAL: u8,
    }
}

/// ORDER-LINE. A delivery date of zero stands for null.
pub mod order_line {
    use crate::row::{Chars, Date};
    crate::row::columns! {
        OL_I_ID: u32, OL_AMOUNT: u32, OL_SUPPLY_W_ID: u16, OL_QUANTITY: u8, OL_DELIVERY_D: Date,
        OL_DIST_INFO: Chars<24>,
    }
}

/// ITEM.
pub mod item {
    use crate::row::{Tail, Text};
    crate::row::columns! {
        I_PRICE: u32, I_IM_ID: u16, I_NAME: Text<25>,
    }
    /// Column `I_DATA`: 26 to 50 characters.
    pub const I_DATA: Tail = Tail(BYTES);
}

/// STOCK: what new orders change.
pub mod stock {
    crate::row::columns! {
        S_QUANTITY: u32, S_YTD: u32, S_ORDER_CNT: u32, S_REMOTE_CNT: u32,
    }
}

/// STOCK: what nobody changes.
pub mod stock_info {
    use crate::row::{Chars, Column, Tail};

    /// Columns `S_DIST_01` to `S_DIST_10`.
    #[inline]
    #[must_use]
    pub const fn s_dist(district: u8) -> Column<Chars<24>> {
        Column::at(24 * (district as usize - 1))
    }

    /// Column `S_DATA`: 26 to 50 characters.
    pub const S_DATA: Tail = Tail(240);
}
