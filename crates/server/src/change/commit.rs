//! The commit of a transaction that has changed tables.

use super::changes::Changes;
use super::order::{Order, say};
use crate::shared::Shared;
use chiliad::raw::Transaction as _;
use chiliad::{Error, OpenTransaction, RunOptions};
use chiliad_sql::SqlError;
use std::sync::Arc;

/// Refusals of a transaction that has done nothing but change tables, and can be begun again, at most.
const REFUSALS_MAX: u32 = 100;

/// Commits the rows of a transaction with the changes of tables that it has made. `open`: the transaction, if it has read or
/// written anything. All is durable when this returns. One thread does this, for one transaction at a time.
///
/// # Errors
/// Those of a commit: nothing is done then. 40001 and 42P07 where others have changed the same tables meanwhile; 55P03
/// where statements that are running do not end.
pub(crate) fn commit(
    server: &Arc<Shared>,
    open: Option<OpenTransaction>,
    changes: &Changes,
) -> Result<(), SqlError> {
    changes.check(&server.catalog)?;
    // From here on no session begins a statement or commits, until it can see the new tables.
    let closed = if changes.replaces() { Some(server.close_tables()?) } else { None };
    let orders = changes.orders();
    let key = server.catalog.note_key();
    match open {
        Some(open) => commit_once(server, open, changes, &orders, &key)?,
        None => commit_alone(server, changes, &orders, &key)?,
    }
    changes.show(&server.catalog);
    say(server.catalog.database(), server.catalog.details_table(), &orders)?;
    // Should it stay, the next opening finds that it has been done.
    _ = server.catalog.remove_note(&key);
    server.catalog.renew()?;
    if closed.is_some() {
        server.catalog.have_replaced();
    }
    Ok(())
}

fn commit_alone(
    server: &Shared,
    changes: &Changes,
    orders: &[Order],
    key: &[u8],
) -> Result<(), SqlError> {
    let database = server.catalog.database();
    let mut refusals = 0;
    loop {
        let open = database.open_transaction(&RunOptions::default())?;
        match commit_once(server, open, changes, orders, key) {
            Err(error) if error.is_retryable() && refusals < REFUSALS_MAX => {
                refusals += 1;
                database.back_off(refusals);
            }
            done => return done,
        }
    }
}

fn commit_once(
    server: &Shared,
    mut open: OpenTransaction,
    changes: &Changes,
    orders: &[Order],
    key: &[u8],
) -> Result<(), SqlError> {
    let catalog = &server.catalog;
    // What ended a statement's waits must not end the commit.
    open.limit(&RunOptions::default());
    let note: Vec<String> = orders.iter().map(Order::to_text).collect();
    let mut is_committed = false;
    let done = catalog.database().change_tables(|tables| {
        // Names are checked before the transaction commits, and nobody else takes them until all is in force.
        orders.iter().try_for_each(|order| order.stage(catalog.database(), tables))?;
        // All that it writes beside its own rows is under a key that nobody has read: no conflict comes of it.
        let note = note.join("\n");
        open.with(|tx| tx.raw().put(catalog.notes_table(), key, note.as_bytes()))?;
        // Changes of tables are written after everything that was committed is durable: nobody needs to wait here.
        _ = open.submit()?;
        is_committed = true;
        Ok(())
    });
    match done {
        Err(error) if is_committed => Err(unfinished(changes, catalog, &error)),
        done => Ok(done?),
    }
}

/// The transaction is committed, but the catalog could not be written.
fn unfinished(changes: &Changes, catalog: &crate::catalog::Catalog, error: &Error) -> SqlError {
    changes.show(catalog);
    let message = format!("the transaction is committed, but its tables are not in place: {error}");
    SqlError::new("58030", message).with_hint("They are when the server is started again.")
}
