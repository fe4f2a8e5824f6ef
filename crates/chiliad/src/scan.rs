//! Scans over the keys of a table, described first and run by their last method or as iterators.

use crate::bounds::Bounds;
use crate::key::Prefix;
use crate::rows::Rows;
use crate::walk::{Walk, Way};
use crate::{Fetched, Find, Index, Key, KeyRange, Reader, Result, Row, Table};

impl<'w> Reader<'w> {
    /// The rows whose keys lie in `range`: a description of the scan, which is run by its last
    /// method ([`Scan::rows`] and others).
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// # let prices: Table<u32, u64> = db.create_table("prices")?;
    /// db.bulk_load(&prices, (1..=9).map(|item| (item, 10 * u64::from(item))))?;
    /// db.run(|tx| {
    ///     assert_eq!(tx.scan(&prices, 2..=4).rows()?, [(2, 20), (3, 30), (4, 40)]);
    ///     assert_eq!(tx.scan(&prices, ..).rev().limit(2).keys()?, [9, 8]);
    ///     // Row by row; it reads little more than what it is asked for.
    ///     for row in tx.scan(&prices, 3..) {
    ///         let (item, price) = row?;
    ///         if price >= 50 {
    ///             assert_eq!(item, 5);
    ///             break;
    ///         }
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn scan<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl KeyRange<K>,
    ) -> Scan<'_, 'w, K, V> {
        Scan::new(self, table, Bounds::of(&range))
    }

    /// The rows whose keys begin with `prefix`: a tuple of leading parts; for a key that is one string (`String`,
    /// [`Text`](crate::Text), `Vec<u8>`), the beginning of the string.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let lines: Table<(u32, u8), u64> = db.create_table("lines")?;
    /// db.bulk_load(&lines, [((1, 1), 5), ((2, 1), 6), ((2, 2), 7), ((3, 1), 8)])?;
    /// let order_2 = db.run(|tx| tx.scan_prefix(&lines, &(2,)).values())?;
    /// assert_eq!(order_2, [6, 7]);
    ///
    /// let ages: Table<String, u8> = db.create_table("ages")?;
    /// db.bulk_load(&ages, [("ann".to_string(), 31), ("anna".into(), 8), ("bob".into(), 45)])?;
    /// assert_eq!(db.run(|tx| tx.scan_prefix(&ages, "an").keys())?, ["ann", "anna"]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn scan_prefix<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        prefix: &(impl Prefix<K> + ?Sized),
    ) -> Scan<'_, 'w, K, V> {
        Scan::new(self, table, Bounds::of_prefix(prefix))
    }

    /// The rows whose key in the secondary index `index` begins with `prefix`, in the index's
    /// order. For an example see [`Index`].
    pub fn find<K: Key, V: Row, I>(
        &mut self,
        table: &Table<K, V>,
        index: Index<V, I>,
        prefix: &(impl Prefix<I> + ?Sized),
    ) -> Find<'_, 'w, K, V> {
        Find::new(self, table, index.position(), Bounds::of_prefix(prefix))
    }

    /// The rows whose key in the secondary index `index` lies in `range`, in the index's order.
    ///
    /// ```
    /// # use chiliad::{Database, Row, Table};
    /// #[derive(Row)]
    /// #[index(by_stock(stock))]
    /// struct Item {
    ///     stock: u32,
    /// }
    ///
    /// # let db = Database::in_memory()?;
    /// let items: Table<u32, Item> = db.create_table("items")?;
    /// db.bulk_load(&items, (0..10).map(|id| (id, Item { stock: 100 - 10 * id })))?;
    /// let scarce = db.run(|tx| tx.find_range(&items, Item::BY_STOCK, ..(30,)).rows())?;
    /// let scarce: Vec<_> = scarce.iter().map(|(id, item)| (*id, item.stock)).collect();
    /// assert_eq!(scarce, [(9, 10), (8, 20)]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn find_range<K: Key, V: Row, I: Key>(
        &mut self,
        table: &Table<K, V>,
        index: Index<V, I>,
        range: impl KeyRange<I>,
    ) -> Find<'_, 'w, K, V> {
        Find::new(self, table, index.position(), Bounds::of(&range))
    }
}

/// A scan of a table: from [`Reader::scan`] or [`Reader::scan_prefix`].
///
/// Its last method reads all rows at once. As an iterator, in a `for` loop, it reads some at a time: see [`Rows`].
#[must_use = "a scan is run by `rows`, `keys`, `values`, `fetch`, `for_each`, `count` or as an iterator"]
pub struct Scan<'r, 'w, K, V> {
    walk: Walk<'r, 'w, K, V>,
}

impl<'r, 'w, K: Key, V: Row> Scan<'r, 'w, K, V> {
    fn new(reader: &'r mut Reader<'w>, table: &Table<K, V>, bounds: Bounds) -> Self {
        Self { walk: Walk::new(reader, *table, Way::Table, bounds) }
    }

    /// Returns the rows in the opposite order.
    pub fn rev(self) -> Self {
        Self { walk: self.walk.rev() }
    }

    /// At most `limit` rows. The scan reads no further. Of what lies beyond, only rows that come or go in
    /// the leaf of the index where it ended (up to 13 rows) can refuse the transaction, and under most
    /// schemes they do.
    pub fn limit(self, limit: usize) -> Self {
        Self { walk: self.walk.limit(limit) }
    }

    /// Keys and rows.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`Error::NotOrdered`](crate::Error::NotOrdered) for a hash table.
    pub fn rows(self) -> Result<Vec<(K, V)>> {
        self.walk.rows()
    }

    /// Only the keys.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn keys(self) -> Result<Vec<K>> {
        self.walk.keys()
    }

    /// Only the rows.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn values(self) -> Result<Vec<V>> {
        self.walk.values()
    }

    /// Keys and rows, held so that they can be stored or deleted without looking them up again.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn fetch(self) -> Result<Vec<(K, Fetched<'w, V>)>> {
        self.walk.fetch()
    }

    /// The first row in the order of the scan.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn first(self) -> Result<Option<(K, V)>> {
        self.limit(1).rows().map(|mut rows| rows.pop())
    }

    /// Calls `visit` with each key and row, without collecting them: in the memory of a few rows, however many there are.
    ///
    /// # Errors
    /// As for [`Scan::rows`]; those of `visit`, which end the visits.
    pub fn for_each(self, visit: impl FnMut(K, V) -> Result<()>) -> Result<()> {
        self.walk.for_each(visit)
    }

    /// How many rows.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn count(self) -> Result<usize> {
        self.walk.count()
    }
}

impl<'r, 'w, K: Key, V: Row> IntoIterator for Scan<'r, 'w, K, V> {
    type Item = Result<(K, V)>;
    type IntoIter = Rows<'r, 'w, K, V>;

    fn into_iter(self) -> Rows<'r, 'w, K, V> {
        Rows::new(self.walk)
    }
}
