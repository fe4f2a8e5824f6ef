//! The records that a transaction has found, and its intended writes.

use crate::arena::Piece;
use crate::record_slots::RecordSlots;
use crate::record_word;
use chiliad_api::{Columns, Number, TableId};
use chiliad_machine::{Cost, Machine};
use chiliad_storage::{Kind as SlotKind, LocalHeap, RecordRef};

/// No write, no access: an index that is none.
pub const NONE: u32 = u32::MAX;

/// A record that an operation found, named by a [`crate::Row`].
pub struct Access<M: Machine> {
    pub record: RecordRef<M>,
    pub table: TableId,
    pub key: Piece,
    /// The value as it was read; for the transaction's own writes, the value written.
    pub value: Piece,
    /// The entry of the write set, or [`NONE`].
    pub write: u32,
}

/// The fate of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It gets a value.
    Put,
    /// It becomes absent.
    Remove,
    /// Its value gets the sum of itself and the [`Addition`]s of the write set, when the commit is prepared.
    Add,
}

/// One call of `Transaction::add`: its row, its number there, and what the commit adds.
#[derive(Clone, Copy, Debug)]
pub struct Addition {
    /// The entry of the write set; an addition counts while that is a [`Kind::Add`].
    pub write: u32,
    pub number: Number,
    pub n: i64,
}

/// A deferred write. At most one for each record.
pub struct Write<M: Machine> {
    pub record: RecordRef<M>,
    pub table: TableId,
    pub kind: Kind,
    pub key: Piece,
    pub value: Piece,
    /// The value before the transaction, where a secondary index needs it; empty otherwise.
    pub before: Piece,
    /// Where in the arena the oldest bytes lie that it may have been made of: those of a handle, or its own.
    pub base: u32,
    /// Snapshots of commit epochs may want the version that it overwrites.
    pub keep: bool,
    /// The transaction inserted the record itself and holds its latch.
    pub placed: bool,
    /// Index entries have to be brought in line with `value`.
    pub dirty: bool,
    /// The header word when the write latch was taken.
    pub prior: u64,
    /// The scheme holds the write latch.
    pub latched: bool,
    /// Blocks set aside for the old version and for a value that outgrows the record.
    pub spare: [Option<RecordRef<M>>; 2],
}

impl<M: Machine> Write<M> {
    /// A write of a record that is in its index, before the commit is prepared.
    #[inline]
    pub fn new(
        record: RecordRef<M>,
        (table, key): (TableId, Piece),
        (kind, value): (Kind, Piece),
        keep: bool,
    ) -> Self {
        Self {
            record,
            table,
            kind,
            key,
            value,
            before: Piece::default(),
            base: value.start(),
            keep,
            placed: false,
            dirty: false,
            prior: 0,
            latched: false,
            spare: [None, None],
        }
    }

    /// Whether a prepared write removes what is absent already: a row inserted and removed again by the same
    /// transaction. There is nothing to install then.
    #[inline]
    pub fn is_void(&self) -> bool {
        self.kind == Kind::Remove && self.prior & record_word::ABSENT != 0
    }

    /// Bytes of the value that a prepared write leaves, its stamp among them. A sum has as many as the version in
    /// place, which nobody else writes.
    #[inline]
    pub fn new_bytes(&self) -> usize {
        match self.kind {
            Kind::Put | Kind::Remove => self.value.length() as usize,
            Kind::Add => self.record.value().length(),
        }
    }
}

/// A write of which no other columns change than these, as long as it has the value that it was given with.
pub struct Partial {
    pub write: u32,
    pub value: Piece,
    pub columns: Columns,
}

/// The deferred writes, found by record.
pub struct WriteSet<M: Machine> {
    pub entries: Vec<Write<M>>,
    /// Entries in the order in which latches are taken: addresses of records, and under them the entries' indexes.
    pub order: Vec<u128>,
    /// The additions that the commit applies, in the order of the calls.
    pub additions: Vec<Addition>,
    /// Writes that change some columns of their row, in the order of their indexes.
    partial: Vec<Partial>,
    slots: RecordSlots,
}

impl<M: Machine> WriteSet<M> {
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            order: Vec::new(),
            additions: Vec::new(),
            partial: Vec::new(),
            slots: RecordSlots::new(),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all writes.
    #[inline]
    pub fn clear(&mut self) {
        if self.entries.is_empty() {
            debug_assert!(self.order.is_empty(), "nothing is latched that is not written");
            return;
        }
        self.slots.clear(self.entries.len(), |at| self.entries[at].record);
        self.entries.clear();
        self.order.clear();
        self.additions.clear();
        self.partial.clear();
    }

