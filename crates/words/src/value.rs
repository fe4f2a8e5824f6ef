//! The values that flags take: one of a few words, or a number within bounds.

use chiliad_host::values;
pub use chiliad_host::values::{
    percent, size, size_or_none, time, time_above_zero, time_or_endless, time_or_never,
};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Words that a flag accepts: each with its meaning, and what the help says of it.
pub type Words<T> = [(&'static str, T, &'static str)];

/// A parser of one of these words.
///
/// # Panics
/// Never: what was typed is one of the words.
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

/// The word that is typed for `meaning`.
///
/// # Panics
/// No word has this meaning.
#[must_use]
pub fn typed<T: PartialEq>(words: &'static Words<T>, meaning: &T) -> &'static str {
    let found = words.iter().find(|(_, other, _)| other == meaning);
    found.map(|(word, _, _)| *word).expect("a meaning that a word has")
}

/// A parser of a flag that takes `yes` or `no`.
pub fn yes_no() -> impl TypedValueParser<Value = bool> {
    choice(&[("yes", true, "Yes"), ("no", false, "No")])
}

/// A parser of numbers from `low` to `high`, for counts in memory.
pub fn count(low: usize, high: usize) -> impl TypedValueParser<Value = usize> {
    move |text: &str| values::count(text, low, high)
}

/// A parser of numbers from `low` to `high`, for small ones.
pub fn small(low: u32, high: u32) -> impl TypedValueParser<Value = u32> {
    move |text: &str| values::whole(text, low.into(), high.into()).map(|number| number as u32)
}

/// A parser of numbers from `low` to `high`.
pub fn whole(low: u64, high: u64) -> impl TypedValueParser<Value = u64> {
    move |text: &str| values::whole(text, low, high)
}

/// A parser of real numbers from `low` to `high`.
pub fn real(low: f64, high: f64) -> impl TypedValueParser<Value = f64> {
    move |text: &str| values::real(text, low, high)
}
