//! A directory of the host's file system.
//!
//! Files are opened past the page cache (`O_DIRECT`) where the file system allows it: a log is written
//! once and read once, after a crash, and copies through the cache cost processor time that
//! transactions and recovery want. Where it does not (some `tmpfs`), bytes go through the cache.

use super::{Access, BLOCK_BYTES, Blocks, Disk, DiskFile};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file that is locked, so that one process at a time uses a directory.
pub const LOCK_NAME: &str = "LOCK";

/// Zeros written at a time.
const ZEROS_BYTES: usize = 1 << 20;

/// Which other processes may use the directory at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// None.
    Exclusive,
    /// Those that only read.
    Shared,
}

/// A directory, locked for as long as the value lives.
#[derive(Debug)]
pub struct NativeDisk {
    path: PathBuf,
    /// `None`: a directory without a lock file, which nobody can be writing to.
    lock: Option<HeldLock>,
    /// The lock file goes with the value.
    leaves_nothing: AtomicBool,
}

/// A lock file, locked.
#[derive(Debug)]
struct HeldLock {
    file: File,
    id: FileId,
    /// It was not there before.
    made: bool,
}

/// Device and number of a file.
type FileId = (u64, u64);

/// The lock files that this process holds, once for each value.
static HELD: Mutex<Vec<FileId>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<FileId>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NativeDisk {
    /// Locks a directory, which must exist. The lock file is created where an exclusive lock is
    /// wanted.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::WouldBlock`] when another process holds the lock, and
    /// [`io::ErrorKind::ResourceBusy`] when this one does.
    pub fn open(path: &Path, lock: Lock) -> io::Result<Self> {
        let name = path.join(LOCK_NAME);
        if fs::symlink_metadata(&name).is_ok_and(|it| !it.is_file()) {
            let message = format!("{LOCK_NAME} is no file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        loop {
            let (file, made) = match lock {
                Lock::Exclusive => open_lock(&name)?,
                Lock::Shared => match File::open(&name) {
                    Ok(file) => (file, false),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        fs::read_dir(path)?;
                        return Ok(Self::locked(path, None));
                    }
                    Err(error) => return Err(error),
                },
            };
            let id = file_id(&file.metadata()?);
            let outcome = match lock {
                Lock::Exclusive => file.try_lock(),
                Lock::Shared => file.try_lock_shared(),
            };
            match outcome {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if held().contains(&id) => {
                    return Err(io::ErrorKind::ResourceBusy.into());
                }
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The holder before may have removed the file: then no other process will meet this lock.
            if fs::metadata(&name).is_ok_and(|now| file_id(&now) == id) {
                held().push(id);
                return Ok(Self::locked(path, Some(HeldLock { file, id, made })));
            }
        }
    }

    fn locked(path: &Path, lock: Option<HeldLock>) -> Self {
        Self { path: path.into(), lock, leaves_nothing: AtomicBool::new(false) }
    }

    /// When the value is dropped, its lock file goes, if it was not there before: nothing came of the
    /// use of this directory.
    pub fn leave_nothing(&self) {
        // Relaxed: read by the drop, and the value was handed over to the thread that drops it.
        self.leaves_nothing.store(true, Ordering::Relaxed);
    }

    fn file(&self, name: &str, options: &mut OpenOptions) -> io::Result<Box<dyn DiskFile>> {
        let path = self.path.join(name);
        let file = open_direct(&path, options).or_else(|error| match error.kind() {
            io::ErrorKind::InvalidInput => plain(options).open(&path),
            _ => Err(error),
        })?;
        Ok(Box::new(NativeFile { file }))
    }
}

impl Drop for NativeDisk {
    fn drop(&mut self) {
        let Some(lock) = &self.lock else { return };
        if lock.made && *self.leaves_nothing.get_mut() {
            let _ = fs::remove_file(self.path.join(LOCK_NAME));
        }
        {
            let mut held = held();
            if let Some(at) = held.iter().position(|id| *id == lock.id) {
                held.swap_remove(at);
            }
        }
        // Closing the file would do, but for a process that forks just now: the child has the file too,
        // and with it the lock, until it runs another program.
        let _ = lock.file.unlock();
    }
}

/// The lock file, and whether it was made just now.
fn open_lock(name: &Path) -> io::Result<(File, bool)> {
    match OpenOptions::new().write(true).create_new(true).open(name) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // The process that made it may have removed it meanwhile.
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(name)?;
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

fn file_id(metadata: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

fn open_direct(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_DIRECT).open(path)
}

fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(0)
}

impl Disk for NativeDisk {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    fn is_file(&self, name: &str) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.path.join(name))?.is_file())
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let file = self.file(name, options.write(true).create(true).truncate(true))?;
        let mut zeros = Blocks::zeroed(ZEROS_BYTES.min(bytes as usize));
        let mut written = 0;
        while written < bytes {
            if bytes - written < zeros.len() as u64 {
                zeros = Blocks::zeroed((bytes - written) as usize);
            }
            file.write_at(written, &zeros)?;
            written += zeros.len() as u64;
        }
        Ok(file)
    }

    fn create_cached(&self, name: &str, bytes: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let path = self.path.join(name);
        let file = options.write(true).create(true).truncate(true).open(path)?;
        let file = NativeFile { file };
        file.write_at(0, &Blocks::zeroed(bytes as usize))?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        let options = match access {
            Access::Read => options.read(true),
            Access::Write => options.write(true),
        };
        self.file(name, options)
    }

    fn open_cached(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().write(true).open(self.path.join(name))?;
        Ok(Box::new(NativeFile { file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

/// A file of the host.
#[derive(Debug)]
struct NativeFile {
    file: File,
}

impl DiskFile for NativeFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: usize, into: &mut Blocks) -> io::Result<()> {
        let start = into.len();
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64), "{offset}");
        debug_assert!(bytes.is_multiple_of(BLOCK_BYTES), "{bytes}");
        debug_assert!(start.is_multiple_of(BLOCK_BYTES), "{start}");
        into.extend_to(start + bytes);
        let mut read = 0;
        let outcome = loop {
            match self.file.read_at(&mut into.bytes_mut()[start + read..], offset + read as u64) {
                Ok(more) => {
                    read += more;
                    // Less than a block is there at the end of a file only.
                    if more == 0 || read == bytes || !read.is_multiple_of(BLOCK_BYTES) {
                        break Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    read = 0;
                    break Err(error);
                }
            }
        };
        into.truncate(start + read);
        outcome
    }

    fn write_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64), "{offset}");
        debug_assert!(blocks.len().is_multiple_of(BLOCK_BYTES), "{}", blocks.len());
        self.file.write_all_at(blocks.bytes(), offset)
    }

    fn write_durably_at(&self, offset: u64, blocks: &Blocks) -> io::Result<()> {
        debug_assert!(offset.is_multiple_of(BLOCK_BYTES as u64), "{offset}");
        match write_through(&self.file, offset, blocks.bytes()) {
            // A system that does not know the flag.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {
                self.write_at(offset, blocks)?;
                self.sync()
            }
            written => written,
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Writes `bytes` at `offset`, durably, whatever else of the file is not.
fn write_through(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    while !bytes.is_empty() {
        let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        let at = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // SAFETY: the descriptor is open as long as `file` is borrowed; `part` describes `bytes`, which are
        // borrowed, too, and only read by a write; and the system is told of one part.
        let written =
            unsafe { libc::pwritev2(file.as_raw_fd(), &raw const part, 1, at, libc::RWF_DSYNC) };
        match usize::try_from(written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty directory of this test's own.
    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("chiliad-disk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn what_is_written_is_read() {
        let path = scratch("write");
        let disk = NativeDisk::open(&path, Lock::Exclusive).unwrap();
        let file = disk.create("a", 8 * BLOCK_BYTES as u64).unwrap();
        let mut blocks = Blocks::new();
        blocks.push(b"hello");
        blocks.pad();
        file.write_at(BLOCK_BYTES as u64, &blocks).unwrap();
        file.sync().unwrap();
        disk.rename("a", "b").unwrap();
        disk.sync_names().unwrap();
        let file = disk.open("b", Access::Read).unwrap();
        assert_eq!(file.bytes().unwrap(), 8 * BLOCK_BYTES as u64);
        let mut read = Blocks::new();
        file.read_at(0, BLOCK_BYTES, &mut read).unwrap();
        file.read_at(BLOCK_BYTES as u64, BLOCK_BYTES, &mut read).unwrap();
        assert_eq!(read.len(), 2 * BLOCK_BYTES);
        assert_eq!(&read.bytes()[BLOCK_BYTES - 2..][..9], b"\0\0hello\0\0");
        file.read_at(7 * BLOCK_BYTES as u64, 3 * BLOCK_BYTES, &mut read).unwrap();
        assert_eq!(read.len(), 3 * BLOCK_BYTES, "the file ends");
        let kind = disk.open("a", Access::Read).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::NotFound);
        drop(disk);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn what_is_written_durably_is_read_and_the_system_s_errors_are_told() {
        let path = scratch("durable");
        let disk = NativeDisk::open(&path, Lock::Exclusive).unwrap();
        let mut blocks = Blocks::new();
        blocks.push(b"hello");
        blocks.pad();
        blocks.push(b"again");
        blocks.pad();
        drop(disk.create("a", 0).unwrap());
        for file in [disk.open("a", Access::Write).unwrap(), disk.open_cached("a").unwrap()] {
            file.write_durably_at(BLOCK_BYTES as u64, &blocks).unwrap();
            assert_eq!(file.bytes().unwrap(), 3 * BLOCK_BYTES as u64, "the file has grown");
            let mut read = Blocks::new();
            let reader = disk.open("a", Access::Read).unwrap();
            reader.read_at(BLOCK_BYTES as u64, 2 * BLOCK_BYTES, &mut read).unwrap();
            assert_eq!(read.bytes(), blocks.bytes());
        }
        let reader = disk.open("a", Access::Read).unwrap();
        let error = reader.write_durably_at(0, &blocks).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF), "opened for reading");
        let far = disk.open("a", Access::Write).unwrap().write_durably_at(1 << 63, &blocks);
        assert_eq!(far.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        drop(disk);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn one_at_a_time() {
        let path = scratch("lock");
        let held = NativeDisk::open(&path, Lock::Exclusive).unwrap();
        for lock in [Lock::Exclusive, Lock::Shared] {
            let kind = NativeDisk::open(&path, lock).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::ResourceBusy);
        }
        drop(held);
        let reader = NativeDisk::open(&path, Lock::Shared).unwrap();
        NativeDisk::open(&path, Lock::Shared).unwrap();
        assert!(NativeDisk::open(&path, Lock::Exclusive).is_err());
        drop(reader);
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn what_came_to_nothing_leaves_no_lock() {
        let path = scratch("nothing");
        for there in [false, true] {
            let disk = NativeDisk::open(&path, Lock::Exclusive).unwrap();
            disk.leave_nothing();
            drop(disk);
            assert_eq!(path.join(LOCK_NAME).exists(), there);
            drop(NativeDisk::open(&path, Lock::Exclusive).unwrap());
        }
        fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn a_fork_does_not_keep_the_lock() {
        let path = scratch("fork");
        let held = NativeDisk::open(&path, Lock::Exclusive).unwrap();
        // What a child has from the fork to its next program: the same file once more.
        let child = held.lock.as_ref().unwrap().file.try_clone().unwrap();
        drop(held);
        NativeDisk::open(&path, Lock::Exclusive).unwrap();
        drop(child);
        fs::remove_dir_all(path).unwrap();
    }
}
