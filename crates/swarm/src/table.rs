//! Tables, by number: a place for each, which is filled once, so that nothing holds a guard while it reads one.

use crate::hash::Directory;
use crate::memory::NoMemory;
use crate::tree::Root;
use chiliad_api::{IndexKind, Secondary, TableSpec, Writes};
use chiliad_machine::Machine;
use chiliad_machine::tasks::Lines;
use core::cell::{Cell, OnceCell};

/// The tables of a database in its whole life, at most; secondary indexes are tables too.
pub(crate) const TABLES_MAX: usize = 256;

/// The trees of a table that is spread: as many as there may be insertions under way.
const PARTS: usize = 16;

/// How rows are found.
pub(crate) enum Index<M: Machine> {
    Ordered(Root<M>),
    /// Of a table that is spread: [`PARTS`] trees, each with the rows of some hashes. Who inserts at the end of the order meets
    /// hardly anybody.
    Spread(Vec<Root<M>>),
    Hash(Directory<M>),
}

/// A table.
pub(crate) struct Table<M: Machine> {
    pub(crate) spec: TableSpec,
    pub(crate) index: Index<M>,
    /// Its secondary indexes, each in a table of its own.
    pub(crate) secondary: Vec<Secondary>,
    pub(crate) state: Cell<State>,
    /// It is a group of columns of another table, and holds their parts of its rows.
    pub(crate) is_group: bool,
}

/// What may be done with a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Transactions change it.
    Open,
    /// It is being loaded, and transactions read it.
    Loading,
    /// It is only read.
    Sealed,
    /// It is the index of another table.
    Index,
    /// It was dropped.
    Dropped,
}

impl<M: Machine> Table<M> {
    /// An empty table.
    pub(crate) fn new<T: Lines<Machine = M>>(
        memory: &T,
        spec: TableSpec,
        secondary: Vec<Secondary>,
    ) -> Result<Self, NoMemory> {
        let index = match spec.index {
            IndexKind::Ordered if spec.placement.spread => {
                let roots = core::iter::repeat_with(|| Root::new(memory)).take(PARTS);
                Index::Spread(roots.collect::<Result<_, _>>()?)
            }
            IndexKind::Ordered => Index::Ordered(Root::new(memory)?),
            IndexKind::Hash => Index::Hash(Directory::new(memory, spec.rows_expected)?),
        };
        let state = match spec.writes {
            Writes::Transactions => State::Open,
            Writes::Loads => State::Loading,
            Writes::Nobody => State::Sealed,
        };
        Ok(Self { spec, index, secondary, state: Cell::new(state), is_group: false })
    }

    /// Whether it was created, and is neither an index nor a group of another table.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_named() && !self.is_group
    }

    /// Whether it is there under its name.
    pub(crate) fn is_named(&self) -> bool {
        !matches!(self.state.get(), State::Index | State::Dropped)
    }
}

/// All tables.
pub(crate) struct Tables<M: Machine> {
    places: Vec<OnceCell<Table<M>>>,
    taken: Cell<usize>,
}

impl<M: Machine> Tables<M> {
    pub(crate) fn new() -> Self {
        let places = core::iter::repeat_with(OnceCell::new).take(TABLES_MAX).collect();
        Self { places, taken: Cell::new(0) }
    }

    /// The number that the next table gets.
    pub(crate) fn next(&self) -> usize {
        self.taken.get()
    }

    /// Adds a table under the next number; says whether there was one left.
    pub(crate) fn add(&self, table: Table<M>) -> bool {
        let number = self.taken.get();
        let is_added = self.places.get(number).is_some_and(|place| place.set(table).is_ok());
        self.taken.set(number + usize::from(is_added));
        is_added
    }

    /// The table of a number, unless it was dropped.
    pub(crate) fn get(&self, number: u32) -> Option<&Table<M>> {
        let table = self.places.get(number as usize)?.get()?;
        (table.state.get() != State::Dropped).then_some(table)
    }

    /// Tables that users have created and not dropped, and their groups.
    pub(crate) fn named(&self) -> impl Iterator<Item = (u32, &Table<M>)> {
        let all = self.places.iter().map_while(OnceCell::get).zip(0..);
        all.filter(|(table, _)| table.is_named()).map(|(table, number)| (number, table))
    }
}
