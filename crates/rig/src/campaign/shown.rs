//! The findings of a case.

/// The findings of a case.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The findings by name: anomaly classes, `consistency`, how the machine stopped. Empty if there are none.
    pub verdicts: Vec<String>,
    /// The findings in words, with the cycle.
    pub text: String,
    /// Rare branches taken.
    pub marks: Vec<&'static str>,
    /// Transactions checked.
    pub transactions: u64,
    /// Events simulated.
    pub events: u64,
}

impl Shown {
    /// Adds something that is wrong, unless it is known.
    pub fn add(&mut self, verdict: &str, text: &str) {
        if !self.verdicts.iter().any(|known| known == verdict) {
            self.verdicts.push(verdict.to_owned());
            self.text.push_str(&format!("{verdict}\n{}\n", text.trim_end()));
        }
    }

    /// Nothing is wrong.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.verdicts.is_empty()
    }
}
