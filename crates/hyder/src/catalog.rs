//! Tables: declared by items of the shared log, so that every server has the same ones under the same numbers.

use chiliad_api::catalog::{Blob, TABLE_NUMBERS_MAX};
use chiliad_api::{Error, Result, Secondary, TableId, TableLayout, TableSpec, Writes};
use chiliad_log::codec::{Decoder, put_blob};
use std::sync::Arc;

/// A table, or what holds the entries of a secondary index.
pub struct Table {
    /// Its declaration.
    pub spec: TableSpec,
    /// Its secondary indexes.
    pub indexes: Vec<Secondary>,
    /// It holds the entries of an index.
    is_index: bool,
    /// It is a group of columns of another table, and holds their parts of its rows.
    pub is_group: bool,
}

/// All tables, as of some state.
#[derive(Clone, Default)]
pub struct Catalog {
    /// By number; nothing where one was dropped.
    tables: Vec<Option<Arc<Table>>>,
}

/// A change of the catalog.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    Create(TableSpec),
    Drop(String),
    Seal(String),
    Layout(TableId, TableLayout),
}

impl Catalog {
    /// The numbers given out so far.
    pub fn numbers(&self) -> u32 {
        self.tables.len() as u32
    }

    /// A table by number.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn get(&self, id: TableId) -> Result<&Arc<Table>> {
        let table = self.tables.get(id.0 as usize).and_then(Option::as_ref);
        table.ok_or_else(|| Error::UnknownTable(format!("number {}", id.0)))
    }

    /// A table by name.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn find(&self, name: &str) -> Result<TableId> {
        let numbered = (0..).map(TableId).zip(&self.tables);
        let mut tables = numbered.filter_map(|(id, table)| Some((id, table.as_ref()?)));
        let found = tables.find(|(_, table)| !table.is_index && table.spec.name == name);
        found.map(|(id, _)| id).ok_or_else(|| Error::UnknownTable(name.into()))
    }

    /// The tables that were created, without their groups and those of their indexes.
    pub fn declared(&self) -> impl Iterator<Item = (TableId, &Arc<Table>)> {
        let numbered = (0..).map(TableId).zip(&self.tables);
        let tables = numbered.filter_map(|(id, table)| Some((id, table.as_ref()?)));
        tables.filter(|(_, table)| !table.is_index && !table.is_group)
    }

    /// Makes a change, and returns the number of the table that it is about.
    ///
    /// # Errors
    /// Why it cannot be made: a function of the catalog and the change, as every server must come to the same.
    pub fn change(&mut self, change: Change) -> Result<TableId> {
        match change {
            Change::Create(spec) => self.create(spec),
            Change::Drop(name) => self.drop_table(&name),
            Change::Seal(name) => self.seal(&name),
            Change::Layout(id, layout) => self.redeclare(id, |spec| spec.change_layout(layout)),
        }
    }

    /// Its bytes, for a checkpoint.
    pub fn encode(&self) -> Vec<u8> {
        let tables = self.declared().map(|(id, table)| (id.0, table.spec.clone())).collect();
        Blob { next: self.numbers(), tables, ..Blob::default() }.encode()
    }

    /// Reads what [`Catalog::encode`] has written; `None` if the bytes are no catalog.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let blob = Blob::decode(bytes)?;
        let mut catalog = Self { tables: vec![None; blob.next as usize] };
        for (number, spec) in blob.tables {
            for (at, table) in (number as usize..).zip(tables_of(TableId(number), spec)) {
                *catalog.tables.get_mut(at)? = Some(Arc::new(table));
            }
        }
        Some(catalog)
    }

    fn create(&mut self, spec: TableSpec) -> Result<TableId> {
        spec.validate()?;
        if spec.layout == TableLayout::Unknown {
            let what = format!("table {}: a new table has columns, or holds bytes", spec.name);
            return Err(Error::InvalidOption(what));
        }
        let groups = spec.group_tables().map(|group| group.name);
        for name in core::iter::once(spec.name.clone()).chain(groups) {
            if self.find(&name).is_ok() {
                return Err(Error::TableExists(name));
            }
        }
        let numbers = spec.numbers() as u64;
        if u64::from(self.numbers()) + numbers > u64::from(TABLE_NUMBERS_MAX) {
            let what = format!("table {}: all {TABLE_NUMBERS_MAX} numbers are used", spec.name);
            return Err(Error::InvalidOption(what));
        }
        let id = TableId(self.numbers());
        self.tables.extend(tables_of(id, spec).into_iter().map(|table| Some(Arc::new(table))));
        Ok(id)
    }

    fn drop_table(&mut self, name: &str) -> Result<TableId> {
        let id = self.find_whole(name)?;
        let numbers = self.get(id)?.spec.numbers();
        self.tables[id.0 as usize..id.0 as usize + numbers].fill(None);
        Ok(id)
    }

    /// A table by name, but no group of one.
    fn find_whole(&self, name: &str) -> Result<TableId> {
        let id = self.find(name)?;
        if self.get(id)?.is_group { Err(Error::UnknownTable(name.into())) } else { Ok(id) }
    }

    fn seal(&mut self, name: &str) -> Result<TableId> {
        let id = self.find_whole(name)?;
        self.redeclare(id, |spec| match spec.writes {
            Writes::Transactions => {
                let what = format!("table {}: not declared read-only", spec.name);
                Err(Error::InvalidOption(what))
            }
            _ => {
                spec.writes = Writes::Nobody;
                Ok(())
            }
        })?;
        for group in 0..self.get(id)?.spec.groups.len() {
            self.redeclare(id.group(group), |spec| {
                spec.writes = Writes::Nobody;
                Ok(())
            })?;
        }
        Ok(id)
    }

    fn redeclare(
        &mut self,
        id: TableId,
        change: impl FnOnce(&mut TableSpec) -> Result<()>,
    ) -> Result<TableId> {
        let table = self.get(id)?;
        let mut spec = table.spec.clone();
        change(&mut spec)?;
        let indexes = spec.indexes(id);
        let (is_index, is_group) = (table.is_index, table.is_group);
        let table = Table { spec, indexes, is_index, is_group };
        self.tables[id.0 as usize] = Some(Arc::new(table));
        Ok(id)
    }
}

