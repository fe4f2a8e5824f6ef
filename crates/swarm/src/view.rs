//! What one task, or one statement of a session, sees of the database.
//!
//! Rows and nodes are reached by addresses that their memory does not guard. That is sound by borrowing: whoever runs has
//! *one* view. What may give memory back takes the view for itself (`&mut`), and what was found lives as long as the
//! view is only looked through (`&`). So nobody holds an address of what he has removed. Other tasks may remove it
//! meanwhile, on hardware that runs several; but a block is handed out anew only when the task that gave it back has
//! committed, and until then every later task that had seen it was taken back.

use crate::hash::{Hash, hash};
use crate::memory::NoMemory;
use crate::record::{KeySource, Place};
use crate::table::{Index, State, Table, Tables};
use crate::tree::{Span, Tree};
use chiliad_api::{Range, TableId};
use chiliad_machine::tasks::{FunctionId, Lines, Tasks};
use chiliad_machine::{Cost, Machine};
use core::cmp;
use core::marker::PhantomData;

/// The database, as a task sees it: through memory that knows of tasks.
pub struct View<'v, T: Lines> {
    pub(crate) memory: &'v T,
    pub(crate) tables: &'v Tables<T::Machine>,
}

/// What leads to the row of a key: a tree or a hash index.
enum Way<'t, T: Lines> {
    Tree(Tree<'t, T>),
    Hash(Hash<'t, T>),
}

/// A row that was found.
pub struct Record<'r, T: Lines> {
    memory: &'r T,
    pub(crate) place: Place<T::Machine>,
    view: PhantomData<&'r ()>,
}

impl<T: Lines> Clone for Record<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Lines> Copy for Record<'_, T> {}

impl<'r, T: Lines> Record<'r, T> {
    /// Bytes of its value.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a row is there whatever its length")]
    pub fn len(self) -> usize {
        self.place.value_bytes()
    }

    /// Copies bytes of its value, from byte `from` on. Reads no lines but theirs and the first.
    #[inline]
    pub fn read(self, from: usize, target: &mut [u8]) {
        T::Machine::work(Cost::Read, 1);
        if self.place.read(from, target).is_none() {
            self.memory.trap("bytes beyond the end of a row");
        }
    }

    /// The first `N` bytes of its value.
    #[must_use]
    #[inline]
    pub fn first<const N: usize>(self) -> [u8; N] {
        let mut bytes = [0; N];
        self.read(0, &mut bytes);
        bytes
    }

    /// Replaces bytes of its value, from byte `from` on.
    #[inline]
    pub fn write(self, from: usize, source: &[u8]) {
        T::Machine::work(Cost::Write, 1);
        if self.place.write(from, source).is_none() {
            self.memory.trap("bytes beyond the end of a row");
        }
    }

    /// Copies its key to `target` and returns how many bytes that are; no more than there is room for.
    pub fn key(self, target: &mut [u8]) -> usize {
        let bytes = self.place.key_bytes().min(target.len());
        self.place.read_key(0, &mut target[..bytes]);
        bytes
    }

    /// The order of its key and another one.
    #[must_use]
    pub fn compare_key(self, other: &[u8]) -> cmp::Ordering {
        self.place.compare_key(KeySource::Bytes(other))
    }
}

impl<'v, T: Lines> View<'v, T> {
    pub(crate) fn new(memory: &'v T, tables: &'v Tables<T::Machine>) -> Self {
        Self { memory, tables }
    }

    /// The caller has met what no finished run would have shown it: [`Lines::trap`].
    pub fn trap(&self, why: &'static str) -> ! {
        self.memory.trap(why)
    }

