//! The lab: data in, pictures and verdicts out.
//!
//! - [`figure`]: the papers' figures and claims, which are data in `figures/`; what was measured, charts, verdicts;
//! - [`schemes`]: the schemes that there are;
//! - [`machines`]: the simulated machines, which are data in `machines/`;
//! - [`calibrate`]: what stands in a machine's file, measured;
//! - [`spec`]: what a run is; [`run`] runs it, and [`result`] is what it comes to.
//!
//! Words of the command line exist above only: a description's words become a run by a function that is passed in.

#![forbid(unsafe_code)]

mod built;
pub mod calibrate;
mod counting;
pub mod figure;
pub mod machines;
pub mod result;
pub mod run;
pub mod schemes;
pub mod spec;

pub use built::{BUILD, Build};
