//! The part of a database that is the same under every scheme: tables and statistics. Checkpoints and copies are in
//! `durable`.
//!
//! A [`crate::Database`] is compiled for each scheme, this once for each machine: code that no transaction runs
//! belongs here.

use crate::durable::{Durable, Turn};
use crate::epoch::Epochs;
use crate::options::Options;
use crate::tables::catalog::Catalog;
use crate::tables::draft::Draft;
use chiliad_api::{
    Error, Hold, Result, Stats, TableChange, TableId, TableLayout, TableSpec, Tally,
};
use chiliad_machine::{Latch, Machine, Ordering, Shared, Word};
use chiliad_storage::Heap;
use std::sync::Arc;

/// A database without its scheme.
pub(crate) struct Base<'a, M: Machine> {
    pub options: &'a Options,
    pub heap: &'a Arc<Shared<M, Heap<M>>>,
    pub epochs: &'a Epochs<M>,
    pub catalog: &'a Catalog<M>,
    /// Held while a table is created or dropped.
    pub declaring: &'a Turn<M>,
    pub durable: Option<&'a Durable<M>>,
    /// The tallies of workers that have gone.
    pub retired: &'a Latch<M, Tally>,
    /// As `Needs::versions_expire`.
    pub versions_expire: bool,
}

impl<M: Machine> Base<'_, M> {
    /// Ends the commit epoch if nobody holds it back, and tells the log, which may write what is complete. Returns the newest
    /// epoch that is over.
    pub fn end_epoch(&self) -> u64 {
        let stable = self.epochs.tick(&self.heap.slots);
        if let Some(durable) = self.durable {
            durable.log.advance(stable);
        }
        stable
    }

    /// As [`crate::Database::create_table`].
    pub fn create_table(&self, spec: TableSpec) -> Result<TableId> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        if let (Some(kept), false) = (self.options.kept_payload, spec.secondary.is_empty()) {
            let name = spec.name;
            return Err(Error::InvalidOption(format!(
                "table {name}: secondary indexes need whole values, and kept_payload is {kept}"
            )));
        }
        if spec.layout == TableLayout::Unknown {
            let what = "a new table has columns, or holds bytes";
            return Err(Error::InvalidOption(format!("table {}: {what}", spec.name)));
        }
        let _turn = self.declaring.take();
        self.make_table(spec, false)
    }

    /// Makes a table, which is not shown before a draft shows it if it is `hidden`. The caller has the declaring turn.
    pub fn make_table(&self, spec: TableSpec, hidden: bool) -> Result<TableId> {
        let made = self.catalog.prepare(self.heap, spec, hidden, self.options.verify)?;
        if let Some(durable) = self.durable {
            let _turn = durable.changing.take();
            let changed = durable
                .check()
                .and_then(|()| durable.change_catalog(&self.catalog.blob_with(&made)));
            if let Err(error) = changed {
                self.catalog.forget(&made);
                self.catalog.dropped_tables.take_apart(self.heap, self.versions_expire, usize::MAX);
                return Err(error);
            }
        }
        Ok(self.catalog.publish(made))
    }

    /// As [`crate::Database::change_layout`].
    pub fn change_layout(&self, table: TableId, layout: TableLayout) -> Result<()> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        let _turn = self.declaring.take();
        self.bring_into_force(self.catalog.draft_with(&[TableChange::Layout(table, layout)])?)?;
        Ok(())
    }

    /// As [`Store::change_tables`](chiliad_api::Store::change_tables).
    pub fn change_tables(&self, changes: &[TableChange]) -> Result<()> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        if let Some(durable) = self.durable {
            // A unique index is not to outlive the removal of rows without which it is none, nor a table its copy.
            durable.hurry(self.epochs.current())?;
        }
        let version = {
            let _turn = self.declaring.take();
            self.bring_into_force(self.catalog.draft_with(changes)?)?
        };
        self.settle(version)
    }

    /// Keeps a draft, and shows it; returns the version of the catalog. The caller has held the declaring turn since it was begun.
    fn bring_into_force(&self, draft: Draft<M>) -> Result<u64> {
        if let Some(durable) = self.durable {
            let _turn = durable.changing.take();
            durable.check()?;
            durable.change_catalog(&draft.blob())?;
        }
        Ok(self.catalog.publish_draft(draft))
    }

    /// As [`Store::take_back_changes`](chiliad_api::Store::take_back_changes). No catalog on a disk has what goes.
    pub fn take_back_changes(&self) -> Result<()> {
        let version = {
            let _turn = self.declaring.take();
            let mut draft = self.catalog.draft();
            draft.take_back()?;
            self.catalog.publish_draft(draft)
        };
        self.settle(version)
    }

    /// As [`crate::Database::seal`].
    pub fn seal(&self, name: &str) -> Result<()> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        let _turn = self.declaring.take();
        let id = self.catalog.find(name)?;
        self.catalog.declared(id)?;
        let family = self.catalog.family(id);
        // The table itself first: its indexes are only written through it.
        for table in family.iter().filter(|table| !table.is_group()) {
            let Some(seal) = &table.seal else {
                let what = "not declared read-only; only tables declared so can be sealed";
                return Err(Error::InvalidOption(format!("table {name}: {what}")));
            };
            seal.close();
        }
        if let Some(durable) = self.durable {
            durable.hurry(self.epochs.current())?;
            let _turn = durable.changing.take();
            durable.change_catalog(&self.catalog.blob())?;
        }
        Ok(())
    }

    /// As [`crate::Database::tables`].
    pub fn tables(&self) -> Vec<(TableId, TableSpec)> {
        let blob = self.catalog.blob();
        blob.tables.into_iter().map(|(number, spec)| (TableId(number), spec)).collect()
    }

    /// As [`crate::Database::drop_table`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        let _turn = self.declaring.take();
        let dropped = TableChange::Drop(self.catalog.find(name)?);
        if let Some(durable) = self.durable {
            // Rows that were moved to another table before must not be lost with this one.
            durable.hurry(self.epochs.current())?;
        }
        self.bring_into_force(self.catalog.draft_with(&[dropped])?)?;
        self.catalog.dropped_tables.take_apart(self.heap, self.versions_expire, usize::MAX);
        Ok(())
    }

    /// As [`crate::Database::stats`].
    pub fn stats(&self) -> Stats {
        let (epoch, boundary, oldest) = self.epochs.overview();
        let tally = self.retired.lock().clone();
        let mut stats = Stats::new(tally, &|table| self.catalog.name(table));
        stats.memory = self.heap.usage();
        stats.epoch = epoch;
        stats.snapshot_boundary = boundary;
        stats.snapshot_oldest = oldest;
        stats.reclaim_lag = self.heap.reclaim_lag();
        let dropped_tables = &self.catalog.dropped_tables;
        stats.tables_dropped = dropped_tables.count();
        stats.holds = self
            .heap
            .slots
            .iter()
            .filter_map(|(slot, words)| {
                let version = words.catalog_version.load(Ordering::Relaxed);
                let mut hold = Hold::default();
                hold.worker = slot;
                hold.pinned = words.pin.load(Ordering::Relaxed) != 0;
                hold.window = words.window.load(Ordering::Relaxed);
                hold.snapshot = words.snapshot.load(Ordering::Relaxed);
                hold.dropped = dropped_tables.wait_for(version);
                let holds = hold.pinned || hold.window != 0 || hold.snapshot != 0 || hold.dropped;
                holds.then_some(hold)
            })
            .collect();
        stats
    }
}
