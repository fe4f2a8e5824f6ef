//! Procedures whose bodies are statements of SQL: `CREATE PROCEDURE .. LANGUAGE sql`.
//!
//! A declaration is data, which its owner keeps as text and gives back; compiled for one version of the catalog its body runs
//! any number of times, as a part of the transaction that calls it.
//!
//! | to see | look into |
//! | --- | --- |
//! | a declaration, from its text | `declaration`; as data, and to its text: `routine` |
//! | the arguments of a call as values of the types of the parameters | `arguments` |
//! | the body, compiled and run | `body` |

mod arguments;
mod body;
mod declaration;

pub use arguments::{Argument, call_arguments, converted};
pub use body::ProcedureBody;
