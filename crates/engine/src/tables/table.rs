//! A table in use.

use crate::tables::seal::Seal;
use chiliad_api::stamp::TombstoneStamps;
use chiliad_api::{Error, Result, Secondary, TableId, TableLayout, TableSpec, Writes};
use chiliad_machine::{Machine, Shared};
use chiliad_storage::{Found, Index, LocalHeap, RecordRef};
use core::ops::Deref;
use std::sync::Arc;

/// A table in use, as a version of the catalog has it. Where its declaration changes, the next version has another one
/// of the same rows; a transaction goes by the version with which it has begun.
pub struct Table<M: Machine> {
    stored: Arc<Shared<M, Stored<M>>>,
    declared: Arc<Declared>,
    /// Any transaction may write to it: it has no seal and is not closed. Here, since every write asks.
    is_open: bool,
    /// Its rows are records of their own, and in no other index. Here for the same reason.
    is_plain: bool,
    /// Which part of its rows it is: 0, the table's own, or one of its groups. Those share what is stored.
    part: u8,
}

impl<M: Machine> Clone for Table<M> {
    fn clone(&self) -> Self {
        let (stored, declared) = (Arc::clone(&self.stored), Arc::clone(&self.declared));
        let Self { is_open, is_plain, part, .. } = *self;
        Self { stored, declared, is_open, is_plain, part }
    }
}

/// The rows of a table, which all versions of its declaration share.
pub struct Stored<M: Machine> {
    pub index: Index<M>,
    /// The stamps of tombstones that have left, in verified runs.
    pub tombstone_stamps: Option<TombstoneStamps<M>>,
    /// Of a table that only loads may change.
    pub seal: Option<Arc<Shared<M, Seal<M>>>>,
    /// It is the table of a secondary index.
    pub is_index: bool,
    /// The records of each row: one for each part.
    pub row_parts: u8,
}

/// The declaration of a table.
#[derive(Clone)]
pub struct Declared {
    /// All but the columns and the secondary indexes.
    pub spec: TableSpec<()>,
    /// Its secondary indexes, which are tables of their own.
    pub secondary: Vec<Kept>,
    /// The position of the next index: none is given out twice.
    pub next_position: usize,
    /// Transactions do not write to it, since its rows are on their way to another table.
    pub closed: bool,
}

/// The life of a secondary index that comes or goes while transactions run. At any time some go by one state and some by
/// the next one, until a wait ends between the two; so neighbours have to suit each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Writers remove entries of rows that they change, and add none: those that do not know the index yet may change
    /// rows meanwhile, and would leave entries behind.
    Announced,
    /// Writers keep it in line, and rows of before are being added. Nobody reads it.
    Filling,
    /// It is read, and in the catalog.
    Ready,
    /// Nobody reads it any more, but those that may read it rely on it.
    Leaving,
    /// As announced: those that do not know it any more leave entries behind.
    Forgotten,
}

/// A secondary index of a table.
#[derive(Clone)]
pub struct Kept {
    index: Arc<Secondary>,
    /// Its number among the indexes that the table has had since it was opened: handles know it by that.
    pub position: usize,
    pub state: State,
    /// Of one that is not ready yet: the layout that its table is to have then.
    pub made_for: TableLayout,
}

impl Kept {
    /// Whether a writer adds entries.
    #[inline]
    pub fn takes_entries(&self) -> bool {
        !matches!(self.state, State::Announced | State::Forgotten)
    }

    /// Whether it is read, and in the catalog.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Whether it is on its way to be ready.
    pub fn is_coming(&self) -> bool {
        matches!(self.state, State::Announced | State::Filling)
    }
}

impl Deref for Kept {
    type Target = Secondary;

    #[inline]
    fn deref(&self) -> &Secondary {
        &self.index
    }
}

impl Declared {
    /// The declaration `spec`, with these indexes.
    pub fn new(spec: TableSpec<()>, secondary: Vec<Secondary>) -> Self {
        let kept = |(position, index)| Kept {
            index: Arc::new(index),
            position,
            state: State::Ready,
            made_for: TableLayout::Unknown,
        };
        let secondary: Vec<Kept> = secondary.into_iter().enumerate().map(kept).collect();
        debug_assert!(
            secondary.len() == spec.secondary.len() || secondary.is_empty(),
            "an index for each declaration, or the table of an index"
        );
        let spec = TableSpec { secondary: Vec::new(), ..spec };
        Self { spec, next_position: secondary.len(), secondary, closed: false }
    }

    /// This declaration with one more index, which is announced, and is to be read when the table has that layout.
    pub fn announcing(&self, index: Secondary, made_for: TableLayout) -> Self {
        let mut declared = self.clone();
        debug_assert!(!self.closed, "a table that writers may change");
        let position = self.next_position;
        debug_assert!(self.secondary.iter().all(|it| it.position < position), "a new number");
        declared.secondary.push(Kept {
            index: Arc::new(index),
            position,
            state: State::Announced,
            made_for,
        });
        declared.next_position += 1;
        declared
    }
}

impl<M: Machine> Table<M> {
    pub fn new(stored: Stored<M>, declared: Declared) -> Self {
        Self::of(Arc::new(Shared::new(stored)), declared, 0)
    }

