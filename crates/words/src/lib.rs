//! The grammar of a command line, whatever its words mean.
//!
//! - [`flags!`]: flags in a table; [`take!`]: what was typed for them; [`Typed`]: whether anything was;
//! - [`value`]: the values that flags take;
//! - [`parse`]: words to what a program calls its arguments, and refusals in one line;
//! - [`expand_sweep`]: one line that stands for many.

#![forbid(unsafe_code)]

mod flags;
mod parse;
mod refusal;
mod sweep;
mod typed;
pub mod value;

pub use parse::parse;
pub use sweep::expand_sweep;
pub use typed::Typed;
