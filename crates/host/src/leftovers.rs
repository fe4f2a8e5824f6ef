//! Leftovers of the process: temporary files and directories, child processes.
//!
//! Each is registered when it is made, and is removed with the value that stands for it: at the end of what
//! it was made for, where an error or a panic ends that earlier, and where a signal ends the process
//! ([`crate::interrupt`]). Whatever is to stay is given up by [`Leftover::keep`].

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Attempts to remove a directory to which other threads may still be adding files.
const ATTEMPTS: usize = 1_000;

/// How something is removed. What cannot be removed stays: the process is about to end.
type Removal = Box<dyn FnOnce() + Send>;

/// Everything that has been made and is to go.
struct Owned {
    entered: u64,
    removals: Vec<(u64, Removal)>,
}

static OWNED: Mutex<Owned> = Mutex::new(Owned { entered: 0, removals: Vec::new() });

fn owned() -> MutexGuard<'static, Owned> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that goes when this is dropped, or when the process ends before.
pub struct Leftover(u64);

impl Leftover {
    /// Makes something by `make`, which says how it is removed. It is entered before anybody else can look:
    /// a signal finds either nothing or all of it.
    pub fn new<T, E, R: FnOnce() + Send + 'static>(
        make: impl FnOnce() -> Result<(T, R), E>,
    ) -> Result<(T, Self), E> {
        let mut owned = owned();
        let (made, removal) = make()?;
        owned.entered += 1;
        let number = owned.entered;
        owned.removals.push((number, Box::new(removal)));
        Ok((made, Self(number)))
    }

    /// A directory that is made, with all that will be in it.
    pub fn tree(path: &Path) -> io::Result<Self> {
        let gone = path.to_owned();
        let made = Self::new(|| fs::create_dir(path).map(|()| ((), move || remove_tree(&gone))));
        made.map(|((), it)| it)
    }

    /// A directory, made with those above it where they are missing: those that were missing go again,
    /// unless something else has been put into them.
    pub fn directory(path: &Path) -> io::Result<Self> {
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made: Vec<PathBuf> = path.ancestors().take_while(missing).map(Path::to_owned).collect();
        let remove = move || made.iter().for_each(|path| drop(fs::remove_dir(path)));
        Self::new(|| fs::create_dir_all(path).map(|()| ((), remove))).map(|((), it)| it)
    }

    /// The files that another program part writes to a directory that is missing or empty; `None` where there is
    /// something in it already, all of which stays.
    pub fn contents(path: &Path) -> Option<Self> {
        let was_there = match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none().then_some(true)?,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(_) => return None,
        };
        let path = path.to_owned();
        let remove = move || match was_there {
            false => remove_tree(&path),
            true => {
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    let _ = fs::remove_file(entry.path());
                }
            }
        };
        Self::new(|| Some(((), remove)).ok_or(())).ok().map(|((), it)| it)
    }

    /// It stays.
    pub fn keep(self) {
        owned().removals.retain(|(number, _)| *number != self.0);
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        let mut owned = owned();
        if let Some(at) = owned.removals.iter().position(|(number, _)| *number == self.0) {
            let (_, removal) = owned.removals.remove(at);
            removal();
        }
    }
}

/// Starts a process that ends with this one.
pub fn process(command: &mut Command) -> io::Result<(Arc<Mutex<Child>>, Leftover)> {
    Leftover::new(|| {
        let child = Arc::new(Mutex::new(command.spawn()?));
        let killed = Arc::clone(&child);
        let kill = move || {
            // The holder waits for its end already.
            if let Ok(mut child) = killed.try_lock() {
                // Both fail where it has ended, which is what is wanted.
                let _ = child.kill();
                let _ = child.wait();
            }
        };
        Ok((child, kill))
    })
}

/// Removes everything, the newest first. From here on making more blocks until the process ends, which is
/// for the caller to bring about.
pub fn clear() {
    let mut owned = owned();
    while let Some((_, removal)) = owned.removals.pop() {
        removal();
    }
    std::mem::forget(owned);
}

fn remove_tree(path: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_goes_and_what_is_kept_stays() {
        let folder = std::env::temp_dir().join(format!("chiliad-leftovers-{}", std::process::id()));
        let all = Leftover::tree(&folder).expect("a temporary folder");
        assert!(Leftover::tree(&folder).is_err(), "it is there");
        let deep = folder.join("a/b");
        drop(Leftover::directory(&deep).expect("made"));
        assert!(!folder.join("a").exists());
        let used = Leftover::directory(&deep).expect("made");
        fs::write(folder.join("a/file"), "of somebody else").expect("a file");
        drop(used);
        assert!(folder.join("a/file").exists() && !deep.exists());
        assert!(Leftover::contents(&folder).is_none(), "there is something in it");
        let copy = folder.join("copy");
        let written = Leftover::contents(&copy).expect("missing");
        fs::create_dir(&copy).expect("a folder");
        drop(written);
        assert!(!copy.exists());
        fs::create_dir(&copy).expect("a folder");
        let written = Leftover::contents(&copy).expect("empty");
        fs::write(copy.join("file"), "").expect("a file");
        drop(written);
        assert_eq!(fs::read_dir(&copy).expect("it stays").count(), 0);
        Leftover::contents(&copy).expect("empty").keep();
        assert!(copy.exists());
        drop(all);
        assert!(!folder.exists());
    }
}
