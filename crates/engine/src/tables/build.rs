//! The long parts of a change of a table: filling an index, writing rows anew. Small transactions do them while others
//! go on.
//!
//! **Why an index misses no row, and has no entry too many.** It is announced first: writers remove entries from then on.
//! Once no transaction is left that does not know it, writers keep it in line. Once none is left that only removes, every
//! row that is in the table without an entry was there before. The walk meets each of these, and a transaction that reads
//! the row adds its entry where there is none. An index that goes takes the same way back ([`Draft::settle`]).

use crate::base::Base;
use crate::durable::{Walk, nap};
use crate::tables::catalog::{View, make_index};
#[cfg(doc)]
use crate::tables::draft::Draft;
use crate::tables::dropped::{oldest_catalog_version, unpin_catalog_version};
use crate::tables::table::{Kept, State, Table};
use chiliad_api::{
    Error, Intent, MigrationFailed, NotUnique, Result, Rewrite, Running, Secondary, SecondarySpec,
    Session, TableChange, TableId, TableSpec, Writes,
};
use chiliad_machine::{Fault, Machine, Rig, Shared};
use chiliad_storage::{LeafRun, LocalHeap};

/// Rows of one transaction.
const ROWS: usize = 32;

/// It works for as long as one of so many parts of a second, and then rests for as long.
const PIECES_PER_SECOND: u64 = 500;

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
        let mut fill =
            |session: &mut dyn Session<M>, key: &[u8]| enter(session, &table, id, &kept, key);
        self.each_row(&table, session, &mut fill)?;
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
            let mut declared = draft.get(from)?.0.declared().clone();
            declared.closed = true;
            draft.redeclare(from, declared)?;
            self.catalog.publish_draft(draft)
        };
        self.wait_for_version(version)?;
        let (table, _) = self.catalog.declared(from)?;
        debug_assert!(from != to, "rows go to another table");
        debug_assert!(table.declared().closed, "its rows stay as they are");
        let failed = |key: &[u8], reason: String| {
            Error::Migration(Box::new(MigrationFailed::new(table.name(), key, reason)))
        };
        let mut copy = |session: &mut dyn Session<M>, key: &[u8]| {
            let Some(row) = session.get(from, key)? else { return Ok(()) };
            let made = rewrite(key, session.bytes(row)?);
            let (new_key, new_row) = made.map_err(|reason| failed(key, reason))?;
            let mut parts = vec![new_row];
            for group in 0..table.parts() - 1 {
                // Rows have all their parts, which stay as they are.
                if let Some(part) = session.get(from.group(group), key)? {
                    parts.push(session.bytes(part)?.to_vec());
                }
            }
            let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
            session.insert_parts(to, &new_key, &parts).map_err(|error| match error {
                Error::DuplicateKey(_)
                | Error::UniqueViolation { .. }
                | Error::KeyTooLong { .. }
                | Error::ValueSize { .. }
                | Error::BadRow(_) => failed(key, error.to_string()),
                error => error,
            })
        };
        self.each_row(&table, session, &mut copy)?;
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

    /// Has `each` look at every row that is in a table throughout, some in one transaction.
    fn each_row(
        &self,
        table: &Table<M>,
        session: &mut dyn Session<M>,
        each: &mut EachRow<'_, M>,
    ) -> Result<()> {
        let partitions: Vec<u32> = (0..self.options.partitions).collect();
        let walk = Shared::<M, Walk<M>>::new(Walk::new(&table.index));
        let mut heap = LocalHeap::new(self.heap).ok_or(Error::NO_SLOT)?;
        let (mut view, mut run) = (View::new(), LeafRun::default());
        let (mut keys, mut more, mut begun) = (Vec::new(), true, M::now());
        while more {
            // While the view is shown the table is not taken apart, should somebody drop it.
            view.show(self.catalog, heap.slot());
            heap.pin();
            more = walk.next(&heap, &table.index, &mut run);
            keys.extend(run.iter().map(|(key, _)| key.to_vec()));
            heap.unpin();
            unpin_catalog_version(heap.slot());
            heap.reclaim();
            if keys.len() >= ROWS || !more {
                debug_assert!(!heap.is_pinned(), "nothing is held back meanwhile");
                for some in keys.chunks(ROWS) {
                    rows(session, &partitions, some, each)?;
                }
                keys.clear();
                let worked = M::now() - begun;
                if worked > M::ticks_per_second() / PIECES_PER_SECOND {
                    // Half of the time is left to others.
                    M::park_until(M::now() + worked);
                    begun = M::now();
                }
            }
        }
        Ok(())
    }
}

/// Visits the row of a key.
type EachRow<'a, M> = dyn FnMut(&mut dyn Session<M>, &[u8]) -> Result<()> + 'a;

/// Has `each` look at the rows of these keys, in one transaction, or in several where that is refused.
fn rows<M: Machine>(
    session: &mut dyn Session<M>,
    partitions: &[u32],
    keys: &[Vec<u8>],
    each: &mut EachRow<'_, M>,
) -> Result<()> {
    debug_assert!(keys.len() <= ROWS, "a small transaction");
    let (mut rest, mut at_once, mut retries) = (keys, keys.len(), 0);
    while !rest.is_empty() {
        debug_assert!(at_once > 0, "it gets on");
        let (now, later) = rest.split_at(at_once.min(rest.len()));
        match attempt(session, partitions, retries, now, each) {
            Ok(()) => (rest, retries) = (later, 0),
            Err(Error::Conflict(_)) => {
                // Fewer rows are less in the way of others.
                (at_once, retries) = (at_once.div_ceil(2), retries + 1);
                nap::<M>();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn attempt<M: Machine>(
    session: &mut dyn Session<M>,
    partitions: &[u32],
    retries: u32,
    keys: &[Vec<u8>],
    each: &mut EachRow<'_, M>,
) -> Result<()> {
    // As a load: transactions that begin later see what it has written, whatever their timestamps.
    let intent = Intent { partitions, retries, loads: true, ..Intent::default() };
    let mut tx = Running::begin(session, &intent)?;
    for key in keys {
        if let Err(error) = each(tx.session(), key) {
            return Err(tx.fail(error));
        }
    }
    tx.commit().map(|_| ())
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
