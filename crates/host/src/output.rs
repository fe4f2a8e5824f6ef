//! Files that the command writes: whole or not at all.
//!
//! A file is written beside its target under another name and takes the target's place when it is
//! complete. It is created before a long run begins, so that a place that cannot be written to is
//! found out first, and nothing is overwritten by a run that fails.

use crate::failure::Stop;
use crate::leftovers::Leftover;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file in the making.
pub struct OutputFile {
    flag: &'static str,
    target: PathBuf,
    file: BufWriter<File>,
    /// Where it is written until it is complete; `None` for what is no regular file, such as a
    /// pipe, which is written to directly.
    temporary: Option<(PathBuf, Leftover)>,
}

impl OutputFile {
    /// Prepares the file that `flag` names.
    pub fn create(flag: &'static str, path: &Path) -> Result<Self, Stop> {
        let refuse = |error: io::Error| {
            let path = path.display();
            Stop::bad(flag, format!("{path}: {error}; accepted: a file that can be written"))
        };
        // A symbolic link stays one: what it points to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Ok(metadata) = fs::metadata(&target) {
            if metadata.is_dir() {
                return Err(refuse(io::ErrorKind::IsADirectory.into()));
            }
            let file = File::options().write(true).open(&target).map_err(refuse)?;
            if !metadata.is_file() {
                return Ok(Self { flag, target, file: BufWriter::new(file), temporary: None });
            }
        }
        let name = target.file_name().ok_or_else(|| refuse(io::ErrorKind::InvalidInput.into()))?;
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = target.with_file_name(temporary);
        let gone = temporary.clone();
        let remove = move || drop(fs::remove_file(gone));
        let make = || File::create_new(&temporary).map(|file| (file, remove));
        let (file, leftover) = Leftover::new(make).map_err(refuse)?;
        let temporary = Some((temporary, leftover));
        Ok(Self { flag, target, file: BufWriter::new(file), temporary })
    }

    /// Prepares a file if its flag was given.
    pub fn create_if(flag: &'static str, path: Option<&Path>) -> Result<Option<Self>, Stop> {
        path.map(|path| Self::create(flag, path)).transpose()
    }

    /// Writes with `write` and puts the file in its place.
    pub fn finish(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Stop> {
        let result = write(&mut self.file).and_then(|()| self.file.flush()).and_then(|()| {
            match &self.temporary {
                None => Ok(()),
                Some((temporary, _)) => {
                    self.file.get_ref().sync_all()?;
                    fs::rename(temporary, &self.target)
                }
            }
        });
        match result {
            Ok(()) => {
                if let Some((_, renamed)) = self.temporary {
                    renamed.keep();
                }
                Ok(())
            }
            Err(error) => {
                let target = self.target.display();
                Err(Stop::bad(self.flag, format!("{target}: {error}; the file is unchanged")))
            }
        }
    }
}

/// Writes to standard output. A reader that has gone away is no failure.
pub fn print(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Stop::bad("standard output", error)),
    }
}

/// Writes to standard error; a failure to do so is ignored.
pub fn complain(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = std::env::temp_dir().join(format!("chiliad-output-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let target = folder.join("result.json");
        fs::write(&target, "old").expect("a file");
        drop(OutputFile::create("--json", &target).expect("writable"));
        assert_eq!(fs::read_to_string(&target).expect("still there"), "old");
        let output = OutputFile::create("--json", &target).expect("writable");
        assert!(output.finish(|_| Err(io::ErrorKind::StorageFull.into())).is_err());
        assert_eq!(fs::read_to_string(&target).expect("still there"), "old");
        let output = OutputFile::create("--json", &target).expect("writable");
        output.finish(|file| file.write_all(b"new")).expect("written");
        assert_eq!(fs::read_to_string(&target).expect("replaced"), "new");
        assert_eq!(fs::read_dir(&folder).expect("readable").count(), 1);
        assert!(OutputFile::create("--json", &folder).is_err());
        assert!(OutputFile::create("--json", &folder.join("none/x")).is_err());
        fs::remove_dir_all(&folder).expect("removable");
    }
}
