//! Additions of a verified run to a transaction: the stamp after every version, which names its writer, and reports
//! of every access to a recorder ([`chiliad_api::stamp`], [`Recorder`]).
//!
//! A run that is not verified pays one branch for each call and never takes it. All else lies in
//! cold functions, so that the data path reads, and runs, as if nobody watched.

use crate::access::{Kind, Write, WriteSet};
use crate::arena::{Arena, Piece};
use crate::contract::{CommitPoint, Renewed};
use crate::handles::Handles;
use crate::tables::table::Table;
use crate::version::{self, Version};
use chiliad_api::stamp::{self, STAMP_BYTES};
use chiliad_api::{Columns, Range, Recorder, Stamp, TableId, TableLayout, WriteKind};
use chiliad_machine::Machine;
use chiliad_storage::RecordRef;
use core::marker::PhantomData;
use held::{Held, HeldOf, HeldRead, HeldScan};

mod held;

/// A version that a scan met.
struct Met<M: Machine> {
    record: RecordRef<M>,
    key: Piece,
    /// The bytes of the row without its stamp; empty for a tombstone.
    row: Piece,
    version: Stamp,
    absent: bool,
}

/// One worker's part of a verified run.
pub struct Verification<M: Machine> {
    /// Every version ends in a stamp.
    on: bool,
    /// How much of a value its stamp covers.
    reach: usize,
    /// Names the worker in stamps.
    serial: u64,
    /// The stamp of the transaction's versions.
    stamp: Stamp,
    recorder: Option<Box<dyn Recorder>>,
    /// Reads are part of a scan, which is reported at its end.
    in_scan: bool,
    /// The rows that the scan has met, in order.
    met: Vec<Met<M>>,
    /// What the transaction looks at of what it reads from here on.
    columns: Columns,
    /// Reads of certain columns.
    held: Vec<HeldOf>,
    /// Scratch for the version that a write overwrites.
    old: Vec<u8>,
    machine: PhantomData<M>,
}

impl<M: Machine> Verification<M> {
    /// The part of the worker that stamps know by the number `serial`.
    pub fn new(on: bool, kept_payload: Option<usize>, serial: u64) -> Self {
        Self {
            on,
            reach: stamp::reach(kept_payload),
            serial,
            stamp: 0,
            recorder: None,
            in_scan: false,
            met: Vec::new(),
            columns: Columns::ALL,
            held: Vec::new(),
            old: Vec::new(),
            machine: PhantomData,
        }
    }

    /// Whether every version ends in a stamp.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Where accesses are reported.
    pub fn recorder(&self) -> Option<&dyn Recorder> {
        self.recorder.as_deref()
    }

    /// Reports accesses to `recorder` from now on; `None`: to nobody.
    pub fn report_to(&mut self, recorder: Option<Box<dyn Recorder>>) {
        self.recorder = recorder;
    }

    /// Stops reporting and returns the recorder.
    pub fn take_recorder(&mut self) -> Option<Box<dyn Recorder>> {
        self.recorder.take()
    }

    /// The worker's transaction number `sequence` begins.
    #[inline]
    pub fn begin(&mut self, sequence: u64, in_past: bool) {
        if self.on {
            self.begin_stamped(sequence, in_past);
        }
    }

