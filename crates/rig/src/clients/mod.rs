//! What clients have done, for rigs in which they die: kept where it outlives them, and handed to the checker.

pub mod entered;
pub mod ledger;
pub mod told;
pub mod verdicts;
