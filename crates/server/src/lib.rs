//! A server for PostgreSQL clients over a [`chiliad::Database`]: to embed, or as `chiliad serve`.
//!
//! Any client that speaks PostgreSQL's protocol 3.0 connects, over TCP, with TLS or without, or over a Unix socket. The
//! application goes on using the database; its tables of columns are tables of SQL.
//!
//! ```
//! use chiliad::{Database, Row, Table};
//! use chiliad_server::Server;
//!
//! #[derive(Row)]
//! struct Account {
//!     owner: String,
//!     balance: i64,
//! }
//!
//! let db = Database::in_memory()?;
//! let accounts: Table<i64, Account> = db.create_table("accounts")?;
//! db.run(|tx| tx.insert(&accounts, &7, &Account { owner: "ann".into(), balance: 100 }))?;
//!
//! let server = Server::builder(db.clone()).listen("127.0.0.1:0".parse()?).threads(1).start()?;
//! println!("psql -h 127.0.0.1 -p {}", server.addresses()[0].port());
//! server.shutdown();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to see | look into |
//! | --- | --- |
//! | options, start and end | `start` |
//! | sockets, TLS, the loop of a thread and its members | `net` |
//! | messages as bytes | `wire` |
//! | passwords | `auth` |
//! | what a client is told for what it sends | `session` |
//! | blocks that were refused and go on | `session/resume` |
//! | blocks that mean the same row, and what they put off | `claims`, `session/late` |
//! | COPY's formats | `copy` |
//! | the catalog, its changes, prepared statements of all sessions | `catalog`, `change`, `jobs`, `plans`, `lift` |
//! | procedures in Rust and in SQL | `procedures` |
//! | cancelling a statement from another connection; turns of statements that take long | `cancel`, `turns` |
#![forbid(unsafe_code)]

mod auth;
mod cancel;
mod catalog;
mod change;
mod claims;
mod copy;
mod jobs;
mod lift;
mod net;
mod plans;
mod procedures;
mod session;
mod shared;
mod start;
mod turns;
mod wire;

pub use auth::{BadUsers, Users};
pub use chiliad_sql::{Argument, Numeric, OwnedDatum, SqlError, Type};
pub use procedures::{ArgumentType, Arguments};
pub use start::{Running, Server, StartError};
