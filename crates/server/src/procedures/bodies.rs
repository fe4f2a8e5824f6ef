//! Procedures in SQL: rows of a table of the server's own, by their names.
//!
//! A row is the text of the declaration. So a procedure belongs to the transaction that declares it, a crash leaves it or not, and
//! a call that reads the row is ordered with its changes as with those of any other row. Bodies are compiled once for a text and
//! a version of the catalog, for all sessions.

use crate::catalog::Tables;
use crate::plans::is_of_catalog;
use chiliad_sql::{Procedure, ProcedureBody, SqlError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bodies that are kept at most; then they are compiled anew.
const BODIES_MAX: usize = 1024;

/// The compiled bodies of a server's procedures, by name.
#[derive(Default)]
pub(crate) struct Bodies {
    kept: Mutex<HashMap<String, Arc<Body>>>,
}

/// A procedure with its compiled body.
pub(crate) struct Body {
    text: Vec<u8>,
    pub procedure: Procedure,
    pub compiled: ProcedureBody,
}

impl Body {
    /// Compiles a procedure for the tables as a session sees them.
    ///
    /// # Errors
    /// Those of its body.
    pub fn new(tables: Tables<'_>, procedure: Procedure) -> Result<Self, SqlError> {
        let compiled = match ProcedureBody::compile(&procedure, &tables.view()) {
            // A table that the application has made since, perhaps.
            Err(error) if is_of_catalog(&error) => {
                tables.renew()?;
                ProcedureBody::compile(&procedure, &tables.view())?
            }
            compiled => compiled?,
        };
        Ok(Self { text: procedure.to_text().into_bytes(), procedure, compiled })
    }

    /// The declaration, as the table has it.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

impl Bodies {
    /// The procedure that the table has this declaration of.
    ///
    /// # Errors
    /// Those of its body, whose tables may have changed since it was declared.
    pub fn get(&self, tables: Tables<'_>, name: &str, text: &[u8]) -> Result<Arc<Body>, SqlError> {
        let is_it = |body: &&Arc<Body>| {
            body.text == text && body.compiled.catalog_version() == tables.version()
        };
        if let Some(body) = self.kept().get(name).filter(is_it) {
            return Ok(Arc::clone(body));
        }
        let procedure = Procedure::parse(&String::from_utf8_lossy(text))?;
        let body = Arc::new(Body::new(tables, procedure)?);
        // What one transaction sees is for nobody else.
        if !tables.are_own() {
            let mut kept = self.kept();
            if kept.len() >= BODIES_MAX {
                kept.clear();
            }
            kept.insert(name.into(), Arc::clone(&body));
        }
        Ok(body)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Arc<Body>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