    fn of(stored: Arc<Shared<M, Stored<M>>>, declared: Declared, part: u8) -> Self {
        let is_open = stored.seal.is_none() && !declared.closed;
        let is_plain = stored.row_parts == 1 && declared.secondary.is_empty();
        Self { stored, declared: Arc::new(declared), is_open, is_plain, part }
    }

    /// The same rows under another declaration.
    pub fn redeclared(&self, declared: Declared) -> Self {
        debug_assert!(declared.spec.index == self.declared.spec.index, "the same rows");
        debug_assert!(declared.next_position >= self.declared.next_position, "none comes again");
        Self::of(Arc::clone(&self.stored), declared, self.part)
    }

    /// The part `part` of the table's rows, which has a declaration of its own.
    pub fn group(&self, part: u8, declared: Declared) -> Self {
        debug_assert!(self.part == 0 && part > 0, "a group of a table");
        Self::of(Arc::clone(&self.stored), declared, part)
    }

    /// Whether a row is one record, which one index leads to.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether it is a group of columns of another table.
    #[inline]
    pub fn is_group(&self) -> bool {
        self.part != 0
    }

    /// Of group `id`: the number of its table.
    #[inline]
    pub fn table_of_group(&self, id: TableId) -> TableId {
        debug_assert!(id.0 >= u32::from(self.part), "groups have the numbers after their table's");
        TableId(id.0 - u32::from(self.part))
    }

    /// The parts that it has: its own, and its groups.
    #[inline]
    pub fn parts(&self) -> usize {
        1 + self.declared.spec.groups.len()
    }

    /// Which part of the row it is.
    #[inline]
    pub fn part(&self) -> u8 {
        self.part
    }

    /// The parts of the rows that it has a part of.
    #[inline]
    pub fn parts_of_row(&self) -> u8 {
        self.row_parts
    }

    /// Snapshots do not read it.
    #[inline]
    pub fn present_only(&self) -> bool {
        self.declared.spec.present_only
    }

    /// The record of its part of the row to whose first record the index leads. As [`RecordRef::mate`] asks.
    #[inline]
    pub fn of_row(&self, first: RecordRef<M>) -> RecordRef<M> {
        if self.part == 0 {
            return first;
        }
        let part = first.part(self.part);
        debug_assert!(part.is_some(), "rows have all their parts");
        part.unwrap_or(first)
    }

    /// Looks the key up: the record of its part of the row, or where there is none. Pinned.
    #[inline]
    pub fn find(&self, heap: &LocalHeap<M>, key: &[u8]) -> Found<M> {
        match self.index.get(heap, key) {
            Found::Record(first) => Found::Record(self.of_row(first)),
            absent @ Found::Absent(_) => absent,
        }
    }

    /// Refuses a write; `loads`: it is one of a load.
    #[inline]
    pub fn check_writable(&self, loads: bool) -> Result<()> {
        if self.is_open { Ok(()) } else { self.refuse_write(loads) }
    }

    #[cold]
    fn refuse_write(&self, loads: bool) -> Result<()> {
        if self.seal.is_some() && !loads {
            return Err(Error::ReadOnlyTable(self.name().to_owned()));
        }
        match self.declared.closed {
            true => Err(Error::Migrating(self.name().to_owned())),
            false => Ok(()),
        }
    }

    /// Its declaration.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    /// Its rows.
    pub fn stored(&self) -> &Arc<Shared<M, Stored<M>>> {
        &self.stored
    }

    /// The name by which errors tell of it.
    pub fn name(&self) -> &str {
        &self.declared.spec.name
    }

    /// The indexes that a writer has to do with.
    #[inline]
    pub fn secondary(&self) -> &[Kept] {
        &self.declared.secondary
    }

    /// The index that handles know by this position, if it may be read.
    #[inline]
    pub fn readable_index(&self, position: usize) -> Option<&Kept> {
        let all = self.secondary();
        // Where none was dropped its place tells.
        let direct = all.get(position).filter(|it| it.position == position);
        let found = direct.or_else(|| all.iter().find(|it| it.position == position));
        found.filter(|it| it.is_ready())
    }

    /// The position by which handles know an index that may be read.
    pub fn position_of_index(&self, name: &str) -> Result<usize> {
        let mut ready = self.secondary().iter().filter(|index| index.is_ready());
        let index = ready.find(|index| index.spec.name == name);
        index.map(|index| index.position).ok_or_else(|| Error::UnknownIndex(name.into()))
    }

    /// Whether nothing will ever change in it.
    #[inline]
    pub fn is_sealed(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.is_closed())
    }

    /// The declaration as it is to be kept, with those indexes that are ready, and their numbers.
    pub fn spec_now(&self, layout: &TableLayout) -> (TableSpec, Vec<TableId>) {
        let Declared { spec, secondary, .. } = &*self.declared;
        let writes = if self.is_sealed() { Writes::Nobody } else { spec.writes };
        let ready = || secondary.iter().filter(|index| index.is_ready());
        let specs = ready().map(|index| index.spec.clone()).collect();
        let spec = TableSpec { writes, secondary: specs, ..spec.clone() };
        (spec.exchange(layout.clone()).0, ready().map(|index| index.table).collect())
    }
}

impl<M: Machine> Deref for Table<M> {
    type Target = Stored<M>;

    #[inline]
    fn deref(&self) -> &Stored<M> {
        &self.stored
    }
}

/// A table's place: empty once it was dropped.
pub type Entry<M> = Option<Table<M>>;
