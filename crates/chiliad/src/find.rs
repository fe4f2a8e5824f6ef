//! Look-ups through secondary indexes, described first and run by their last method or as iterators.

use crate::bounds::Bounds;
use crate::rows::Rows;
use crate::walk::{Walk, Way};
use crate::{Fetched, Key, Reader, Result, Row, Table};

/// A look-up through a secondary index: from [`Reader::find`] or [`Reader::find_range`].
///
/// Its keys are primary keys: those of the rows that it has found. Its last method reads all rows at once. As an
/// iterator, in a `for` loop, it reads some at a time: see [`Rows`].
#[must_use = "a look-up is run by `rows`, `keys`, `values`, `fetch`, `first`, `first_fetch`, `for_each`, `count` or as an iterator"]
pub struct Find<'r, 'w, K, V> {
    walk: Walk<'r, 'w, K, V>,
}

impl<'r, 'w, K: Key, V: Row> Find<'r, 'w, K, V> {
    pub(crate) fn new(
        reader: &'r mut Reader<'w>,
        table: &Table<K, V>,
        index: usize,
        bounds: Bounds,
    ) -> Self {
        let index = reader.position(table, index);
        Self { walk: Walk::new(reader, *table, Way::Index(index), bounds.of_leading()) }
    }

    /// Returns the rows in the opposite order.
    pub fn rev(self) -> Self {
        Self { walk: self.walk.rev() }
    }

    /// At most `limit` rows.
    pub fn limit(self, limit: usize) -> Self {
        Self { walk: self.walk.limit(limit) }
    }

    /// Primary keys and rows, in the index's order.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`Error::UnknownIndex`](crate::Error::UnknownIndex) for a table that
    /// was declared without it.
    pub fn rows(self) -> Result<Vec<(K, V)>> {
        self.walk.rows()
    }

    /// Only the primary keys. The index tells them, and the rows are not read: a transaction that changes other columns of
    /// these is not in the way. (Rows that may be past their time are read, to know.)
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn keys(self) -> Result<Vec<K>> {
        self.walk.keys()
    }

    /// Only the rows.
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn values(self) -> Result<Vec<V>> {
        self.walk.values()
    }

    /// Primary keys and rows, held so that the rows can be stored or deleted without looking them up again.
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn fetch(self) -> Result<Vec<(K, Fetched<'w, V>)>> {
        self.walk.fetch()
    }

    /// The first row, with its primary key: the only one, if the index is unique and its key was given in full.
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn first(self) -> Result<Option<(K, V)>> {
        self.limit(1).rows().map(|mut rows| rows.pop())
    }

    /// The first row, held, with its primary key.
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn first_fetch(self) -> Result<Option<(K, Fetched<'w, V>)>> {
        self.limit(1).fetch().map(|mut rows| rows.pop())
    }

    /// Calls `visit` with each primary key and row, without collecting them: in the memory of a few rows, however many
    /// there are.
    ///
    /// # Errors
    /// As for [`Find::rows`]; those of `visit`, which end the visits.
    pub fn for_each(self, visit: impl FnMut(K, V) -> Result<()>) -> Result<()> {
        self.walk.for_each(visit)
    }

    /// How many rows: as for [`Find::keys`], they are not read.
    ///
    /// # Errors
    /// As for [`Find::rows`].
    pub fn count(self) -> Result<usize> {
        self.walk.count()
    }
}

impl<'r, 'w, K: Key, V: Row> IntoIterator for Find<'r, 'w, K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = Rows<'r, 'w, K, V>;

    fn into_iter(self) -> Rows<'r, 'w, K, V> {
        Rows::new(self.walk)
    }
}
