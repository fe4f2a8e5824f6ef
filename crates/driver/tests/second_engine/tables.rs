//! Tables: sorted maps from keys to versions, and the tables of their secondary indexes.

use chiliad_api::{
    Error, Range, Result, Secondary, Stamp, TableId, TableLayout, TableSpec, Writes, stamp,
};
use core::cmp::Ordering;
use core::iter::{self, Peekable};
use core::ops::Bound;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The current version of a row.
pub struct Version {
    /// The value. In a verified run it is followed by a stamp, which is all there is of a tombstone.
    bytes: Vec<u8>,
    /// The length of the value; nothing for a tombstone.
    length: Option<usize>,
}

impl Version {
    /// A version that `stamp` names, if it is stamped; without a value a tombstone.
    pub fn new(value: Option<Vec<u8>>, stamp: Option<Stamp>) -> Self {
        let length = value.as_ref().map(Vec::len);
        let mut bytes = value.unwrap_or_default();
        if let Some(stamp) = stamp {
            let stamp = match length {
                Some(_) => stamp::make(stamp, &bytes, stamp::reach(None)),
                None => stamp::make_absent(stamp),
            };
            bytes.extend(stamp);
        }
        Self { bytes, length }
    }

    /// The value; nothing if this is a tombstone.
    pub fn value(&self) -> Option<&[u8]> {
        self.length.map(|length| &self.bytes[..length])
    }

    /// The stamp of a version that has one.
    pub fn stamp(&self) -> Stamp {
        stamp::read(&self.bytes, stamp::reach(None), self.length.is_none())
    }
}

pub struct Table {
    pub spec: TableSpec,
    /// Its secondary indexes. Shared, so that they can be walked while rows are read.
    pub indexes: Arc<Vec<Secondary>>,
    /// In a verified run tombstones stay, so that a look-up can say which version of nothing it saw.
    pub rows: BTreeMap<Vec<u8>, Version>,
    /// It holds the entries of an index of another table, or is a group of one.
    is_index: bool,
}

/// All that a database holds.
#[derive(Default)]
pub struct Tables {
    /// By number; nothing where a table was dropped.
    list: Vec<Option<Table>>,
    /// The place of the last commit among all commits.
    pub last_order: u64,
    pub committed: u64,
    pub rolled_back: u64,
}

impl Tables {
    /// A table by number.
    pub fn get(&self, id: TableId) -> Result<&Table> {
        let table = self.list.get(id.0 as usize).and_then(Option::as_ref);
        table.ok_or_else(|| Error::UnknownTable(format!("number {}", id.0)))
    }

    fn get_mut(&mut self, id: TableId) -> Result<&mut Table> {
        let table = self.list.get_mut(id.0 as usize).and_then(Option::as_mut);
        table.ok_or_else(|| Error::UnknownTable(format!("number {}", id.0)))
    }

    /// A table by name.
    pub fn find(&self, name: &str) -> Result<TableId> {
        let found = self.declared().find(|(_, table)| table.spec.name == name);
        found.map(|(id, _)| id).ok_or_else(|| Error::UnknownTable(name.into()))
    }

    /// The tables that were created, without those of their indexes.
    pub fn declared(&self) -> impl Iterator<Item = (TableId, &Table)> {
        let numbered = (0..).map(TableId).zip(&self.list);
        let tables = numbered.filter_map(|(id, table)| Some((id, table.as_ref()?)));
        tables.filter(|(_, table)| !table.is_index)
    }

