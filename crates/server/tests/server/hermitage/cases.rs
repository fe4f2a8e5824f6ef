//! The cases of Hermitage, as data: which client does what, in which order.

use super::judge::Rows;
use Step::{
    Add, AddTo, Commit, DeleteValue, Insert, ReadAll, ReadId, ReadMultiples, ReadValue, Replace,
    Rollback, Set,
};

/// A case. Before it the table has the rows (1, 10) and (2, 20), and all clients have begun.
pub struct Case {
    pub name: &'static str,
    /// Clients count from 1.
    pub steps: &'static [(usize, Step)],
}

/// A statement, in SQL and for the judge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    ReadAll,
    ReadId(i32),
    ReadValue(i32),
    /// Rows whose values this number divides.
    ReadMultiples(i32),
    Set(i32, i32),
    /// This is added to all values.
    Add(i32),
    AddTo(i32, i32),
    /// This value in place of that.
    Replace(i32, i32),
    DeleteValue(i32),
    Insert(i32, i32),
    Commit,
    Rollback,
}

impl Step {
    pub fn sql(self) -> String {
        match self {
            ReadAll => "SELECT id, value FROM test".into(),
            ReadId(id) => format!("SELECT id, value FROM test WHERE id = {id}"),
            ReadValue(value) => format!("SELECT id, value FROM test WHERE value = {value}"),
            ReadMultiples(of) => format!("SELECT id, value FROM test WHERE value % {of} = 0"),
            Set(id, value) => format!("UPDATE test SET value = {value} WHERE id = {id}"),
            Add(more) => format!("UPDATE test SET value = value + {more}"),
            AddTo(id, more) => format!("UPDATE test SET value = value + {more} WHERE id = {id}"),
            Replace(old, new) => format!("UPDATE test SET value = {new} WHERE value = {old}"),
            DeleteValue(value) => format!("DELETE FROM test WHERE value = {value}"),
            Insert(id, value) => format!("INSERT INTO test VALUES ({id}, {value})"),
            Commit => "COMMIT".into(),
            Rollback => "ROLLBACK".into(),
        }
    }

    /// Does it to the rows of a serial execution; returns the rows read and how many were read or changed.
    pub fn apply(self, table: &mut Rows) -> (Rows, u64) {
        let read = |table: &Rows, has: &dyn Fn(i32, i32) -> bool| {
            let rows: Rows =
                table.iter().filter(|(id, v)| has(**id, **v)).map(|(a, b)| (*a, *b)).collect();
            let count = rows.len() as u64;
            (rows, count)
        };
        let mut change = |has: &dyn Fn(i32, i32) -> bool, to: &dyn Fn(i32) -> i32| {
            let of = table.iter_mut().filter(|(id, value)| has(**id, **value));
            (Rows::new(), of.map(|(_, value)| *value = to(*value)).count() as u64)
        };
        match self {
            ReadAll => read(table, &|_, _| true),
            ReadId(it) => read(table, &|id, _| id == it),
            ReadValue(it) => read(table, &|_, value| value == it),
            ReadMultiples(of) => read(table, &|_, value| value % of == 0),
            Set(it, to) => change(&|id, _| id == it, &|_| to),
            Add(more) => change(&|_, _| true, &|value| value + more),
            AddTo(it, more) => change(&|id, _| id == it, &|value| value + more),
            Replace(old, new) => change(&|_, value| value == old, &|_| new),
            DeleteValue(it) => {
                let before = table.len();
                table.retain(|_, value| *value != it);
                (Rows::new(), (before - table.len()) as u64)
            }
            Insert(id, value) => (Rows::new(), u64::from(table.insert(id, value).is_none())),
            Commit | Rollback => (Rows::new(), 0),
        }
    }
}

