//! The names of the server's own tables.

use crate::auth::random;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of the server's own tables begin: no statement sees them.
const RESERVED: &str = "chiliad sql ";

/// Tells the hidden tables of this process from those that an earlier one has left.
static PROCESS: LazyLock<String> =
    LazyLock::new(|| format!("{RESERVED}hidden {:016x} ", u64::from_be_bytes(random())));
static NAMES: AtomicU64 = AtomicU64::new(0);

/// Whether a name is one of the server's own.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(RESERVED)
}

/// Whether a hidden table of this name has no owner: the process that made it has ended.
pub(super) fn is_orphan(name: &str) -> bool {
    let is_hidden = name.strip_prefix(RESERVED).is_some_and(|rest| rest.starts_with("hidden "));
    is_hidden && !name.starts_with(&**PROCESS)
}

/// A name for a hidden table, which no other one has had.
pub(super) fn hidden_name() -> String {
    // Relaxed: nothing but the number is meant.
    format!("{}{}", *PROCESS, NAMES.fetch_add(1, Ordering::Relaxed))
}
