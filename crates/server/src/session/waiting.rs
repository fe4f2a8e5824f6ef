//! The jobs that a session waits for, and how it goes on after each.

use crate::change::{Built, Work};
use std::sync::{Arc, Mutex};

/// The statement or the commit that a job is done for.
pub(super) enum Waiting {
    /// A change of tables that is its own transaction.
    Online { tag: &'static str },
    /// The tables that this work needs.
    Build { tag: &'static str, works: Vec<Work>, built: Arc<Mutex<Vec<Built>>> },
    /// A commit.
    Commit(After),
}

/// How the session goes on after a commit.
pub(super) enum After {
    /// COMMIT is told, and another transaction begins if `chain`.
    Statement { tag: &'static str, chain: bool },
    /// A string of statements is over.
    Query,
    /// A pipeline is over.
    Sync,
}
