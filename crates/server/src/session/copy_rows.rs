//! The rows of a table put into another one, which the session's transaction has made.

use super::beside::{Beside, PIECE_BYTES, ROW_BYTES};
use super::dialog::Dialog;
use chiliad::Error;
use chiliad::raw::{Range, TableId, Transaction as _};
use chiliad_sql::{Rewrite, RowChanges, SqlError};
use core::ops::{Bound, ControlFlow};

impl Dialog {
    /// Puts all rows of one table into another one, which the transaction has made: as they are, or as `rewrite` makes
    /// them.
    ///
    /// # Errors
    /// Those of the transaction and of `rewrite`; 23505 where two rows would have one key.
    pub fn copy_rows(
        &mut self,
        [from, to]: [TableId; 2],
        rewrite: Option<&Rewrite>,
    ) -> Result<(), SqlError> {
        let make = |key: &[u8], row: &[u8]| match rewrite {
            Some(rewrite) => rewrite.row(key, row),
            None => Ok((key.to_vec(), row.to_vec())),
        };
        // The new one is nobody's yet: what holds of the old one decides.
        let mut beside = self.tx.may_load(&self.server.catalog, from).then(Beside::default);
        let mut low = Bound::Unbounded;
        loop {
            let mut piece: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut last = None;
            let any = RowChanges::Anything;
            self.part_on(None, &[from, to], any, beside.as_mut(), |tx, environment, _| {
                chiliad_sql::Environment::check(environment)?;
                let range = Range { low: low.as_ref().map(Vec::as_slice), ..Range::all() };
                let (mut bytes, mut refused) = (0, None);
                tx.raw().visit(from, range, &mut |key, row| {
                    bytes += key.len() + row.len() + ROW_BYTES;
                    let made = make(key, row);
                    let goes_on = made.is_ok() && bytes < PIECE_BYTES;
                    match made {
                        Ok(made) => piece.push(made),
                        Err(error) => refused = Some(error),
                    }
                    if goes_on {
                        return ControlFlow::Continue(());
                    }
                    last = Some(key.to_vec());
                    ControlFlow::Break(())
                })?;
                for (key, row) in &piece {
                    let inserted = tx.raw().insert(to, key, row);
                    inserted.map_err(|error| not_unique(error, rewrite))?;
                }
                refused.map_or(Ok(()), Err)
            })?;
            if let Some(beside) = &mut beside {
                beside.commit()?;
            }
            match last {
                Some(last) => low = Bound::Excluded(last),
                None => return Ok(()),
            }
        }
    }
}

/// Two rows cannot have one key.
fn not_unique(error: Error, rewrite: Option<&Rewrite>) -> SqlError {
    match (error, rewrite) {
        (Error::DuplicateKey(duplicate), Some(rewrite)) => rewrite.duplicated(&duplicate.key),
        (error, _) => error.into(),
    }
}
