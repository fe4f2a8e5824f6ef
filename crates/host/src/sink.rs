//! Where results go: for people, and as JSON.

use crate::failure::Stop;
use crate::output::{OutputFile, print};
use serde_json::Value;
use std::path::Path;

/// Where results go.
pub struct Sink {
    quiet: bool,
    to_stdout: bool,
    file: Option<OutputFile>,
    lines: String,
}

impl Sink {
    /// A sink for `--json` and `--quiet`.
    pub fn new(json: Option<&Path>, quiet: bool) -> Result<Self, Stop> {
        let to_stdout = json == Some(Path::new("-"));
        let file = json.filter(|_| !to_stdout);
        let file = OutputFile::create_if("--json", file)?;
        Ok(Self { quiet: quiet || to_stdout, to_stdout, file, lines: String::new() })
    }

    /// Tells people something, unless they want quiet.
    pub fn say(&self, text: &str) -> Result<(), Stop> {
        if self.quiet { Ok(()) } else { print(text) }
    }

    /// Writes a line of JSON.
    pub fn json(&mut self, value: &Value) -> Result<(), Stop> {
        let line = format!("{value}\n");
        if self.to_stdout {
            print(&line)?;
        } else if self.file.is_some() {
            self.lines.push_str(&line);
        }
        Ok(())
    }

    /// Puts the JSON file in its place.
    pub fn finish(self) -> Result<(), Stop> {
        match self.file {
            None => Ok(()),
            Some(file) => file.finish(|file| file.write_all(self.lines.as_bytes())),
        }
    }
}
