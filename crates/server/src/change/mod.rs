//! Changes of tables within transactions.
//!
//! A statement that declares a table, or empties one, has a new table made at once under a name that no session sees
//! ([`Hidden`]). What names mean to the transaction from then on is its own ([`Changes`]). Its commit writes, with its rows, a note of orders for
//! these tables ([`Order`]), and then carries them out: tables go, and hidden ones get their names. After a crash in between,
//! the next opening carries out the note, and drops hidden tables of which there is no note.
//!
//! | to see | look into |
//! | --- | --- |
//! | tables that nobody sees yet | `hidden`, `names` |
//! | the pieces of work that a statement's changes take | `work` |
//! | the tables as one transaction sees them | `changes` |
//! | the commit | `commit` |
//! | orders for tables, as a note, and its end after a crash | `order` |
//! | changes that are made while transactions go on, by a statement on its own | `online` |

mod changes;
mod commit;
mod hidden;
mod names;
mod online;
mod order;
mod work;

pub(crate) use changes::Changes;
pub(crate) use commit::commit;
pub(crate) use hidden::{Built, build};
pub(crate) use names::is_reserved;
pub(crate) use online::change_online;
pub(crate) use order::{NOTES, finish};
pub(crate) use work::{Work, works};
