//! Planted bugs of SQL. What SQL reads and writes it does by the transaction's own operations, so none of them makes a
//! history that is not serializable: they leave rows that contradict each other.

use chiliad_api::{Fault, Rig};

/// One that the conditions of a workload in SQL show.
const fn fault(name: &'static str, step: &'static str, workload: &'static str) -> Fault {
    let (schemes, expected): (&[&str], &[&str]) = (&[], &["consistency"]);
    Fault { name, step, rig: Rig::SimSc, schemes, workload, expected, seeds: 50 }
}

pub(crate) static BOUND_LEFT_OUT: Fault = fault(
    "sql-bound-left-out",
    "a range that includes its bound has the rows of the bound",
    "tpcb-sql",
);

pub(crate) static MOVED_ROW_STAYS: Fault = fault(
    "sql-moved-row-stays",
    "an UPDATE of the primary key removes the row under its old key",
    "tpcb-sql",
);

pub(crate) static ORDER_TURNED: Fault = fault(
    "sql-order-turned",
    "rows that an index brings in the order of the query come from its right end",
    "tpcc-sql",
);

pub(crate) static FIRST_MISSED: Fault =
    fault("sql-first-not-added", "a sum begins with the first row of its group", "tpcc-sql");

/// The planted bugs of statements.
pub static FAULTS: &[&Fault] = &[&BOUND_LEFT_OUT, &MOVED_ROW_STAYS, &ORDER_TURNED, &FIRST_MISSED];
