//! Loads a checkpoint: builds the trees of its rows, and what it takes to roll the log forward from there.

use crate::apply::{Entry, Stop, grow};
use crate::blocks::{Block, Mark, all_blocks};
use crate::catalog::Catalog;
use crate::checkpoint_file::{CheckpointReader, Summary};
use crate::checkpoints::{Checkpoints, name};
use crate::collector::Collector;
use crate::join::join;
use crate::maker::Maker;
use crate::node::{Content, Key, KeySource, Tree};
use crate::parts::Assembly;
use crate::seen::Seen;
use crate::tombstones::Tombstone;
use chiliad_api::TableId;
use chiliad_log::LogError;
use chiliad_log::entry::{self, Write};
use chiliad_machine::Machine;

/// A state that was read from a checkpoint.
pub struct Restored<M: Machine> {
    pub summary: Summary,
    pub catalog: Catalog,
    pub seen: Seen,
    pub assembly: Assembly,
    /// By table number; nothing where a table was dropped.
    pub roots: Vec<Option<Tree<M>>>,
    /// In the order of their labels.
    pub tombstones: Vec<Tombstone>,
}

/// Why a checkpoint was not loaded.
#[derive(Debug)]
pub enum Failed {
    /// It cannot be read, or is not what was written.
    Unsound(LogError),
    /// The memory limit is reached.
    OutOfMemory,
}

impl From<LogError> for Failed {
    fn from(error: LogError) -> Self {
        Self::Unsound(error)
    }
}

impl From<Stop> for Failed {
    fn from(_: Stop) -> Self {
        Self::OutOfMemory
    }
}

impl From<chiliad_storage::OutOfMemory> for Failed {
    fn from(_: chiliad_storage::OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// Loads the checkpoint of `label`.
///
/// # Errors
/// [`Failed`]: nothing is left of it in memory.
pub fn load<M: Machine>(
    maker: &mut Maker<M>,
    checkpoints: &Checkpoints,
    label: u64,
) -> Result<Restored<M>, Failed> {
    let name = name(label);
    let (summary, mut reader) = CheckpointReader::open(checkpoints.disk(), &name, label)?;
    let damaged = |what: &str| LogError::damaged(&name, 0, what);
    let catalog = Catalog::decode(&summary.catalog);
    let catalog = catalog.ok_or_else(|| damaged("its tables do not parse"))?;
    let seen = Seen::decode(&summary.seen).ok_or_else(|| damaged("its items do not parse"))?;
    let assembly = Assembly::decode(&summary.assembly);
    let assembly = assembly.ok_or_else(|| damaged("its parts of intentions do not parse"))?;
    let is_there = |number| catalog.get(TableId(number)).is_ok().then_some(Tree::EMPTY);
    let roots = (0..catalog.numbers()).map(is_there).collect();
    let mut builder = Builder { maker, roots, last: None, tombstones: Vec::new() };
    let built = builder.build(&mut reader, &name);
    let Builder { roots, mut tombstones, .. } = builder;
    match built {
        Ok(()) => {
            tombstones.sort_unstable();
            Ok(Restored { summary, catalog, seen, assembly, roots, tombstones })
        }
        Err(failed) => {
            maker.take_back(Mark::START);
            let mut blocks = Vec::new();
            roots.into_iter().flatten().for_each(|tree| all_blocks(tree, &mut blocks));
            free_all(maker, blocks);
            Err(failed)
        }
    }
}

/// Frees blocks that nobody has seen yet.
fn free_all<M: Machine>(maker: &mut Maker<M>, blocks: Vec<Block<M>>) {
    let mut collector = Collector::new();
    collector.add(0, blocks, None);
    collector.free(maker, 0);
}

struct Builder<'m, M: Machine> {
    maker: &'m mut Maker<M>,
    roots: Vec<Option<Tree<M>>>,
    /// Table and key of the last row.
    last: Option<(u32, Vec<u8>)>,
    tombstones: Vec<Tombstone>,
}

impl<M: Machine> Builder<'_, M> {
    fn build(&mut self, reader: &mut CheckpointReader<M>, name: &str) -> Result<(), Failed> {
        loop {
            let offset = reader.offset();
            let Some(payload) = reader.next_rows()? else { return Ok(()) };
            let rows: Vec<_> = entry::rows(payload).flatten().collect();
            for of_table in rows.chunk_by(|one, other| one.1.table == other.1.table) {
                self.add(of_table).map_err(|failed| match failed {
                    Unfit::Row(what) => LogError::damaged(name, offset, what).into(),
                    Unfit::Memory(failed) => failed,
                })?;
            }
        }
    }

    /// Adds rows of one table after those that are there: a balanced tree of their own, joined to what there is.
    fn add(&mut self, rows: &[(u64, Write<'_>)]) -> Result<(), Unfit> {
        let table = rows[0].1.table;
        let root = self.roots.get(table as usize).copied().flatten();
        let before = root.ok_or(Unfit::Row("rows of a table that is not there"))?;
        let mut entries = Vec::with_capacity(rows.len());
        for (version, row) in rows {
            let place = (table, row.key);
            let last = self.last.as_ref().map(|(table, key)| (*table, key.as_slice()));
            if last.is_some_and(|last| last >= place) {
                return Err(Unfit::Row("rows that are not in order"));
            }
            self.last = Some((table, row.key.to_vec()));
            entries.push(self.entry(*version, row)?);
        }
        let after = match entries.split_first() {
            Some((first, rest)) if before.root.is_some() => {
                let rest = grow(self.maker, rest)?;
                let content = first.write.ok_or(Unfit::Row("a row that is none"))?;
                join(self.maker, before, KeySource::Bytes(first.key), content, rest)?
            }
            _ => grow(self.maker, &entries)?,
        };
        self.roots[table as usize] = Some(after);
        let mut replaced = Vec::new();
        self.maker.settle(&mut replaced);
        free_all(self.maker, replaced);
        Ok(())
    }

    fn entry<'a>(&mut self, version: u64, row: &Write<'a>) -> Result<Entry<'a, M>, Unfit> {
        let value = match row.removed && row.value.is_empty() {
            true => None,
            false => Some(self.maker.value(row.value)?),
        };
        if row.removed {
            let (table, key) = (row.table, row.key.into());
            self.tombstones.push(Tombstone { label: version, table, key });
        }
        let write = Some(Content { version, tombstone: row.removed, value });
        Ok(Entry { key: Key::new(row.key), base: None, write })
    }
}

/// Why a row was not taken.
enum Unfit {
    /// No checkpoint has such a row.
    Row(&'static str),
    Memory(Failed),
}

impl<T: Into<Failed>> From<T> for Unfit {
    fn from(failed: T) -> Self {
        Self::Memory(failed.into())
    }
}
