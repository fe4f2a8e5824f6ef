//! SwarmDB as a database of any engine: tables, and one session at a time.

use crate::base::Base;
use crate::memory::{Memory, NoMemory};
use crate::session::SwarmSession;
use crate::table::{State, Table};
use crate::tasks::Bodies;
use crate::view::View;
use chiliad_api::{
    Error, Info, Isolation, Result, Session, Stats, Store, TableId, TableLayout, TableSpec, Writes,
};
use chiliad_machine::Machine;
use core::time::Duration;
use std::rc::Rc;

/// What SwarmDB promises.
pub const INFO: Info = Info {
    name: "swarm",
    summary: "transactions as ordered tasks on hardware that speculates; no concurrency control",
    isolation: Isolation::Serializable,
    strict: true,
    order_follows_reads: true,
    snapshots: false,
    needs_partitions: false,
    wait_timeout: Duration::ZERO,
    source: "Yan, 2015",
};

/// A database. Its statements run one after another: outside of tasks there is one session at a time, and none while
/// tasks run.
pub struct Swarm<M: Machine>(Rc<Base<M>>);

impl<M: Machine> Default for Swarm<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Machine> Swarm<M> {
    /// A database without tables.
    #[must_use]
    pub fn new() -> Self {
        Self(Rc::new(Base::new()))
    }

    /// All rows of a table, by key: for comparisons. Whatever a transaction in progress has written is among them.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn rows(&self, table: TableId) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let of = self.0.tables.get(table.0);
        let of = of.ok_or_else(|| Error::UnknownTable(table.0.to_string()))?;
        let memory = Memory(&self.0.pool);
        let mut rows = Vec::new();
        View::new(&memory, &self.0.tables).each(of, &mut |place| {
            let (mut key, mut value) = (vec![0; place.key_bytes()], vec![0; place.value_bytes()]);
            place.read_key(0, &mut key);
            let is_read = place.read(0, &mut value);
            debug_assert!(is_read.is_some(), "the whole value");
            rows.push((key, value));
        });
        rows.sort_unstable();
        Ok(rows)
    }

    /// Lines of memory that its rows and indexes take.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.0.pool.taken()
    }

    /// Its tables and memory.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`] while a session is open.
    pub(crate) fn base(&mut self) -> Result<&Base<M>> {
        Rc::get_mut(&mut self.0).map(|base| &*base).ok_or(Error::TooManyWorkers { workers_max: 1 })
    }

    /// A program of tasks: the bodies of `graph` on this database.
    ///
    /// # Errors
    /// [`Error::TooManyWorkers`] while a session is open.
    pub fn bodies<G>(&mut self, graph: G) -> Result<Bodies<'_, M, G>> {
        let base = self.base()?;
        Ok(Bodies::new(&base.pool, &base.tables, graph))
    }
}

fn out_of_memory(_: NoMemory) -> Error {
    Error::OutOfMemory { limit_bytes: u64::MAX }
}

impl<M: Machine> Store<M> for Swarm<M> {
    fn info(&self) -> Info {
        INFO
    }

    fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        spec.validate()?;
        let base = &*self.0;
        let groups: Vec<_> = spec.group_tables().collect();
        for name in [&spec.name].into_iter().chain(groups.iter().map(|group| &group.name)) {
            if base.named(name).is_ok() {
                return Err(Error::TableExists(name.clone()));
            }
        }
        let number = base.tables.next() as u32;
        let memory = Memory(&base.pool);
        let secondary = spec.indexes(TableId(number));
        let indexes: Vec<_> = spec
            .secondary
            .iter()
            .map(|index| Table::new(&memory, TableSpec::ordered(&index.name), Vec::new()))
            .collect::<core::result::Result<_, _>>()
            .map_err(out_of_memory)?;
        let table = Table::new(&memory, spec, secondary).map_err(out_of_memory)?;
        let mut is_added = base.tables.add(table);
        for group in groups {
            let table = Table::new(&memory, group, Vec::new()).map_err(out_of_memory)?;
            is_added &= base.tables.add(Table { is_group: true, ..table });
        }
        for index in indexes {
            index.state.set(State::Index);
            is_added &= base.tables.add(index);
        }
        if is_added {
            return Ok(TableId(number));
        }
        Err(Error::InvalidOption(format!("no more than {} tables", crate::table::TABLES_MAX)))
    }

    fn change_layout(&self, table: TableId, _layout: TableLayout) -> Result<()> {
        let known =
            self.0.tables.get(table.0).ok_or_else(|| Error::UnknownTable(table.0.to_string()));
        let name = &known?.spec.name;
        Err(Error::InvalidOption(format!(
            "the columns of table {name} are what it was created with"
        )))
    }

    fn seal(&self, name: &str) -> Result<()> {
        let (_, table) = self.0.named(name)?;
        if table.spec.writes == Writes::Transactions {
            return Err(Error::InvalidOption(format!("table {name} is not declared read-only")));
        }
        self.0.groups_of(name)?.for_each(|group| group.state.set(State::Sealed));
        table.state.set(State::Sealed);
        Ok(())
    }

    fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let named = self.0.tables.named().filter(|(_, table)| table.is_whole());
        named.map(|(number, table)| (TableId(number), table.spec.clone())).collect()
    }

    fn table(&self, name: &str) -> Result<TableId> {
        self.0.named(name).map(|(number, _)| TableId(number))
    }

    /// Its memory stays until the database goes.
    fn drop_table(&self, name: &str) -> Result<()> {
        let (_, table) = self.0.named(name)?;
        let indexes = table.secondary.iter().filter_map(|index| self.0.tables.get(index.table.0));
        for table in self.0.groups_of(name)?.chain(indexes).chain([table]) {
            table.state.set(State::Dropped);
        }
        Ok(())
    }

    fn session(&self) -> Result<Box<dyn Session<M>>> {
        if Rc::strong_count(&self.0) > 1 {
            return Err(Error::TooManyWorkers { workers_max: 1 });
        }
        Ok(Box::new(SwarmSession::new(Rc::clone(&self.0))))
    }

    fn tick(&self) {}

    fn epoch(&self) -> u64 {
        1
    }

    fn reach_snapshot(&self) {}

    fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        stats.committed = self.0.committed();
        stats.rolled_back = self.0.rolled_back();
        stats
    }
}