    #[cold]
    fn begin_stamped(&mut self, sequence: u64, in_past: bool) {
        debug_assert!(self.serial >> 24 == 0, "the number of the worker has 24 bits");
        debug_assert!(sequence >> 40 == 0, "the number of the worker fits above");
        self.stamp = self.serial << 40 | sequence;
        self.in_scan = false;
        self.columns = Columns::ALL;
        self.held.clear();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(self.stamp, M::now(), in_past);
        }
    }

    /// The transaction loads rows, which count as versions from before the history.
    pub fn stamp_as_loaded(&mut self) {
        self.stamp = 0;
    }

    /// What follows of a transaction looks at these columns of what it reads, and the scheme knows of it.
    pub fn look_at(&mut self, columns: Columns) {
        self.columns = columns;
    }

    /// `key` was read in this version of a record, which is reported unless a scan does so. Returns it without its stamp.
    #[inline]
    pub fn read(
        &mut self,
        record: RecordRef<M>,
        (table, key): (TableId, &[u8]),
        version: Version,
        arena: &Arena,
    ) -> Version {
        if self.on { self.read_stamped(record, (table, key), version, arena) } else { version }
    }

    #[cold]
    fn read_stamped(
        &mut self,
        record: RecordRef<M>,
        (table, key): (TableId, &[u8]),
        version: Version,
        arena: &Arena,
    ) -> Version {
        debug_assert!(self.on, "only a verified run has stamps");
        let (absent, bytes) = (version.is_absent(), version.bytes());
        let stamp = stamp::read(arena.get(bytes), self.reach, absent);
        let row = bytes.with_length(bytes.length().saturating_sub(STAMP_BYTES as u32));
        if self.columns == Columns::ALL {
            self.report_read(table, key, stamp, absent);
        } else if self.recorder.is_some() && !self.in_scan {
            let (record, key) = (record.address(), key.to_vec());
            let row = arena.get(row).to_vec();
            let read = HeldRead { record, key, version: stamp, absent, row };
            self.hold(table, Held::Read(read));
        }
        Version::new(absent, row)
    }

    fn hold(&mut self, table: TableId, held: Held) {
        self.held.push(HeldOf { table, columns: self.columns, held });
    }

    /// The stamp of the last tombstone of a key that the index does not hold; `None` in a run that is
    /// not verified.
    #[inline]
    pub fn absence(&self, table: &Table<M>, key: &[u8]) -> Option<Stamp> {
        table.tombstone_stamps.as_ref().map(|tombstone_stamps| tombstone_stamps.stamp(key))
    }

    /// `key` was found missing in its index, with the [`Verification::absence`] that this leaves.
    #[inline]
    pub fn missed(&mut self, table: TableId, key: &[u8], absence: Option<Stamp>) {
        if let Some(stamp) = absence {
            self.report_read(table, key, stamp, true);
        }
    }

    #[cold]
    fn report_read(&mut self, table: TableId, key: &[u8], stamp: Stamp, absent: bool) {
        if let Some(recorder) = self.recorder.as_mut().filter(|_| !self.in_scan) {
            recorder.read(table, key, stamp, absent);
        }
    }

    /// A scan begins: what is read until it ends is part of it.
    #[inline]
    pub fn begin_scan(&mut self) {
        if self.on {
            debug_assert!(!self.in_scan, "one scan at a time");
            self.in_scan = true;
            self.met.clear();
        }
    }

    /// How many rows and tombstones the scan has met so far.
    #[inline]
    pub fn met(&self) -> usize {
        self.met.len()
    }

    /// The scan goes back to where it had met `met` of them.
    pub fn forget_met(&mut self, met: usize) {
        debug_assert!(met <= self.met.len(), "a scan only goes back");
        self.met.truncate(met);
    }

    /// The scan has met the row that was accessed last, of `record`.
    #[inline]
    pub fn meet(
        &mut self,
        record: RecordRef<M>,
        handles: &Handles<M>,
        writes: &WriteSet<M>,
        arena: &Arena,
    ) {
        if self.on {
            self.meet_row(record, handles, writes, arena);
        }
    }

    #[cold]
    fn meet_row(
        &mut self,
        record: RecordRef<M>,
        handles: &Handles<M>,
        writes: &WriteSet<M>,
        arena: &Arena,
    ) {
        debug_assert!(self.in_scan, "a scan meets rows");
        if self.recorder.is_none() {
            return;
        }
        let access = handles.last();
        let version = if writes.find(record).is_some() {
            self.stamp
        } else {
            let length = access.value.length() + STAMP_BYTES as u32;
            let bytes = arena.get(access.value.with_length(length));
            stamp::read(bytes, self.reach, false)
        };
        self.met.push(Met { record, key: access.key, row: access.value, version, absent: false });
    }

    /// The scan has met the tombstone `record`; `key` is where the read has put its key.
    #[inline]
    pub fn meet_absent(
        &mut self,
        key: Piece,
        record: RecordRef<M>,
        writes: &WriteSet<M>,
        arena: &Arena,
    ) {
        if self.on {
            self.meet_tombstone(key, record, writes, arena);
        }
    }

    #[cold]
    fn meet_tombstone(
        &mut self,
        key: Piece,
        record: RecordRef<M>,
        writes: &WriteSet<M>,
        arena: &Arena,
    ) {
        debug_assert!(self.in_scan, "a scan meets tombstones");
        if self.recorder.is_none() {
            return;
        }
        if writes.find(record).is_some() {
            // The transaction has removed it itself; its key is not in the arena at that place.
            let write = writes.find(record).expect("just found");
            let key = writes.entries[write as usize].key;
            let (row, version) = (Piece::default(), self.stamp);
            self.met.push(Met { record, key, row, version, absent: true });
            return;
        }
        // The read has left the key, followed by the stamp.
        let stamp = Piece::new(key.start() + key.length(), STAMP_BYTES as u32);
        let version = stamp::read_absent(arena.get(stamp));
        self.met.push(Met { record, key, row: Piece::default(), version, absent: true });
    }

    /// The scan has ended. It is reported if it was `completed`; `limited`: it stopped where it had rows enough.
    #[inline]
    pub fn end_scan(
        &mut self,
        table: TableId,
        range: &Range<'_>,
        completed: bool,
        limited: bool,
        arena: &Arena,
    ) {
        if self.on {
            debug_assert!(self.in_scan, "it has begun");
            self.in_scan = false;
            if completed {
                self.report_scan(table, range, limited, arena);
            }
        }
    }

    #[cold]
    fn report_scan(&mut self, table: TableId, range: &Range<'_>, limited: bool, arena: &Arena) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        let last = self.met.last().filter(|_| limited).map(|met| arena.get(met.key));
        if self.columns != Columns::ALL {
            let held = |met: &Met<M>| HeldRead {
                record: met.record.address(),
                key: arena.get(met.key).to_vec(),
                version: met.version,
                absent: met.absent,
                row: arena.get(met.row).to_vec(),
            };
            let scan = HeldScan::new(range, last, self.met.iter().map(held).collect());
            return self.hold(table, Held::Scan(scan));
        }
        recorder.scan(table, range, last);
        for met in &self.met {
            recorder.scan_entry(arena.get(met.key), met.version, met.absent);
        }
    }

    /// Bytes that a record needs for a value of `bytes`.
    #[inline]
    pub fn stored_bytes(&self, bytes: usize) -> usize {
        bytes + if self.on { STAMP_BYTES } else { 0 }
    }

    /// A fresh record is about to enter an index.
    #[inline]
    pub fn placing(&self, record: RecordRef<M>) {
        if self.on {
            // Not a stamp yet: a reader of this instant is refused.
            record.write(&[0; STAMP_BYTES]);
        }
    }

    /// The record has entered the index of `table`.
    #[inline]
    pub fn placed(&self, record: RecordRef<M>, table: &Table<M>, key: &[u8]) {
        if let Some(tombstone_stamps) = &table.tombstone_stamps {
            // The key is in the index now, so no other tombstone of it can be buried.
            record.write(&stamp::make_absent(tombstone_stamps.stamp(key)));
        }
    }

    /// Puts the stamp after each new value; a tombstone's value is its stamp.
    #[inline]
    pub fn stamp_values(&self, writes: &mut WriteSet<M>, arena: &mut Arena) {
        if self.on {
            self.append_stamps(writes, arena);
        }
    }

    #[cold]
    fn append_stamps(&self, writes: &mut WriteSet<M>, arena: &mut Arena) {
        debug_assert!(self.on, "only a verified run has stamps");
        for at in 0..writes.entries.len() {
            let write = &mut writes.entries[at];
            match write.kind {
                Kind::Put => {
                    let stamped = self.append_stamp(write.value, arena);
                    writes.move_value(at as u32, stamped);
                }
                Kind::Remove => write.value = arena.push(&stamp::make_absent(self.stamp)),
                // It gets its stamp with its sum.
                Kind::Add => {}
            }
        }
    }

    fn append_stamp(&self, value: Piece, arena: &mut Arena) -> Piece {
        let stamp = stamp::make(self.stamp, arena.get(value), self.reach);
        let copy = arena.duplicate(value);
        let behind = arena.push(&stamp);
        copy.with_length(copy.length() + behind.length())
    }

    /// A new value with its stamp.
    #[inline]
    pub fn stamped(&self, value: Piece, arena: &mut Arena) -> Piece {
        if self.on { self.append_stamp(value, arena) } else { value }
    }

    /// The value in the bytes of a version that is there.
    #[inline]
    pub fn without_stamp(&self, bytes: Piece) -> Piece {
        let stamp = if self.on { STAMP_BYTES as u32 } else { 0 };
        bytes.with_length(bytes.length().saturating_sub(stamp))
    }

    /// The transaction adds to the version whose bytes, with their stamp, are the write's value for now: it has read
    /// that version.
    #[inline]
    pub fn added(&mut self, write: &Write<M>, arena: &Arena) {
        if self.on {
            let stamp = stamp::read(arena.get(write.value), self.reach, false);
            self.report_read(write.table, arena.get(write.key), stamp, false);
        }
    }

    /// The bytes that a write installs. A tombstone holds nothing but its stamp: the value removed may
    /// not fit in the record.
    #[inline]
    pub fn payload<'a>(&self, write: &Write<M>, arena: &'a Arena) -> &'a [u8] {
        debug_assert!(!write.is_void(), "a void write is not installed");
        let empty = write.kind == Kind::Remove && !self.on;
        if empty { &[] } else { arena.get(write.value) }
    }

    /// Reports the reads that were held back. These versions the scheme has taken for those that were read, in this order;
    /// `layout_of` knows the tables.
    #[inline]
    pub fn report_held(
        &mut self,
        renewed: &[Renewed<M>],
        layout_of: impl Fn(TableId) -> Option<TableLayout>,
    ) {
        if !self.held.is_empty() {
            self.report_held_now(renewed, layout_of);
        }
    }

    #[cold]
    fn report_held_now(
        &mut self,
        renewed: &[Renewed<M>],
        layout_of: impl Fn(TableId) -> Option<TableLayout>,
    ) {
        for Renewed { record, bytes, .. } in renewed {
            let (record, row) = (record.address(), bytes.len().saturating_sub(STAMP_BYTES));
            let version = (stamp::read(bytes, self.reach, false), &bytes[..row]);
            self.held.iter_mut().for_each(|held| held.renew(record, &layout_of, version));
        }
        if let Some(recorder) = self.recorder.as_deref_mut() {
            self.held.iter().for_each(|held| held.report(recorder));
        }
        self.held.clear();
    }

    /// Nothing refuses the transaction any more: reports its writes, and the versions that they are about
    /// to overwrite.
    #[inline]
    pub fn writes(&mut self, point: CommitPoint, writes: &WriteSet<M>, arena: &Arena) {
        if self.on {
            self.report_writes(point, writes, arena);
        }
    }

    #[cold]
    fn report_writes(&mut self, point: CommitPoint, writes: &WriteSet<M>, arena: &Arena) {
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        for write in writes.entries.iter().filter(|write| !write.is_void()) {
            let absent = version::current_version(write.record, &mut self.old);
            let overwritten = stamp::read(&self.old, self.reach, absent);
            let kind = match write.kind {
                Kind::Remove => WriteKind::Remove,
                Kind::Put if absent => WriteKind::Insert,
                Kind::Put | Kind::Add => WriteKind::Update,
            };
            recorder.write(write.table, arena.get(write.key), kind, overwritten, point.order);
            let stamped = arena.get(write.value);
            debug_assert!(stamped.len() >= STAMP_BYTES, "each new value has its stamp");
            recorder.value(&stamped[..stamped.len() - STAMP_BYTES]);
        }
    }

    /// The transaction goes to the log now.
    #[inline]
    pub fn prepared(&mut self, point: CommitPoint) {
        if self.on
            && let Some(recorder) = self.reporter()
        {
            recorder.prepared(point.epoch, point.order);
        }
    }

    /// The transaction has committed.
    #[inline]
    pub fn committed(&mut self, point: CommitPoint) {
        if self.on
            && let Some(recorder) = self.reporter()
        {
            recorder.commit(M::now(), point.epoch, point.order);
        }
    }

    /// The transaction was refused or rolled back.
    #[inline]
    pub fn aborted(&mut self) {
        self.report_held(&[], |_| None);
        if self.on
            && let Some(recorder) = self.reporter()
        {
            recorder.abort(M::now());
        }
    }

    /// The recorder of a verified run.
    #[cold]
    fn reporter(&mut self) -> Option<&mut (dyn Recorder + 'static)> {
        debug_assert!(self.on, "only a verified run is reported");
        self.recorder.as_deref_mut()
    }
}
