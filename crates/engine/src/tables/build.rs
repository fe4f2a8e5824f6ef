//! The long parts of a change of a table: filling an index, writing rows anew. Small transactions do them while others
//! go on.
//!
//! **Why an index misses no row, and has no entry too many.** It is announced first: writers remove entries from then on.
//! Once no transaction is left that does not know it, writers keep it in line. Once none is left that only removes, every
//! row that is in the table without an entry was there before. The walk meets each of these, and a transaction that reads
//! the row adds its entry where there is none. An index that goes takes the same way back ([`Draft::settle`]).

use crate::base::Base;
use crate::durable::nap;
use crate::tables::catalog::make_index;
#[cfg(doc)]
use crate::tables::draft::Draft;
use crate::tables::dropped::oldest_catalog_version;
use crate::tables::pieces::{Batch, Pieces, ROWS_MAX};
use crate::tables::table::{Kept, State, Table};
use chiliad_api::stamp::STAMP_BYTES;
use chiliad_api::{
    Error, Intent, MigrationFailed, NotUnique, Result, Rewrite, Running, Secondary, SecondarySpec,
    Session, TableChange, TableId, TableSpec, Writes,
};
use chiliad_machine::{Fault, Machine, Rig};

/// Rows of one transaction that others may get in the way of.
const ROWS: usize = 32;

/// The filler takes a row for one that has its entry.
static ENTRY_NOT_FILLED: Fault = Fault {
    name: "entry-not-filled",
    step: "the filler of an index adds the entry of every row that it meets",
    // No workload adds indexes. Simulated writers in the engine's tests tell.
    rig: Rig::Waits,
    schemes: &[],
    workload: "scan",
    expected: &["an index"],
    seeds: 0,
};

/// Writers add entries to an index that others do not know yet, which leave them behind.
static INDEX_NOT_ANNOUNCED: Fault = Fault {
    name: "index-not-announced",
    step: "no writer adds entries while others do not know the index",
    rig: Rig::Waits,
    schemes: &[],
    workload: "scan",
    expected: &["an index"],
    seeds: 0,
};

/// The planted bugs of adding indexes.
pub(crate) static FAULTS: &[&Fault] = &[&ENTRY_NOT_FILLED, &INDEX_NOT_ANNOUNCED];

