//! The papers' figures, and whether what the papers say of them holds.
//!
//! Figures and claims are data, in `figures/`. From a description to the page: [`grid`] says what is to be run,
//! [`measured`] makes numbers of the results, [`judge`] holds the claims against them, and [`csv`], [`chart`] and
//! [`page`] say it.

mod axis;
mod canvas;
pub mod chart;
pub mod claims;
pub mod csv;
pub mod describe;
pub mod done;
pub mod grid;
pub mod judge;
mod legend;
pub mod measured;
pub mod numbers;
pub mod page;
pub mod place;
