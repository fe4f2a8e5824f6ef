//! The findings of a case.

use crate::clients::verdicts::Verdicts;

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
    /// The findings of a case that was judged in words already.
    #[must_use]
    pub fn of(
        verdicts: &Verdicts,
        marks: impl IntoIterator<Item = &'static str>,
        transactions: u64,
        events: u64,
    ) -> Self {
        let marks = marks.into_iter().collect();
        let mut shown = Self { marks, transactions, events, ..Self::default() };
        verdicts.iter().for_each(|(verdict, text)| shown.add(verdict, text));
        shown
    }

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
