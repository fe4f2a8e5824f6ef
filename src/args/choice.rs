//! Flags that take one of a few words, each with its meaning.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Words that a flag accepts: each with its meaning, and what the help says of it.
pub type Words<T> = [(&'static str, T, &'static str)];

/// A parser of one of these words.
pub fn choice<T>(words: &'static Words<T>) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let shown = words.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(shown).map(|typed| {
        let found = words.iter().find(|(word, _, _)| *word == typed);
        found.map(|(_, meaning, _)| meaning.clone()).expect("a word that the parser accepts")
    })
}