impl<M: Machine> Base<'_, M> {
    /// As [`Store::fill_index`](chiliad_api::Store::fill_index).
    pub fn fill_index(
        &self,
        after: &[TableChange],
        id: TableId,
        index: SecondarySpec,
        session: &mut dyn Session<M>,
    ) -> Result<()> {
        let name = index.name.clone();
        let version = self.announce_index(after, id, index)?;
        if !M::fault(&INDEX_NOT_ANNOUNCED) {
            self.wait_for_version(version)?;
        }
        let version = {
            let _turn = self.declaring.take();
            let mut draft = self.catalog.draft();
            draft.turn_index(id, &name, State::Announced, State::Filling)?;
            self.catalog.publish_draft(draft)
        };
        self.wait_for_version(version)?;
        let (table, _) = self.catalog.declared(id)?;
        let mut filling = table.secondary().iter().filter(|index| index.state == State::Filling);
        let kept = filling.find(|index| index.spec.name == name);
        let kept = kept.ok_or(Error::UnknownIndex(name))?.clone();
        debug_assert!(kept.takes_entries() && !kept.is_ready(), "writers keep it, nobody reads it");
        let mut pieces = Pieces::of(self, &table)?;
        let (mut keys, mut more) = (Vec::new(), true);
        while more {
            more = pieces.next(|run| keys.extend(run.iter().map(|(key, _)| key.to_vec())));
            if keys.len() >= ROWS || !more {
                let mut fill = |session: &mut dyn Session<M>, at: usize| {
                    enter(session, &table, id, &kept, &keys[at])
                };
                self.in_transactions(session, keys.len(), ROWS, &mut fill)?;
                keys.clear();
                pieces.rest();
            }
        }
        self.reach_readers()
    }

    /// Shows an index, and returns the version of the catalog that has it.
    fn announce_index(
        &self,
        after: &[TableChange],
        id: TableId,
        index: SecondarySpec,
    ) -> Result<u64> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        let _turn = self.declaring.take();
        let planned = self.catalog.draft_with(after)?;
        let (table, layout) = planned.get(id)?;
        let (mut spec, _) = table.spec_now(layout);
        spec.secondary.push(index.clone());
        spec.validate()?;
        if let Some(kept) = self.options.kept_payload {
            let what = format!("indexes need whole values, and kept_payload is {kept}");
            return Err(Error::InvalidOption(what));
        }
        if spec.writes != Writes::Transactions {
            return Err(Error::ReadOnlyTable(spec.name));
        }
        let mut draft = self.catalog.draft();
        let declared = draft.get(id)?.0.declared().clone();
        let own = make_index(self.heap, &declared.spec, &index.name, self.options.verify)?;
        let number = draft.add_index_table(own);
        // As the table will be: it reads rows of the versions before, too.
        let index = Secondary::new(index, number, layout);
        draft.redeclare(id, declared.announcing(index, layout.clone()))?;
        Ok(self.catalog.publish_draft(draft))
    }

    /// As [`Store::build_table`](chiliad_api::Store::build_table).
    pub fn build_table(&self, spec: TableSpec) -> Result<TableId> {
        if self.options.read_only {
            return Err(Error::OpenedReadOnly);
        }
        let _turn = self.declaring.take();
        self.make_table(spec, true)
    }

    /// As [`Store::rewrite_rows`](chiliad_api::Store::rewrite_rows).
    pub fn rewrite_rows(
        &self,
        [from, to]: [TableId; 2],
        rewrite: &mut Rewrite<'_>,
        session: &mut dyn Session<M>,
    ) -> Result<()> {
        let version = {
            let _turn = self.declaring.take();
            let mut draft = self.catalog.draft();
            draft.close(from, true)?;
            self.catalog.publish_draft(draft)
        };
        self.wait_for_version(version)?;
        let (table, _) = self.catalog.declared(from)?;
        debug_assert!(from != to, "rows go to another table");
        debug_assert!(table.declared().closed, "its rows stay as they are");
        let failed = |failed: MigrationFailed| Error::Migration(Box::new(failed));
        if let Some(kept) = self.options.kept_payload {
            let what = format!("rows are rewritten from whole values, and kept_payload is {kept}");
            return Err(Error::InvalidOption(what));
        }
        let stamp_bytes = if self.options.verify { STAMP_BYTES } else { 0 };
        let mut pieces = Pieces::of(self, &table)?;
        let (mut batch, mut more) = (Batch::default(), true);
        while more {
            more = pieces.next(|run| batch.take(run, stamp_bytes));
            if !batch.is_full() && more {
                continue;
            }
            let mut copy = |session: &mut dyn Session<M>, at: usize| {
                let (key, row) = batch.row(at);
                let made = rewrite(key, row);
                let (new_key, new_row) =
                    made.map_err(|reason| failed(MigrationFailed::new(table.name(), key, reason)))?;
                let parts = with_groups(session, (from, table.parts() - 1), key, new_row)?;
                let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
                session.insert_parts(to, &new_key, &parts).map_err(|error| match error {
                    Error::DuplicateKey(_)
                    | Error::UniqueViolation { .. }
                    | Error::KeyTooLong { .. }
                    | Error::ValueSize { .. }
                    | Error::BadRow(_) => failed(not_put(table.name(), key, error)),
                    error => error,
                })
            };
            self.in_transactions(session, batch.len(), ROWS_MAX, &mut copy)?;
            batch.clear();
            pieces.rest();
        }
        self.reach_readers()
    }

    /// Goes on with what waits for transactions that go by the version of the catalog before `version`, to the end.
    pub fn settle(&self, mut version: u64) -> Result<()> {
        loop {
            let mut draft = self.catalog.draft();
            if !draft.settle()? {
                break;
            }
            self.wait_for_version(version)?;
            let _turn = self.declaring.take();
            draft = self.catalog.draft();
            draft.settle()?;
            version = self.catalog.publish_draft(draft);
        }
        self.catalog.dropped_tables.take_apart(self.heap, self.versions_expire, usize::MAX);
        Ok(())
    }

    /// Waits until no transaction is left that goes by an older version of the catalog.
    fn wait_for_version(&self, version: u64) -> Result<()> {
        debug_assert!(version > 0, "zero pins none");
        while oldest_catalog_version(&self.heap.slots) < version {
            self.durable.map_or(Ok(()), |durable| durable.check())?;
            nap::<M>();
        }
        Ok(())
    }

    /// Waits until snapshots that begin from now on see all that has committed: those that read as of the oldest active
    /// transaction, and those that read as of a boundary.
    fn reach_readers(&self) -> Result<()> {
        let version = {
            let _turn = self.declaring.take();
            self.catalog.publish_draft(self.catalog.draft())
        };
        self.wait_for_version(version)?;
        let reached = self.epochs.current();
        while self.epochs.overview().1 <= reached {
            if self.end_epoch() < reached {
                nap::<M>();
            }
        }
        Ok(())
    }

    /// Has `each` deal with so many rows by their numbers, with at most `at_once` of them in one transaction.
    fn in_transactions(
        &self,
        session: &mut dyn Session<M>,
        rows: usize,
        at_once: usize,
        each: &mut EachRow<'_, M>,
    ) -> Result<()> {
        debug_assert!(at_once > 0, "it gets on");
        let partitions: Vec<u32> = (0..self.options.partitions).collect();
        let (mut done, mut next, mut retries) = (0, at_once, 0);
        while done < rows {
            let now = done..rows.min(done + next);
            match attempt(session, &partitions, retries, now.clone(), each) {
                Ok(()) => (done, next, retries) = (now.end, at_once, 0),
                Err(Error::Conflict(_)) => {
                    // Fewer rows are less in the way of others.
                    (next, retries) = (now.len().div_ceil(2), retries + 1);
                    nap::<M>();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Deals with the row of a number.
type EachRow<'a, M> = dyn FnMut(&mut dyn Session<M>, usize) -> Result<()> + 'a;

fn attempt<M: Machine>(
    session: &mut dyn Session<M>,
    partitions: &[u32],
    retries: u32,
    rows: core::ops::Range<usize>,
    each: &mut EachRow<'_, M>,
) -> Result<()> {
    // As a load: transactions that begin later see what it has written, whatever their timestamps.
    let intent = Intent { partitions, retries, loads: true, ..Intent::default() };
    let mut tx = Running::begin(session, &intent)?;
    for at in rows {
        if let Err(error) = each(tx.session(), at) {
            return Err(tx.fail(error));
        }
    }
    tx.commit().map(|_| ())
}

/// The row of a key could not be written anew, since its new one could not be put into its table.
#[cold]
fn not_put(table: &str, key: &[u8], error: Error) -> MigrationFailed {
    let failed = MigrationFailed::new(table, key, error.to_string());
    match error {
        Error::DuplicateKey(duplicate) => failed.because_taken(duplicate.key),
        _ => failed,
    }
}

/// A row's new part, and those that it has in the groups of its table, which stay as they are.
fn with_groups<M: Machine>(
    session: &mut dyn Session<M>,
    (table, groups): (TableId, usize),
    key: &[u8],
    row: Vec<u8>,
) -> Result<Vec<Vec<u8>>> {
    let mut parts = vec![row];
    for group in (0..groups).map(|at| table.group(at)) {
        if let Some(part) = session.get(group, key)? {
            parts.push(session.bytes(part)?.to_vec());
        }
    }
    Ok(parts)
}

/// Adds the entry of a row to an index, if there is none.
fn enter<M: Machine>(
    session: &mut dyn Session<M>,
    table: &Table<M>,
    id: TableId,
    index: &Kept,
    key: &[u8],
) -> Result<()> {
    let Some(row) = session.get(id, key)? else { return Ok(()) };
    let value = session.bytes(row)?.to_vec();
    debug_assert!(!index.is_ready(), "it is being filled");
    index.check(key, &value)?;
    let mut entry = Vec::new();
    index.encode(key, &value, &mut entry);
    if M::fault(&ENTRY_NOT_FILLED) {
        return Ok(());
    }
    let Some(found) = session.get(index.table, &entry)? else {
        return session.insert(index.table, &entry, key);
    };
    match session.bytes(found)? {
        owner if owner == key => Ok(()),
        other => {
            let rows = NotUnique::new(&index.spec.name, table.name(), [other, key]);
            Err(Error::NotUnique(Box::new(rows)))
        }
    }
}
