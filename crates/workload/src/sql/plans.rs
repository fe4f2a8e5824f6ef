//! Texts of statements as plans, which all clients share.

use super::tables::Tables;
use chiliad_api::{Error, TableId, TableSpec};
use chiliad_sql::{CatalogView, Prepared, Result, SqlError, Table, parse, prepare};
use std::sync::{Arc, Mutex, PoisonError};

/// Declares an enumeration of statements, each with its text: its number is the place of its plan.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        /// A statement, by its place among the texts.
        #[derive(Clone, Copy)]
        pub(super) enum Statement { $($(#[$doc])* $name),* }

        /// All texts, each in its place.
        pub(super) const TEXTS: &[&str] = &[$($text),*];

        impl From<Statement> for usize {
            fn from(statement: Statement) -> Self {
                statement as Self
            }
        }
    };
}
pub(crate) use statements;

/// The tables of a workload, and the texts of its statements.
#[derive(Debug)]
pub(crate) struct Program {
    tables: Tables,
    texts: Vec<String>,
    /// The plans for the numbers that the tables have had in a database.
    made: Mutex<Vec<Arc<Plans>>>,
}

/// The statements of a program for the tables of a database.
#[derive(Debug)]
pub(crate) struct Plans {
    numbers: Vec<TableId>,
    view: CatalogView,
    prepared: Vec<Prepared>,
}

impl Program {
    /// Prepares everything for the tables of an empty database: a simulated core's stack has no room for that.
    ///
    /// # Errors
    /// One line that names what is wrong with a text: a mistake of this crate.
    pub fn new(tables: &str, texts: Vec<String>) -> core::result::Result<Self, String> {
        let tables = Tables::new(tables).map_err(|error| error.to_string())?;
        let program = Self { texts, made: Mutex::default(), tables };
        program.prepared_for(&program.tables.first_numbers())?;
        Ok(program)
    }

    /// The declarations of its tables.
    pub fn specs(&self) -> Vec<TableSpec> {
        self.tables.specs()
    }

    /// The plans for tables of these numbers.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] with the line of [`Self::new`].
    pub fn plans(&self, numbers: &[TableId]) -> chiliad_api::Result<Arc<Plans>> {
        self.prepared_for(numbers).map_err(Error::InvalidOption)
    }

    fn prepared_for(&self, numbers: &[TableId]) -> core::result::Result<Arc<Plans>, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plans) = made.iter().find(|it| it.numbers == numbers) {
            return Ok(Arc::clone(plans));
        }
        let view = self.tables.view(numbers);
        let prepared = self.texts.iter().map(|text| {
            one(text, &view).map_err(|error| format!("{text}\nis no statement: {error}"))
        });
        let prepared = prepared.collect::<core::result::Result<_, _>>()?;
        let plans = Arc::new(Plans { numbers: numbers.into(), view, prepared });
        made.push(Arc::clone(&plans));
        Ok(plans)
    }
}

#[cfg(test)]
impl Program {
    /// All texts, each with how its rows are found.
    pub fn explained(&self) -> Vec<(String, String)> {
        use chiliad_api::{Intent, Running, Store as _};
        let database = chiliad_swarm::Swarm::<chiliad_machine::Plain>::new();
        let mut session = database.session().expect("a session");
        let mut running = Running::begin(&mut *session, &Intent::read_only()).expect("begins");
        let view = self.tables.view(&self.tables.first_numbers());
        let mut explain = |text: &String| {
            let prepared = one(&format!("EXPLAIN {text}"), &view).expect("explained");
            let mut lines = Vec::new();
            let mut sink = |row: &[chiliad_sql::Datum<'_>]| {
                if let [chiliad_sql::Datum::Text(line)] = row {
                    lines.push(line.clone().into_owned());
                }
                Ok(())
            };
            let mut moment = chiliad_sql::Moment(0);
            chiliad_sql::execute(&prepared, &[], running.session(), &mut moment, &mut sink)
                .expect("touches no row");
            (text.clone(), lines.join("\n"))
        };
        self.texts.iter().map(&mut explain).collect()
    }
}

/// The plan of a text of one statement.
fn one(text: &str, view: &CatalogView) -> Result<Prepared> {
    match parse(text)?.as_slice() {
        [statement] => prepare(statement, view, &[]),
        _ => Err(SqlError::syntax_error("one statement was expected")),
    }
}

impl Plans {
    /// The plan of the text of this place.
    pub fn prepared(&self, place: usize) -> &Prepared {
        &self.prepared[place]
    }

    /// The table of this name; `None`: there is none.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.view.table(name).map(|table| &**table)
    }
}
