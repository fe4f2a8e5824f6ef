//! Words that the glossary has retired: the field has a better one, and two words for one thing confuse.

use super::Complaints;
use super::sources::{Source, files};
use std::path::Path;

/// The one list of them.
const GLOSSARY: &str = "docs/glossary.md";

/// The heading under which it stands.
const HEADING: &str = "## Retired words";

/// Where the rule itself is, with its examples.
const RULE: &str = "xtask/src/tidy";

/// Documents in which they may not stand either.
const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "docs"];

/// Complains about each line of the sources and the documents at `root` that uses a retired word.
///
/// # Errors
/// A document that cannot be read.
pub fn words(root: &Path, sources: &[Source]) -> Result<Complaints, String> {
    let documents = files(root, DOCUMENTS, &["md"])?;
    let glossary = documents.iter().find(|(path, _)| path == GLOSSARY);
    let retired = glossary.map_or(Vec::new(), |(_, text)| retired(text));
    if retired.is_empty() {
        return Ok(vec![format!("{GLOSSARY}: no table of retired words under `{HEADING}`")]);
    }
    let sources = sources.iter().filter(|source| !source.is_in(RULE));
    let sources = sources.map(|source| (&source.path, &source.text));
    let documents = documents.iter().map(|(path, text)| (path, text));
    let all = sources.chain(documents.filter(|(path, _)| *path != GLOSSARY));
    Ok(all.flat_map(|(path, text)| of_text(path, text, &retired)).collect())
}

/// The words of the table, in lower case, each with what is said instead.
fn retired(glossary: &str) -> Vec<(String, String)> {
    let Some((_, section)) = glossary.split_once(HEADING) else { return Vec::new() };
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(word, instead)| (word.to_lowercase(), instead.trim_end_matches(" |").to_owned()))
        .collect()
}

fn of_text(path: &str, text: &str, retired: &[(String, String)]) -> Complaints {
    let mut complaints = Complaints::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (word, instead) in retired.iter().filter(|(word, _)| stands_in(word, &line)) {
            let place = number + 1;
            complaints.push(format!("{path}:{place}: `{word}` is retired: {instead}"));
        }
    }
    complaints
}

/// Whether `line` has `word` as a whole word.
fn stands_in(word: &str, line: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|it| it.is_alphanumeric() || it == '_');
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# x\n\n## Retired words\n\n| word | instead |\n| --- | --- |\n| `ruins` | dropped tables |\n";

    #[test]
    fn whole_words_are_refused_in_any_case() {
        let table = retired(TABLE);
        assert_eq!(table, [("ruins".to_owned(), "dropped tables".to_owned())]);
        assert_eq!(of_text("a.rs", "pub struct Ruins;\n", &table).len(), 1);
        assert_eq!(of_text("a.md", "In the ruins.\n", &table).len(), 1);
        assert_eq!(of_text("a.rs", "let bruins = in_ruins_of;\n", &table).len(), 0);
    }

    #[test]
    fn a_glossary_without_the_table_is_a_complaint() {
        assert!(retired("# Glossary\n").is_empty());
    }
}
