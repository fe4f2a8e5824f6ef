//! Reading: single rows, groups of rows, ranges.
//!
//! Each operation is one pin: index, record, unpin. What is copied out stays valid without it.

use crate::access::{Access, Kind, NONE};
use crate::arena::Piece;
use crate::contract::{Context, Refusal, Scheme, Step};
use crate::tables::catalog::View;
use crate::tables::table::Table;
use crate::worker::{Core, context};
use chiliad_api::stamp::{self, STAMP_BYTES};
use chiliad_api::{Entry, Error, Get, Part, Range, Reason, Result, Row, Scanned, TableId};
use chiliad_machine::{Cost, Machine};
use chiliad_storage::{Direction, Found, Index, KEY_BYTES_MAX, LeafRun, RecordRef, Seen};

/// Look-ups whose cache misses are in flight together: as many as a core has buffers for, and a
/// few more to keep them busy.
const GROUP: usize = 48;
const _: () = assert!(GROUP <= 64, "a bit for each");

/// A record looked at: its row, absence, or the news that it has left its index.
pub(crate) enum Looked {
    Row(Row),
    Absent,
    Redo,
}

impl<M: Machine, S: Scheme<M>> Core<M, S> {
    #[inline]
    pub fn get(&mut self, table: &Table<M>, get: Get<'_>) -> Result<Option<Row>> {
        check_key(get.key)?;
        self.heap.pin();
        let row = self.find(table, get);
        self.heap.unpin();
        row
    }

    /// Tells the scheme that a record will be written; whether that is settled, or the record has to
    /// be looked up again. Pinned.
    #[inline]
    pub(crate) fn intend(&mut self, record: RecordRef<M>) -> Result<bool> {
        let part = self.clockwork.switch(Part::Manager);
        let step = self.scheme.intend(&mut context!(self), record);
        self.clockwork.switch(part);
        Ok(self.settle(step)?.is_some())
    }

    /// The row asked for. Pinned.
    #[inline]
    pub(crate) fn find(&mut self, table: &Table<M>, get: Get<'_>) -> Result<Option<Row>> {
        loop {
            let sealed = self.goes_by(table);
            let part = self.clockwork.switch(Part::Index);
            let found = table.index.get(&self.heap, get.key);
            self.clockwork.switch(part);
            match self.use_found(table, sealed, get, found)? {
                Looked::Row(row) => return Ok(Some(row)),
                Looked::Absent => return Ok(None),
                Looked::Redo => M::mark("record looked up again"),
            }
        }
    }

    #[inline]
    fn use_found(
        &mut self,
        table: &Table<M>,
        sealed: bool,
        get: Get<'_>,
        found: Found<M>,
    ) -> Result<Looked> {
        let Get { table: id, key, for_update } = get;
        self.table = id;
        match found {
            Found::Record(record) => {
                // Declared before it is read: who reads first may not get as far as to write.
                let declares = S::INTENDS && for_update && self.writes.find(record).is_none();
                if declares && !self.intend(record)? {
                    return Ok(Looked::Redo);
                }
                self.look_at(id, sealed, key, record)
            }
            Found::Absent(seen) => self.miss(id, table, sealed, key, seen),
        }
    }

    /// The key is not in the index, as `seen` testifies.
    pub(crate) fn miss(
        &mut self,
        id: TableId,
        table: &Table<M>,
        sealed: bool,
        key: &[u8],
        seen: Seen<M>,
    ) -> Result<Looked> {
        M::work(Cost::Read, 1);
        let stamp = table.graveyard.as_ref().map(|graveyard| graveyard.stamp(key));
        if stamp.is_some() && !seen.holds() {
            return Ok(Looked::Redo);
        }
        if !sealed {
            let step = self.pass(seen);
            if self.settle(step)?.is_none() {
                return Ok(Looked::Redo);
            }
        }
        if let (Some(stamp), Some(recorder)) = (stamp, &mut self.recorder) {
            recorder.read(id, key, stamp, true);
        }
        Ok(Looked::Absent)
    }

    /// Tells the scheme that the keys of a leaf were looked at.
    #[inline]
    fn pass(&mut self, seen: Seen<M>) -> Step<M, ()> {
        let part = self.clockwork.switch(Part::Manager);
        let step = self.scheme.passed(&mut context!(self), seen);
        self.clockwork.switch(part);
        step
    }

