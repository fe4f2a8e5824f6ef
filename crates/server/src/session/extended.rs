//! The extended protocol: statements are prepared, bound to parameters, described and executed by messages of their own.

use super::dialog::{Committed, Dialog, Step};
use super::portals::{OwnPlan, Portal, Progress, Rows, no_cursor, no_portal};
use super::run::{Formats, Ran};
use super::transaction::State;
use super::waiting::After;
use crate::catalog::Tables;
use crate::plans::Plan;
use crate::wire::{Bind, Description, Target, Writer};
use chiliad_sql::{Kind, OwnedDatum, SqlError, Type, codec};
use std::sync::Arc;

/// A prepared statement; without a plan: of a text without a statement.
#[derive(Clone)]
pub(super) struct Prepared {
    pub plan: Option<OwnPlan>,
}

/// Values whose memory a session keeps between two portals, at most.
const SPARE_VALUES_MAX: usize = 16;
/// Statements of one session at most.
const NAMES_MAX: usize = 16_384;

impl Dialog {
    pub fn parse(&mut self, name: &str, text: &str, types: &[u32]) -> Result<(), SqlError> {
        if !name.is_empty() && self.statements.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new("42P05", message));
        }
        if self.statements.len() >= NAMES_MAX {
            let message = format!("{NAMES_MAX} prepared statements: no more are accepted");
            return Err(SqlError::program_limit(message));
        }
        let declared = |oid: &u32| match *oid {
            0 => Ok(None),
            oid => Type::of_oid(oid).map(Some).ok_or_else(|| {
                SqlError::undefined_object(format!("type with OID {oid} is not supported"))
            }),
        };
        let declared = types.iter().map(declared).collect::<Result<Vec<_>, _>>()?;
        let plan = self.server.plans.get(self.tables(), text, &declared);
        let ends = |plan: &Option<Arc<Plan>>| plan.as_ref().is_none_or(|it| it.ends_transaction());
        self.refuse_if_failed(|| plan.as_ref().is_ok_and(ends))?;
        let plan = plan?.map(Arc::new);
        self.statements.insert(name, Prepared { plan });
        if !name.is_empty() {
            self.attempt.made.push(name.into());
        }
        self.output.empty(b'1');
        Ok(())
    }

    pub fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        let statement = self.statements.get_mut(bind.statement);
        let statement = statement.ok_or_else(|| no_statement(bind.statement))?;
        if let Some(plan) = &mut statement.plan {
            renew(plan, self.tx.tables(&self.server.catalog))?;
        }
        let plan = statement.plan.clone();
        self.refuse_if_failed(|| plan.as_ref().is_none_or(|plan| plan.ends_transaction()))?;
        let known = plan.as_deref().map(Arc::as_ref);
        let values = values(known, bind, std::mem::take(&mut self.spare_values))?;
        let formats = Formats::of_bind(known, bind.result_formats)?;
        let portal = Portal::bound(plan, values, formats, self.tx.savepoints_set());
        self.portals.insert(bind.portal, portal)?;
        self.output.empty(b'2');
        Ok(())
    }

    pub fn describe(&mut self, target: Target<'_>) -> Result<(), SqlError> {
        let (plan, keeps_rows, formats) = match target {
            Target::Statement(name) => {
                let statement = self.statements.get_mut(name).ok_or_else(|| no_statement(name))?;
                if let Some(plan) = &mut statement.plan {
                    renew(plan, self.tx.tables(&self.server.catalog))?;
                }
                let types = statement.plan.as_ref().map_or(&[][..], |it| it.prepared.parameters());
                self.output.parameter_description(types);
                (statement.plan.clone(), false, Formats::Text)
            }
            Target::Portal(name) => {
                let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
                (portal.plan.clone(), portal.keeps_rows(), portal.formats.clone())
            }
        };
        // The rows of FETCH are those of its cursor.
        let plan = match plan.as_ref().map(|plan| plan.prepared.kind()) {
            Some(Kind::Fetch(fetch)) if !fetch.moves => {
                let name = &fetch.cursor;
                let portal = self.portals.get(name).ok_or_else(|| no_cursor(name))?;
                portal.plan_of_rows().cloned()
            }
            _ => plan.filter(|plan| keeps_rows || plan.prepared.returns_rows()),
        };
        match plan {
            Some(plan) => self.describe_rows(&plan, &formats),
            None => self.output.empty(b'n'),
        }
        Ok(())
    }

    /// RowDescription.
    pub fn describe_rows(&mut self, plan: &Plan, formats: &Formats) {
        match formats {
            // Most are described so, one plan often.
            Formats::Text => self.output.append(plan.description(|| {
                let mut message = Vec::new();
                message.row_description(descriptions(plan, formats));
                message
            })),
            _ => self.output.row_description(descriptions(plan, formats)),
        }
    }

    pub fn execute(&mut self, name: &str, rows_max: i32) -> Step {
        match self.execute_portal(name, rows_max) {
            Ok(Ran::Done) => {
                if self.tx.state() == State::None {
                    self.new_attempt();
                }
                Step::Next
            }
            Ok(Ran::Suspended) => Step::Next,
            Ok(Ran::Waits) => Step::Wait,
            Err(error) => self.fail_extended(error),
        }
    }

    fn execute_portal(&mut self, name: &str, rows_max: i32) -> Result<Ran, SqlError> {
        let portal = self.portals.get_mut(name).ok_or_else(|| no_portal(name))?;
        let Some(mut plan) = portal.plan.clone() else {
            self.output.empty(b'I');
            return Ok(Ran::Done);
        };
        if !matches!(portal.progress, Progress::New) {
            self.refuse_if_failed(|| false)?;
            return self.next_rows(name, rows_max);
        }
        if rows_max > 0 && plan.prepared.returns_rows() {
            self.begin_statement();
            self.refuse_if_failed(|| false)?;
            self.run_portal(name)?;
            return self.next_rows(name, rows_max);
        }
        renew(&mut plan, self.tx.tables(&self.server.catalog))?;
        portal.progress = Progress::Over;
        let mut values = std::mem::take(&mut portal.values);
        let formats = portal.formats.clone();
        self.begin_statement();
        self.refuse_if_failed(|| plan.ends_transaction())?;
        let ran = self.run(&plan, &mut values, &formats)?;
        if values.capacity() <= SPARE_VALUES_MAX {
            values.clear();
            self.spare_values = values;
        }
        // All rows are told: another Execute has none to tell, and is no error.
        if plan.prepared.returns_rows()
            && let Some(portal) = self.portals.get_mut(name)
        {
            portal.progress = Progress::Rows(Rows::default());
        }
        Ok(ran)
    }

    pub fn close(&mut self, target: Target<'_>) {
        match target {
            Target::Statement(name) => {
                if self.statements.remove(name).is_some() && !name.is_empty() {
                    self.not_again();
                }
            }
            Target::Portal(name) => _ = self.portals.remove(name),
        }
        self.output.empty(b'3');
    }

    pub fn flush(&mut self) -> Result<(), SqlError> {
        if self.tx.state() == State::Implicit {
            // What it has read is told now.
            let seen = self.tx.prove()?;
            self.hold_until(seen);
        }
        self.prove()?;
        self.output.release();
        self.not_again();
        Ok(())
    }

    pub fn sync(&mut self) -> Step {
        if self.tx.state() == State::Implicit {
            match self.commit(After::Sync) {
                Ok(Committed::Now) => {}
                Ok(Committed::Later) => return Step::Wait,
                Err(error) if self.repeats(&error) => return Step::Again,
                Err(error) => self.fail(&error),
            }
        }
        self.end_sync()
    }

    /// The pipeline's transaction is over.
    pub fn end_sync(&mut self) -> Step {
        if let Err(error) = self.prove() {
            if self.repeats(&error) {
                return Step::Again;
            }
            self.fail(&error);
        }
        self.ready();
        Step::Next
    }

    pub fn fail_extended(&mut self, error: SqlError) -> Step {
        let error = self.judge(error);
        if self.repeats(&error) {
            return Step::Again;
        }
        self.fail_lost(&error);
        self.skips_to_sync = true;
        Step::Next
    }
}

