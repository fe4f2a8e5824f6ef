//! The directory that figures are written into: empty, or left by this command.

use super::describe::Figure;
use chiliad_host::Leftover;
use chiliad_host::Stop;
use chiliad_host::output::OutputFile;
use std::fs;
use std::path::{Path, PathBuf};

/// The page.
const PAGE: &str = "index.html";

/// The mark that pages of this command have near their beginning.
pub const MARK: &str = "<meta name=\"generator\" content=\"chiliad figure\">";

/// How far into a page the mark is looked for, in bytes.
const MARK_WITHIN: usize = 400;

const ACCEPTED: &str = "accepted: a directory that is missing, empty, or left by `chiliad figure`";

/// A directory that can be written to, with its page begun.
pub struct Place {
    path: PathBuf,
    page: OutputFile,
    /// The page that an earlier run has left; empty: none has.
    earlier: String,
    /// It was missing: it goes again where nothing was written to it.
    made: Leftover,
}

impl Place {
    /// Obtains the directory, before anything is run. Of `figures`, all that there are, it may hold files.
    pub fn obtain(path: &Path, figures: &[Figure]) -> Result<Self, Stop> {
        let refuse = |problem: String| {
            Stop::bad("--out", format!("{}: {problem}; {ACCEPTED}", path.display()))
        };
        let made = Leftover::directory(path).map_err(|error| refuse(error.to_string()))?;
        for entry in fs::read_dir(path).map_err(|error| refuse(error.to_string()))? {
            let entry = entry.map_err(|error| refuse(error.to_string()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if !(file && is_ours(path, &name, figures)) {
                return Err(refuse(format!("holds `{name}`, which is not of this command")));
            }
        }
        let page = OutputFile::create("--out", &path.join(PAGE))?;
        let earlier = fs::read_to_string(path.join(PAGE)).unwrap_or_default();
        Ok(Self { path: path.to_owned(), page, earlier, made })
    }

    /// The page that an earlier run has left here.
    pub fn earlier(&self) -> &str {
        &self.earlier
    }

    /// Writes a file of a figure.
    pub fn put(&self, name: &str, text: &str) -> Result<(), Stop> {
        let file = OutputFile::create("--out", &self.path.join(name))?;
        file.finish(|file| file.write_all(text.as_bytes()))
    }

    /// Writes the page; where it is.
    pub fn finish(self, text: &str) -> Result<PathBuf, Stop> {
        self.page.finish(|file| file.write_all(text.as_bytes()))?;
        self.made.keep();
        Ok(self.path.join(PAGE))
    }
}

/// Whether a file is one that this command writes, or what a killed one has left of it.
fn is_ours(path: &Path, name: &str, figures: &[Figure]) -> bool {
    let of_a_figure = |name: &str| {
        let stem = name.strip_suffix(".csv").or_else(|| name.strip_suffix(".svg"));
        stem.is_some_and(|stem| figures.iter().any(|figure| figure.id == stem))
    };
    if let Some((unfinished, _)) = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".tmp"))
        .and_then(|name| name.rsplit_once('.'))
    {
        return unfinished == PAGE || of_a_figure(unfinished);
    }
    let marked = || {
        let text = fs::read(path.join(PAGE)).unwrap_or_default();
        let beginning = &text[..text.len().min(MARK_WITHIN)];
        String::from_utf8_lossy(beginning).contains(MARK)
    };
    of_a_figure(name) || (name == PAGE && marked())
}
