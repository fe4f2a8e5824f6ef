//! The body of a procedure, compiled.

use crate::catalog::CatalogView;
use crate::datum::Datum;
use crate::environment::Environment;
use crate::error::{Result, SqlError};
use crate::execute::execute;
use crate::prepare::prepare_in_body;
use crate::prepared::{Kind, Prepared};
use crate::routine::Procedure;
use crate::statement::parse;
use crate::types::Type;
use chiliad_api::{TableId, Transaction};

/// Statements of a body at most.
const STATEMENTS_MAX: usize = 1000;

/// The body of a procedure, for one version of the catalog.
#[derive(Debug)]
pub struct ProcedureBody {
    statements: Vec<Prepared>,
    tables: Vec<TableId>,
    catalog_version: u64,
}

impl ProcedureBody {
    /// Compiles the body of a procedure.
    ///
    /// # Errors
    /// Those of [`crate::prepare`] for its statements; 0A000 for one that neither reads nor writes rows.
    pub fn compile(procedure: &Procedure, catalog: &CatalogView) -> Result<Self> {
        let of_body = |mut error: SqlError| {
            let context = || format!("In the body of procedure {}.", procedure.signature());
            // A position in the body is none in the statement.
            error.position = None;
            error.detail.get_or_insert_with(context);
            error
        };
        let parsed = parse(&procedure.body).map_err(of_body)?;
        if parsed.len() > STATEMENTS_MAX {
            let message = format!("a body of more than {STATEMENTS_MAX} statements");
            return Err(SqlError::program_limit(message));
        }
        let declared: Vec<Option<Type>> = procedure.types().map(Some).collect();
        let names: Vec<Option<&str>> =
            procedure.parameters.iter().map(|it| it.name.as_deref()).collect();
        let mut statements = Vec::with_capacity(parsed.len());
        let mut tables = Vec::new();
        for statement in &parsed {
            let prepared =
                prepare_in_body(statement, catalog, &declared, &names).map_err(of_body)?;
            if !matches!(prepared.kind, Kind::Query { .. } | Kind::Write) {
                let tag = prepared.tag;
                let message = format!("{tag} in the body of a procedure is not supported");
                return Err(of_body(SqlError::feature_not_supported(message)));
            }
            if let Some(number) = (declared.len()..prepared.parameters.len()).next() {
                let message = format!("there is no parameter ${}", number + 1);
                return Err(of_body(SqlError::undefined_parameter(message)));
            }
            tables.extend(&prepared.tables);
            statements.push(prepared);
        }
        tables.sort_unstable();
        tables.dedup();
        Ok(Self { statements, tables, catalog_version: catalog.version() })
    }

    /// The tables that it reads or writes.
    #[must_use]
    pub fn tables(&self) -> &[TableId] {
        &self.tables
    }

    /// The version of the catalog that it was compiled for.
    #[must_use]
    pub fn catalog_version(&self) -> u64 {
        self.catalog_version
    }

    /// Runs the statements in their order; rows that they return go nowhere. After an error the transaction can only be
    /// rolled back, to a savepoint at least.
    ///
    /// # Errors
    /// Those of [`execute`].
    pub fn run(
        &self,
        arguments: &[Datum<'_>],
        transaction: &mut dyn Transaction,
        environment: &mut dyn Environment,
    ) -> Result<()> {
        for statement in &self.statements {
            execute(statement, arguments, transaction, environment, &mut |_: &[Datum<'_>]| Ok(()))?;
        }
        Ok(())
    }
}
