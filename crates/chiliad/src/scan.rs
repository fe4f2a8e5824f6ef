//! Scans over the keys of a table and over its secondary indexes, described first and run by their
//! last method.

use crate::key::{Lookup, Prefix};
use crate::raw::{Entry, Range, Scanned, Transaction as _};
use crate::{Fetched, Index, Key, Reader, Result, Row, Table};
use chiliad_engine::key::prefix_end;
use core::ops::{Bound, RangeBounds};

/// A range of encoded keys.
pub(crate) struct Bounds {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
}

fn encoded<K: Key>(bound: Bound<&K>) -> Bound<Vec<u8>> {
    bound.map(|key| {
        let mut bytes = Vec::new();
        Lookup::<K>::encode(key, &mut bytes);
        bytes
    })
}

/// Where the keys that begin with `prefix` end.
fn above(prefix: &[u8]) -> Bound<Vec<u8>> {
    prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded)
}

impl Bounds {
    pub fn of<K: Key>(range: &impl RangeBounds<K>) -> Self {
        Self { low: encoded(range.start_bound()), high: encoded(range.end_bound()) }
    }

    pub fn of_prefix<K>(prefix: &impl Prefix<K>) -> Self {
        let mut low = Vec::new();
        prefix.encode_prefix(&mut low);
        Self { high: above(&low), low: Bound::Included(low) }
    }

    /// Index keys go on with the primary key: a bound stands for all of them that begin with it.
    fn of_leading(self) -> Self {
        let high = match self.high {
            Bound::Included(key) => above(&key),
            other => other,
        };
        let low = match self.low {
            Bound::Excluded(key) => prefix_end(&key).map_or(Bound::Excluded(key), Bound::Included),
            other => other,
        };
        Self { low, high }
    }

    fn range(&self, reverse: bool, limit: usize) -> Range<'_> {
        Range {
            low: self.low.as_ref().map(Vec::as_slice),
            high: self.high.as_ref().map(Vec::as_slice),
            reverse,
            limit,
        }
    }

    /// Whether no key can lie in the range, as in `5..3`.
    fn is_empty(&self) -> bool {
        use Bound::{Excluded, Included};
        match (&self.low, &self.high) {
            (Included(low), Included(high)) => low > high,
            (Included(low) | Excluded(low), Included(high) | Excluded(high)) => low >= high,
            _ => false,
        }
    }
}

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
    ///     Ok(())
    /// })?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn scan<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        range: impl RangeBounds<K>,
    ) -> Scan<'_, 'w, K, V> {
        Scan::new(self, *table, Bounds::of(&range))
    }

    /// The rows whose keys begin with `prefix`, a tuple of leading parts.
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let lines: Table<(u32, u8), u64> = db.create_table("lines")?;
    /// db.bulk_load(&lines, [((1, 1), 5), ((2, 1), 6), ((2, 2), 7), ((3, 1), 8)])?;
    /// let order_2 = db.run(|tx| tx.scan_prefix(&lines, &(2,)).values())?;
    /// assert_eq!(order_2, [6, 7]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn scan_prefix<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        prefix: &impl Prefix<K>,
    ) -> Scan<'_, 'w, K, V> {
        Scan::new(self, *table, Bounds::of_prefix(prefix))
    }

    /// The rows whose key in the secondary index `index` begins with `prefix`, in the index's
    /// order. For an example see [`Index`].
    pub fn find<K, V: Row, I>(
        &mut self,
        table: &Table<K, V>,
        index: Index<V, I>,
        prefix: &impl Prefix<I>,
    ) -> Find<'_, 'w, K, V> {
        Find::new(self, *table, index.position(), Bounds::of_prefix(prefix))
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
    /// let scarce = db.run(|tx| tx.find_range(&items, Item::BY_STOCK, ..(30,)).values())?;
    /// assert_eq!(scarce.iter().map(|item| item.stock).collect::<Vec<_>>(), [10, 20]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    pub fn find_range<K, V: Row, I: Key>(
        &mut self,
        table: &Table<K, V>,
        index: Index<V, I>,
        range: impl RangeBounds<I>,
    ) -> Find<'_, 'w, K, V> {
        Find::new(self, *table, index.position(), Bounds::of(&range))
    }
}

/// A scan of a table: from [`Reader::scan`] or [`Reader::scan_prefix`].
#[must_use = "a scan is run by `rows`, `keys`, `values`, `fetch`, `for_each` or `count`"]
pub struct Scan<'r, 'w, K, V> {
    reader: &'r mut Reader<'w>,
    table: Table<K, V>,
    bounds: Bounds,
    reverse: bool,
    limit: usize,
}

impl<'r, 'w, K: Key, V: Row> Scan<'r, 'w, K, V> {
    pub(crate) fn new(reader: &'r mut Reader<'w>, table: Table<K, V>, bounds: Bounds) -> Self {
        Self { reader, table, bounds, reverse: false, limit: usize::MAX }
    }

    /// Returns the rows in the opposite order.
    pub fn rev(self) -> Self {
        Self { reverse: !self.reverse, ..self }
    }

    /// At most `limit` rows. The scan reads no further. Of what lies beyond, only rows that come or go in
    /// the leaf of the index where it ended (up to 13 rows) can refuse the transaction, and under most
    /// schemes they do.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// Keys and rows.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`Error::NotOrdered`](crate::Error::NotOrdered) for a hash table.
    pub fn rows(self) -> Result<Vec<(K, V)>> {
        let table = self.table;
        self.collect(|reader, entry| {
            Ok((K::decode(reader.untyped().key(entry)?)?, reader.value(&table, entry.row)?))
        })
    }

