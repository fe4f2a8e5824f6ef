//! The state of a disk and its operations, one at a time and without any waiting.
//!
//! - A disk that is off stays so: nothing is performed and nothing changes any more.
//! - A file is there for as long as a handle or a name leads to it, or a name would after some loss
//!   of power.

use super::content::Content;
use super::faults::{DiskCounters, DiskFaults, DiskLosses, strikes};
use super::image;
use super::names::{FileId, Names};
use super::sector::{SECTOR_BYTES, Sector, read};
use crate::random::{Generator, Stream};
use core::ops::Range;
use std::collections::BTreeMap;
use std::io;

/// Files that are gone and whose bytes may show up in new ones.
const GONE_MAX: usize = 4;

#[derive(Clone)]
pub(super) struct DiskState {
    pub(super) names: Names,
    pub(super) files: BTreeMap<FileId, Content>,
    next_file: FileId,
    gone: Vec<Vec<Sector>>,
    random: Generator,
    pub(super) faults: DiskFaults,
    pub(super) counters: DiskCounters,
    pub(super) losses: DiskLosses,
    off: bool,
}

impl DiskState {
    pub(super) fn new(seed: u64, faults: DiskFaults) -> Self {
        Self {
            names: Names::default(),
            files: BTreeMap::new(),
            next_file: 0,
            gone: Vec::new(),
            random: Generator::new(seed, Stream::DiskFaults),
            faults,
            counters: DiskCounters::default(),
            losses: DiskLosses::default(),
            off: false,
        }
    }

    /// The disk as it is mounted after power was lost; this one is off.
    pub(super) fn crash(&mut self, seed: u64) -> Self {
        self.off = true;
        let mut random = Generator::new(seed, Stream::DiskImage);
        let faults = DiskFaults { off_after_operations: None, ..self.faults };
        let mut after = Self::new(random.next(), faults);
        let table = self.names.crash(&mut random, &mut after.losses);
        for file in table.values() {
            let (tear, losses) = (!self.faults.whole_sectors, &mut after.losses);
            let content = image::crash(&self.files[file], &self.gone, tear, &mut random, losses);
            after.files.insert(*file, content);
        }
        after.names = Names::of(table);
        after.next_file = self.next_file;
        after.gone.clone_from(&self.gone);
        for (file, content) in &self.files {
            if !after.files.contains_key(file) {
                after.forget(content.durable.clone());
            }
        }
        after
    }

    /// The disk as it is mounted after its process was killed; this one is off.
    pub(super) fn kill(&mut self) -> Self {
        self.off = true;
        let mut after = self.clone();
        after.off = false;
        after.faults.off_after_operations = None;
        after.counters = DiskCounters::default();
        after.losses = DiskLosses::default();
        after.names.mount();
        for content in after.files.values_mut() {
            content.handles = 0;
        }
        after.collect();
        after
    }

    /// A disk with the same files, all of it durable.
    pub(super) fn fork(&self) -> Self {
        let mut copy = Self::new(0, DiskFaults::default());
        let table: BTreeMap<String, FileId> = self
            .names
            .list()
            .into_iter()
            .filter_map(|name| {
                let file = self.names.get(&name)?;
                Some((name, file))
            })
            .collect();
        for file in table.values() {
            if let Some(content) = self.files.get(file) {
                copy.files.insert(*file, Content::durable(content.cached.clone()));
            }
        }
        copy.names = Names::of(table);
        copy.next_file = self.next_file;
        copy
    }

