//! The violations of a case, by name, with an explanation of the first of each.

/// Names with explanations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdicts(Vec<(String, String)>);

impl Verdicts {
    /// Adds one, unless there is one of that name.
    pub fn add(&mut self, name: &str, explanation: impl FnOnce() -> String) {
        if !self.0.iter().any(|(known, _)| known == name) {
            self.0.push((name.to_owned(), explanation()));
        }
    }

    /// Nothing is wrong.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names with explanations.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }
}
