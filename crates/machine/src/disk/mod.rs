//! Files: one directory behind one interface, so that the durable log runs on a real file system and
//! on one that fails.
//!
//! A disk is a value, not part of [`crate::Machine`]: it outlives the machine, as files outlive a
//! process that is killed. [`NativeDisk`] is a directory of the host; the simulator has one whose
//! writes tear, reorder, get lost and fail as a seed says.
//!
//! The promises of a disk, and no others:
//!
//! - bytes written are durable once [`DiskFile::sync`] has returned after the write did, or
//!   [`DiskFile::write_durably_at`] with them; before that each sector of them may be there or not, in any combination;
//! - a name created, renamed or removed is durable once [`Disk::sync_names`] has returned; a rename
//!   replaces its target at once or not at all;
//! - a sync that has failed says nothing about what is on the disk, and trying it again proves
//!   nothing.
//!
//! Reads and writes are of whole [`BLOCK_BYTES`], to and from memory aligned to them ([`Blocks`]):
//! natively they go past the page cache where the file system lets them.

mod blocks;
mod native;

pub use blocks::{BLOCK_BYTES, Blocks};
pub use native::{LOCK_NAME, Lock, NativeDisk};

use core::fmt;
use core::ops::Range;
use std::io;

/// Copies the bytes `range` of one file to the same place in another, which may be the same one: from
/// block to block. What the file does not have is written as zeros: a crash may have cut its last
/// block short.
///
/// # Errors
/// The system's, with the side that it is of.
pub fn copy_blocks(
    from: &dyn DiskFile,
    to: &dyn DiskFile,
    range: Range<u64>,
) -> Result<(), CopyError> {
    let mut at = range.start;
    let mut chunk = Blocks::new();
    while at < range.end {
        let bytes = COPY_BYTES.min(range.end - at) as usize;
        chunk.clear();
        from.read_at(at, bytes, &mut chunk).map_err(CopyError::Reading)?;
        chunk.extend_with_zeros(bytes);
        to.write_at(at, &chunk).map_err(CopyError::Writing)?;
        at += chunk.len() as u64;
    }
    Ok(())
}

/// Which side of [`copy_blocks`] failed.
#[derive(Debug)]
pub enum CopyError {
    /// The file copied from.
    Reading(io::Error),
    /// The file copied to.
    Writing(io::Error),
}

/// Bytes copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// The purpose of opening a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reading only.
    Read,
    /// Writing, in place.
    Write,
}

/// A directory of files. Errors are those of the system.
pub trait Disk: Send + Sync + fmt::Debug {
    /// Where it is, for messages.
    fn place(&self) -> String;

    /// The names of all files, in no order.
    ///
    /// # Errors
    /// The system's.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Whether the name is that of a file, and not of a directory or a link, say.
    ///
    /// # Errors
    /// The system's.
    fn is_file(&self, name: &str) -> io::Result<bool>;

    /// Creates a file, or empties the one there is, and writes `bytes` zeros to it, so that later
    /// writes within them allocate nothing. Neither name nor zeros are durable yet.
    ///
    /// # Errors
    /// The system's: [`io::ErrorKind::StorageFull`] among them.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>>;

    /// As [`Disk::create`], for a file whose writes are many, small and seldom synced: they may stay in
    /// the system's memory until then, where they outlive the process.
    ///
    /// # Errors
    /// As [`Disk::create`].
    fn create_cached(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        self.create(name, bytes)
    }

    /// Opens a file that exists.
    ///
    /// # Errors
    /// The system's: [`io::ErrorKind::NotFound`] among them.
    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>>;

    /// As [`Disk::open`] for writing, as writes to a file of [`Disk::create_cached`] are.
    ///
    /// # Errors
    /// As [`Disk::open`].
    fn open_cached(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.open(name, Access::Write)
    }

    /// Gives a file another name, in place of whatever has that.
    ///
    /// # Errors
    /// The system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes all changes of names so far durable.
    ///
    /// # Errors
    /// The system's.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + Sync + fmt::Debug {
    /// Its length in bytes.
    ///
    /// # Errors
    /// The system's.
    fn bytes(&self) -> io::Result<u64>;

    /// Appends to `into` the `bytes` bytes from `offset` on, or as many as the file has. All three,
    /// and the length of `into`, are multiples of [`BLOCK_BYTES`].
    ///
    /// # Errors
    /// The system's. Nothing is appended then.
    fn read_at(&self, offset: u64, bytes: usize, into: &mut Blocks) -> io::Result<()>;

    /// Writes all of `blocks` at `offset`, a multiple of [`BLOCK_BYTES`].
    ///
    /// # Errors
    /// The system's. Some of the blocks may have been written then.
    fn write_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()>;

    /// As [`DiskFile::write_at`], and the blocks are durable when it returns. It promises nothing of what was written
    /// before, to other places of the file, and does not wait for that: this is the difference to a sync that follows.
    ///
    /// # Errors
    /// As of [`DiskFile::write_at`] and [`DiskFile::sync`].
    fn write_durably_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        self.write_at(offset, blocks)?;
        self.sync()
    }

    /// Makes everything written so far durable.
    ///
    /// # Errors
    /// The system's; see the head of this module for what follows from one.
    fn sync(&self) -> io::Result<()>;
}