    /// Whether the transaction may read the table without its scheme: nothing changes there, and the
    /// past that a snapshot reads may be one before it was loaded. Asked before the index is: what is
    /// missing there may be loaded until the seal.
    #[inline]
    fn goes_by(&self, table: &Table<M>) -> bool {
        table.is_sealed() && !self.in_past
    }

    /// Reads a record that the index led to, or the transaction's own write of it. Pinned.
    #[inline]
    fn look_at(
        &mut self,
        id: TableId,
        sealed: bool,
        key: &[u8],
        record: RecordRef<M>,
    ) -> Result<Looked> {
        M::work(Cost::Read, 1);
        if let Some(write) = self.writes.find(record) {
            return Ok(self.own_write(id, key, record, write));
        }
        let key_piece = self.arena.push(key);
        let part = self.clockwork.switch(Part::Manager);
        let step = match sealed {
            true => self.scheme.read_sealed(record, &mut self.arena, self.stamped),
            false => self.scheme.read(&mut context!(self), record, &mut self.arena, &self.writes),
        };
        self.clockwork.switch(part);
        let Some(mut version) = self.settle(step)? else {
            return Ok(Looked::Redo);
        };
        if self.stamped {
            let bytes = self.arena.get(version.bytes);
            let stamp = stamp::read(bytes, self.stamp_reach, version.absent);
            version.bytes.length = version.bytes.length.saturating_sub(STAMP_BYTES as u32);
            if let Some(recorder) = &mut self.recorder {
                recorder.read(id, key, stamp, version.absent);
            }
        }
        if version.absent {
            return Ok(Looked::Absent);
        }
        self.learn_size(id, version.bytes.length);
        let value = version.bytes;
        Ok(Looked::Row(self.note(Access { record, table: id, key: key_piece, value, write: NONE })))
    }

    #[inline]
    fn learn_size(&mut self, id: TableId, bytes: u32) {
        match self.row_bytes.get_mut(id.0 as usize) {
            Some(known) => *known = bytes,
            None => self.row_bytes.resize(id.0 as usize + 1, 128),
        }
    }

    fn own_write(&mut self, id: TableId, key: &[u8], record: RecordRef<M>, write: u32) -> Looked {
        let own = &self.writes.entries[write as usize];
        let value = own.value;
        if own.kind == Kind::Remove {
            return Looked::Absent;
        }
        let key = self.arena.push(key);
        Looked::Row(self.note(Access { record, table: id, key, value, write }))
    }

    /// The bytes behind a row.
    #[inline]
    pub fn bytes(&self, row: Row) -> Result<&[u8]> {
        let access = &self.accesses[self.access_of(row)?];
        let piece = match access.write {
            NONE => access.value,
            write => self.writes.entries[write as usize].value,
        };
        Ok(self.arena.get(piece))
    }

    /// The entries behind a scan.
    #[inline]
    pub fn entries_of(&self, scanned: Scanned) -> Result<&[Entry]> {
        let start = self.numbers.place(scanned.parts().0);
        self.entries
            .get(start..)
            .and_then(|rest| rest.get(..scanned.len()))
            .ok_or(Error::ForeignHandle)
    }

