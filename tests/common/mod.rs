//! Running the command and looking at what it says.
#![allow(dead_code, reason = "each test file uses a part of it")]

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs `chiliad` with the words of `line`, split at blanks.
pub fn chiliad(line: &str) -> Output {
    let words = line.split(' ').filter(|word| !word.is_empty());
    Command::new(env!("CARGO_BIN_EXE_chiliad")).args(words).output().expect("the command runs")
}

/// Standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

/// Runs the line with `--json -` and returns its results.
pub fn results(line: &str) -> Vec<Value> {
    let output = chiliad(&format!("{line} --json -"));
    assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The one result of the line.
pub fn result(line: &str) -> Value {
    let mut results = results(line);
    assert_eq!(results.len(), 1, "{line}");
    results.remove(0)
}

/// A folder of its own that goes when the test ends.
pub struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("chiliad-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        std::fs::read_dir(&self.0).expect("readable").count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