    /// Frees the blocks that were set aside for writes and are in no record.
    pub fn free_spare_blocks(&mut self, heap: &mut LocalHeap<M>) {
        let spare = self.entries.iter_mut().flat_map(|write| &mut write.spare);
        for block in spare.filter_map(Option::take) {
            // SAFETY: an installation takes the blocks that it links; what is left no other thread has seen.
            unsafe { heap.free_record(SlotKind::Version, block) };
        }
    }

    /// The entry that writes `record`.
    #[inline]
    pub fn find(&self, record: RecordRef<M>) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        M::work(Cost::OwnWrite, 1);
        let found = self.slots.find(record, |at| self.entries[at].record);
        debug_assert!(
            found.is_none_or(|at| self.entries[at as usize].record == record),
            "the entry is the record's"
        );
        found
    }

    /// The columns that a write changes, so far as it is known; `None`: any.
    fn changed(&self, write: u32) -> Option<Columns> {
        self.changed_by(&self.partial[self.place_of_partial(write).ok()?])
    }

    /// The columns that a write changes, if it still has the value of which that was said.
    fn changed_by(&self, partial: &Partial) -> Option<Columns> {
        let Write { kind, value, .. } = self.entries[partial.write as usize];
        (kind == Kind::Put && value == partial.value).then_some(partial.columns)
    }

    /// Where among the writes that change some columns the one of this index is, or would be.
    fn place_of_partial(&self, write: u32) -> Result<usize, usize> {
        self.partial.binary_search_by_key(&write, |it| it.write)
    }

    /// The columns that a write of `record` changes; none without one, and `None` where it may change any.
    pub fn changed_so_far(&self, record: RecordRef<M>) -> Option<Columns> {
        self.find(record).map_or(Some(Columns::NONE), |write| self.changed(write))
    }

    /// A write changes no other columns than these with the value that it has now.
    pub fn set_changed(&mut self, write: u32, columns: Columns) {
        debug_assert!(self.entries[write as usize].kind == Kind::Put, "it has a value");
        let value = self.entries[write as usize].value;
        let partial = Partial { write, value, columns };
        match self.place_of_partial(write) {
            Ok(at) => self.partial[at] = partial,
            Err(at) => self.partial.insert(at, partial),
        }
    }

    /// Gives a write another piece of the arena for its value, with the same bytes at its beginning.
    pub fn move_value(&mut self, write: u32, to: Piece) {
        let own = &mut self.entries[write as usize];
        debug_assert!(own.kind == Kind::Put, "it has a value");
        debug_assert!(own.value.length() <= to.length(), "no byte is lost");
        let before = core::mem::replace(&mut own.value, to);
        if let Ok(at) = self.place_of_partial(write)
            && self.partial[at].value == before
        {
            self.partial[at].value = to;
        }
    }

    /// Bytes of a write's value may change where they are.
    pub fn forget_changed(&mut self, write: u32) {
        if let Ok(at) = self.place_of_partial(write) {
            self.partial.remove(at);
        }
    }

    /// Whether of any write it is known which columns it changes.
    #[inline]
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }

    /// The writes of which that is known.
    pub fn partial(&self) -> impl Iterator<Item = (&Write<M>, Columns)> {
        let entry = |it: &Partial| Some((&self.entries[it.write as usize], self.changed_by(it)?));
        self.partial.iter().filter_map(entry)
    }

    /// Remembers what is to be added. A run of additions of one sign to one number is one: it leaves the number's range
    /// where any of them does.
    pub fn add(&mut self, addition: Addition) {
        let Addition { write, number, n } = addition;
        debug_assert!(self.entries[write as usize].kind == Kind::Add, "it has a write");
        if let Some(last) = self.additions.last_mut()
            && (last.write, last.number, last.n.signum()) == (write, number, n.signum())
            && let Some(sum) = last.n.checked_add(n)
        {
            last.n = sum;
            return;
        }
        self.additions.push(addition);
    }

    /// Adds a write of a record that has none yet, and returns its index. Inlined, so that the write is made in its place.
    #[inline(always)]
    pub fn push(&mut self, write: Write<M>) -> u32 {
        M::work(Cost::Write, 1);
        let index = self.entries.len();
        debug_assert!(index < NONE as usize, "an index that is one");
        debug_assert!(!write.latched, "latches are taken at the commit");
        debug_assert!(write.spare.iter().all(Option::is_none), "so is memory");
        debug_assert!(!write.dirty, "a new write is in line with the indexes");
        self.slots.add(write.record, index, |at| self.entries[at].record);
        self.entries.push(write);
        index as u32
    }
}
