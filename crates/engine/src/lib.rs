//! Transactions, and the schemes that order them.
//!
//! Follow one with a finger: a [`Worker`] begins a [`Tx`]; each operation of the [`Transaction`]
//! interface goes through the index to a record and through the scheme's hook to a version; the
//! commit (`commit.rs`) is prepare, append, install, release. One direction, no call back up.
//!
//! | to see | look into |
//! | --- | --- |
//! | the interface, and what is remembered | `tx`, `core`; `access`, `handles`, `arena` |
//! | what operations do | `read_ops`, `scan_ops`, `write_ops`, `insert_run`, `additions`, `index_ops`; `commit`, `ending` |
//! | concurrency control | `scheme`: the trait [`Scheme`], and one file or folder a scheme |
//! | commit epochs, snapshot boundaries | `epoch` |
//! | a database on a disk | `durable` |
//! | what a database does whatever its scheme | `base` |
//! | tables, their columns and secondary indexes | `catalog`, `table`, `layout`, `layout_differs`, `seal`, `secondary` |
//! | what a verified run reports | `verification` |
//! | what a database says about itself | `stats`, `breakdown`, `versions` |
//!
//! What holds: each operation is one pin, never across the caller's code; schemes defer their writes
//! to `install`; a rollback releases and never waits; a transaction that was refused can only be
//! rolled back; an ended one leaves nothing latched.

#![cfg_attr(
    not(feature = "all-schemes"),
    allow(dead_code, reason = "parts of schemes that are not compiled in")
)]

mod access;
mod additions;
pub mod any;
mod arena;
mod base;
mod breakdown;
mod collector;
mod commit;
mod contract;
mod core;
mod count_versions;
mod database;
mod durable;
mod ending;
mod epoch;
mod gaps;
mod garbage;
mod handles;
mod index_ops;
mod insert_run;
mod key_pool;
mod measure;
mod options;
mod read_ops;
mod recent;
mod record_slots;
mod record_word;
mod rows;
mod scan_ops;
mod scheme;
mod shared;
mod shown;
mod tables;
mod timestamps;
mod tx;
mod verification;
mod version;
mod wait;
mod worker;
mod write_ops;

pub use chiliad_api::key;
pub use chiliad_api::{
    Alone, BadNumber, Cancel, Change, Checkpointed, Column, ColumnPart, ColumnType, Committed,
    Contents, Copied, Crew, Difference, DuplicateKey, Entry, Error, Footprint, Get, GroupSpec,
    Hold, Host, HotRecord, IndexKind, IndexParts, Info, Integer, Intent, Isolation, KeyPart,
    Layout, LayoutDiffers, LayoutPart, LogContents, LogTask, MigrationFailed, NativeSession,
    NativeStore, Nested, NoColumnType, NotUnique, Number, OpenedNatively, OpenedOn, OpenedStore,
    Outer, Part, PartType, Phase, Range, Reason, Recorder, Recovered, Result, RewrittenRow, Row,
    Running, Scanned, SecondarySpec, Session, Sleeper, Source, Stamp, Stats, Store, TableChange,
    TableId, TableLayout, TableMemory, TableSpec, Transaction, WriteKind, Writes,
};
pub use chiliad_log::{CheckpointInfo, LogError, LogOptions, MANIFEST_NAME, Stepped};
pub use chiliad_storage::{KEY_BYTES_MAX, Supply, Usage, VALUE_BYTES_MAX, WORKERS_MAX};
pub use contract::Scheme;
pub use database::Database;
pub use durable::{
    DurableOptions, LogRunner, Mode, Opened, READER_NOT_HELD_BACK, copy_directory, declared, erase,
    inspect,
};
pub use options::{Options, Snapshots, Timestamps};
pub use scheme::*;
pub use timestamps::{Clock, TIMESTAMP_BITS, TimestampSource};
pub use wait::NESTED_PATIENCE;
pub use worker::{Tx, Worker};

/// The planted bugs of this room and of the log below it, for the rigs that must catch them.
pub fn faults() -> impl Iterator<Item = &'static chiliad_machine::Fault> {
    let others = [
        commit::FAULTS,
        additions::FAULTS,
        recent::FAULTS,
        gaps::FAULTS,
        rows::FAULTS,
        insert_run::FAULTS,
        shown::FAULTS,
        wait::FAULTS,
        durable::FAULTS,
        tables::build::FAULTS,
        chiliad_log::FAULTS,
    ];
    scheme::faults().chain(others.into_iter().flatten().copied())
}
