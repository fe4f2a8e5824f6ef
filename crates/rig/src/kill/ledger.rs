//! The state that must be in the database, kept by the parent, and the comparison with what is.

use super::said::Said;
use super::{Work, bank, tpcc};
use chiliad::Database;

/// The findings in a database.
#[derive(Default)]
pub struct Findings {
    /// Acknowledged transactions that are not there, or not whole.
    pub lost: u64,
    /// The first few problems.
    pub problems: Vec<String>,
    /// Transactions that are there and were not acknowledged: they were under way.
    pub unacknowledged: u64,
}

/// Problems that are told.
const TOLD: usize = 5;

impl Findings {
    /// `holds` must; `what` says what is wrong if it does not.
    pub fn demand(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.problems.len() < TOLD {
            self.problems.push(what());
        }
    }

    /// So many acknowledged transactions are lost.
    pub fn lose(&mut self, count: u64, what: impl FnOnce() -> String) {
        self.lost += count;
        self.demand(count == 0, what);
    }

    /// Adds those of a cycle.
    pub fn add(&mut self, cycle: u64, findings: Self) {
        self.lost += findings.lost;
        self.unacknowledged += findings.unacknowledged;
        let problems = findings.problems.into_iter();
        self.problems.extend(problems.map(|problem| format!("cycle {cycle}: {problem}")));
    }

    /// The problems in words, if there are any.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (!self.is_clean()).then(|| format!("lost {}\n{}", self.lost, self.problems.join("\n")))
    }

    /// Nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }
}

/// The state that must be there.
pub struct Ledger(Books);

/// The books of what clients do.
enum Books {
    Bank(bank::books::Books),
    Tpcc(Box<tpcc::books::Books>),
}

impl Ledger {
    /// Of a directory that holds nothing. `in_flight`: how many transactions each client may have
    /// unacknowledged.
    #[must_use]
    pub fn new(work: Work, in_flight: u64) -> Self {
        Self(match work {
            Work::Bank => Books::Bank(bank::books::Books::new(in_flight)),
            Work::Tpcc => Books::Tpcc(Box::default()),
        })
    }

    /// Takes note of a line of the process; whether it acknowledges a transaction.
    pub fn note(&mut self, said: &Said, findings: &mut Findings) -> bool {
        match &mut self.0 {
            Books::Bank(books) => books.note(said, findings),
            Books::Tpcc(books) => books.note(said),
        }
    }

    /// Compares, and goes on from what is there.
    ///
    /// # Errors
    /// Those of the database.
    pub fn compare(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        match &mut self.0 {
            Books::Bank(books) => books.compare(db, findings),
            Books::Tpcc(books) => books.compare(db, findings),
        }
    }

    /// Takes what is there for granted: a directory of an earlier run.
    ///
    /// # Errors
    /// Those of the database.
    pub fn adopt(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        match &mut self.0 {
            Books::Bank(books) => books.adopt(db, findings),
            Books::Tpcc(books) => books.adopt(db, findings),
        }
    }
}
