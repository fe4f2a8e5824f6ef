//! Keys and rows of TPC-C as bytes: big-endian composite keys, fixed layouts, little-endian fields.
//!
//! Row lengths are those of the specification's columns at their greatest; what the two
//! transactions do not touch is filler.

use crate::store::Table;

pub const WAREHOUSE: Table = 0;
pub const DISTRICT: Table = 1;
pub const CUSTOMER: Table = 2;
/// Customers by last name: (warehouse, district, last, first, customer) without a value.
pub const CUSTOMER_BY_NAME: Table = 3;
pub const ITEM: Table = 4;
pub const STOCK: Table = 5;
pub const ORDER: Table = 6;
pub const NEW_ORDER: Table = 7;
pub const ORDER_LINE: Table = 8;
pub const HISTORY: Table = 9;
pub const TABLES: usize = 10;

/// Length of a first or a last name, filled up with zeros.
pub const NAME_BYTES: usize = 16;
/// Length of the key of [`CUSTOMER_BY_NAME`].
pub const BY_NAME_BYTES: usize = 8 + 2 * NAME_BYTES + 4;

/// A key, or a note, of numbers.
pub fn key<const N: usize, const BYTES: usize>(numbers: [u32; N]) -> [u8; BYTES] {
    const { assert!(BYTES == 4 * N) };
    let mut key = [0; BYTES];
    for (four, number) in key.chunks_exact_mut(4).zip(numbers) {
        four.copy_from_slice(&number.to_be_bytes());
    }
    key
}

/// A key of [`CUSTOMER_BY_NAME`].
pub fn by_name(
    [warehouse, district]: [u32; 2],
    last: &[u8; NAME_BYTES],
    first: &[u8; NAME_BYTES],
    customer: u32,
) -> [u8; BY_NAME_BYTES] {
    let mut bytes = [0; BY_NAME_BYTES];
    bytes[..8].copy_from_slice(&key::<2, 8>([warehouse, district]));
    bytes[8..8 + NAME_BYTES].copy_from_slice(last);
    bytes[8 + NAME_BYTES..8 + 2 * NAME_BYTES].copy_from_slice(first);
    bytes[BY_NAME_BYTES - 4..].copy_from_slice(&customer.to_be_bytes());
    bytes
}

/// A number within a row: where it begins. Four bytes, or eight.
#[derive(Clone, Copy)]
pub struct U32(pub usize);
#[derive(Clone, Copy)]
pub struct I64(pub usize);

impl U32 {
    pub fn of(self, row: &[u8]) -> u32 {
        u32::from_le_bytes(row[self.0..self.0 + 4].try_into().expect("four bytes"))
    }

    pub fn set(self, row: &mut [u8], value: u32) {
        row[self.0..self.0 + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub fn add(self, row: &mut [u8], by: u32) {
        self.set(row, self.of(row).wrapping_add(by));
    }
}

impl I64 {
    pub fn of(self, row: &[u8]) -> i64 {
        i64::from_le_bytes(row[self.0..self.0 + 8].try_into().expect("eight bytes"))
    }

    pub fn set(self, row: &mut [u8], value: i64) {
        row[self.0..self.0 + 8].copy_from_slice(&value.to_le_bytes());
    }

    pub fn add(self, row: &mut [u8], by: i64) {
        self.set(row, self.of(row).wrapping_add(by));
    }
}

/// Money is in cents, rates are in hundredths of a percent.
pub mod warehouse {
    use super::{I64, U32};
    pub const YTD: I64 = I64(0);
    pub const TAX: U32 = U32(8);
    pub const BYTES: usize = 95;
}

pub mod district {
    use super::{I64, U32};
    pub const YTD: I64 = I64(0);
    pub const TAX: U32 = U32(8);
    pub const NEXT_ORDER: U32 = U32(12);
    pub const BYTES: usize = 99;
}

pub mod customer {
    use super::{I64, NAME_BYTES, U32};
    pub const BALANCE: I64 = I64(0);
    pub const YTD_PAYMENT: I64 = I64(8);
    pub const PAYMENTS: U32 = U32(16);
    pub const DISCOUNT: U32 = U32(24);
    /// Not 0 for bad credit.
    pub const BAD_CREDIT: usize = 28;
    pub const LAST: usize = 32;
    pub const FIRST: usize = LAST + NAME_BYTES;
    /// What is known of a customer with bad credit, up to the row's end.
    pub const DATA: usize = 155;
    pub const BYTES: usize = 655;
}

pub mod item {
    use super::U32;
    pub const PRICE: U32 = U32(0);
    pub const BYTES: usize = 82;
}

pub mod stock {
    use super::{I64, U32};
    pub const YTD: I64 = I64(0);
    pub const QUANTITY: U32 = U32(8);
    pub const ORDERS: U32 = U32(12);
    pub const REMOTE_ORDERS: U32 = U32(16);
    /// Ten texts, one for each district.
    pub const DISTRICTS: usize = 20;
    pub const DISTRICT_BYTES: usize = 24;
    pub const BYTES: usize = 310;
}

pub mod order {
    use super::{I64, U32};
    pub const ENTERED: I64 = I64(0);
    pub const CUSTOMER: U32 = U32(8);
    pub const CARRIER: U32 = U32(12);
    pub const LINES: U32 = U32(16);
    pub const ALL_LOCAL: U32 = U32(20);
    pub const BYTES: usize = 24;
}

pub mod order_line {
    use super::{I64, U32};
    pub const DELIVERED: I64 = I64(0);
    pub const AMOUNT: I64 = I64(8);
    pub const ITEM: U32 = U32(16);
    pub const SUPPLIER: U32 = U32(20);
    pub const QUANTITY: U32 = U32(24);
    pub const DISTRICT: usize = 28;
    pub const BYTES: usize = 52;
}

pub mod history {
    use super::{I64, U32};
    pub const DATE: I64 = I64(0);
    pub const AMOUNT: I64 = I64(8);
    pub const WAREHOUSE: U32 = U32(16);
    pub const DISTRICT: U32 = U32(20);
    pub const CUSTOMER: U32 = U32(24);
    pub const CUSTOMER_WAREHOUSE: U32 = U32(28);
    pub const CUSTOMER_DISTRICT: U32 = U32(32);
    pub const BYTES: usize = 60;
}
