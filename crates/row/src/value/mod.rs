//! A value of any type.

mod decode;
mod encode;
mod json;
mod text;

use std::net::IpAddr;

/// A value of any type of column, for programs that learn types at run time.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// None, of an option.
    Null,
    /// The value of `unit`.
    Unit,
    /// Of `bool`.
    Bool(bool),
    /// Of `u8` to `u128`.
    Unsigned(u128),
    /// Of `i8` to `i128`.
    Signed(i128),
    /// Of `f32` and `f64`.
    Float(f64),
    /// Of `decimal`: `mantissa` divided by ten to the power of `scale`.
    Decimal {
        /// An integer of at most 38 digits.
        mantissa: i128,
        /// Decimal places.
        scale: u8,
    },
    /// Of `char`.
    Char(char),
    /// Of `text`, `string` and `json`.
    Text(String),
    /// Of `bytes`, `blob` and the application's own types.
    Bytes(Vec<u8>),
    /// Of `duration`.
    Duration {
        /// Whole seconds.
        seconds: u64,
        /// Below a second.
        nanoseconds: u32,
    },
    /// Of `instant`.
    Instant {
        /// Whole seconds from 1970-01-01 00:00 UTC, rounded down.
        seconds: i64,
        /// After them, below a second.
        nanoseconds: u32,
    },
    /// Of `date`: days from 1970-01-01.
    Date(i32),
    /// Of `time`: nanoseconds from midnight.
    Time(u64),
    /// Of `ip`.
    Ip(IpAddr),
    /// Of `uuid`.
    Uuid([u8; 16]),
    /// Of `array`, `list`, `tuple` and `struct`, in order.
    List(Vec<Value>),
    /// Of `enum`: a variant by number, and what it carries, in order.
    Enum {
        /// The variant's number.
        number: u16,
        /// What it carries.
        fields: Vec<Value>,
    },
}

/// No decimal has an integer of as many: it has 38 digits.
pub(crate) const DECIMAL_END: u128 = 10_u128.pow(38);
