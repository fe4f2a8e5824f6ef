//! An open file of a [`super::FaultyDisk`].

use super::names::FileId;
use super::sector::{SECTOR_BYTES, sectors};
use super::state::{DiskState, input_output};
use super::{aligned, lock};
use crate::device::{Operation, perform, wait};
use chiliad_machine::disk::{Access, Blocks, DiskFile};
use core::ops::Range;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub(super) struct FaultyFile {
    state: Arc<Mutex<DiskState>>,
    file: FileId,
    access: Access,
    /// Failed syncs of the file that this handle has told of, or that were before it.
    told: AtomicU64,
}

impl FaultyFile {
    /// A handle, which the caller has counted as open.
    pub(super) fn new(
        state: &Arc<Mutex<DiskState>>,
        file: FileId,
        access: Access,
        told: u64,
    ) -> Self {
        Self { state: state.clone(), file, access, told: AtomicU64::new(told) }
    }

    /// Refuses what the file was not opened for, as the system does.
    fn opened_for(&self, access: Access) -> io::Result<()> {
        if self.access == access { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EBADF)) }
    }
}

impl Drop for FaultyFile {
    fn drop(&mut self) {
        lock(&self.state).close(self.file);
    }
}

impl fmt::Debug for FaultyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyFile").field("file", &self.file).finish_non_exhaustive()
    }
}

impl DiskFile for FaultyFile {
    fn bytes(&self) -> io::Result<u64> {
        perform(Operation::Look, || {
            let mut state = lock(&self.state);
            state.check()?;
            Ok((state.content(self.file).cached.len() * SECTOR_BYTES) as u64)
        })
    }

    fn read_at(&self, offset: u64, bytes: usize, into: &mut Blocks) -> io::Result<()> {
        self.opened_for(Access::Read)?;
        let start = into.len();
        for it in [offset, bytes as u64, start as u64] {
            aligned(it)?;
        }
        perform(Operation::Read, || {
            into.extend_to(start + bytes);
            let read = lock(&self.state).read(self.file, offset, &mut into.bytes_mut()[start..]);
            into.truncate(start + *read.as_ref().unwrap_or(&0));
            read.map(drop)
        })
    }

    fn write_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        self.opened_for(Access::Write)?;
        let first = aligned(offset)?;
        aligned(blocks.len() as u64)?;
        perform(Operation::Write, || {
            lock(&self.state).write(self.file, first, sectors(blocks.bytes()))
        })
    }

    fn write_durably_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        self.write_at(offset, blocks)?;
        let first = aligned(offset)?;
        self.sync_range(&(first..first + aligned(blocks.len() as u64)?))
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_range(&(0..usize::MAX))
    }
}

impl FaultyFile {
    /// Makes what was written to these sectors durable.
    fn sync_range(&self, range: &Range<usize>) -> io::Result<()> {
        perform(Operation::Sync, || {
            let (mark, told, ticks) = {
                let mut state = lock(&self.state);
                state.check()?;
                let mark = state.content(self.file).pending.mark();
                (mark, self.told.load(Ordering::SeqCst), state.sync_ticks())
            };
            wait(ticks);
            let errors = lock(&self.state).sync(self.file, mark, range)?;
            self.told.store(errors, Ordering::SeqCst);
            if errors == told { Ok(()) } else { Err(input_output()) }
        })
    }
}
