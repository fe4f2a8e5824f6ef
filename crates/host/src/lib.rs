//! This process and the computer that it runs on: what a program owes to both.
//!
//! ```text
//! failure     why a command stops                  interrupt   signals that ask the process to end
//! leftovers   what must not be left behind         output      files that are written whole or not at all
//! sink        results, for people and as JSON      bar         progress bars
//! computer    cores, memory, the processor         limit       refusals of what cannot fit
//! threads     threads that the system may refuse   values, text   times, sizes and numbers as people write them
//! process     this program as a child            exit        what the shell is told in the end
//! ```
//!
//! Nothing in here knows of databases.

#![forbid(unsafe_code)]

pub mod bar;
pub mod computer;
mod exit;
mod failure;
pub mod interrupt;
pub mod leftovers;
pub mod limit;
pub mod orders;
pub mod output;
mod process;
mod sink;
pub mod text;
pub mod threads;
pub mod values;

pub use failure::Stop;
pub use interrupt::Listening;
pub use leftovers::Leftover;
pub use output::OutputFile;
pub use process::{Ended, Heard, Process};
pub use sink::Sink;