/// The columns of a plan's rows.
fn descriptions<'p>(
    plan: &'p Plan,
    formats: &'p Formats,
) -> impl ExactSizeIterator<Item = Description<'p>> {
    plan.prepared.columns().iter().enumerate().map(move |(at, column)| Description {
        name: &column.name,
        table_oid: column.table_oid,
        column_number: column.column_number,
        sql_type: column.sql_type,
        modifier: column.modifier,
        binary: formats.is_binary(at),
    })
}

/// Has a plan hold for the tables as they are.
pub(super) fn renew(plan: &mut OwnPlan, tables: Tables<'_>) -> Result<(), SqlError> {
    if !plan.is_current(tables) {
        *plan = Arc::new(plan.renewed(tables)?);
    }
    Ok(())
}

/// The parameters of a statement, in this memory.
fn values(
    plan: Option<&Plan>,
    bind: &Bind<'_>,
    mut values: Vec<OwnedDatum>,
) -> Result<Vec<OwnedDatum>, SqlError> {
    let types = plan.map_or(&[][..], |plan| plan.prepared.parameters());
    let (given, expected) = (bind.values.len(), types.len());
    if given != expected {
        return Err(SqlError::protocol_violation(format!(
            "bind message supplies {given} parameters, but prepared statement \"{}\" requires {expected}",
            bind.statement
        )));
    }
    let formats = bind.formats.len();
    if formats > 1 && formats != given {
        return Err(SqlError::protocol_violation(format!(
            "bind message has {formats} parameter formats but {given} parameters"
        )));
    }
    values.reserve_exact(given);
    for (at, (value, of)) in bind.values.iter().zip(types).enumerate() {
        let Some(bytes) = value else {
            values.push(OwnedDatum::Null);
            continue;
        };
        values.push(match bind.formats.is_binary(at) {
            true => codec::from_binary(*of, bytes)?,
            false => codec::from_text_bytes(*of, bytes)?.into_owned(),
        });
    }
    Ok(values)
}

fn no_statement(name: &str) -> SqlError {
    match name {
        "" => SqlError::undefined_statement("unnamed prepared statement does not exist"),
        name => {
            SqlError::undefined_statement(format!("prepared statement \"{name}\" does not exist"))
        }
    }
}
