//! Chiliad: a main-memory, serializable, multi-core OLTP storage engine to embed.
//!
//! Data lives in memory, in tables of typed rows under ordered keys, with secondary indexes. A
//! transaction is a closure: it reads and writes as if it were alone, and runs on the thread that
//! calls it, in parallel with those of other threads.
//!
//! ```
//! use chiliad::{Database, Row, Table, Text};
//!
//! #[derive(Row, Debug)]
//! #[index(by_owner(owner))]
//! struct Account {
//!     owner: Text<16>,
//!     balance: i64,
//! }
//!
//! let db = Database::in_memory()?;
//! let accounts: Table<u64, Account> = db.create_table("accounts")?;
//!
//! db.run(|tx| {
//!     tx.insert(&accounts, &1, &Account { owner: Text::new("ann")?, balance: 100 })?;
//!     tx.insert(&accounts, &2, &Account { owner: Text::new("bob")?, balance: 100 })
//! })?;
//!
//! // From ann to bob: all of it or nothing, whatever other threads do.
//! db.run(|tx| {
//!     tx.update(&accounts, &1, |account| account.balance -= 30)?;
//!     tx.update(&accounts, &2, |account| account.balance += 30)
//! })?;
//!
//! let bobs = db.run(|tx| tx.find(&accounts, Account::BY_OWNER, &("bob",)).rows())?;
//! let (id, account) = &bobs[0];
//! assert_eq!((*id, account.balance), (2, 130));
//! # Ok::<(), chiliad::Error>(())
//! ```
//!
//! Where to go on:
//!
//! - [`Database`]: opening, tables, [`run`](Database::run) and what it promises,
//!   [`snapshot`](Database::snapshot), bulk load, statistics;
//! - [`Transaction`] and [`Reader`]: what can be done inside;
//! - [`Row`] and [`Key`]: how types become rows and keys, [`Index`]: look-ups by other fields;
//! - [`Options`] and [`Scheme`]: memory limit, snapshots, how transactions are kept apart;
//! - [`Database::open`]: a directory that outlives the process; [`Durability`], [`Pending`];
//!   [`directory`]: inspection, backup, restore, salvage;
//! - [`Database::changes`]: what has been committed, in order, for an index or a copy elsewhere;
//! - [`Database::run_each`]: several transactions in flight on one thread; [`Queue`]: the same for
//!   servers;
//! - [`Database::run_async`]: transactions as futures, for any runtime;
//! - [`Database::submit_to`]: transactions handed to the thread that owns what they are about;
//! - [`Worker`]: transactions without the look-up, or without a closure;
//! - [`raw`]: bytes under bytes.
//!
//! # Types of other crates
//!
//! Columns and keys may have the types of these crates, each by the feature of its name; without it nothing is compiled for it.
//! The bytes are those of the column type, whichever crate writes and reads them.
//!
//! | feature | types | column | key, index |
//! | --- | --- | --- | --- |
//! | `uuid` 1 | `Uuid` | `uuid` | yes |
//! | `jiff` 1 | `Timestamp`, `civil::Date`, `civil::Time`, `civil::DateTime` | `instant`, `date`, `time`, `tuple(date, time)` | yes |
//! | `chrono` 0.4 | `DateTime<Utc>`, `NaiveDate`, `NaiveTime`, `NaiveDateTime` | the same | yes |
//! | `rust_decimal` 1 | `Decimal` | `decimal` | yes |
//! | `serde` 1 | `Json<T>`, of any `T` with serde's derives | `json` | no |
//!
//! - A column may have values that the type that reads it does not have: an instant after the year 9999 for `jiff`, a decimal of
//!   38 digits. To read such a row is [`Error::BadRow`], such a key [`Error::InvalidOption`].
//! - Of `chrono` the nanoseconds of a leap second become the last one of the second before. An offset or a time zone has no
//!   column: an instant is one in UTC.
//! - Decimals that are equal are one key, as 1.0 and 1.00 are; it comes back as 1. A column keeps the zeros.
//! - `Timestamp` and `DateTime<Utc>` can say when a row [expires](Row).
//!
//! # Features and versions
//!
//! Enums that name reasons, kinds and states may gain variants in any release, and structs that calls return, fields: they are
//! `#[non_exhaustive]`, so a `match` has an arm for the rest. Structs of options are made by `default()` or `new()` and changed by
//! their methods.
//!
//! The cargo features choose what is compiled: `silo`, `partition`, `two-phase`, `timestamp`, `occ` and `central-lock` are
//! families of schemes, `all-schemes` (the default) all of them, and `jetstream` brings shared logs over NATS. Chiliad runs on
//! x86-64 Linux, where it is measured and tested, and is built for aarch64 Linux, where each thread has one transaction in
//! flight; other platforms refuse to compile. Rust 1.93 compiles it.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

