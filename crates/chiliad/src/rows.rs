//! Scans and look-ups as iterators.

use crate::raw::{Entry, Scanned, Transaction as _};
use crate::walk::{Pieces, Walk};
use crate::{Error, Key, Reader, Result, Row, Table};
use core::iter::FusedIterator;

/// The rows of a [`Scan`](crate::Scan) or a [`Find`](crate::Find), with their primary keys, read while they are asked
/// for: 64 at a time. What is dropped early has read, and depends on, no more than that beyond the last row that it
/// has given.
///
/// It borrows the transaction, which does nothing else meanwhile: to change rows on the way, use
/// [`Scan::fetch`](crate::Scan::fetch) or [`Transaction::retain`](crate::Transaction::retain). After an error it gives
/// nothing more; hand the error on with `?`.
///
/// ```
/// # use chiliad::{Database, Result, Table};
/// # let db = Database::in_memory()?;
/// # let prices: Table<u32, u64> = db.create_table("prices")?;
/// db.bulk_load(&prices, (1..=1_000).map(|item| (item, 7 * u64::from(item))))?;
/// let dear = db.run(|tx| tx.scan(&prices, ..).into_iter().find_map(|row| match row {
///     Ok((item, price)) if price > 99 => Some(Ok(item)),
///     Ok(_) => None,
///     Err(error) => Some(Err(error)),
/// }).transpose())?;
/// assert_eq!(dear, Some(15));
/// // All of them, or the first error.
/// let all = db.run(|tx| tx.scan(&prices, ..).into_iter().collect::<Result<Vec<_>>>())?;
/// assert_eq!(all.len(), 1_000);
/// # Ok::<(), chiliad::Error>(())
/// ```
#[must_use = "an iterator reads nothing until it is asked"]
pub struct Rows<'r, 'w, K, V> {
    reader: &'r mut Reader<'w>,
    table: Table<K, V>,
    rest: Rest,
    /// The piece that was read last, and how many of its rows were given.
    piece: Option<Scanned>,
    given: usize,
    /// Rows that are still wanted.
    wanted: usize,
}

/// The rows that an iterator has not read yet.
enum Rest {
    Pieces(Pieces),
    /// It could not begin.
    Failed(Error),
    Nothing,
}

impl<'r, 'w, K: Key, V: Row> Rows<'r, 'w, K, V> {
    pub(crate) fn new(walk: Walk<'r, 'w, K, V>) -> Self {
        let (reader, table, pieces, wanted) = walk.into_pieces();
        let rest = pieces.map_or_else(Rest::Failed, Rest::Pieces);
        Self { reader, table, rest, piece: None, given: 0, wanted }
    }

    /// The next row, which is read if need be.
    fn advance(&mut self) -> Result<Option<(K, V)>> {
        while let Some(entry) = self.next_entry()? {
            if !self.reader.is_over(&self.table, entry.row)? {
                self.wanted -= 1;
                return self.reader.row(&self.table, entry.row).map(Some);
            }
        }
        Ok(None)
    }

    /// The next entry, past its time or not; `None`: no more is there, or wanted.
    fn next_entry(&mut self) -> Result<Option<Entry>> {
        if self.wanted == 0 {
            return Ok(None);
        }
        if self.piece.is_none_or(|piece| self.given == piece.len()) {
            self.given = 0;
            self.piece = match &mut self.rest {
                Rest::Pieces(pieces) => pieces.read(self.reader.raw())?,
                Rest::Failed(error) => return Err(error.clone()),
                Rest::Nothing => None,
            };
        }
        let Some(piece) = self.piece else { return Ok(None) };
        let entry = self.reader.untyped().entries(piece)?[self.given];
        self.given += 1;
        Ok(Some(entry))
    }
}

impl<K: Key, V: Row> Iterator for Rows<'_, '_, K, V> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Result<(K, V)>> {
        let next = self.advance();
        if !matches!(next, Ok(Some(_))) {
            self.rest = Rest::Nothing;
            self.piece = None;
        }
        next.transpose()
    }
}

impl<K: Key, V: Row> FusedIterator for Rows<'_, '_, K, V> {}
