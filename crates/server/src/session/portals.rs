//! Portals: statements with their parameters that clients bind, and the cursors that SQL declares. They are named in one
//! namespace, so that each is executed, fetched from and closed by either kind of message.

use super::formats::{Formats, check_result};
use super::names::Names;
use crate::plans::Plan;
use chiliad_sql::{Datum, OwnedDatum, ResultRow, RowSink, SqlError};
use std::collections::VecDeque;
use std::sync::Arc;

/// A plan as a session has it. Its handles are counted here and not in the plan, which sessions of all threads share: their
/// cores would contend for the count.
pub(super) type OwnPlan = Arc<Arc<Plan>>;

/// Portals of one session at most.
const PORTALS_MAX: usize = 16_384;

/// The portals of a session, by their names.
#[derive(Default)]
pub(super) struct Portals(Names<Portal>);

/// A statement with its parameters, bound or declared.
pub(super) struct Portal {
    /// `None`: of a text without a statement.
    pub plan: Option<OwnPlan>,
    pub values: Vec<OwnedDatum>,
    pub formats: Formats,
    pub progress: Progress,
    /// `DECLARE BINARY`: what FETCH returns in the simple protocol is binary.
    pub binary: bool,
    /// `DECLARE .. WITH HOLD`: it outlives the transaction.
    pub holds: bool,
    /// The transaction that has made it is not over.
    pub is_new: bool,
    /// How many savepoints had been set when it was made.
    pub made: u64,
}

/// How far a portal is.
pub(super) enum Progress {
    New,
    /// It was run; these rows are not yet told.
    Rows(Rows),
    /// It was run, and returned no rows that could be asked for.
    Over,
}

/// Rows that are kept.
#[derive(Default)]
pub(super) struct Rows {
    rows: VecDeque<Vec<OwnedDatum>>,
    bytes: usize,
}

impl Portal {
    /// One that is bound, `made` after so many savepoints.
    pub fn bound(
        plan: Option<OwnPlan>,
        values: Vec<OwnedDatum>,
        formats: Formats,
        made: u64,
    ) -> Self {
        let progress = Progress::New;
        Self { plan, values, formats, progress, binary: false, holds: false, is_new: true, made }
    }

    /// Whether rows are kept for it, as for a cursor that was declared. A portal that is bound to declare one never has any.
    pub fn keeps_rows(&self) -> bool {
        matches!(self.progress, Progress::Rows(_))
    }

    /// The plan of the rows that it has or will have.
    pub fn plan_of_rows(&self) -> Option<&OwnPlan> {
        self.plan.as_ref().filter(|plan| self.keeps_rows() || plan.prepared.returns_rows())
    }
}

impl Portals {
    pub fn get(&self, name: &str) -> Option<&Portal> {
        self.0.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Portal> {
        self.0.get_mut(name)
    }

    /// Puts one under a name; without a name it takes the place of the one that has none.
    ///
    /// # Errors
    /// 42P03 where the name is taken, 54000 where there are too many.
    pub fn insert(&mut self, name: &str, portal: Portal) -> Result<(), SqlError> {
        self.check_new(name)?;
        self.0.insert(name, portal);
        Ok(())
    }

    /// Refuses a name that is taken, and a portal too many.
    ///
    /// # Errors
    /// Those of [`Portals::insert`].
    pub fn check_new(&self, name: &str) -> Result<(), SqlError> {
        if !name.is_empty() && self.0.contains_key(name) {
            return Err(SqlError::new("42P03", format!("cursor \"{name}\" already exists")));
        }
        if self.0.len() >= PORTALS_MAX {
            let message = format!("{PORTALS_MAX} portals: no more are accepted");
            return Err(SqlError::program_limit(message));
        }
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> Option<Portal> {
        self.0.remove(name)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Those that are to be held stay after a commit.
    pub fn end_transaction(&mut self, committed: bool) {
        self.0.retain(|portal| {
            let stays = portal.holds && (committed || !portal.is_new);
            portal.is_new = false;
            stays
        });
    }

    /// Those made since a savepoint go.
    pub fn roll_back_to(&mut self, savepoint: u64) {
        self.0.retain(|portal| !portal.is_new || portal.made < savepoint);
    }

    /// Bytes of all rows that are kept.
    pub fn bytes(&self) -> usize {
        let bytes = |portal: &Portal| match &portal.progress {
            Progress::Rows(rows) => rows.bytes,
            Progress::New | Progress::Over => 0,
        };
        self.0.values().map(bytes).sum()
    }
}

impl Rows {
    /// The next one.
    pub fn next(&mut self) -> Option<Vec<OwnedDatum>> {
        let row = self.rows.pop_front()?;
        self.bytes -= bytes_of(&row);
        Some(row)
    }
}

/// Keeps rows, up to a limit of bytes.
pub(super) struct Keep {
    pub rows: Rows,
    pub bytes_max: usize,
}

impl RowSink for Keep {
    fn row(&mut self, row: ResultRow<'_>) -> Result<(), SqlError> {
        let row = row.into_owned();
        self.rows.bytes += bytes_of(&row);
        self.rows.rows.push_back(row);
        check_result(self.rows.bytes, self.bytes_max)
    }
}

pub(super) fn no_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}

pub(super) fn no_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("portal \"{name}\" does not exist"))
}

/// It was run, and has no rows; or what it is to do has none.
pub(super) fn cannot_run(name: &str) -> SqlError {
    SqlError::not_in_required_state(format!("portal \"{name}\" cannot be run"))
}

/// Bytes of a row that is kept.
pub(super) fn bytes_of(row: &[OwnedDatum]) -> usize {
    let beyond = |datum: &OwnedDatum| match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    row.iter().map(|it| size_of::<OwnedDatum>() + beyond(it)).sum()
}
