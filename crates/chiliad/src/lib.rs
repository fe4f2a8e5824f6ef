//! placeholder
extern crate self as chiliad;
mod backoff;
mod error;
pub mod key;
mod options;
pub mod raw { pub use chiliad_engine::{TableId, KeyPart, PartType, SecondarySpec, Source}; }
mod row;
mod table;
pub use backoff::Backoff;
pub use key::{Desc, Key, Lookup, Part, PartOf, Prefix};
pub use options::*;
pub use row::*;
pub use table::*;
pub use chiliad_engine::{Error, Result};
pub use chiliad_derive::{Key, Row};
