//! Removals of more rows than one key names.

use crate::bounds::Bounds;
use crate::raw::Transaction as _;
use crate::walk::{Pieces, Way};
use crate::{Key, KeyRange, Reader, Result, Row, Table, Transaction};
use chiliad_engine::Row as Handle;

impl Transaction<'_> {
    /// Removes the rows of `range` for which `keep` is false; says how many.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let stock: Table<u32, u64> = db.create_table("stock")?;
    /// # db.bulk_load(&stock, (0..10).map(|item| (item, u64::from(item % 3))))?;
    /// let sold_out = db.run(|tx| tx.retain(&stock, .., |_item, left| *left > 0))?;
    /// assert_eq!(sold_out, 4);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Scan::rows`](crate::Scan::rows) and [`Transaction::remove`].
    pub fn retain<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
        mut keep: impl FnMut(&K, &V) -> bool,
    ) -> Result<usize> {
        self.remove_each(table, &range, |reader, row| {
            let (key, value) = reader.row(table, row)?;
            Ok(!keep(&key, &value))
        })
    }

    /// Removes all rows of `range`; says how many. It is one transaction, of as many writes as there are rows.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let stock: Table<u32, u64> = db.create_table("stock")?;
    /// # db.bulk_load(&stock, (0..10).map(|item| (item, 7)))?;
    /// assert_eq!(db.run(|tx| tx.remove_range(&stock, 3..5))?, 2);
    /// assert_eq!(db.run(|tx| tx.remove_range(&stock, ..))?, 8);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Scan::keys`](crate::Scan::keys) and [`Transaction::remove`].
    pub fn remove_range<K, V>(
        &mut self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
    ) -> Result<usize> {
        self.remove_each(table, &range, |_, _| Ok(true))
    }

    /// Removes the row of the least key, and returns both. Transactions that do this at the same time stand in each
    /// other's way.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let jobs: Table<u64, String> = db.create_table("jobs")?;
    /// db.bulk_load(&jobs, [(7, "wash".to_string()), (9, "iron".into())])?;
    /// let job = db.run(|tx| tx.pop_first(&jobs))?;
    /// assert_eq!(job, Some((7, "wash".into())));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Scan::rows`](crate::Scan::rows) and [`Transaction::remove`].
    pub fn pop_first<K: Key, V: Row>(&mut self, table: &Table<K, V>) -> Result<Option<(K, V)>> {
        self.pop(table, false)
    }

    /// As [`Transaction::pop_first`], of the greatest key.
    ///
    /// # Errors
    /// As for [`Transaction::pop_first`].
    pub fn pop_last<K: Key, V: Row>(&mut self, table: &Table<K, V>) -> Result<Option<(K, V)>> {
        self.pop(table, true)
    }

    fn pop<K: Key, V: Row>(&mut self, table: &Table<K, V>, last: bool) -> Result<Option<(K, V)>> {
        let scan = self.scan(table, ..).limit(1);
        let mut rows = if last { scan.rev() } else { scan }.fetch()?;
        let Some((key, row)) = rows.pop() else { return Ok(None) };
        self.raw().remove_row(row.handle)?;
        Ok(Some((key, row.value)))
    }

    /// Removes the rows of a range that are `condemned`, piece by piece.
    fn remove_each<K, V>(
        &mut self,
        table: &Table<K, V>,
        range: &impl KeyRange<K>,
        mut condemned: impl FnMut(&Reader<'_>, Handle) -> Result<bool>,
    ) -> Result<usize> {
        let id = self.table(table)?;
        let mut pieces = Pieces::new(id, Way::Table, Bounds::of(range), false, usize::MAX);
        let mut removed = 0;
        while let Some(piece) = pieces.read(self.raw())? {
            for at in 0..piece.len() {
                let row = self.untyped().entries(piece)?[at].row;
                if !self.is_over(table, row)? && condemned(self, row)? {
                    self.raw().remove_row(row)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}
