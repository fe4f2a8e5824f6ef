//! `INSERT`.

use super::change::{Changed, check, returned, update};
use super::table::{after, key_of, transaction};
use super::{Flow, run_query, values};
use crate::catalog::Table;
use crate::datum::{Datum, OwnedDatum, owned};
use crate::error::{Result, SqlError};
use crate::execute::RowSink;
use crate::expr::{Context, Expr, eval, is_true};
use crate::plan::{Conflict, Insert, InsertSource, Target};
use crate::spare;
use chiliad_api::{EncodedRows, Error, Range, Row};
use core::ops::Bound;
use std::borrow::Cow;
use std::collections::HashSet;

/// The name of the sequence that numbers the rows of a table without a primary key.
pub(crate) fn row_sequence(table: &str) -> String {
    format!("{table}{}", crate::catalog::HIDDEN_KEY)
}

/// Inserts the rows that the statement says, and returns how many.
pub(crate) fn insert(insert: &Insert, cx: &Context<'_>, sink: &mut dyn RowSink) -> Result<u64> {
    let mut state = Inserting { insert, cx, count: 0, written: HashSet::new() };
    match &insert.source {
        InsertSource::Values(rows) => {
            // All are made before the first one is inserted, as those of a query are.
            let width = insert.table.columns.len();
            let mut values = Vec::with_capacity(rows.len() * width);
            for expr in rows.iter().flatten() {
                values.push(eval(expr, &[], cx)?);
            }
            let mut rows = (0..rows.len()).map(|at| &values[at * width..][..width]);
            match rows.len() > 1 && insert.is_plain() {
                true => state.rows_together(rows)?,
                false => rows.try_for_each(|row| state.row(row, sink))?,
            }
        }
        InsertSource::Query(query, exprs) => {
            // All are found before the first one is inserted: it may be one that the query would find.
            let mut rows: Vec<Vec<OwnedDatum>> = Vec::new();
            run_query(query, &[], cx, &mut |row| {
                let row = row.into_owned();
                cx.keep(&row)?;
                rows.push(row);
                Ok(Flow::More)
            })?;
            for row in rows {
                state.row(&values(exprs, &row, cx)?, sink)?;
            }
        }
    }
    Ok(state.count)
}

impl Insert {
    /// Whether all that becomes of its rows is that they are inserted.
    fn is_plain(&self) -> bool {
        matches!(self.conflict, Conflict::Error) && self.returning.is_none()
    }
}

/// The length that many rows with their keys do not exceed.
const ROW_BYTES: usize = 96;

struct Inserting<'i, 'c> {
    insert: &'i Insert,
    cx: &'i Context<'c>,
    count: u64,
    /// Keys of rows that this statement has inserted or updated, where it may meet them again.
    written: HashSet<Vec<u8>>,
}

