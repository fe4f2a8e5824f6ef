//! CALL, and the declaration of procedures.

use super::dialog::Dialog;
use crate::catalog::shared_version;
use crate::plans::Plan;
use crate::procedures::Body;
use crate::wire::Writer;
use chiliad::raw::Transaction as _;
use chiliad_sql::{Datum, Procedure, RowChanges, SqlError, call_arguments, converted};

impl Dialog {
    /// CALL: runs a procedure of the application, or one that is declared in SQL, in the transaction.
    pub fn call(&mut self, name: &str, plan: &Plan, values: &[Datum<'_>]) -> Result<(), SqlError> {
        if let Some(procedure) = self.server.procedures.get(name).cloned() {
            self.part(plan, |tx, environment, _| {
                let arguments = call_arguments(&plan.prepared, values, tx.raw(), environment)?;
                procedure(tx, name, arguments)
            })?;
        } else {
            self.call_body(name, plan, values)?;
        }
        self.output.complete("CALL");
        Ok(())
    }

    fn call_body(&mut self, name: &str, plan: &Plan, values: &[Datum<'_>]) -> Result<(), SqlError> {
        let table = self.server.catalog.procedures_table();
        let (text, arguments) = self.part(plan, |tx, environment, _| {
            let arguments = call_arguments(&plan.prepared, values, tx.raw(), environment)?;
            let tx = tx.raw();
            let row = tx.get(table, name.as_bytes())?;
            let text = row.map(|row| tx.bytes(row).map(<[u8]>::to_vec)).transpose()?;
            Ok((text, arguments))
        })?;
        let text = text.ok_or_else(|| no_procedure(name))?;
        let body = self.server.bodies.get(self.tables(), name, &text)?;
        let values = converted(name, arguments, body.procedure.types())?;
        let version = shared_version(body.compiled.catalog_version());
        let (tables, any) = (body.compiled.tables(), RowChanges::Anything);
        self.part_on(version, tables, any, None, |tx, environment, _| {
            body.compiled.run(&values, tx.raw(), environment)
        })
    }

    /// CREATE PROCEDURE: the body is compiled, so that what is wrong with it is told now, and the declaration is kept.
    pub fn create_procedure(
        &mut self,
        procedure: &Procedure,
        replaces: bool,
        plan: &Plan,
    ) -> Result<(), SqlError> {
        let name = &procedure.name;
        let taken = || {
            let message = format!("procedure \"{name}\" already exists");
            SqlError::new("42723", message)
        };
        if self.server.procedures.contains_key(name) {
            return Err(taken().with_detail("The application has it."));
        }
        let body = Body::new(self.tables(), procedure.clone())?;
        let table = self.server.catalog.procedures_table();
        self.part(plan, |tx, _, _| {
            let tx = tx.raw();
            if !replaces && tx.get(table, name.as_bytes())?.is_some() {
                return Err(taken());
            }
            Ok(tx.put(table, name.as_bytes(), body.text())?)
        })?;
        self.output.complete("CREATE PROCEDURE");
        Ok(())
    }

    /// DROP PROCEDURE.
    pub fn drop_procedure(
        &mut self,
        name: &str,
        if_exists: bool,
        plan: &Plan,
    ) -> Result<(), SqlError> {
        let table = self.server.catalog.procedures_table();
        let removed = self.part(plan, |tx, _, _| Ok(tx.raw().remove(table, name.as_bytes())?))?;
        if !removed && !if_exists {
            return Err(no_procedure(name));
        }
        self.output.complete("DROP PROCEDURE");
        Ok(())
    }
}

#[cold]
fn no_procedure(name: &str) -> SqlError {
    SqlError::undefined_function(format!("procedure {name} does not exist"))
}
