//! What must be in the database, kept by the parent, and the comparison with what is.

use super::said::Said;
use super::{bank, tpcc};
use crate::args::CrashWorkload;
use chiliad::Database;

/// What was found amiss in a database.
#[derive(Default)]
pub struct Findings {
    /// Acknowledged transactions that are not there, or not whole.
    pub lost: u64,
    /// What is wrong, the first few.
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

    /// Nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.problems.is_empty()
    }
}

/// What must be there.
pub enum Ledger {
    Bank(bank::books::Books),
    Tpcc(Box<tpcc::books::Books>),
}

impl Ledger {
    /// Of a directory that holds nothing. `in_flight`: how many transactions each client may have
    /// unacknowledged.
    pub fn new(workload: CrashWorkload, in_flight: u64) -> Self {
        match workload {
            CrashWorkload::Bank => Self::Bank(bank::books::Books::new(in_flight)),
            CrashWorkload::Tpcc => Self::Tpcc(Box::default()),
        }
    }

    /// Takes note of a line of the child; whether it acknowledges a transaction.
    pub fn note(&mut self, said: &Said, findings: &mut Findings) -> bool {
        match self {
            Self::Bank(books) => books.note(said, findings),
            Self::Tpcc(books) => books.note(said),
        }
    }

    /// Compares, and goes on from what is there.
    pub fn compare(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        match self {
            Self::Bank(books) => books.compare(db, findings),
            Self::Tpcc(books) => books.compare(db, findings),
        }
    }

    /// Takes what is there for granted: a directory of an earlier run.
    pub fn adopt(&mut self, db: &Database, findings: &mut Findings) -> chiliad::Result<()> {
        match self {
            Self::Bank(books) => books.adopt(db, findings),
            Self::Tpcc(books) => books.adopt(db, findings),
        }
    }
}

/// Whether a directory with these tables was made by this command with this workload.
pub fn is_ours(workload: CrashWorkload, tables: &[String]) -> bool {
    match workload {
        CrashWorkload::Bank => tables.iter().all(|name| bank::NAMES.contains(&name.as_str())),
        CrashWorkload::Tpcc => tpcc::is_ours(tables),
    }
}
