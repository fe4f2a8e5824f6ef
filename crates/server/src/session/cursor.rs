//! Rows of portals in pieces, by messages and by the statements DECLARE, FETCH, MOVE and CLOSE. What is asked for in pieces
//! is run as a whole and its rows are kept: a cursor shows what its query would have shown when it was declared, whatever
//! its transaction writes afterwards.

use super::dialog::Dialog;
use super::portals::{Keep, Portal, Progress, Rows, cannot_run, no_cursor, no_portal};
use super::run::{Formats, Ran};
use super::transaction::State;
use crate::plans::Plan;
use crate::wire::Writer;
use chiliad_sql::{
    Cursor, Datum, Fetch, Kind, OutputColumn, ResultRow, RowSink, SqlError, execute,
};
use std::sync::Arc;

impl Dialog {
    /// DECLARE: runs the query, and keeps its rows.
    pub fn declare(
        &mut self,
        cursor: &Cursor,
        plan: &Arc<Plan>,
        values: &[Datum<'_>],
    ) -> Result<(), SqlError> {
        let Cursor { name, holds, binary } = cursor;
        if !holds && self.tx.state() != State::Block {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new("25P01", message));
        }
        self.portals.check_new(name)?;
        self.not_again();
        let rows = self.keep_rows(plan, values)?;
        let own = Some(Arc::new(Arc::clone(plan)));
        let portal = Portal::bound(own, Vec::new(), Formats::Text, self.tx.savepoints_set());
        let progress = Progress::Rows(rows);
        self.portals.insert(name, Portal { progress, binary: *binary, holds: *holds, ..portal })?;
        self.output.complete(&plan.prepared.tag(0));
        Ok(())
    }

    /// FETCH and MOVE.
    pub fn fetch(&mut self, fetch: &Fetch, plan: &Plan, formats: &Formats) -> Result<(), SqlError> {
        self.not_again();
        let name = &fetch.cursor;
        let portal = self.portals.get(name).ok_or_else(|| no_cursor(name))?;
        let formats = match portal.binary && self.query.is_some() {
            true => Formats::Binary,
            false => formats.clone(),
        };
        if matches!(portal.progress, Progress::New) {
            self.run_portal(name)?;
        }
        let portal = self.portals.get(name).ok_or_else(|| no_cursor(name))?;
        let of_cursor = Arc::clone(portal.plan_of_rows().ok_or_else(|| cannot_run(name))?);
        if self.query.is_some() && !fetch.moves {
            self.describe_rows(&of_cursor, &formats);
        }
        let Self { portals, output, .. } = self;
        let Some(Portal { progress: Progress::Rows(rows), .. }) = portals.get_mut(name) else {
            return Err(cannot_run(name));
        };
        let most = fetch.rows.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
        let told = pass(rows, most, |row| {
            if !fetch.moves {
                tell(output, of_cursor.prepared.columns(), &formats, row);
            }
        });
        output.complete(&plan.prepared.tag(told as u64));
        Ok(())
    }

    /// CLOSE, of all (`None`) or of one.
    pub fn close_cursor(&mut self, name: Option<&str>, plan: &Plan) -> Result<(), SqlError> {
        self.not_again();
        match name {
            None => self.portals.clear(),
            Some(name) => _ = self.portals.remove(name).ok_or_else(|| no_cursor(name))?,
        }
        self.output.complete(&plan.prepared.tag(0));
        Ok(())
    }

    /// Runs what a portal has bound and keeps its rows in it.
    ///
    /// # Errors
    /// 55000 where it has no rows; those of the statement.
    pub fn run_portal(&mut self, name: &str) -> Result<(), SqlError> {
        self.tx.transcript.leave_gap();
        let portal = self.portals.get_mut(name).ok_or_else(|| no_portal(name))?;
        let mut plan = portal.plan_of_rows().cloned().ok_or_else(|| cannot_run(name))?;
        super::extended::renew(&mut plan, self.tx.tables(&self.server.catalog))?;
        // Where it fails it cannot be run again.
        portal.progress = Progress::Over;
        let values = std::mem::take(&mut portal.values);
        let rows = self.keep_rows(&plan, &values)?;
        if let Some(portal) = self.portals.get_mut(name) {
            portal.plan = Some(plan);
            portal.progress = Progress::Rows(rows);
        }
        Ok(())
    }

    /// Tells the next rows of a portal that was run.
    pub fn next_rows(&mut self, name: &str, rows_max: i32) -> Result<Ran, SqlError> {
        let Self { portals, output, .. } = self;
        let portal = portals.get_mut(name).ok_or_else(|| no_portal(name))?;
        let Portal { plan: Some(plan), progress: Progress::Rows(rows), formats, .. } = portal
        else {
            return Err(cannot_run(name));
        };
        let most = if rows_max > 0 { rows_max.unsigned_abs() as usize } else { usize::MAX };
        let told = pass(rows, most, |row| tell(output, plan.prepared.columns(), formats, row));
        match (told == most, plan.prepared.kind()) {
            (true, _) => output.empty(b's'),
            (false, Kind::Declare(_)) => output.complete(&format!("SELECT {told}")),
            (false, _) => output.complete(&plan.prepared.tag(told as u64)),
        }
        Ok(Ran::Done)
    }

    /// Runs a statement and keeps its rows, up to a limit for all portals.
    fn keep_rows(&mut self, plan: &Plan, values: &[Datum<'_>]) -> Result<Rows, SqlError> {
        let bytes_max = self.server.limits.result_bytes_max.saturating_sub(self.portals.bytes());
        let mut keep = Keep { rows: Rows::default(), bytes_max };
        if let Kind::Show(name) = plan.prepared.kind() {
            for row in self.shown(name)? {
                keep.row(ResultRow::all(&row))?;
            }
            return Ok(keep.rows);
        }
        self.part(plan, |tx, environment, _| {
            execute(&plan.prepared, values, tx.raw(), environment, &mut keep)
        })?;
        Ok(keep.rows)
    }
}

/// Passes over the next rows, `most` of them, and calls `each` with every one. Returns how many there were.
fn pass(rows: &mut Rows, most: usize, mut each: impl FnMut(&[Datum<'_>])) -> usize {
    let next = core::iter::from_fn(|| rows.next()).take(most);
    next.map(|row| each(&row)).count()
}

fn tell(
    output: &mut super::Output,
    columns: &[OutputColumn],
    formats: &Formats,
    row: &[Datum<'_>],
) {
    let values = row.iter().zip(columns).enumerate();
    output.data_row(values.map(|(at, (it, of))| (it, of.sql_type, formats.is_binary(at))));
}
