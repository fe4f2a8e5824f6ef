//! Parts of a transaction that are undone alone.

use crate::{Error, Result, Transaction};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

impl Transaction<'_> {
    /// Runs `part` as a part of this transaction that is undone alone: where it returns an error, or panics, what it has
    /// written is taken back, and the transaction may go on. Savepoints nest.
    ///
    /// Rows that were written and taken back count as written when it comes to conflicts. A conflict ends
    /// the whole transaction, inside a savepoint as outside: hand it on, and the transaction is run again.
    ///
    /// ```
    /// use chiliad::{Database, Error, Table};
    ///
    /// let db = Database::in_memory()?;
    /// let stock: Table<u32, u64> = db.create_table("stock")?;
    /// db.bulk_load(&stock, [(1, 10), (2, 0)])?;
    /// let taken = db.run(|tx| {
    ///     let mut taken = Vec::new();
    ///     for item in [1, 2] {
    ///         let one = tx.savepoint(|tx| {
    ///             let left = tx.update(&stock, &item, |left| {
    ///                 *left = left.wrapping_sub(1);
    ///                 *left
    ///             })?;
    ///             if left.is_none_or(|left| left == u64::MAX) { Err(Error::RolledBack) } else { Ok(item) }
    ///         });
    ///         match one {
    ///             Ok(item) => taken.push(item),
    ///             Err(Error::RolledBack) => {}
    ///             Err(other) => return Err(other),
    ///         }
    ///     }
    ///     Ok(taken)
    /// })?;
    /// assert_eq!(taken, [1]);
    /// assert_eq!(db.run(|tx| tx.get_many(&stock, &[1, 2]))?, [Some(9), Some(0)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `part`. A conflict or lack of memory that comes up while writes are taken back: the transaction can only
    /// be rolled back then.
    ///
    /// # Panics
    /// With the panic of `part`.
    pub fn savepoint<T, E: From<Error>>(
        &mut self,
        part: impl FnOnce(&mut Self) -> core::result::Result<T, E>,
    ) -> core::result::Result<T, E> {
        let savepoint = self.raw().set_savepoint();
        // A panic may leave the application's own state half-changed, as in the closure of a whole transaction.
        let outcome = catch_unwind(AssertUnwindSafe(|| part(self)));
        if let Ok(Ok(value)) = outcome {
            self.raw().release(savepoint);
            return Ok(value);
        }
        let undone = self.undo(savepoint);
        match outcome {
            Ok(failed) => undone.map_or_else(|error| Err(E::from(error)), |()| failed),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Takes back what was written since. A transaction that cannot commit anyway says why.
    fn undo(&mut self, savepoint: chiliad_api::Savepoint) -> Result<()> {
        match self.raw().roll_back_to(savepoint) {
            Err(Error::TransactionOver) => match self.conflict() {
                Some(reason) => Err(Error::Conflict(reason)),
                None => Ok(()),
            },
            undone => undone,
        }
    }
}
