//! The options of a run of damage: how many directories, and how they are damaged.

use super::kinds::Kind;
use chiliad::Scheme;

/// The order of the command.
pub struct Order {
    /// Damaged directories.
    pub cycles: u64,
    /// The kind of damage; `None`: all of them in turn.
    pub kind: Option<Kind>,
    /// The scheme.
    pub scheme: Scheme,
    /// The seed of the first one; the next has the next.
    pub seed: u64,
    /// A planted bug: what can be saved of a damaged directory is taken for the whole.
    pub skip_checks: bool,
    /// No progress bar.
    pub quiet: bool,
    /// The command line that judges a seed again with a kind of damage under a scheme.
    pub again: fn(u64, Kind, Scheme) -> String,
}
