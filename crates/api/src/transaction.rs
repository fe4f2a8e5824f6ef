//! The interface of a running transaction: what workloads, the facade and every client speak.
//!
//! Object-safe, so that one instance of a procedure serves every engine, scheme and machine. Results
//! are small handles into the transaction's own memory rather than references, so that many rows can
//! be held at once, and so that an update goes straight to the record that the read found instead of
//! descending the index again.

use crate::{Columns, Result, TableId};
use chiliad_machine::{Fault, Ticks};
use chiliad_row::Number;
use core::num::NonZeroU64;
use core::ops::ControlFlow;

/// A row that a transaction has read: the number of the access that found it. Good until that
/// transaction ends; in any other one, of whatever database, every use of it is refused with
/// [`crate::Error::ForeignHandle`], since no two accesses of a process have one number
/// (`numbers.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    number: NonZeroU64,
}

impl Row {
    /// A handle of an implementation of [`Transaction`]: what the number means is its own business.
    #[must_use]
    #[inline]
    pub fn from_number(number: NonZeroU64) -> Self {
        Self { number }
    }

    /// The number.
    #[must_use]
    #[inline]
    pub fn number(self) -> NonZeroU64 {
        self.number
    }
}

/// One row of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The access whose key is the entry's: that of the row, or of the entry in a secondary index.
    key: Row,
    /// The row.
    pub row: Row,
}

impl Entry {
    /// An entry of an implementation of [`Transaction`]: a row under the key of another.
    #[must_use]
    #[inline]
    pub fn new(key: Row, row: Row) -> Self {
        Self { key, row }
    }

    /// The handle whose key is the entry's.
    #[must_use]
    #[inline]
    pub fn key(self) -> Row {
        self.key
    }
}

/// The rows of one scan, for [`Transaction::entries`]. Good until the transaction ends, as a
/// [`Row`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scanned {
    /// The number of the first entry, counted from that of the transaction's first access.
    start: u64,
    length: u32,
}

impl Scanned {
    /// A handle of an implementation of [`Transaction`].
    #[must_use]
    #[inline]
    pub fn from_parts(start: u64, length: u32) -> Self {
        Self { start, length }
    }

    /// Start and length.
    #[must_use]
    #[inline]
    pub fn parts(self) -> (u64, u32) {
        (self.start, self.length)
    }

    /// How many rows.
    #[must_use]
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

/// One look-up of a [`Transaction::get_many`].
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// The table.
    pub table: TableId,
    /// The key.
    pub key: &'a [u8],
    /// Whether the transaction reads the row, is going to write it too, or only approaches the key.
    pub kind: GetKind,
}

/// The purpose of a [`Get`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GetKind {
    /// The row is read.
    Read,
    /// The row is read, and the transaction means to write it: see [`Transaction::get_for_update`].
    Update,
    /// The transaction is going to insert or scan near the key. An engine that has cache misses in flight together brings the
    /// way to the key into the cache, and the record that is there. The answer is `None`; nothing is read, locked or remembered.
    Approach,
}

impl<'a> Get<'a> {
    /// A row to be read.
    #[must_use]
    #[inline]
    pub fn read(table: TableId, key: &'a [u8]) -> Self {
        Self { table, key, kind: GetKind::Read }
    }

    /// A row to be read and written.
    #[must_use]
    #[inline]
    pub fn update(table: TableId, key: &'a [u8]) -> Self {
        Self { table, key, kind: GetKind::Update }
    }

    /// A place in a table that the transaction is going to insert at, or to scan from: see [`GetKind::Approach`].
    #[must_use]
    #[inline]
    pub fn approach(table: TableId, key: &'a [u8]) -> Self {
        Self { table, key, kind: GetKind::Approach }
    }
}

/// The keys that a scan covers, the way it goes and how many rows it wants.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// Where the range begins: included, excluded or open.
    pub low: core::ops::Bound<&'a [u8]>,
    /// Where it ends.
    pub high: core::ops::Bound<&'a [u8]>,
    /// From high keys to low ones.
    pub reverse: bool,
    /// The number of rows after which the scan stops.
    pub limit: usize,
}

impl<'a> Range<'a> {
    /// All keys, upwards, without a limit.
    #[must_use]
    pub fn all() -> Self {
        use core::ops::Bound::Unbounded;
        Self { low: Unbounded, high: Unbounded, reverse: false, limit: usize::MAX }
    }

