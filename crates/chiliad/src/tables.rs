//! The tables of a database: created, opened, dropped, loaded.

use crate::declare;
use crate::form::Form;
use crate::positions::Numbering;
use crate::raw::{TableId, TableLayout, TableSpec, Writes};
use crate::{Database, Error, Key, Result, Row, Table};
use std::collections::HashMap;
use std::sync::{MutexGuard, PoisonError};

impl Database {
    /// Creates an ordered table, with the secondary indexes that its row type declares.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidOption`] for a name that is empty or contains `/`,
    /// [`Error::OutOfMemory`].
    pub fn create_table<K: Key, V: Row>(&self, name: &str) -> Result<Table<K, V>> {
        self.create_table_with(TableSpec::ordered(name))
    }

    /// Creates a table as `spec` says, with the columns of its key and row types, and the secondary
    /// indexes that its row type declares, in place of those in the specification.
    ///
    /// ```
    /// use chiliad::raw::TableSpec;
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// // Rows found by hash: faster for single keys, and without scans. The number is a hint.
    /// let sessions: Table<u64, String> = db.create_table_with(TableSpec::hash("sessions", 1_000))?;
    /// // Never read by snapshots: what is removed leaves at once, as suits a queue.
    /// let queue: Table<u64, String> =
    ///     db.create_table_with(TableSpec::ordered("queue").present_only())?;
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Database::create_table`].
    pub fn create_table_with<K: Key, V: Row>(&self, spec: TableSpec) -> Result<Table<K, V>> {
        let spec = declare::spec::<K, V>(spec)?;
        declare::check_expiry::<V>(&spec)?;
        let form = declare::form(&spec, &Table::<K, V>::layout())?;
        let id = self.create_table_raw(spec)?;
        self.handle_of(id, form, Numbering::USUAL)
    }

    /// Creates a table for the untyped interface; see [`raw`](crate::raw).
    ///
    /// # Errors
    /// As for [`Database::create_table`].
    pub fn create_table_raw(&self, spec: TableSpec) -> Result<TableId> {
        // Held throughout, so that nobody finds the table before its declaration.
        let mut declared = self.declared();
        let id = self.shared.engine.create_table(spec.clone())?;
        for (id, spec) in spec.with_groups(id) {
            self.shared.schemas.keep(id, &spec);
            declared.insert(id, spec);
        }
        Ok(id)
    }

    /// Opens a table by name. Its keys and rows must be of the columns that it was created with, the
    /// same in number, names, types and order, and its secondary indexes those that `V` declares. So a
    /// type that has changed since is refused, rather than reading other fields from the same bytes:
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// let ages: Table<u64, u32> = db.create_table("ages")?;
    /// let refused = db.table::<u64, f32>("ages").unwrap_err();
    /// assert!(matches!(refused, Error::LayoutDiffers(_)));
    /// assert!(refused.to_string().contains("0 u32 in the table, 0 f32 in the type"));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// A type that has gained columns with a default (`#[row(default)]`, `#[row(default = expression)]`) opens the table
    /// all the same. The table's schema gets one more version, and no row is rewritten: rows of earlier versions have the
    /// default that is stated then, for good. Handles of the type before are refused from then on
    /// ([`Error::SchemaChanged`]) where they meet a row that is newer than they are.
    ///
    /// ```
    /// # use chiliad::{Database, Row, Table};
    /// #[derive(Row)]
    /// struct PersonOfRelease1 {
    ///     name: String,
    /// }
    ///
    /// #[derive(Row, Debug, PartialEq)]
    /// struct Person {
    ///     name: String,
    ///     #[row(default = 18)]
    ///     age: u8,
    /// }
    ///
    /// # let db = Database::in_memory()?;
    /// let people: Table<u64, PersonOfRelease1> = db.create_table("people")?;
    /// db.run(|tx| tx.insert(&people, &1, &PersonOfRelease1 { name: "ann".into() }))?;
    ///
    /// let people: Table<u64, Person> = db.table("people")?;
    /// let ann = db.run(|tx| tx.get(&people, &1))?;
    /// assert_eq!(ann, Some(Person { name: "ann".into(), age: 18 }));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// [`Database::change_schema`] makes other changes.
    ///
    /// A table of bytes ([`Database::create_table_raw`] without columns) is not opened so. Of tables in
    /// a directory written before columns were kept, the first opening declares the columns, and the
    /// catalog keeps them from then on; nothing tells whether they are those that the rows were
    /// written with.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::LayoutDiffers`] with the first column or index that differs.
    pub fn table<K: Key, V: Row>(&self, name: &str) -> Result<Table<K, V>> {
        let layout = Table::<K, V>::layout();
        // Held throughout, so that of two threads that would declare the columns one does.
        let mut declared = self.declared();
        let (id, stored) = by_name(&declared, name)?;
        let mut spec = stored.clone();
        let adopted = match &spec.layout {
            TableLayout::Unknown => Some(TableLayout::Columns(layout.clone())),
            TableLayout::Schema(schema) => {
                let grown = declare::grown::<V>(schema, &layout)?;
                declare::with_expiry::<V>(&spec.layout, grown)
            }
            TableLayout::Columns(_) | TableLayout::Bytes => None,
        };
        if let Some(layout) = &adopted {
            spec.layout = layout.clone();
        }
        declare::check_expiry::<V>(&spec)?;
        let form = declare::form(&spec, &layout)?;
        // Of a table whose columns are not known, it is the indexes that may differ.
        let compared = if stored.layout == TableLayout::Unknown { stored } else { &spec };
        if let Some(differs) = compared.differs(&layout, &declare::indexes::<V>(&spec, &layout)) {
            return Err(Error::LayoutDiffers(Box::new(differs)));
        }
        if let Some(layout) = adopted {
            match self.shared.engine.change_layout(id, layout) {
                // Kept for this opening where nothing can be written.
                Ok(()) | Err(Error::OpenedReadOnly | Error::LogFailed(_)) => {}
                Err(error) => return Err(error),
            }
            declared.insert(id, spec.clone());
        }
        self.shared.schemas.keep(id, &spec);
        let numbering = self.numbering::<V>(id)?;
        self.handle_of(id, form, numbering)
    }

