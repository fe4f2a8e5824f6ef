//! Cursors of SQL: DECLARE runs the query and keeps its rows, FETCH returns the next ones. So a cursor shows what its query
//! would have shown when it was declared, whatever its transaction writes afterwards.

use super::cursors::{Rows, no_cursor};
use super::dialog::Dialog;
use super::run::Formats;
use super::transaction::State;
use crate::plans::Plan;
use crate::wire::Writer;
use chiliad_sql::{Cursor, Datum, Fetch, OwnedDatum, SqlError, execute};
use std::collections::VecDeque;
use std::sync::Arc;

/// Cursors of one session at most.
const CURSORS_MAX: usize = 1024;

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
        if self.cursors.0.contains_key(name) {
            return Err(SqlError::new("42P03", format!("cursor \"{name}\" already exists")));
        }
        if self.cursors.0.len() >= CURSORS_MAX {
            let message = format!("{CURSORS_MAX} cursors: no more are accepted");
            return Err(SqlError::program_limit(message));
        }
        self.not_again();
        let most = self.server.limits.result_bytes_max.saturating_sub(self.cursors.bytes());
        let (mut rows, mut bytes) = (VecDeque::new(), 0);
        self.part(plan, |tx, environment, _| {
            execute(&plan.prepared, values, tx.raw(), environment, &mut |row: &[Datum<'_>]| {
                let row: Vec<OwnedDatum> =
                    row.iter().map(|it| it.borrowed().into_owned()).collect();
                bytes += bytes_of(&row);
                rows.push_back(row);
                super::run::check_result(bytes, most)
            })
        })?;
        let (holds, binary, made) = (*holds, *binary, self.tx.savepoints_set());
        let plan_of = Arc::clone(plan);
        let rows = Rows { plan: plan_of, rows, bytes, binary, holds, is_new: true, made };
        self.cursors.0.insert(name.clone(), rows);
        self.output.complete(&plan.prepared.tag(0));
        Ok(())
    }

    /// FETCH and MOVE.
    pub fn fetch(&mut self, fetch: &Fetch, plan: &Plan, formats: &Formats) -> Result<(), SqlError> {
        self.not_again();
        let of_cursor = self.cursors.plan(&fetch.cursor)?;
        let cursor = self.cursors.0.get(&fetch.cursor).ok_or_else(|| no_cursor(&fetch.cursor))?;
        let formats = if cursor.binary { &Formats::Binary } else { formats };
        if self.query.is_some() && !fetch.moves {
            self.describe_rows(&of_cursor, formats);
        }
        let Self { cursors, output, .. } = self;
        let cursor = cursors.0.get_mut(&fetch.cursor).ok_or_else(|| no_cursor(&fetch.cursor))?;
        let most = fetch.rows.map_or(usize::MAX, |it| usize::try_from(it).unwrap_or(usize::MAX));
        let count = most.min(cursor.rows.len());
        let columns = of_cursor.prepared.columns();
        for row in cursor.rows.drain(..count) {
            cursor.bytes -= bytes_of(&row);
            if !fetch.moves {
                let values = row.iter().zip(columns).enumerate();
                output.data_row(
                    values.map(|(at, (it, of))| (it, of.sql_type, formats.is_binary(at))),
                );
            }
        }
        output.complete(&plan.prepared.tag(count as u64));
        Ok(())
    }

    /// CLOSE, of all (`None`) or of one.
    pub fn close_cursor(&mut self, name: Option<&str>, plan: &Plan) -> Result<(), SqlError> {
        self.not_again();
        match name {
            None => self.cursors.0.clear(),
            Some(name) => _ = self.cursors.0.remove(name).ok_or_else(|| no_cursor(name))?,
        }
        self.output.complete(&plan.prepared.tag(0));
        Ok(())
    }
}

/// Bytes of a row that is kept.
fn bytes_of(row: &[OwnedDatum]) -> usize {
    let beyond = |datum: &OwnedDatum| match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    row.iter().map(|it| size_of::<OwnedDatum>() + beyond(it)).sum()
}