    /// `low <= key < high`, upwards.
    #[must_use]
    pub fn between(low: &'a [u8], high: &'a [u8]) -> Self {
        use core::ops::Bound::{Excluded, Included};
        Self { low: Included(low), high: Excluded(high), ..Self::all() }
    }

    /// `low <= key <= high`, upwards.
    #[must_use]
    pub fn closed(low: &'a [u8], high: &'a [u8]) -> Self {
        use core::ops::Bound::Included;
        Self { low: Included(low), high: Included(high), ..Self::all() }
    }

    /// This range, downwards.
    #[must_use]
    pub fn reverse(self) -> Self {
        Self { reverse: true, ..self }
    }

    /// At most `limit` rows.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { limit, ..self }
    }
}

/// [`Transaction::visit`] calls this with the key and the bytes of each row, [`Transaction::visit_index_keys`] with its two
/// keys.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// [`Transaction::visit_many`] calls this with the place of each key that has a row and the bytes of that.
pub type VisitMany<'a> = dyn FnMut(usize, &[u8]) -> ControlFlow<()> + 'a;

/// [`Transaction::visit_index`] calls this with the key in the index, the key in the table and the bytes of each row.
pub type VisitIndex<'a> = dyn FnMut(&[u8], &[u8], &[u8]) -> ControlFlow<()> + 'a;

/// Rows that [`Transaction::visit_many`] reads together by default.
const VISIT_GROUP: usize = 32;

