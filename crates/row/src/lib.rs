//! The bytes of rows and keys, and what they mean: the types of columns, schemas and their versions.
//!
//! It knows no engine: bytes in, values out. A table's schema is data ([`Schema`]), the same whether a derived type,
//! a run-time declaration or a statement has declared it, and a row names the version of the schema under which it was
//! written ([`History`]). So a column is added or dropped without a rewrite, and a program in any language reads rows by
//! `docs/format.md` alone.
//!
//! | to see | look into |
//! | --- | --- |
//! | the types of columns and their text form | `column_type` |
//! | the bytes of a value, and a value of any type | `value` |
//! | where the columns lie in a row | `format` |
//! | integers of a row that are added to in place | `number` |
//! | columns, defaults, changes; old rows as new ones | `schema`, `change`, `history`, `upgrade` |
//! | instants and addresses as numbers and bytes | `parts` |
//! | keys: bytes that compare as their values do | `key`, `order`, `decimal` |
//! | types of other crates as columns and parts of keys | `foreign` |
#![forbid(unsafe_code)]

mod chain;
mod change;
mod column_type;
mod decimal;
mod error;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "rust_decimal", feature = "uuid"))]
pub mod foreign;
mod format;
mod history;
pub mod key;
mod number;
mod order;
pub mod parts;
mod schema;
mod source;
mod upgrade;
mod value;

pub use chain::Chain;
pub use change::SchemaChange;
pub use column_type::{ColumnType, DEPTH_MAX, Fields, Member, NoColumnType, Variant, is_name};
pub use decimal::Decimal;
pub use error::{BadRow, BadValue, SchemaError};
pub use format::{At, BodyWriter, Head, Place, RowFormat, VERSION_BYTES, split, with_version};
pub use history::History;
pub use number::{BadNumber, Integer, Number};
pub use order::{read_key, write_key};
pub use schema::{Schema, SchemaColumn};
pub use source::ValueSource;
pub use upgrade::Upgrade;
pub use value::Value;