pub const CASES: [Case; 16] = [
    Case {
        name: "G0, write cycles",
        steps: &[
            (1, Set(1, 11)),
            (2, Set(1, 12)),
            (1, Set(2, 21)),
            (1, Commit),
            (2, Set(2, 22)),
            (2, Commit),
        ],
    },
    Case {
        name: "G1a, aborted reads",
        steps: &[(1, Set(1, 101)), (2, ReadAll), (1, Rollback), (2, ReadAll), (2, Commit)],
    },
    Case {
        name: "G1b, intermediate reads",
        steps: &[
            (1, Set(1, 101)),
            (2, ReadAll),
            (1, Set(1, 11)),
            (1, Commit),
            (2, ReadAll),
            (2, Commit),
        ],
    },
    Case {
        name: "G1c, circular information flow",
        steps: &[
            (1, Set(1, 11)),
            (2, Set(2, 22)),
            (1, ReadId(2)),
            (2, ReadId(1)),
            (1, Commit),
            (2, Commit),
        ],
    },
    Case {
        name: "OTV, observed transaction vanishes",
        steps: &[
            (1, Set(1, 11)),
            (1, Set(2, 19)),
            (2, Set(1, 12)),
            (1, Commit),
            (3, ReadId(1)),
            (2, Set(2, 18)),
            (3, ReadId(2)),
            (2, Commit),
            (3, ReadId(2)),
            (3, ReadId(1)),
            (3, Commit),
        ],
    },
    Case {
        name: "PMP, predicate-many-preceders",
        steps: &[
            (1, ReadValue(30)),
            (2, Insert(3, 30)),
            (2, Commit),
            (1, ReadMultiples(3)),
            (1, Commit),
        ],
    },
    Case {
        name: "PMP, with a predicate that writes",
        steps: &[
            (1, Add(10)),
            (2, ReadValue(20)),
            (2, DeleteValue(20)),
            (1, Commit),
            (2, ReadAll),
            (2, Commit),
        ],
    },
    Case {
        name: "P4, lost update",
        steps: &[
            (1, ReadId(1)),
            (2, ReadId(1)),
            (1, Set(1, 11)),
            (2, Set(1, 12)),
            (1, Commit),
            (2, Commit),
        ],
    },
    Case {
        name: "P4, lost update, by addition",
        steps: &[(1, AddTo(1, 1)), (2, AddTo(1, 5)), (1, Commit), (2, Commit)],
    },
    Case {
        name: "G-single, read skew",
        steps: &[
            (1, ReadId(1)),
            (2, ReadId(1)),
            (2, ReadId(2)),
            (2, Set(1, 12)),
            (2, Set(2, 18)),
            (2, Commit),
            (1, ReadId(2)),
            (1, Commit),
        ],
    },
    Case {
        name: "G-single, with dependencies by predicate",
        steps: &[
            (1, ReadMultiples(5)),
            (2, Replace(10, 12)),
            (2, Commit),
            (1, ReadMultiples(3)),
            (1, Commit),
        ],
    },
    Case {
        name: "G-single, with a predicate that writes",
        steps: &[
            (1, ReadId(1)),
            (2, ReadAll),
            (2, Set(1, 12)),
            (2, Set(2, 18)),
            (2, Commit),
            (1, DeleteValue(20)),
            (1, ReadAll),
            (1, Commit),
        ],
    },
    Case {
        name: "G2-item, write skew",
        steps: &[
            (1, ReadAll),
            (2, ReadAll),
            (1, Set(1, 11)),
            (2, Set(2, 21)),
            (1, Commit),
            (2, Commit),
        ],
    },
    Case {
        name: "G2, anti-dependencies by predicate",
        steps: &[
            (1, ReadMultiples(3)),
            (2, ReadMultiples(3)),
            (1, Insert(3, 30)),
            (2, Insert(4, 42)),
            (1, Commit),
            (2, Commit),
        ],
    },
    Case {
        name: "G2, two edges",
        steps: &[
            (1, ReadAll),
            (2, AddTo(2, 5)),
            (2, Commit),
            (3, ReadAll),
            (3, Commit),
            (1, Set(1, 0)),
            (1, Commit),
        ],
    },
    // No anomaly of its own: had a scheme refused everything, all cases above would be prevented.
    Case {
        name: "one client alone",
        steps: &[(1, ReadAll), (1, Add(1)), (1, Insert(3, 30)), (1, ReadAll), (1, Commit)],
    },
];
