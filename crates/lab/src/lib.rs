//! The lab: data in, pictures and verdicts out.
//!
//! - [`figure`]: the papers' figures and claims, which are data in `figures/`; what was measured, charts, verdicts;
//! - [`machines`]: the simulated machines, which are data in `machines/`.

#![forbid(unsafe_code)]

mod built;
pub mod figure;
pub mod machines;

pub use built::{BUILD, Build};
