//! What the documents show: code between fences, and command lines.
#![allow(dead_code, reason = "each user needs a part of it")]

use std::path::{Path, PathBuf};

/// A document of the repository.
pub struct Document {
    pub path: PathBuf,
    pub text: String,
}

/// Code between two fences.
pub struct Fence {
    /// What follows the opening fence: `sh`, `rust`, `console`.
    pub language: String,
    /// The number of the opening fence's line.
    pub line: usize,
    pub code: String,
}

/// A line for a shell, and where it stands.
pub struct CommandLine {
    pub place: String,
    pub words: Vec<String>,
    /// It stands in running text and may be cut short.
    pub inline: bool,
}

/// All documents for users and contributors.
pub fn documents(root: &Path) -> Vec<Document> {
    let named = ["README.md", "ARCHITECTURE.md", "crates/checker/HISTORY.md"];
    let mut paths: Vec<PathBuf> = named.iter().map(|name| root.join(name)).collect();
    for folder in ["docs", "docs/decisions", "docs/reports"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("pages of the guide");
        let pages = entries.map(|entry| entry.expect("an entry").path());
        paths.extend(pages.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    paths.sort();
    let read = |path: PathBuf| Document {
        text: std::fs::read_to_string(&path).expect("a document"),
        path: path.strip_prefix(root).expect("below the root").to_owned(),
    };
    paths.into_iter().map(read).collect()
}

impl Document {
    /// The code between fences, and the running text, in which only the code is left out.
    pub fn parts(&self) -> (Vec<Fence>, String) {
        let (mut fences, mut running): (Vec<Fence>, String) = Default::default();
        let mut open: Option<Fence> = None;
        for (number, line) in self.text.lines().enumerate() {
            match (open.take(), line.strip_prefix("```")) {
                (None, Some(language)) => {
                    let (language, code) = (language.to_owned(), String::new());
                    open = Some(Fence { language, line: number + 1, code });
                }
                (None, None) => running = running + line + "\n",
                (Some(fence), Some(_)) => fences.push(fence),
                (Some(mut fence), None) => {
                    fence.code += line;
                    fence.code.push('\n');
                    open = Some(fence);
                }
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", self.path.display());
        (fences, running)
    }

    pub fn fences(&self) -> Vec<Fence> {
        self.parts().0
    }

    /// Command lines: in `sh` fences, behind the `$` of `console` fences, and in backquotes.
    pub fn commands(&self) -> Vec<CommandLine> {
        let (fences, running) = self.parts();
        let mut commands = Vec::new();
        for fence in fences {
            let place = format!("{}:{}", self.path.display(), fence.line);
            for line in fence.code.replace("\\\n", " ").lines() {
                let line = match fence.language.as_str() {
                    "sh" => line,
                    "console" => match line.strip_prefix("$ ") {
                        Some(line) => line,
                        None => continue,
                    },
                    _ => continue,
                };
                let words = split(line);
                if !words.is_empty() {
                    commands.push(CommandLine { place: place.clone(), words, inline: false });
                }
            }
        }
        for span in running.split('`').skip(1).step_by(2) {
            if span.starts_with("chiliad ") || span.starts_with("cargo ") {
                let place = format!("{}: `{span}`", self.path.display());
                // What is in brackets is a choice.
                let words = split(span).into_iter().filter(|word| !word.contains(['[', ']', '|']));
                commands.push(CommandLine { place, words: words.collect(), inline: true });
            }
        }
        commands
    }
}

impl CommandLine {
    /// The words behind `chiliad`, or behind `cargo run --release --`, which is the same.
    pub fn of_chiliad(&self) -> Option<&[String]> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        match words[..] {
            ["chiliad", ..] => Some(&self.words[1..]),
            ["cargo", "run", "--release", "--", ..] => Some(&self.words[4..]),
            _ => None,
        }
    }

    /// The words behind `cargo xtask`.
    pub fn of_xtask(&self) -> Option<&[String]> {
        (self.words.len() > 1 && self.words[0] == "cargo" && self.words[1] == "xtask")
            .then(|| &self.words[2..])
    }
}

/// The words of a line as a shell would split it. A comment ends it.
pub fn split(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut inside) = (None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                if !std::mem::replace(&mut inside, true) {
                    words.push(String::new());
                }
            }
            (None, '#') if !inside => return words,
            (None, c) if c.is_whitespace() => inside = false,
            (_, c) => {
                if !std::mem::replace(&mut inside, true) {
                    words.push(String::new());
                }
                words.last_mut().expect("a word was begun").push(c);
            }
        }
    }
    words
}
