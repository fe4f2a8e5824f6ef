//! Clients that insert pairs of rows, each pair in one transaction, and know what they were answered.
#![allow(dead_code, reason = "each test file uses a part of it")]

use crate::served::{Raw, Served};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers of a client's pairs begin at multiples of this.
const CLIENT_PAIRS: u64 = 10_000_000;

/// The table of the pairs: two rows of one number each.
pub const TABLE: &str = "CREATE TABLE t (id bigint PRIMARY KEY, n bigint, filler text)";

/// What one client knows.
pub struct Ledger {
    first: u64,
    begun: AtomicU64,
    /// Pairs that were answered, in that order.
    answered: Mutex<Vec<u64>>,
    /// What is said in place of an answer in the end: codes of errors.
    refused: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ledger {
    pub fn of(client: usize) -> Self {
        let first = client as u64 * CLIENT_PAIRS;
        let (answered, refused) = (Mutex::default(), Mutex::default());
        Self { first, begun: AtomicU64::new(0), answered, refused }
    }

    /// Writes pairs until the server has gone or refuses one.
    pub fn write(&self, mut raw: Raw, filler: &str) {
        loop {
            let pair = self.first + self.begun.fetch_add(1, Ordering::Relaxed);
            let Some(told) = raw.query(&statements(pair, filler)).hear_all() else { return };
            match told.iter().find(|it| it.starts_with('E')) {
                Some(error) => return lock(&self.refused).push(error.clone()),
                None => lock(&self.answered).push(pair),
            }
        }
    }

    /// The pairs that were answered by now.
    pub fn answered(&self) -> Vec<u64> {
        lock(&self.answered).clone()
    }

    /// The errors that were told.
    pub fn refused(&self) -> Vec<String> {
        lock(&self.refused).clone()
    }

    /// Forgets pairs that are not there, and says how many. They are the last ones that it was answered.
    pub fn forget_lost(&self, there: &HashSet<u64>) -> usize {
        let mut answered = lock(&self.answered);
        let is_there = |pair: &u64| there.contains(pair);
        let kept = answered.iter().take_while(|pair| is_there(pair)).count();
        let lost = answered.split_off(kept);
        assert!(!lost.iter().any(is_there), "one is lost and a later one is there");
        lost.len()
    }

    /// Whether it has begun this pair, answered or not.
    pub fn knows(&self, pair: u64) -> bool {
        (self.first..self.first + self.begun.load(Ordering::Relaxed)).contains(&pair)
    }
}

/// A pair's transaction, in one of three forms.
fn statements(pair: u64, filler: &str) -> String {
    let row = |id: u64| format!("({id}, {pair}, '{filler}')");
    let (one, other) = (row(2 * pair), row(2 * pair + 1));
    match pair % 3 {
        0 => format!("INSERT INTO t VALUES {one}, {other}"),
        1 => format!("INSERT INTO t VALUES {one}; INSERT INTO t VALUES {other}"),
        _ => format!("BEGIN; INSERT INTO t VALUES {one}; INSERT INTO t VALUES {other}; COMMIT"),
    }
}

/// The pairs that are there, both rows of each: half a pair would be half a transaction.
pub fn pairs(served: &Served) -> HashSet<u64> {
    let told = served.client().query("SELECT n, count(*) FROM t GROUP BY n").told();
    let rows = told.iter().filter_map(|it| it.strip_prefix("D "));
    let pair = |row: &str| {
        let (pair, count) = row.split_once(',').expect("two values");
        assert_eq!(count, "2", "half of {pair} is there");
        pair.parse().expect("a number")
    };
    rows.map(pair).collect()
}