impl Change {
    /// Its bytes in an item of the log, after the number of the item among those of its server.
    pub fn encode(&self, local: u64) -> Vec<u8> {
        let mut out = local.to_le_bytes().to_vec();
        let declared = |spec: TableSpec| {
            let next = spec.numbers() as u32;
            Blob { next, tables: vec![(0, spec)], ..Blob::default() }.encode()
        };
        match self {
            Self::Create(spec) => {
                out.push(0);
                out.extend(declared(spec.clone()));
            }
            Self::Drop(name) => {
                out.push(1);
                put_blob(&mut out, name.as_bytes());
            }
            Self::Seal(name) => {
                out.push(2);
                put_blob(&mut out, name.as_bytes());
            }
            Self::Layout(id, layout) => {
                out.push(3);
                out.extend(id.0.to_le_bytes());
                let layout = layout.clone();
                out.extend(declared(TableSpec { layout, ..TableSpec::ordered("t") }));
            }
        }
        out
    }

    /// Reads what [`Change::encode`] has written; `None` if the bytes are no change.
    pub fn decode(bytes: &[u8]) -> Option<(u64, Self)> {
        let mut from = Decoder::new(bytes);
        let local = from.u64()?;
        let kind = from.u8()?;
        let change = match kind {
            0 => Self::Create(take_spec(from.bytes(from.left())?)?),
            1 => Self::Drop(from.text()?.to_owned()),
            2 => Self::Seal(from.text()?.to_owned()),
            3 => {
                let id = TableId(from.u32()?);
                let spec = take_spec(from.bytes(from.left())?)?;
                Self::Layout(id, spec.layout)
            }
            _ => return None,
        };
        from.is_empty().then_some((local, change))
    }
}

/// The table of number `id`, and after it its groups, and those of its indexes.
fn tables_of(id: TableId, spec: TableSpec) -> Vec<Table> {
    let indexes = spec.indexes(id);
    let of_indexes: Vec<_> = spec
        .secondary
        .iter()
        .map(|index| TableSpec::ordered(&format!("{}/{}", spec.name, index.name)))
        .map(|spec| Table { spec, indexes: Vec::new(), is_index: true, is_group: false })
        .collect();
    let groups: Vec<_> = spec.group_tables().collect();
    let table = |spec, indexes, is_group| Table { spec, indexes, is_index: false, is_group };
    let mut tables = vec![table(spec, indexes, false)];
    tables.extend(groups.into_iter().map(|spec| table(spec, Vec::new(), true)));
    tables.extend(of_indexes);
    tables
}

fn take_spec(bytes: &[u8]) -> Option<TableSpec> {
    let [(_, spec)] = <[_; 1]>::try_from(Blob::decode(bytes)?.tables).ok()?;
    Some(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chiliad_api::{Column, Layout};

    #[test]
    fn changes_come_back() {
        let column = |name: &str| Column::new(name, "u64".parse().expect("a type"));
        let layout = Layout { key: vec![column("k")], row: vec![column("v")] };
        let spec = TableSpec::hash("h", 10).with_layout(layout.clone());
        let spec = spec.with_group(chiliad_api::GroupSpec::new("g"));
        for change in [
            Change::Create(spec),
            Change::Drop("h".into()),
            Change::Seal("h".into()),
            Change::Layout(TableId(3), TableLayout::Columns(layout)),
        ] {
            let bytes = change.encode(9);
            assert_eq!(Change::decode(&bytes), Some((9, change)));
            assert_eq!(Change::decode(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn it_comes_back_with_the_numbers_of_what_was_dropped() {
        let mut catalog = Catalog::default();
        for name in ["a", "b", "c"] {
            catalog.change(Change::Create(TableSpec::ordered(name))).expect("a table");
        }
        for name in ["a", "c"] {
            catalog.change(Change::Drop(name.into())).expect("dropped");
        }
        let read = Catalog::decode(&catalog.encode()).expect("a catalog");
        assert_eq!(read.numbers(), 3);
        assert_eq!(read.find("b").expect("there"), TableId(1));
        assert!(read.get(TableId(0)).is_err() && read.get(TableId(2)).is_err());
    }

    #[test]
    fn numbers_are_never_given_out_again() {
        let mut catalog = Catalog::default();
        let create = |catalog: &mut Catalog, name: &str| {
            catalog.change(Change::Create(TableSpec::ordered(name))).expect("a table")
        };
        assert_eq!(create(&mut catalog, "a"), TableId(0));
        catalog.change(Change::Drop("a".into())).expect("dropped");
        assert_eq!(create(&mut catalog, "a"), TableId(1));
        assert!(catalog.get(TableId(0)).is_err());
    }
}