impl Inserting<'_, '_> {
    /// Inserts rows of these values of all columns. What is wrong with a row is told after what is wrong with those before.
    fn rows_together<'r>(
        &mut self,
        rows: impl ExactSizeIterator<Item = &'r [Datum<'r>]> + Clone,
    ) -> Result<()> {
        let table = &*self.insert.table;
        let (mut key, mut bytes) = (spare::take(|it| &it.key), spare::take(|it| &it.bytes));
        let mut encoded = EncodedRows::with_capacity(rows.len(), ROW_BYTES);
        let made = rows.clone().try_for_each(|row| {
            self.key_of(row, &mut key)?;
            table.encode(row, &mut bytes)?;
            encoded.push(&key, &bytes);
            Ok(())
        });
        let together = encoded.rows();
        let inserted = transaction(self.cx)?.insert_many(table.id, &together);
        inserted.map_err(|error| match &error {
            Error::DuplicateKey(taken) => {
                let row = together.iter().zip(rows).find(|((key, _), _)| *key == taken.key);
                row.map_or_else(|| error.clone().into(), |(_, row)| duplicate(table, row))
            }
            _ => error.into(),
        })?;
        self.count += together.len() as u64;
        spare::give_back(|it| &it.key, key);
        spare::give_back(|it| &it.bytes, bytes);
        made
    }

    /// Inserts a row of these values of all columns.
    fn row(&mut self, row: &[Datum<'_>], sink: &mut dyn RowSink) -> Result<()> {
        let table = &*self.insert.table;
        let mut key = spare::take(|it| &it.key);
        self.key_of(row, &mut key)?;
        let taken_by = self.find_taken(&key, row)?;
        if let Some(there) = taken_by {
            return self.on_taken(there, owned(row), sink);
        }
        let mut bytes = spare::take(|it| &it.bytes);
        table.encode(row, &mut bytes)?;
        let inserted = transaction(self.cx)?.insert(table.id, &key, &bytes);
        inserted.map_err(|error| match error {
            Error::DuplicateKey(_) => duplicate(table, row),
            error => error.into(),
        })?;
        if matches!(self.insert.conflict, Conflict::Update { .. }) {
            self.written.insert(key.clone());
        }
        spare::give_back(|it| &it.key, key);
        spare::give_back(|it| &it.bytes, bytes);
        self.count += 1;
        match &self.insert.returning {
            Some(returning) => returned(returning, row, self.cx, sink),
            None => Ok(()),
        }
    }

    /// Puts the key of a row, which may be one of the table, in place of what `key` holds.
    fn key_of(&self, row: &[Datum<'_>], key: &mut Vec<u8>) -> Result<()> {
        let table = &*self.insert.table;
        table.check_nulls(row)?;
        check(table, &self.insert.checks, row, self.cx)?;
        let hidden = match &self.insert.numbers {
            Some(numbers) => Some(self.cx.environment.borrow_mut().next_row_number(numbers)?),
            None => None,
        };
        key.clear();
        table.append_key(row, hidden, key)
    }

    /// The row that has a key of the one that is to be inserted, of those that ON CONFLICT is about.
    fn find_taken(&self, key: &[u8], row: &[Datum<'_>]) -> Result<Option<Row>> {
        let table = &*self.insert.table;
        let target = match &self.insert.conflict {
            Conflict::Error => return Ok(None),
            Conflict::Nothing(target) => *target,
            Conflict::Update { target, .. } => Some(*target),
        };
        if matches!(target, None | Some(Target::Primary))
            && let Some(found) = transaction(self.cx)?.get_for_update(table.id, key)?
        {
            return Ok(Some(found));
        }
        for (at, index) in table.indexes.iter().enumerate().filter(|(_, it)| it.unique) {
            if target.is_some() && target != Some(Target::Index(at)) {
                continue;
            }
            let values = index.parts.iter().map(|(column, _)| Ok(Cow::Borrowed(&row[*column])));
            let Some(prefix) = key_of(table, Some(at), values)? else { continue };
            let end = after(&prefix);
            let (low, high) = (Bound::Included(&*prefix), end.as_ref().map(Vec::as_slice));
            let range = Range { low, high, ..Range::all() };
            let mut tx = transaction(self.cx)?;
            let scanned = tx.scan_index(table.id, index.position, range.limit(1))?;
            if let Some(entry) = tx.entries(scanned)?.first() {
                return Ok(Some(entry.row));
            }
        }
        Ok(None)
    }

    fn on_taken(&mut self, there: Row, row: Vec<OwnedDatum>, sink: &mut dyn RowSink) -> Result<()> {
        let Conflict::Update { assignments, condition, .. } = &self.insert.conflict else {
            return Ok(());
        };
        let table = &*self.insert.table;
        let (key, mut both) = {
            let tx = self.cx.transaction.borrow();
            let key = tx.row_key(there)?;
            let body = table.body(tx.bytes(there)?)?;
            let mut both = Vec::with_capacity(row.len() * 2);
            table.decode(key, &body, 0..row.len(), &mut both)?;
            let both: Vec<OwnedDatum> = both.into_iter().map(Datum::into_owned).collect();
            (key.to_vec(), both)
        };
        if !self.written.insert(key) {
            return Err(SqlError::cardinality_violation(
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
            )
            .with_hint(
                "Ensure that no rows proposed for insertion within the same command \
                 have duplicate constrained values.",
            ));
        }
        both.extend(row);
        if let Some(condition) = condition
            && !is_true(condition, &both, self.cx)?
        {
            return Ok(());
        }
        let changed = Changed { table, assignments, checks: &self.insert.checks };
        update(&changed, there, &mut both, self.cx)?;
        self.count += 1;
        let returning: Option<&Vec<Expr>> = self.insert.returning.as_ref();
        returning.map_or(Ok(()), |it| returned(it, &both, self.cx, sink))
    }
}

/// The primary key of the row is taken.
pub(crate) fn duplicate(table: &Table, row: &[Datum<'_>]) -> SqlError {
    SqlError::unique_violation(format!(
        "duplicate key value violates unique constraint \"{}_pkey\"",
        table.name
    ))
    .with_detail(format!("Key {} already exists.", table.key_of_row_shown(row)))
}