    pub fn create(&mut self, spec: TableSpec) -> Result<TableId> {
        spec.validate()?;
        if spec.layout == TableLayout::Unknown {
            let what = format!("table {}: a new table has columns, or holds bytes", spec.name);
            return Err(Error::InvalidOption(what));
        }
        if self.find(&spec.name).is_ok() {
            return Err(Error::TableExists(spec.name));
        }
        let mut indexes = Vec::new();
        for index in &spec.secondary {
            let name = format!("{}/{}", spec.name, index.name);
            let table = self.add(TableSpec::ordered(&name), Vec::new(), true);
            indexes.push(Secondary::new(index.clone(), table, &spec.layout));
        }
        let groups: Vec<_> = spec.group_tables().collect();
        let table = self.add(spec, indexes, false);
        for group in groups {
            self.add(group, Vec::new(), true);
        }
        Ok(table)
    }

    fn add(&mut self, spec: TableSpec, indexes: Vec<Secondary>, is_index: bool) -> TableId {
        let (indexes, rows) = (Arc::new(indexes), BTreeMap::new());
        self.list.push(Some(Table { spec, indexes, rows, is_index }));
        TableId(self.list.len() as u32 - 1)
    }

    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        let id = self.find(name)?;
        let dropped = self.list[id.0 as usize].take();
        for index in dropped.iter().flat_map(|table| &*table.indexes) {
            self.list[index.table.0 as usize] = None;
        }
        Ok(())
    }

    pub fn seal(&mut self, name: &str) -> Result<()> {
        let id = self.find(name)?;
        let spec = &mut self.get_mut(id)?.spec;
        if spec.writes == Writes::Transactions {
            return Err(Error::InvalidOption(format!("table {name}: not declared read-only")));
        }
        spec.writes = Writes::Nobody;
        Ok(())
    }

    pub fn change_layout(&mut self, id: TableId, layout: TableLayout) -> Result<()> {
        let table = self.get_mut(id)?;
        table.spec.change_layout(layout.clone())?;
        table.indexes.iter().for_each(|index| index.change_layout(&layout));
        Ok(())
    }

    /// Makes `version` the current one, or forgets the row where it says nothing at all.
    pub fn install(&mut self, id: TableId, key: Vec<u8>, version: Version) -> Result<()> {
        let rows = &mut self.get_mut(id)?.rows;
        if version.bytes.is_empty() && version.length.is_none() {
            rows.remove(&key);
        } else {
            rows.insert(key, version);
        }
        Ok(())
    }
}

/// A part of a map, upwards or downwards.
type Selected<'a, V> = Peekable<Box<dyn Iterator<Item = (&'a Vec<u8>, &'a V)> + 'a>>;

fn select<'a, V>(map: &'a BTreeMap<Vec<u8>, V>, range: &Range<'_>) -> Selected<'a, V> {
    // Such bounds are a mistake to the map.
    let is_empty = match (range.low, range.high) {
        (Bound::Included(low), Bound::Included(high)) => low > high,
        (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high))
        | (Bound::Excluded(low), Bound::Included(high)) => low >= high,
        _ => false,
    };
    let found = (!is_empty).then(|| map.range::<[u8], _>((range.low, range.high)));
    let found = found.into_iter().flatten();
    let found: Box<dyn Iterator<Item = _>> =
        if range.reverse { Box::new(found.rev()) } else { Box::new(found) };
    found.peekable()
}

/// The keys of a range in its order, each with what either map has for it.
pub fn merge<'a, A, B>(
    one: &'a BTreeMap<Vec<u8>, A>,
    other: &'a BTreeMap<Vec<u8>, B>,
    range: &Range<'_>,
) -> impl Iterator<Item = (&'a Vec<u8>, Option<&'a A>, Option<&'a B>)> {
    let (mut ones, mut others) = (select(one, range), select(other, range));
    let reverse = range.reverse;
    iter::from_fn(move || {
        let order = match (ones.peek(), others.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) if reverse => other.cmp(one),
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let one = if order == Ordering::Greater { None } else { ones.next() };
        let other = if order == Ordering::Less { None } else { others.next() };
        let key = one.map(|it| it.0).or(other.map(|it| it.0))?;
        Some((key, one.map(|it| it.1), other.map(|it| it.1)))
    })
}
