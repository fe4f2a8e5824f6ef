//! Closing a database on purpose.

use crate::watch::span;
use crate::{Database, Error, Result};
use std::sync::Arc;

impl Database {
    /// Closes the database, waits until its threads have ended, and says whether that went as it should. `Ok`:
    /// everything that was committed is in its directory, or in the log that it shares, and the directory may be
    /// opened again. To drop the last handle does the same and says nothing.
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let directory = std::env::temp_dir().join(format!("chiliad-close-{}", std::process::id()));
    /// # let _ = std::fs::remove_dir_all(&directory);
    /// let db = Database::open(&directory)?;
    /// let names: Table<u64, String> = db.open_or_create_table("names")?;
    /// db.run(|tx| tx.put(&names, &1, &"ann".into()))?;
    /// let clone = db.clone();
    /// assert_eq!(db.close(), Err(Error::InUse { handles: 1 }));
    /// clone.close()?;
    ///
    /// let db = Database::open(&directory)?;
    /// # db.close()?;
    /// # std::fs::remove_dir_all(&directory).unwrap();
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InUse`] where others have handles (clones, [`Worker`](crate::Worker)s, [`Queue`](crate::Queue)s): this
    /// one is dropped, and the database goes on for the others until the last one is closed or dropped. The error with
    /// which the log has failed, such as [`Error::LogFailed`]: the database is closed, and what was not durable by then
    /// may be missing when it is opened again.
    pub fn close(self) -> Result<()> {
        let handles = Arc::strong_count(&self.shared) - 1;
        // Of several threads that close the last handles one gets it.
        let Some(shared) = Arc::into_inner(self.shared) else {
            return Err(Error::InUse { handles: handles.max(1) });
        };
        span!("chiliad.close");
        let engine = shared.engine.clone();
        drop(shared);
        match engine.log_failure() {
            // A server that shares a log ends so, if nothing has ended it before.
            None | Some(Error::Canceled) => Ok(()),
            Some(failure) => Err(failure),
        }
    }
}
