//! SQL in the dialect of PostgreSQL: text in, a compiled plan, rows out.
//!
//! It knows transactions ([`chiliad_api::Transaction`]), declarations of tables and the bytes of rows and keys. It knows no
//! socket, no wire protocol and no scheme. Tables that SQL declares are of the kind that `#[derive(Row)]` declares, with the
//! same bytes, so either sees those of the other.
//!
//! | to see | look into |
//! | --- | --- |
//! | a text as statements | `statement` |
//! | the tables that statements are about | `catalog`, `details` |
//! | statements about the session, and COPY, which have a grammar of their own | `utility` |
//! | names and types resolved: how rows are found | `prepare`, `prepared`, `bind`, `plan`, `explain` |
//! | expressions | `expr` |
//! | running it | `execute`, `run`, `environment` |
//! | rows of COPY as bytes, without values between | `load` |
//! | rows and keys as values | `storage` |
//! | procedures in SQL, and the arguments of calls | `procedure`, `routine` |
//! | changes of the catalog, and rows written anew for one | `ddl`, `schema_change`, `rewrite` |
//! | types, values, their text and binary formats | `types`, `datum`, `numeric`, `codec` |
//! | errors and their codes | `error` |
//! | planted bugs, which campaigns over the workloads in SQL must find | `faults` |
#![forbid(unsafe_code)]

mod bind;
mod catalog;
pub mod codec;
mod datum;
mod ddl;
mod details;
mod environment;
mod error;
mod execute;
mod explain;
mod expr;
mod faults;
mod load;
mod numeric;
mod plan;
mod prepare;
mod prepared;
mod procedure;
mod result_row;
mod rewrite;
mod routine;
mod run;
mod schema_change;
mod spare;
mod stack;
mod statement;
mod storage;
mod types;
mod utility;

pub use catalog::{CatalogView, Column, HIDDEN_KEY, Index, Place, Table, TableInput};
pub use datum::{Datum, OwnedDatum};
pub use ddl::schema_changes;
pub use details::{Check, ColumnDetails, TableDetails, escape, unescape};
pub use environment::{Environment, Moment};
pub use error::{ErrorFields, Result, SqlError};
pub use execute::{Done, RowSink, execute};
pub use faults::FAULTS;
pub use load::{CopyFields, RowLoader};
pub use numeric::Numeric;
pub use prepare::prepare;
pub use prepared::{
    Copy, CopyFormat, Cursor, Fetch, Kind, Modes, OutputColumn, Prepared, RowChanges, Set,
    TransactionControl,
};
pub use procedure::{Argument, ProcedureBody, call_arguments, converted};
pub use result_row::ResultRow;
pub use rewrite::Rewrite;
pub use routine::{Procedure, ProcedureParameter};
pub use run::{Late, put_off};
pub use schema_change::SchemaChange;
pub use statement::{Statement, parse};
pub use types::Type;