    /// Which indexes of a table those of `V` are.
    fn numbering<V: Row>(&self, table: TableId) -> Result<Numbering> {
        let indexes = V::indexes().into_iter();
        let position = |name: &str| self.shared.engine.position_of_index(table, name);
        let positions = indexes.map(|index| position(&index.name)).collect::<Result<_>>()?;
        Ok(self.shared.schemas.positions().numbering(positions))
    }

    /// The handle of a table, which is swept from now on if its rows expire.
    fn handle_of<K: Key, V: Row>(
        &self,
        id: TableId,
        form: Form,
        numbering: Numbering,
    ) -> Result<Table<K, V>> {
        let table = Table::new(id, self.shared.rules.database, form, numbering);
        if let (Some(expiring), Some(sweeper)) = (table.expiring, &self.shared.sweeper) {
            sweeper.sweep(id, expiring)?;
        }
        Ok(table)
    }

    /// The number and the declaration of a table, for the untyped interface.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn table_raw(&self, name: &str) -> Result<(TableId, TableSpec)> {
        by_name(&self.declared(), name).map(|(id, spec)| (id, spec.clone()))
    }

    /// The position of an index of a table, by which [`Transaction::scan_index`](crate::raw::Transaction::scan_index)
    /// knows it. It stays the same while others come and go.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::UnknownIndex`].
    pub fn index_position_raw(&self, table: TableId, index: &str) -> Result<usize> {
        self.shared.engine.position_of_index(table, index)
    }

    /// Drops a table and its secondary indexes. Handles of it are no longer good, even if a table of
    /// the same name is created later. Transactions that have begun may finish with it.
    ///
    /// Its memory serves other tables from then on: rows, keys and index nodes of the same sizes; the
    /// buckets of a hash table return to the system. The call takes its time for that, about as long
    /// as a look at every row; where transactions that began before it still run, the ticker does it
    /// after them. One that never ends holds the memory back, as [`Database::stats`] tells.
    ///
    /// ```
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// let old: Table<u64, u64> = db.create_table("numbers")?;
    /// db.drop_table("numbers")?;
    /// let new: Table<u64, u64> = db.create_table("numbers")?;
    /// assert!(matches!(db.run(|tx| tx.get(&old, &1)), Err(Error::UnknownTable(_))));
    /// assert_eq!(db.run(|tx| tx.get(&new, &1))?, None);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut declared = self.declared();
        let (id, _) = by_name(&declared, name)?;
        declared.remove(&id);
        // Not held while a large table is taken apart. Until the engine has dropped it, it refuses
        // another one of this name.
        drop(declared);
        self.shared.engine.drop_table(name)
    }

    /// Puts many rows into a table, faster than transactions do, and says how many. Ascending keys
    /// are fastest.
    ///
    /// It is no transaction: others see rows as they come, and nothing is undone. After an error (a
    /// [`DuplicateKey`](Error::DuplicateKey) names the row at which it stopped), and after a panic of
    /// the iterator, the rows before are there; to be rid of them, drop the table. Use it while nobody
    /// else uses the table. Snapshots begun later see all of the rows. Inside a transaction's closure it is what
    /// another transaction would be there: where it meets what that one holds, it ends with [`Error::Nested`].
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let squares: Table<u64, u64> = db.create_table("squares")?;
    /// assert_eq!(db.bulk_load(&squares, (0..1_000).map(|n| (n, n * n)))?, 1_000);
    /// assert_eq!(db.run(|tx| tx.get(&squares, &30))?, Some(900));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Transaction::insert`](crate::Transaction::insert), [`Error::DuplicateKey`] among them;
    /// [`Error::Nested`].
    pub fn bulk_load<K: Key, V: Row>(
        &self,
        table: &Table<K, V>,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64> {
        self.check_own(table)?;
        let mut own = self.own()?;
        let session = own.session();
        let rules = self.rules();
        let outer = session.begin_load(rules);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut loaded = 0;
        for (k, v) in rows {
            key.clear();
            k.encode(&mut key);
            table.form.write(&v, &mut value);
            let loads = session.load(rules, &outer, table.id, (&key, &value));
            loads.map_err(|error| table.tell(error))?;
            loaded += 1;
        }
        session.end_load()?;
        self.shared.engine.reach_snapshot();
        Ok(loaded)
    }

    /// Loads rows by the untyped interface: encoded keys with encoded rows.
    ///
    /// # Errors
    /// As for [`Database::bulk_load`].
    pub fn bulk_load_raw<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        table: TableId,
        rows: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64> {
        let mut own = self.own()?;
        let session = own.session();
        let rules = self.rules();
        let outer = session.begin_load(rules);
        let mut loaded = 0;
        for (key, value) in rows {
            session.load(rules, &outer, table, (key.as_ref(), value.as_ref()))?;
            loaded += 1;
        }
        session.end_load()?;
        self.shared.engine.reach_snapshot();
        Ok(loaded)
    }

    /// Ends the loading of a table that was declared read-only
    /// ([`TableSpec::read_only`](crate::raw::TableSpec::read_only)).
    ///
    /// Only [`bulk_load`](Database::bulk_load) writes to such a table, and nobody once it is sealed.
    /// From then on reading it costs no lock, no timestamp and no validation, under any scheme. It
    /// stays so when the database is opened again; it can be dropped like any other.
    ///
    /// ```
    /// use chiliad::raw::TableSpec;
    /// # use chiliad::{Database, Error, Table};
    /// # let db = Database::in_memory()?;
    /// let rates: Table<u64, u64> =
    ///     db.create_table_with(TableSpec::ordered("rates").read_only())?;
    /// db.bulk_load(&rates, [(1, 19), (2, 7)])?;
    /// db.seal(&rates)?;
    /// assert_eq!(db.run(|tx| tx.get(&rates, &2))?, Some(7));
    /// let refused = db.run(|tx| tx.insert(&rates, &3, &0));
    /// assert_eq!(refused, Err(Error::ReadOnlyTable("rates".into())));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOption`] for a table that was not declared so; [`Error::UnknownTable`];
    /// [`Error::LogFailed`], [`Error::OpenedReadOnly`].
    pub fn seal<K: Key, V: Row>(&self, table: &Table<K, V>) -> Result<()> {
        self.check_own(table)?;
        self.seal_raw(table.id)
    }

    /// Seals a table, by the untyped interface.
    ///
    /// # Errors
    /// As for [`Database::seal`].
    pub fn seal_raw(&self, table: TableId) -> Result<()> {
        let unknown = || Error::UnknownTable(format!("number {}", table.0));
        let name = self.declared().get(&table).ok_or_else(unknown)?.name.clone();
        self.shared.engine.seal(&name)?;
        if let Some(spec) = self.declared().get_mut(&table) {
            spec.writes = Writes::Nobody;
        }
        Ok(())
    }

    fn check_own<K: Key, V: Row>(&self, table: &Table<K, V>) -> Result<()> {
        if table.database != self.shared.rules.database {
            return Err(Error::UnknownTable(format!("number {} of another", table.id.0)));
        }
        Ok(())
    }

    pub(crate) fn declared(&self) -> MutexGuard<'_, HashMap<TableId, TableSpec>> {
        let mut declared = self.shared.declared.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shared.joined.is_some() {
            // Other servers declare tables too.
            *declared = declare::all(&*self.shared.engine);
        }
        declared
    }
}

impl Database {
    /// The declarations, held, and the number of a table.
    pub(crate) fn declared_table(
        &self,
        name: &str,
    ) -> Result<(MutexGuard<'_, HashMap<TableId, TableSpec>>, TableId)> {
        let declared = self.declared();
        let (id, _) = by_name(&declared, name)?;
        Ok((declared, id))
    }
}

fn by_name<'a>(
    declared: &'a HashMap<TableId, TableSpec>,
    name: &str,
) -> Result<(TableId, &'a TableSpec)> {
    let mut tables = declared.iter();
    let found = tables.find(|(_, spec)| spec.name == name);
    found.map(|(&id, spec)| (id, spec)).ok_or_else(|| Error::UnknownTable(name.into()))
}