    pub(crate) fn table(&self, table: TableId) -> &'v Table<T::Machine> {
        match self.tables.get(table.0) {
            Some(table) => table,
            None => self.memory.trap("a table that does not exist"),
        }
    }

    /// A table that a task writes.
    fn writable(&self, table: TableId) -> &'v Table<T::Machine> {
        let table = self.table(table);
        if !table.secondary.is_empty() || table.state.get() != State::Open {
            self.memory
                .trap("tasks write tables without secondary indexes that are open to transactions");
        }
        table
    }

    /// The row of a key.
    #[must_use]
    pub fn find(&self, table: TableId, key: &[u8]) -> Option<Record<'_, T>> {
        T::Machine::work(Cost::Operation, 1);
        let place = self.find_place(self.table(table), KeySource::Bytes(key))?;
        Some(self.record(place))
    }

    /// The row of a key that is there in every run that has finished.
    #[must_use]
    pub fn get(&self, table: TableId, key: &[u8]) -> Record<'_, T> {
        match self.find(table, key) {
            Some(record) => record,
            None => self.trap("a row is missing"),
        }
    }

    /// Inserts a row, whose key is free in every run that has finished.
    pub fn insert(&mut self, table: TableId, key: &[u8], value: &[u8]) {
        T::Machine::work(Cost::Operation, 1);
        let table = self.writable(table);
        match self.insert_row(table, key, value) {
            Ok(true) => {}
            Ok(false) => self.trap("a key is taken"),
            Err(NoMemory) => self.trap("no memory for a row"),
        }
    }

    /// Makes room in an ordered table for rows that other tasks are about to insert side by side: this key, and the
    /// next ones, which differ in their last byte. They would make it themselves, but meet while they do.
    pub fn make_room(&mut self, table: TableId, key: &[u8], keys: usize) {
        T::Machine::work(Cost::Operation, 1);
        let table = self.writable(table);
        let room = match &table.index {
            Index::Ordered(root) => {
                Tree::new(root, self.memory).make_room(KeySource::Bytes(key), keys)
            }
            // Rows that follow each other lie apart in any case.
            Index::Spread(_) | Index::Hash(_) => Ok(()),
        };
        if room.is_err() {
            self.trap("no memory for an index");
        }
    }

    /// Gives a row that is there a value of another length, perhaps.
    pub fn replace(&mut self, table: TableId, key: &[u8], value: &[u8]) {
        T::Machine::work(Cost::Operation, 1);
        let table = self.writable(table);
        let Some(place) = self.find_place(table, KeySource::Bytes(key)) else {
            self.trap("a row is missing");
        };
        if self.replace_value(table, place, value).is_err() {
            self.trap("no memory for a row");
        }
    }

    /// Removes a row that is there.
    pub fn remove(&mut self, table: TableId, key: &[u8]) {
        T::Machine::work(Cost::Operation, 1);
        let table = self.writable(table);
        if !self.remove_row(table, key) {
            self.trap("a row that is removed is missing");
        }
    }

    /// Gives the rows of a range to `visit`, in its direction, until that says that it has enough.
    pub fn scan(
        &self,
        table: TableId,
        range: &Range<'_>,
        visit: &mut dyn FnMut(Record<'_, T>) -> bool,
    ) {
        T::Machine::work(Cost::Operation, 1);
        if matches!(self.table(table).index, Index::Spread(_)) {
            self.trap("a task scans a table that is spread");
        }
        self.scan_places(self.table(table), range, &mut |place| visit(self.record(place)));
    }

    /// As [`View::scan`], in a secondary index: gives keys of the index, whose values are primary keys.
    pub fn scan_index(
        &self,
        table: TableId,
        index: usize,
        range: &Range<'_>,
        visit: &mut dyn FnMut(Record<'_, T>) -> bool,
    ) {
        let Some(index) = self.table(table).secondary.get(index) else {
            self.trap("an index that does not exist");
        };
        self.scan(index.table, range, visit);
    }

    fn record(&self, place: Place<T::Machine>) -> Record<'_, T> {
        Record { memory: self.memory, place, view: PhantomData }
    }

    /// What leads to the row of a key.
    fn way<'t>(&self, table: &'t Table<T::Machine>, key: KeySource<'_, T::Machine>) -> Way<'t, T>
    where
        'v: 't,
    {
        match &table.index {
            Index::Ordered(root) => Way::Tree(Tree::new(root, self.memory)),
            Index::Spread(roots) => {
                let part = hash(key) as usize % roots.len();
                Way::Tree(Tree::new(&roots[part], self.memory))
            }
            Index::Hash(directory) => Way::Hash(Hash::new(directory, self.memory)),
        }
    }

    pub(crate) fn find_place(
        &self,
        table: &Table<T::Machine>,
        key: KeySource<'_, T::Machine>,
    ) -> Option<Place<T::Machine>> {
        match self.way(table, key) {
            Way::Tree(tree) => tree.find(key),
            Way::Hash(hash) => hash.find(key),
        }
    }

    /// Gives the rows of a range to `visit`; a hash table has none. Of a spread table the host keeps a list meanwhile, which
    /// graphs of tasks have no use for.
    pub(crate) fn scan_places(
        &self,
        table: &Table<T::Machine>,
        range: &Range<'_>,
        visit: &mut dyn FnMut(Place<T::Machine>) -> bool,
    ) {
        let (low, high) = (range.low.map(KeySource::Bytes), range.high.map(KeySource::Bytes));
        let span = Span { low, high, reverse: range.reverse, one: range.limit == 1 };
        let mut left = range.limit;
        let mut limited = |place| {
            left -= 1;
            visit(place) && left > 0
        };
        match &table.index {
            _ if range.limit == 0 => {}
            Index::Ordered(root) => Tree::new(root, self.memory).scan(&span, &mut limited),
            Index::Spread(roots) => {
                let mut found = Vec::new();
                for root in roots {
                    Tree::new(root, self.memory).scan(&span, &mut |place| {
                        found.push(place);
                        true
                    });
                }
                found.sort_unstable_by(|one, two| one.compare_key(KeySource::Of(*two)));
                if range.reverse {
                    found.reverse();
                }
                found.into_iter().all(limited);
            }
            Index::Hash(_) => self.trap("a hash table is scanned"),
        }
    }

    /// Gives all rows of a table to `visit`, in no order.
    pub(crate) fn each(&self, table: &Table<T::Machine>, visit: &mut dyn FnMut(Place<T::Machine>)) {
        match &table.index {
            Index::Ordered(_) | Index::Spread(_) => {
                self.scan_places(table, &Range::all(), &mut |place| {
                    visit(place);
                    true
                })
            }
            Index::Hash(directory) => Hash::new(directory, self.memory).each(visit),
        }
    }

    /// Inserts a row; says whether its key was free.
    pub(crate) fn insert_row(
        &mut self,
        table: &Table<T::Machine>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, NoMemory> {
        let row = Place::make(self.memory, key, value, table.spec.placement.apart)?;
        let inserted = match self.way(table, KeySource::Bytes(key)) {
            Way::Tree(tree) => tree.insert(row),
            Way::Hash(hash) => hash.insert(row),
        };
        if inserted != Ok(true) {
            // SAFETY: just made, and not inserted.
            unsafe { row.free(self.memory) };
        }
        inserted
    }

    /// Gives a row another value, in its block or in one that takes its place.
    pub(crate) fn replace_value(
        &mut self,
        table: &Table<T::Machine>,
        place: Place<T::Machine>,
        value: &[u8],
    ) -> Result<(), NoMemory> {
        if place.replace(value) {
            return Ok(());
        }
        let larger = place.copy_with(self.memory, value)?;
        match self.way(table, KeySource::Of(larger)) {
            Way::Tree(tree) => tree.exchange(larger),
            Way::Hash(hash) => hash.exchange(larger),
        }
        // SAFETY: the index leads to the other one now, and the view is the caller's alone.
        unsafe { place.free(self.memory) };
        Ok(())
    }

    /// Removes the row of a key; says whether there was one.
    pub(crate) fn remove_row(&mut self, table: &Table<T::Machine>, key: &[u8]) -> bool {
        let key = KeySource::Bytes(key);
        let row = match self.way(table, key) {
            // SAFETY: the view is the caller's alone: nobody is in the tree.
            Way::Tree(tree) => unsafe { tree.remove(key) },
            Way::Hash(hash) => hash.remove(key),
        };
        if let Some(row) = row {
            // SAFETY: it was taken out of the index, and the view is the caller's alone.
            unsafe { row.free(self.memory) };
        }
        row.is_some()
    }
}

impl<T: Tasks> View<'_, T> {
    /// Enqueues a child: [`Tasks::enqueue`].
    #[inline]
    pub fn enqueue(&self, function: FunctionId, timestamp: u64, words: &[u64], hint: Option<u64>) {
        self.memory.enqueue(function, timestamp, words, hint);
    }
}
