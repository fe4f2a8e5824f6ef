//! The rows of a table put into another one, which the session's transaction has made.

use super::beside::{Beside, PIECE_BYTES, ROW_BYTES};
use super::dialog::Dialog;
use chiliad::Error;
use chiliad::raw::{Range, TableId, Transaction as _};
use chiliad_sql::SqlError;
use core::ops::{Bound, ControlFlow};

/// What a row is to become: its key and bytes, or a line that says why there is none.
pub(super) type MakeRow<'a> = dyn Fn(&[u8], &[u8]) -> Result<(Vec<u8>, Vec<u8>), String> + 'a;

impl Dialog {
    /// Puts all rows of one table into another one, which the transaction has made.
    ///
    /// # Errors
    /// Those of the transaction and of `make`; 23505 where two rows would have one key.
    pub fn copy_rows(
        &mut self,
        [from, to]: [TableId; 2],
        make: &MakeRow<'_>,
    ) -> Result<(), SqlError> {
        // The new one is nobody's yet: what holds of the old one decides.
        let mut beside = self.tx.may_load(&self.server.catalog, from).then(Beside::default);
        let mut low = Bound::Unbounded;
        loop {
            let mut piece: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            let mut last = None;
            self.part_on(None, &[from, to], beside.as_mut(), |tx, environment, _| {
                chiliad_sql::Environment::check(environment)?;
                let range = Range { low: low.as_ref().map(Vec::as_slice), ..Range::all() };
                let (mut bytes, mut refused) = (0, None);
                tx.raw().visit(from, range, &mut |key, row| {
                    bytes += key.len() + row.len() + ROW_BYTES;
                    let made = make(key, row);
                    let goes_on = made.is_ok() && bytes < PIECE_BYTES;
                    match made {
                        Ok(made) => piece.push(made),
                        Err(line) => refused = Some(line),
                    }
                    if goes_on {
                        return ControlFlow::Continue(());
                    }
                    last = Some(key.to_vec());
                    ControlFlow::Break(())
                })?;
                for (key, row) in &piece {
                    tx.raw().insert(to, key, row).map_err(not_unique)?;
                }
                refused.map_or(Ok(()), |line| Err(SqlError::new("23502", line)))
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
fn not_unique(error: Error) -> SqlError {
    match error {
        Error::DuplicateKey(_) => {
            SqlError::unique_violation("could not create unique index: two rows have one key")
        }
        error => error.into(),
    }
}
