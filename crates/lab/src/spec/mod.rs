//! The typed specification of a run, with every default filled in.
//!
//! A [`RunSpec`] goes from its source, a command line or a figure, to the driver, to the result and to
//! the chart. [`Asked`] is the same before the defaults; [`Database`] is the part of it that identifies a loaded
//! database; [`RunSpec::options`] is how a result shows it.

mod asked;
mod check;
mod database;
mod draw;
mod machine;
mod options;
mod ordered;
mod rolled;
mod run;
mod units;

pub use asked::{Asked, InFlight, Load};
pub use chiliad_driver::On;
pub use database::Database;
pub use draw::DrawSpec;
pub use machine::{MachineSpec, Order, Price, Timed, Units};
pub use options::Shown;
pub(crate) use options::yes_no;
pub use rolled::{certifier_name, group_name, level_name, premeld_name};
pub use run::{HostSpec, OpenLog, Place, RunSpec, SharedLogSpec, Storage, Trials};
