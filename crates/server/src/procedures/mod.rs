//! Procedures: those that the application has in Rust, and those that clients declare in SQL.
//!
//! | to see | look into |
//! | --- | --- |
//! | the types of a procedure's arguments in Rust | `arguments` |
//! | the table of procedures in SQL, and their compiled bodies | `bodies` |

mod arguments;
mod bodies;

pub use arguments::{ArgumentType, Arguments};
pub(crate) use bodies::{Bodies, Body};

use chiliad::Transaction;
use chiliad_sql::{Argument, SqlError};
use std::sync::Arc;

/// A procedure of the application: what `CALL` of this name with these arguments does in the transaction.
pub(crate) type InRust =
    Arc<dyn Fn(&mut Transaction<'_>, &str, Vec<Argument>) -> Result<(), SqlError> + Send + Sync>;

/// A procedure of the application, called with the values that it takes.
pub(crate) fn in_rust<A: Arguments>(
    body: impl Fn(&mut Transaction<'_>, A) -> Result<(), SqlError> + Send + Sync + 'static,
) -> InRust {
    Arc::new(move |tx, name, arguments| body(tx, A::take(name, arguments)?))
}
