//! What a session waits for that has a job done.

use crate::change::{Built, Work};
use std::sync::{Arc, Mutex};

/// What a job is done for.
pub(super) enum Waiting {
    /// A change of tables that is its own transaction.
    Online,
    /// The tables that this work needs.
    Build { tag: String, works: Vec<Work>, built: Arc<Mutex<Vec<Built>>> },
    /// A commit.
    Commit(After),
}

/// What is done after a commit.
pub(super) enum After {
    /// COMMIT is told, and another transaction begins if `chain`.
    Statement { tag: String, chain: bool },
    /// A string of statements is over.
    Query,
    /// A pipeline is over.
    Sync,
}
