//! The cases of a campaign: seeded runs on simulated machines, each with a verdict.
//!
//! ```text
//! case   what a seed says of an interleaving        setup  the same with every default filled in
//! cluster  what it says of servers that share a log
//! run    a case run and judged                      crash  a database on a failing disk
//! worlds  servers of one shared log, on hosts          small  workloads in a size for these
//! ordered  transactions as ordered tasks
//! shown  what a case has shown                      marks  rare branches that must have been taken
//! trial  a case of any kind, soaks and locks too     scope  what a campaign covers
//! seeds  seeds, schemes and workloads, until one fails     planted, plants  bugs, each of which must be caught
//! ```

mod case;
mod cluster;
mod crash;
mod marks;
mod ordered;
mod planted;
mod plants;
mod run;
mod scope;
mod seeds;
mod setup;
mod shown;
mod small;
mod trial;
mod worlds;

pub use case::Case;
pub use crash::Crash;
pub use ordered::Ordered;
pub use planted::{Searches, is_searched, run_planted};
pub use plants::table;
pub use run::Trouble;
pub use scope::{Scope, WORKLOADS};
pub use seeds::{Report, run_seeds};
pub use setup::Setup;
pub use shown::Shown;
pub use trial::Trial;
pub use worlds::World;