    /// Only the keys.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn keys(self) -> Result<Vec<K>> {
        self.collect(|reader, entry| K::decode(reader.untyped().key(entry)?))
    }

    /// Only the rows.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn values(self) -> Result<Vec<V>> {
        let table = self.table;
        self.collect(|reader, entry| reader.value(&table, entry.row))
    }

    /// Keys and rows, held so that they can be stored or deleted without looking them up again.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn fetch(self) -> Result<Vec<(K, Fetched<'w, V>)>> {
        let table = self.table;
        self.collect(|reader, entry| {
            Ok((K::decode(reader.untyped().key(entry)?)?, reader.fetched(&table, entry.row)?))
        })
    }

    /// The first row in the order of the scan.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn first(self) -> Result<Option<(K, V)>> {
        self.limit(1).rows().map(|mut rows| rows.pop())
    }

    /// Calls `visit` with each key and row, without collecting them.
    ///
    /// # Errors
    /// As for [`Scan::rows`]; those of `visit`, which end the visits.
    pub fn for_each(self, mut visit: impl FnMut(K, V) -> Result<()>) -> Result<()> {
        let table = self.table;
        let (reader, scanned) = self.run()?;
        let raw = reader.untyped();
        let Some(scanned) = scanned else { return Ok(()) };
        for &entry in raw.entries(scanned)? {
            visit(K::decode(raw.key(entry)?)?, reader.value(&table, entry.row)?)?;
        }
        Ok(())
    }

    /// How many rows.
    ///
    /// # Errors
    /// As for [`Scan::rows`].
    pub fn count(self) -> Result<usize> {
        self.run().map(|(_, scanned)| scanned.map_or(0, Scanned::len))
    }

    fn run(self) -> Result<(&'r mut Reader<'w>, Option<Scanned>)> {
        let id = self.reader.table(&self.table)?;
        if self.bounds.is_empty() || self.limit == 0 {
            return Ok((self.reader, None));
        }
        let scanned = self.reader.raw().scan(id, self.bounds.range(self.reverse, self.limit))?;
        Ok((self.reader, Some(scanned)))
    }

    fn collect<T>(self, make: impl Fn(&Reader<'w>, Entry) -> Result<T>) -> Result<Vec<T>> {
        let (reader, scanned) = self.run()?;
        collect(reader, scanned, make)
    }
}

/// A look-up through a secondary index: from [`Reader::find`] or [`Reader::find_range`].
#[must_use = "a look-up is run by `values`, `fetch`, `first`, `first_fetch` or `count`"]
pub struct Find<'r, 'w, K, V> {
    reader: &'r mut Reader<'w>,
    table: Table<K, V>,
    index: usize,
    bounds: Bounds,
    reverse: bool,
    limit: usize,
}

impl<'r, 'w, K, V: Row> Find<'r, 'w, K, V> {
    pub(crate) fn new(
        reader: &'r mut Reader<'w>,
        table: Table<K, V>,
        index: usize,
        bounds: Bounds,
    ) -> Self {
        let bounds = bounds.of_leading();
        Self { reader, table, index, bounds, reverse: false, limit: usize::MAX }
    }

    /// Returns the rows in the opposite order.
    pub fn rev(self) -> Self {
        Self { reverse: !self.reverse, ..self }
    }

    /// At most `limit` rows.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }

    /// The rows.
    ///
    /// # Errors
    /// As for [`Reader::get`]; [`Error::UnknownIndex`](crate::Error::UnknownIndex) for a table that
    /// was declared without it.
    pub fn values(self) -> Result<Vec<V>> {
        let table = self.table;
        self.collect(|reader, entry| reader.value(&table, entry.row))
    }

    /// The rows, held so that they can be stored or deleted without looking them up again.
    ///
    /// # Errors
    /// As for [`Find::values`].
    pub fn fetch(self) -> Result<Vec<Fetched<'w, V>>> {
        let table = self.table;
        self.collect(|reader, entry| reader.fetched(&table, entry.row))
    }

    /// The first row: the only one, if the index is unique and its key was given in full.
    ///
    /// # Errors
    /// As for [`Find::values`].
    pub fn first(self) -> Result<Option<V>> {
        self.limit(1).values().map(|mut rows| rows.pop())
    }

    /// The first row, held.
    ///
    /// # Errors
    /// As for [`Find::values`].
    pub fn first_fetch(self) -> Result<Option<Fetched<'w, V>>> {
        self.limit(1).fetch().map(|mut rows| rows.pop())
    }

    /// How many rows.
    ///
    /// # Errors
    /// As for [`Find::values`].
    pub fn count(self) -> Result<usize> {
        self.run().map(|(_, scanned)| scanned.map_or(0, Scanned::len))
    }

    fn run(self) -> Result<(&'r mut Reader<'w>, Option<Scanned>)> {
        let id = self.reader.table(&self.table)?;
        if self.bounds.is_empty() || self.limit == 0 {
            return Ok((self.reader, None));
        }
        let range = self.bounds.range(self.reverse, self.limit);
        let scanned = self.reader.raw().scan_index(id, self.index, range)?;
        Ok((self.reader, Some(scanned)))
    }

    fn collect<T>(self, make: impl Fn(&Reader<'w>, Entry) -> Result<T>) -> Result<Vec<T>> {
        let (reader, scanned) = self.run()?;
        collect(reader, scanned, make)
    }
}

fn collect<'w, T>(
    reader: &Reader<'w>,
    scanned: Option<Scanned>,
    make: impl Fn(&Reader<'w>, Entry) -> Result<T>,
) -> Result<Vec<T>> {
    match scanned {
        Some(scanned) => {
            let entries = reader.untyped().entries(scanned)?;
            entries.iter().map(|&entry| make(reader, entry)).collect()
        }
        None => Ok(Vec::new()),
    }
}