    pub fn get_many(
        &mut self,
        view: &View<M>,
        requests: &[Get<'_>],
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        assert_eq!(requests.len(), rows.len(), "one answer for each request");
        for (requests, rows) in requests.chunks(GROUP).zip(rows.chunks_mut(GROUP)) {
            self.heap.pin();
            let done = self.find_group(view, requests, rows);
            self.heap.unpin();
            done?;
        }
        Ok(())
    }

    /// Descends the group a step at a time, so that each step's miss is in flight while the others
    /// take theirs; then reads the records, which the last steps have asked for.
    fn find_group(
        &mut self,
        view: &View<M>,
        requests: &[Get<'_>],
        rows: &mut [Option<Row>],
    ) -> Result<()> {
        let part = self.clockwork.switch(Part::Index);
        self.flight.clear();
        // A bit for each request.
        let mut sealed = 0u64;
        for (at, request) in requests.iter().enumerate() {
            check_key(request.key)?;
            let table = if request.for_update {
                self.ready(true)?;
                view.writable(request.table, self.loads)?
            } else {
                view.readable(request.table, self.in_past)?
            };
            sealed |= u64::from(self.goes_by(table)) << at;
            self.flight.begin(&table.index, request.key);
        }
        let begun = |at: usize| {
            let request = &requests[at];
            let table = view.get(request.table).expect("its look-up has begun");
            (&table.index, request.key)
        };
        self.flight.land(&self.heap, begun, |at, record| {
            let bytes = self.row_bytes.get(requests[at].table.0 as usize);
            record.prefetch(bytes.map_or(128, |&bytes| bytes as usize));
            self.scheme.expect(requests[at].table, record);
        });
        self.clockwork.switch(part);
        let waits = self.waits;
        for (at, request) in requests.iter().enumerate() {
            let table = view.get(request.table)?;
            // What was found before a wait is of another pin.
            let looked = match self.waits == waits {
                true => {
                    let sealed = sealed >> at & 1 != 0;
                    self.use_found(table, sealed, *request, self.flight.found(at))?
                }
                false => Looked::Redo,
            };
            rows[at] = match looked {
                Looked::Row(row) => Some(row),
                Looked::Absent => None,
                Looked::Redo => self.find(table, *request)?,
            };
        }
        Ok(())
    }

    pub fn scan(&mut self, id: TableId, table: &Table<M>, range: &Range<'_>) -> Result<Scanned> {
        let start = self.entries.len();
        let Index::Ordered(index) = &table.index else {
            return Err(Error::NotOrdered);
        };
        for bound in [range.low, range.high] {
            use core::ops::Bound::{Excluded, Included};
            if let Included(key) | Excluded(key) = bound {
                check_key(key)?;
            }
        }
        let direction = if range.reverse { Direction::Reverse } else { Direction::Forward };
        self.cursor.reset(range.low, range.high, direction);
        self.met.clear();
        let mut left = range.limit;
        let mut run = core::mem::take(&mut self.run);
        let mut scanned = Ok(());
        let mut more = left > 0;
        while more && scanned.is_ok() {
            let before = (self.entries.len(), self.met.len(), left);
            if S::WAITS {
                self.bookmark.clone_from(&self.cursor);
            }
            self.heap.pin();
            let sealed = self.goes_by(table);
            let part = self.clockwork.switch(Part::Index);
            more = index.next_leaf(&self.heap, &mut self.cursor, &mut run);
            self.clockwork.switch(part);
            let run_scanned = self.scan_run(id, table, sealed, &run, &mut left);
            self.heap.unpin();
            let again = matches!(run_scanned, Ok(false));
            scanned = run_scanned.map(|_| ());
            if again {
                M::mark("leaf scanned again");
                self.entries.truncate(before.0);
                self.met.truncate(before.1);
                left = before.2;
                core::mem::swap(&mut self.cursor, &mut self.bookmark);
                more = true;
                continue;
            }
            more &= left > 0;
        }
        self.run = run;
        scanned?;
        if self.stamped {
            self.record_scan(id, range, left == 0);
        }
        Ok(self.scanned(start))
    }

    /// Reads the records of one leaf until nothing is `left` to read. Whether that holds: if not, the
    /// leaf is to be read again, since the scheme has waited, and the rest is none of this pin, or since
    /// the scheme says so. Pinned.
    fn scan_run(
        &mut self,
        id: TableId,
        table: &Table<M>,
        sealed: bool,
        run: &LeafRun<M>,
        left: &mut usize,
    ) -> Result<bool> {
        self.table = id;
        for (_, record) in run.iter().take(*left) {
            record.prefetch(64);
            self.scheme.expect(id, record);
        }
        for (key, record) in run.iter() {
            if *left == 0 {
                break;
            }
            let key_start = self.arena.used() as u32;
            let recorder = self.recorder.take();
            let looked = self.look_at(id, sealed, key, record);
            self.recorder = recorder;
            match looked? {
                Looked::Row(row) => {
                    *left -= 1;
                    self.entries.push(Entry::new(row, row));
                    self.meet(record);
                }
                Looked::Absent => {
                    let key = Piece { start: key_start, length: key.len() as u32 };
                    self.meet_absent(key, record);
                }
                // What was read of the leaf may be of another pin, or the record has left it.
                Looked::Redo if S::WAITS => return Ok(false),
                Looked::Redo => self.scan_again(id, table, key, left)?,
            }
        }
        if let Some(seen) = run.seen.filter(|_| !sealed) {
            let step = self.pass(seen);
            return Ok(self.settle(step)?.is_some());
        }
        Ok(true)
    }

    /// A record of the leaf has left its index since. A tracked transaction would notice at its
    /// commit; a snapshot never aborts and looks the key up again.
    #[cold]
    fn scan_again(
        &mut self,
        id: TableId,
        table: &Table<M>,
        key: &[u8],
        left: &mut usize,
    ) -> Result<()> {
        if !self.in_past {
            return Err(self.lose(Refusal::new(Reason::Phantom)));
        }
        M::mark("snapshot looked a scanned key up again");
        let recorder = self.recorder.take();
        let found = self.find(table, Get::read(id, key));
        self.recorder = recorder;
        if let Some(row) = found? {
            *left -= 1;
            let record = self.accesses[self.access_of(row)?].record;
            self.entries.push(Entry::new(row, row));
            self.meet(record);
        }
        Ok(())
    }

    /// Takes note, for the recorder, of the version that the last access has read.
    #[inline]
    fn meet(&mut self, record: RecordRef<M>) {
        if !self.stamped || self.recorder.is_none() {
            return;
        }
        let access = self.accesses.last().expect("just noted");
        let key = access.key;
        let version = if self.writes.find(record).is_some() {
            self.stamp
        } else {
            let length = access.value.length + STAMP_BYTES as u32;
            let bytes = self.arena.get(Piece { start: access.value.start, length });
            stamp::read(bytes, self.stamp_reach, false)
        };
        self.met.push((key, version, false));
    }

    fn meet_absent(&mut self, key: Piece, record: RecordRef<M>) {
        if !self.stamped || self.recorder.is_none() {
            return;
        }
        if self.writes.find(record).is_some() {
            // The transaction has removed it itself; its key is not in the arena at that place.
            let write = self.writes.find(record).expect("just found");
            let key = self.writes.entries[write as usize].key;
            self.met.push((key, self.stamp, true));
            return;
        }
        // `look_at` has left key and stamp behind each other.
        let start = key.start + key.length;
        let stamp = stamp::read_absent(self.arena.get(Piece { start, length: STAMP_BYTES as u32 }));
        self.met.push((key, stamp, true));
    }

    #[cold]
    fn record_scan(&mut self, id: TableId, range: &Range<'_>, limited: bool) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        let last = self.met.last().filter(|_| limited).map(|met| self.arena.get(met.0));
        recorder.scan(id, range, last);
        for &(key, version, absent) in &self.met {
            recorder.scan_entry(self.arena.get(key), version, absent);
        }
    }

    pub fn scan_index(
        &mut self,
        view: &View<M>,
        table: TableId,
        index: usize,
        range: &Range<'_>,
    ) -> Result<Scanned> {
        self.align_indexes(view)?;
        let declared: &Table<M> = view.readable(table, self.in_past)?;
        let Some(secondary) = declared.secondary.get(index) else {
            return Err(Error::UnknownIndex(format!("number {index} of {}", declared.spec.name)));
        };
        let scanned = self.scan(secondary.table, view.get(secondary.table)?, range)?;
        let start = self.entries.len() - scanned.len();
        let mut kept = start;
        for at in start..self.entries.len() {
            let entry = self.entries[at];
            let key = self.take_key(entry.row)?;
            let row = self.get(declared, Get::read(table, &key));
            self.key = key;
            // An entry whose row is gone belongs to a state that will not validate.
            if let Some(row) = row? {
                self.entries[kept] = Entry::new(entry.key(), row);
                kept += 1;
            }
        }
        self.entries.truncate(kept);
        Ok(self.scanned(start))
    }

    /// The entries from `start` on, which are those of one scan.
    fn scanned(&self, start: usize) -> Scanned {
        let length = (self.entries.len() - start) as u32;
        Scanned::from_parts(self.numbers.first() + start as u64, length)
    }

    /// The bytes of a row in the scratch key, which the caller puts back.
    fn take_key(&mut self, row: Row) -> Result<Vec<u8>> {
        let mut key = core::mem::take(&mut self.key);
        key.clear();
        key.extend_from_slice(self.bytes(row)?);
        Ok(key)
    }
}

/// Refuses keys that no index holds.
#[inline]
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::KeyTooLong { bytes: key.len() });
    }
    Ok(())
}