    /// Refuses to go on once the disk is off.
    ///
    /// # Errors
    /// When it is off.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.off { Err(io::Error::other("the disk is off")) } else { Ok(()) }
    }

    /// Counts an operation that changes something, and turns the disk off when it had all of them.
    fn begin(&mut self) -> io::Result<()> {
        self.check()?;
        if self.faults.off_after_operations.is_some_and(|most| self.counters.operations >= most) {
            self.off = true;
        }
        self.check()?;
        self.counters.operations += 1;
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> io::Result<FileId> {
        self.names.get(name).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn content(&mut self, file: FileId) -> &mut Content {
        self.files.entry(file).or_default()
    }

    /// An open handle on a file; returns the errors that it need not tell of.
    pub(super) fn open(&mut self, file: FileId) -> u64 {
        let content = self.content(file);
        content.handles += 1;
        content.errors
    }

    pub(super) fn close(&mut self, file: FileId) {
        if !self.off {
            self.content(file).handles -= 1;
            self.collect();
        }
    }

    pub(super) fn create(&mut self, name: &str, sectors: usize) -> io::Result<FileId> {
        self.begin()?;
        let file = if let Some(file) = self.names.get(name) {
            let before = self.content(file).truncate();
            self.forget(before);
            file
        } else {
            let file = self.next_file;
            self.next_file += 1;
            self.names.create(name, file);
            file
        };
        self.put(file, 0, vec![Sector::Zeros; sectors])?;
        Ok(file)
    }

    pub(super) fn write(
        &mut self,
        file: FileId,
        first: usize,
        sectors: Vec<Sector>,
    ) -> io::Result<()> {
        self.begin()?;
        self.counters.writes += 1;
        self.put(file, first, sectors)
    }

    /// Writes what there is room for, or less where the write fails.
    fn put(&mut self, file: FileId, first: usize, mut sectors: Vec<Sector>) -> io::Result<()> {
        let mut result = Ok(());
        let most =
            self.content(file).cached.len().saturating_add(self.room()).saturating_sub(first);
        if sectors.len() > most {
            self.counters.full += 1;
            sectors.truncate(most);
            result = Err(io::ErrorKind::StorageFull.into());
        } else if strikes(self.faults.short_writes_one_in, &mut self.random) {
            self.counters.short_writes += 1;
            let kept = self.random.below(sectors.len().max(1) as u64);
            sectors.truncate(kept as usize);
            result = Err(input_output());
        }
        if !sectors.is_empty() {
            self.counters.sectors_written += sectors.len() as u64;
            self.content(file).write(first, sectors);
        }
        result
    }

    /// Sectors that are free.
    fn room(&self) -> usize {
        let Some(most) = self.faults.full_after_bytes else { return usize::MAX };
        let held =
            |(file, content): &(&FileId, &Content)| content.handles > 0 || self.names.has(**file);
        let used = self.files.iter().filter(held).map(|(_, content)| content.cached.len());
        let most = usize::try_from(most).unwrap_or(usize::MAX) / SECTOR_BYTES;
        most.saturating_sub(used.sum())
    }

    pub(super) fn read(
        &mut self,
        file: FileId,
        offset: u64,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        self.check()?;
        let count = read(&self.content(file).cached, offset, buffer);
        if count > 0 && strikes(self.faults.read_flips_one_in, &mut self.random) {
            self.counters.read_flips += 1;
            let bit = self.random.below(count as u64 * 8);
            buffer[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        Ok(count)
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?;
        let found = self.names.rename(from, to);
        self.collect();
        if found { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.begin()?;
        let found = self.names.remove(name);
        self.collect();
        if found { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(super) fn sync_names(&mut self, mark: u64) -> io::Result<()> {
        self.begin()?;
        self.counters.name_syncs += 1;
        if self.names.failed() {
            return Err(input_output());
        }
        let failed = self.sync_fails();
        if failed {
            self.names.fail(mark, &mut self.random);
        } else {
            self.names.sync(mark);
        }
        self.collect();
        if failed { Err(input_output()) } else { Ok(()) }
    }

    /// Syncs what was written before the mark to the sectors of `range`. Returns the errors of the file, which differ
    /// from those that the handle knows of when it has to tell of one.
    pub(super) fn sync(
        &mut self,
        file: FileId,
        mark: u64,
        range: &Range<usize>,
    ) -> io::Result<u64> {
        self.begin()?;
        self.counters.syncs += 1;
        if self.sync_fails() {
            let content = self.files.entry(file).or_default();
            content.fail(mark, range, &mut self.random);
        } else {
            self.content(file).sync(mark, range);
        }
        Ok(self.content(file).errors)
    }

    fn sync_fails(&mut self) -> bool {
        let failed = strikes(self.faults.sync_errors_one_in, &mut self.random);
        self.counters.sync_errors += u64::from(failed);
        failed
    }

    /// How long the sync that begins takes.
    pub(super) fn sync_ticks(&mut self) -> u64 {
        self.random.gap(self.faults.sync_ticks_mean)
    }

    /// Drops the files that nothing leads to.
    fn collect(&mut self) {
        let names = &self.names;
        let unreached =
            |(file, content): &(&FileId, &Content)| content.handles == 0 && !names.reach(**file);
        let gone: Vec<FileId> =
            self.files.iter().filter(unreached).map(|(file, _)| *file).collect();
        for file in gone {
            if let Some(content) = self.files.remove(&file) {
                self.forget(content.durable);
            }
        }
    }

    /// Keeps what a file held, for a while.
    fn forget(&mut self, durable: Vec<Sector>) {
        if durable.is_empty() {
            return;
        }
        if self.gone.len() == GONE_MAX {
            self.gone.remove(0);
        }
        self.gone.push(durable);
    }
}

/// The error of a device that fails.
pub(super) fn input_output() -> io::Error {
    io::Error::from_raw_os_error(libc::EIO)
}
