//! Changes that can as well be made when their transaction commits: of one row, by what they change of it alone.
//!
//! `UPDATE branch SET balance = balance + 5 WHERE id = 7` says how many rows it changes, one, and nothing else depends on it but
//! what reads the balance later. Whoever makes it at the end of a long transaction is not in the way of others until then.

use super::change::{Changed, encode};
use super::join::{fill, has_conditions, one_row};
use super::table::{transaction, with_key};
use crate::datum::Datum;
use crate::environment::Environment;
use crate::error::Result;
use crate::expr::{Context, Expr};
use crate::plan::{Change, Plan, columns_of};
use crate::prepared::Prepared;
use crate::spare;
use chiliad_api::{Columns, TableId, TableLayout, Transaction};

/// A change that is to be made later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Late {
    /// The table.
    pub table: TableId,
    /// The key of its row.
    pub key: Vec<u8>,
    /// The columns that change.
    pub columns: Columns,
}

/// The columns of a change that can be made later: it is of the row of one key, whatever else is in it, returns nothing and
/// moves no row and no entry of an index, is under no condition of the table, and makes each new value of constants and of
/// what it changes.
pub(crate) fn late_columns(change: &Change) -> Option<Columns> {
    let (source, ..) = one_row(&change.select)?;
    let assignments = change.assignments.as_ref()?;
    let table = &change.table;
    let is_simple = !has_conditions(source)
        && change.select.conditions.is_empty()
        && change.returning.is_none();
    let expires = match &table.spec.layout {
        TableLayout::Schema(schema) => schema.expires.is_some(),
        _ => false,
    };
    let is_free = |place: usize| {
        let in_index = |index: &crate::Index| index.parts.iter().any(|(part, _)| *part == place);
        let in_check = |check: &Expr| {
            let mut reads = false;
            check.slots(&mut |slot| reads |= slot == place);
            reads
        };
        !table.key.contains(&place)
            && !table.indexes.iter().any(in_index)
            && !change.checks.iter().any(|(_, check)| in_check(check))
    };
    let knows_indexes = table.indexes.len() == table.spec.secondary.len();
    let is_made_of_changed = |expr: &Expr| {
        let mut is_made = true;
        expr.walk(&mut |part| {
            is_made &= match part {
                Expr::Constant(_) | Expr::Parameter(_) => true,
                Expr::Arithmetic(..) | Expr::Negate(..) | Expr::Cast(..) => true,
                Expr::Column(slot) => assignments.iter().any(|(place, _)| place == slot),
                _ => false,
            };
        });
        is_made
    };
    let mut all = assignments.iter();
    let is_late = is_simple
        && !expires
        && knows_indexes
        && all.all(|(place, expr)| is_free(*place) && is_made_of_changed(expr));
    is_late.then(|| columns_of(table, assignments))
}

/// Whether the statement, a change, can as well be made when the transaction commits, and others want to change the same row:
/// then it changes one row, and says nothing else. It is to be executed then, in this transaction, after all that came before
/// it, and before anything that looks at the columns or writes the table.
///
/// # Errors
/// Those of a read in the transaction.
pub fn put_off(
    prepared: &Prepared,
    parameters: &[Datum<'_>],
    transaction: &mut dyn Transaction,
    environment: &mut dyn Environment,
) -> Result<Option<Late>> {
    match (&prepared.plan, prepared.late) {
        (Plan::Change(change), Some(columns)) => {
            late(change, columns, &Context::new(parameters, transaction, environment))
        }
        _ => Ok(None),
    }
}

/// The change, if others want to change the same row, the row is there, and nothing is wrong with its new values as it is
/// now; `None`: it is to be made now.
fn late(change: &Change, columns: Columns, cx: &Context<'_>) -> Result<Option<Late>> {
    let Some((source, access, key)) = one_row(&change.select) else { return Ok(None) };
    let table = &change.table;
    let wanted = with_key(access, key, &[], cx, |key| {
        Ok(cx.environment.borrow().is_wanted(table.id, key).then(|| key.to_vec()))
    })?;
    let Some(key) = wanted else { return Ok(None) };
    // That the row is there is what the client is told.
    transaction(cx)?.look_at(Columns::NONE);
    let found = transaction(cx)?.get(table.id, &key);
    transaction(cx)?.look_at(Columns::ALL);
    let Some(handle) = found? else { return Ok(None) };
    let mut row = spare::take(|it| &it.row);
    row.resize_with(change.select.width, Datum::default);
    fill(access, source, handle, &mut row, cx)?;
    let assignments = change.assignments.as_deref().unwrap_or_default();
    let changed = Changed { table, assignments, checks: &change.checks };
    // The statement reports an error itself, when it is executed.
    let mut bytes = spare::take(|it| &it.bytes);
    let is_sound = encode(&changed, handle, &mut row, cx, &mut bytes).is_ok();
    spare::give_back(|it| &it.bytes, bytes);
    spare::give_back(|it| &it.row, row);
    Ok(is_sound.then_some(Late { table: table.id, key, columns }))
}