/// A transaction in progress.
///
/// Every operation may fail with [`crate::Error::Conflict`] or [`crate::Error::OutOfMemory`], and a
/// write half-way for another reason (a secondary key that is too long); the transaction is then
/// lost, all later operations report [`crate::Error::TransactionOver`], and a commit reports the
/// error again. Until it commits a transaction
/// that is bound to abort may see a state that never was (unless `Options::opacity` is on): do not
/// act on what you read before the commit.
pub trait Transaction {
    /// Reads one row; `None` if the key is absent.
    ///
    /// # Errors
    /// Conflicts; [`crate::Error::KeyTooLong`]; [`crate::Error::UnknownTable`].
    fn get(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>>;

    /// Reads one row that the transaction means to write. Schemes that lock do so for writing at once,
    /// and two transactions that both do this do not both read first and then stand in each other's
    /// way; for the others it is [`Transaction::get`].
    ///
    /// # Errors
    /// As for [`Transaction::get`]; [`crate::Error::ReadOnly`].
    fn get_for_update(&mut self, table: TableId, key: &[u8]) -> Result<Option<Row>>;

    /// Reads a row that the transaction has read as [`Transaction::get_for_update`] reads it, since the transaction means to
    /// write it after all; `None` if it has gone since. An engine need not look for the row again where that would show the
    /// transaction nothing new.
    ///
    /// # Errors
    /// As for [`Transaction::get_for_update`]; [`crate::Error::ForeignHandle`] for a row of another transaction.
    fn reread_for_update(&mut self, row: Row) -> Result<Option<Row>> {
        let (table, key) = (self.table_of(row)?, self.row_key(row)?.to_vec());
        self.get_for_update(table, &key)
    }

    /// Reads many rows, in any tables, with their cache misses in flight together where the engine can do that: by
    /// default one after another. `rows` gets one answer for each request.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    ///
    /// # Panics
    /// When `rows` is not as long as `requests`.
    fn get_many(&mut self, requests: &[Get<'_>], rows: &mut [Option<Row>]) -> Result<()> {
        assert_eq!(requests.len(), rows.len(), "one answer for each request");
        for (request, row) in requests.iter().zip(rows) {
            *row = match request.kind {
                GetKind::Read => self.get(request.table, request.key)?,
                GetKind::Update => self.get_for_update(request.table, request.key)?,
                GetKind::Approach => None,
            };
        }
        Ok(())
    }

    /// Shows the rows of `keys`, one table's, to `visit`, in the order of the keys and until that breaks off, and keeps none
    /// of them. Keys without a row are left out. As [`Transaction::get_many`] it has cache misses in flight together, and so
    /// reads rows beyond the one at which `visit` breaks off; as in [`Transaction::visit`] rows are shown before it is known
    /// whether the transaction commits.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    fn visit_many(
        &mut self,
        table: TableId,
        keys: &[&[u8]],
        visit: &mut VisitMany<'_>,
    ) -> Result<()> {
        for (group, keys) in keys.chunks(VISIT_GROUP).enumerate() {
            let mut requests = [Get::read(table, &[]); VISIT_GROUP];
            let mut rows = [None; VISIT_GROUP];
            let (requests, rows) = (&mut requests[..keys.len()], &mut rows[..keys.len()]);
            requests.iter_mut().zip(keys).for_each(|(request, key)| request.key = key);
            self.get_many(requests, rows)?;
            for (at, row) in rows.iter().enumerate() {
                if let Some(row) = *row
                    && visit(group * VISIT_GROUP + at, self.bytes(row)?).is_break()
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Reads the rows of a range; see [`Transaction::entries`].
    ///
    /// # Errors
    /// As for [`Transaction::get`]; [`crate::Error::NotOrdered`].
    fn scan(&mut self, table: TableId, range: Range<'_>) -> Result<Scanned>;

    /// Reads the rows whose key in the secondary index `index` (by position in the table's
    /// declaration) lies in `range`; entries carry the *index* key.
    ///
    /// # Errors
    /// As for [`Transaction::scan`]; [`crate::Error::UnknownIndex`].
    fn scan_index(&mut self, table: TableId, index: usize, range: Range<'_>) -> Result<Scanned>;

    /// Shows the rows of a range to `visit`, one after another, until that breaks off, and keeps none of them: for
    /// reading many rows in the memory of a few. Rows are shown before it is known whether the transaction commits.
    ///
    /// # Errors
    /// As for [`Transaction::scan`].
    fn visit(&mut self, table: TableId, range: Range<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let scanned = self.scan(table, range)?;
        for &entry in self.entries(scanned)? {
            if visit(self.key(entry)?, self.bytes(entry.row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// As [`Transaction::visit`], of the rows whose key in a secondary index lies in `range`.
    ///
    /// # Errors
    /// As for [`Transaction::scan_index`].
    fn visit_index(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut VisitIndex<'_>,
    ) -> Result<()> {
        let scanned = self.scan_index(table, index, range)?;
        for &entry in self.entries(scanned)? {
            let (of_index, key) = (self.key(entry)?, self.row_key(entry.row)?);
            if visit(of_index, key, self.bytes(entry.row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Shows the keys of the rows whose key in a secondary index lies in `range`, first that in the index and then that in the
    /// table, until `visit` breaks off. An engine that can do so reads the index alone, and no row: transactions that change
    /// other columns of these rows are not in the way.
    ///
    /// # Errors
    /// As for [`Transaction::scan_index`].
    fn visit_index_keys(
        &mut self,
        table: TableId,
        index: usize,
        range: Range<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let scanned = self.scan_index(table, index, range)?;
        for &entry in self.entries(scanned)? {
            if visit(self.key(entry)?, self.row_key(entry.row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The rows of a scan, in its order.
    ///
    /// # Errors
    /// [`crate::Error::ForeignHandle`] for a scan of another transaction.
    fn entries(&self, scanned: Scanned) -> Result<&[Entry]>;

    /// The key of a scanned row.
    ///
    /// # Errors
    /// [`crate::Error::ForeignHandle`] for an entry of another transaction.
    fn key(&self, entry: Entry) -> Result<&[u8]>;

    /// The primary key of a row that was read, however it was found: of an entry of
    /// [`Transaction::scan_index`], [`Transaction::key`] is the key in the index, and this the key in the table.
    ///
    /// # Errors
    /// [`crate::Error::ForeignHandle`] for a row of another transaction.
    fn row_key(&self, row: Row) -> Result<&[u8]> {
        self.key(Entry::new(row, row))
    }

    /// The table of a row that was read.
    ///
    /// # Errors
    /// [`crate::Error::ForeignHandle`] for a row of another transaction.
    fn table_of(&self, row: Row) -> Result<TableId>;

    /// The bytes of a row, with the changes made through this handle or before it was got. Whether it
    /// shows those made later through another handle of the same row is the engine's choice.
    ///
    /// # Errors
    /// [`crate::Error::ForeignHandle`] for a row of another transaction.
    fn bytes(&self, row: Row) -> Result<&[u8]>;

    /// Inserts a row of a table with groups of columns: `parts` are the table's own, and those of its groups in the order of
    /// the declaration. By default each goes into a table of its own.
    ///
    /// # Errors
    /// As for [`Transaction::insert`]; [`crate::Error::WrongParts`] where there are not as many as the row has.
    fn insert_parts(&mut self, table: TableId, key: &[u8], parts: &[&[u8]]) -> Result<()> {
        for (at, part) in parts.iter().enumerate() {
            let part_of = if at == 0 { table } else { table.group(at - 1) };
            self.insert(part_of, key, part)?;
        }
        Ok(())
    }

    /// The number of groups of columns that a table has.
    ///
    /// # Errors
    /// [`crate::Error::UnknownTable`].
    fn groups(&self, table: TableId) -> Result<usize> {
        let _ = table;
        Ok(0)
    }

    /// Inserts a row, of a table without groups.
    ///
    /// # Errors
    /// [`crate::Error::DuplicateKey`] if the key is present (the transaction may go on),
    /// [`crate::Error::UniqueViolation`], sizes, conflicts, memory (the transaction is lost);
    /// [`crate::Error::WrongParts`], [`crate::Error::PartOfRow`] where rows have several parts.
    fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()>;

    /// Inserts rows of one table without groups, by key and value, as [`Transaction::insert`] does one after another: those
    /// before one that is refused are inserted. An engine may put rows whose keys follow each other into its index together.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], of the first row that is refused.
    fn insert_many(&mut self, table: TableId, rows: &[(&[u8], &[u8])]) -> Result<()> {
        rows.iter().try_for_each(|&(key, value)| self.insert(table, key, value))
    }

    /// Gives a row that was read a new value, of any length.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], but for the duplicate; [`crate::Error::ForeignHandle`] for a
    /// row of another transaction.
    fn update(&mut self, row: Row, value: &[u8]) -> Result<()>;

    /// As [`Transaction::update`], of a value that differs from the row's in these columns at most. An engine that remembers
    /// this knows that the other columns are as before: as durable ([`crate::Session::seen_epoch`]), and good for transactions
    /// that have looked at them ([`Transaction::look_at`]). If the value differs elsewhere, a client may be shown what a
    /// crash takes back, and others may commit with a state that never was.
    ///
    /// # Errors
    /// As for [`Transaction::update`].
    fn update_columns(&mut self, row: Row, value: &[u8], columns: Columns) -> Result<()> {
        let _ = columns;
        self.update(row, value)
    }

    /// Of the rows that the transaction reads from here on it looks at no other columns than these, until it says otherwise;
    /// it begins with [`Columns::ALL`]. An engine that remembers which columns change ([`Transaction::update_columns`]) need
    /// not refuse it because others have changed: `silo` takes the row's newest version for the one that was read, unless
    /// the transaction writes the row with a value that it has made of an older one. A transaction that looks at more than
    /// it says may commit with a state that never was.
    fn look_at(&mut self, columns: Columns) {
        let _ = columns;
    }

    /// Declares a row that was read as modified and gives its bytes to be changed in place; the
    /// length stays.
    ///
    /// # Errors
    /// As for [`Transaction::update`].
    fn modify(&mut self, row: Row) -> Result<&mut [u8]>;

    /// Writes a row whether it is present or not, without reading it where no secondary index
    /// needs the old value. Of a row in several parts, one that is present.
    ///
    /// # Errors
    /// As for [`Transaction::insert`], but for the duplicate.
    fn put(&mut self, table: TableId, key: &[u8], value: &[u8]) -> Result<()>;

    /// Adds `n` to a number of the row under `key`, and says whether there is such a row. The transaction does not learn
    /// the sum.
    ///
    /// Additions to one row commute: an engine that can do so adds *blindly*, which means that the row does not
    /// count as read, and makes the sum when nothing else can refuse the transaction any more; others of the same row
    /// do not get into its way. By default, and under schemes that exclude others in any case, this is
    /// [`Transaction::get_for_update`] and [`Transaction::modify`]. What the transaction itself reads of the row later has
    /// the sum in it, and from then on it is an ordinary read and an ordinary write; an addition to a row that the
    /// transaction has written changes what it has written.
    ///
    /// A row that is there when it is added to is there at the commit, or the transaction is refused; that there is
    /// none is a read like any other.
    ///
    /// # Errors
    /// [`crate::Error::BadNumber`]:
    ///
    /// - the row does not have the number: nothing has happened, and the transaction may go on;
    /// - the sum is out of range: the transaction can only be rolled back, and nothing of it has happened. Of a blind
    ///   addition the commit says so.
    ///
    /// Otherwise as for [`Transaction::get_for_update`] and [`Transaction::update`].
    fn add(&mut self, table: TableId, key: &[u8], number: Number, n: i64) -> Result<bool> {
        let Some(row) = self.get_for_update(table, key)? else { return Ok(false) };
        number.add(&mut self.bytes(row)?.to_vec(), n)?;
        number.add(self.modify(row)?, n)?;
        Ok(true)
    }

    /// Removes a row that was read: of a table with groups, all its parts.
    ///
    /// # Errors
    /// As for [`Transaction::update`]; [`crate::Error::PartOfRow`] for a part in a group.
    fn remove_row(&mut self, row: Row) -> Result<()>;

    /// Tells whether a planted bug is switched on, where one may be: for layers above that are written for no machine.
    /// `None`: this machine does real work, and none ever is.
    fn planted(&self) -> Option<fn(&'static Fault) -> bool> {
        None
    }

    /// Removes a row if it is present, and says whether it was.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    fn remove(&mut self, table: TableId, key: &[u8]) -> Result<bool> {
        match self.get_for_update(table, key)? {
            Some(row) => self.remove_row(row).map(|()| true),
            None => Ok(false),
        }
    }
}

/// A transaction, as those know it that run inside it: [`crate::Running::as_outer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outer {
    /// The worker's slot.
    slot: u32,
    /// The scheme's name for it.
    name: u64,
}

impl Outer {
    /// A handle of an implementation of [`crate::Session`].
    #[must_use]
    #[inline]
    pub fn new(slot: u32, name: u64) -> Self {
        Self { slot, name }
    }

    /// The worker's slot.
    #[must_use]
    #[inline]
    pub fn slot(self) -> u32 {
        self.slot
    }

    /// The number that the scheme knows the transaction by.
    #[must_use]
    #[inline]
    pub fn name(self) -> u64 {
        self.name
    }
}

/// Properties of a transaction that are told before it begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Intent<'a> {
    /// It will not write.
    pub read_only: bool,
    /// It reads a snapshot in the past: never aborts, tracks nothing, and sees the state of up to
    /// two snapshot epochs ago. Where the scheme has no snapshots it is a tracked read-only
    /// transaction of the present. Implies `read_only`.
    pub snapshot: bool,
    /// The partitions it will touch, ascending, for schemes that need them.
    pub partitions: &'a [u32],
    /// How many attempts of the same transaction were refused before.
    pub retries: u32,
    /// It fills tables that nobody uses yet: all transactions that begin after it has ended find what it wrote,
    /// whatever timestamps the scheme gives them.
    pub loads: bool,
    /// When its waits end, in ticks of the machine, where they do not end before
    /// (`Options::wait_timeout`): with [`crate::Error::DeadlineExceeded`].
    pub deadline: Option<Ticks>,
    /// How long it waits for others at most before it is given what it waits for, in ticks of the machine: a limit of each
    /// wait on its own, and not of what it does between them. Then the transaction ends with
    /// [`crate::Error::WaitLimitExceeded`]. `None`: as long as the deadline allows.
    pub wait_limit: Option<Ticks>,
    /// It sees all that has committed before it begins, wherever that was: an engine whose servers share a log asks
    /// the log first. Others need not ask.
    pub newest: bool,
    /// Transactions that cannot end before this one: it runs in their closures. It never waits for them:
    /// [`crate::Error::Nested`].
    pub outer: &'a [Outer],
}

impl Intent<'_> {
    /// Reads and writes, in partition 0.
    #[must_use]
    pub fn update() -> Self {
        Self { partitions: &[0], ..Self::default() }
    }

    /// Only reads, tracked, in the present.
    #[must_use]
    pub fn read_only() -> Self {
        Self { read_only: true, partitions: &[0], ..Self::default() }
    }

    /// Only reads, in the past.
    #[must_use]
    pub fn snapshot() -> Self {
        Self { read_only: true, snapshot: true, partitions: &[0], ..Self::default() }
    }
}
