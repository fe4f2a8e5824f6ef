//! Recovery: a checkpoint and logs become tables.
//!
//! `replay` goes through the incarnations; `readers` read files, `apply` puts what they hold into tables, record by
//! record by `restore`; `finalize` ends an incarnation. `recovery` is what they share, `target` where rows go.

pub mod apply;
pub mod finalize;
pub mod readers;
pub mod recovery;
pub mod replay;
pub mod restore;
pub mod target;
