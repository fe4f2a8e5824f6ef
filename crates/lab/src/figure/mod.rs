//! The papers' figures, and whether what the papers say of them holds.
//!
//! Figures and claims are data, in `figures/`. From a description to the page: [`grid`] says what is to be run,
//! `run` and `simulated` run it, `measured` makes numbers of the results, `judge` holds the claims against them, and
//! `csv`, `chart` and `page` say it.

mod axis;
mod canvas;
mod chart;
mod claims;
mod csv;
pub mod describe;
mod done;
pub mod grid;
mod judge;
mod legend;
mod list;
mod logs;
mod measured;
mod measurement;
mod memory;
mod numbers;
mod page;
mod place;
mod progress;
mod quantity;
mod run;
mod runner;
mod session;
mod simulated;

pub use grid::Parse;
pub use list::{list, table};
pub use logs::Logs;
pub use measurement::Measurement;
pub use progress::estimate;
pub use session::{Order, run};
