//! The clients' attempts, for rigs in which clients die: kept where they outlive the clients, and handed to the checker.

pub mod entered;
pub mod ledger;
pub mod told;
pub mod verdicts;