/// The examples of the front page and the guide, compiled, and the front page's program run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct FrontPage;
    #[doc = include_str!("../README.md")]
    struct CratePage;
    #[doc = include_str!("../../../docs/embedding.md")]
    struct Guide;
    #[doc = include_str!("../../../docs/coming-from.md")]
    struct ComingFrom;
    #[doc = include_str!("../../../docs/async.md")]
    struct Async;
    #[doc = include_str!("../../../docs/hyder.md")]
    struct SharedLog;
}

// The derive macros' code says `::chiliad`, in this crate's own tests too.
extern crate self as chiliad;

mod acks;
mod asynchronous;
mod background;
mod backoff;
mod batch;
mod bounds;
mod cache;
mod cancel;
mod change_schema;
pub mod changes;
mod clock;
mod close;
mod column;
mod copy_destination;
mod database;
mod declare;
pub mod directory;
mod engine;
mod error;
mod expiry;
mod find;
mod form;
mod groups;
#[cfg(doctest)]
mod handles;
mod held;
mod insert_many;
mod join;
mod joined_threads;
pub mod key;
mod key_range;
mod logs;
pub mod migration;
mod nest;
mod open;
mod open_transaction;
mod options;
mod owned_thread;
mod owners;
mod pending;
mod persistent;
mod place;
mod positions;
mod queue;
pub mod raw;
mod reader;
mod removals;
pub mod row;
mod rows;
mod rules;
mod run_options;
mod savepoint;
mod scan;
mod sequence;
mod session;
mod sleeper;
mod snapshot_ages;
mod string_prefix;
mod submit_to;
mod table;
mod table_list;
mod tables;
mod tell;
mod threads;
mod ticker;
mod ticket;
mod transaction;
mod until;
mod upkeep;
mod values;
mod walk;
mod watch;
mod worker;

/// Logs that several servers share: what [`Database::join`] opens, and what an application may bring.
pub mod shared_log {
    pub use crate::logs::open_log as open;
    pub use chiliad_machine::shared_log::{Position, SharedLog, SharedLogError};
    pub use chiliad_shared_log::{DelayedLog, FileLog, FileLogOptions, MemoryLog};
}

pub use asynchronous::RunAsync;
pub use backoff::Backoff;
pub use cancel::Cancel;
pub use column::Typed;
pub use database::Database;
pub use expiry::Clock;
pub use find::Find;
pub use groups::PartOfRow;
pub use key::{Desc, Key, Lookup, Part, PartOf, Prefix};
pub use key_range::KeyRange;
pub use migration::{Migration, TableChanges};
pub use open_transaction::{Mark, OpenTransaction};
pub use options::{Durability, Options};
pub use pending::Pending;
pub use queue::{Queue, Refused};
pub use reader::{Fetched, Reader};
#[cfg(feature = "serde")]
pub use row::Json;
pub use row::{Field, Row, Stored, Text};
pub use rows::Rows;
pub use run_options::{IN_FLIGHT_MAX, RunOptions};
pub use scan::Scan;
pub use sequence::Sequence;
pub use table::{Index, Table};
pub use ticket::Ticket;
pub use transaction::{Snapshot, Transaction};
pub use worker::Worker;

pub use chiliad_api::RolledForward;
pub use chiliad_derive::{Key, Row, Stored};
pub use chiliad_engine::{BadNumber, Change, Difference, DuplicateKey, LayoutDiffers, LayoutPart};
pub use chiliad_engine::{CheckpointInfo, Checkpointed, LogError, Phase, Recovered};
pub use chiliad_engine::{Column, ColumnType, Layout, NoColumnType};
pub use chiliad_engine::{Error, Nested, Reason, Result, Snapshots, Timestamps};
pub use chiliad_engine::{Footprint, TableMemory};
pub use chiliad_engine::{Hold, HotRecord, Stats, Usage};
#[doc(inline)]
pub use chiliad_engine::{Info, Isolation, SchemeName as Scheme};
pub use chiliad_engine::{MigrationFailed, NotUnique};
#[cfg(feature = "jetstream")]
#[doc(inline)]
pub use chiliad_jetstream as jetstream;
