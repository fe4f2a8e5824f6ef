//! The cases of a campaign: seeded runs on simulated machines, each with a verdict.
//!
//! ```text
//! case   what a seed says of an interleaving        setup  the same with every default filled in
//! run    a case run and judged                      crash  a database on a failing disk
//! shown  what a case has shown                      marks  rare branches that must have been taken
//! ```

mod case;
mod crash;
mod marks;
mod run;
mod setup;
mod shown;

pub use case::Case;
pub use crash::Crash;
pub use marks::{Covers, SEEDS_MIN, missing};
pub use run::Trouble;
pub use setup::Setup;
pub use shown::Shown;
