//! The catalog of SQL over the tables of a database: what statements are prepared against, and how it changes.
//!
//! The database owns its tables. What SQL says of them beyond that (lengths of texts, defaults) lies in a table of
//! the server's own, by the table's name. The application may change tables behind the server's back: whoever meets an
//! unknown table, or a row of a schema that is newer, has the catalog read anew.

use chiliad::raw::{Range, TableId, TableLayout, TableSpec, Transaction as _};
use chiliad::{Database, Error, Sequence};
use chiliad_sql::{CatalogView, SqlError, TableDetails, TableInput};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

/// The table of what SQL says of tables. No statement sees it.
pub(crate) const DETAILS: &str = "chiliad sql details";

/// The catalog of a server.
pub(crate) struct Catalog {
    database: Database,
    view: RwLock<Arc<CatalogView>>,
    version: AtomicU64,
    /// Held while it is read anew.
    renewing: Mutex<()>,
    sequences: RwLock<HashMap<String, Arc<Sequence>>>,
    details: TableId,
}

impl Catalog {
    /// Reads the catalog of a database.
    ///
    /// # Errors
    /// Those of reading and of declaring the server's own table.
    pub fn new(database: Database) -> Result<Self, Error> {
        let details = match database.table_raw(DETAILS) {
            Ok((id, _)) => id,
            Err(Error::UnknownTable(_)) => {
                database.create_table_raw(TableSpec::ordered(DETAILS))?
            }
            Err(error) => return Err(error),
        };
        let catalog = Self {
            database,
            view: RwLock::default(),
            version: AtomicU64::new(0),
            renewing: Mutex::default(),
            sequences: RwLock::default(),
            details,
        };
        catalog.renew()?;
        Ok(catalog)
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The number of the newest version.
    pub fn version(&self) -> u64 {
        // Acquire: pairs with the release in `renew`, after the view has been set.
        self.version.load(Ordering::Acquire)
    }

    /// The tables as they are.
    pub fn view(&self) -> Arc<CatalogView> {
        Arc::clone(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads it anew.
    ///
    /// # Errors
    /// Those of a transaction.
    pub fn renew(&self) -> Result<(), Error> {
        let _one = lock(&self.renewing);
        let said = self.details()?;
        let mut tables = Vec::new();
        for spec in self.database.tables() {
            // Tables of bytes have no columns that a statement could name; a sequence is a table of one number.
            if matches!(spec.layout, TableLayout::Bytes | TableLayout::Unknown) {
                continue;
            }
            // Dropped meanwhile, it is no table of this version.
            let Ok((id, spec)) = self.database.table_raw(&spec.name) else { continue };
            let names = spec.secondary.iter().map(|index| &index.name);
            let positions = names.map(|name| self.database.index_position_raw(id, name)).collect();
            let Ok(positions) = positions else { continue };
            let details = said.get(&spec.name).cloned();
            tables.push(TableInput { id, spec, positions, details });
        }
        let version = self.version() + 1;
        let view = Arc::new(CatalogView::new(version, tables));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view;
        // Release: pairs with the acquire in `version`.
        self.version.store(version, Ordering::Release);
        Ok(())
    }

    /// What SQL says of tables, by their names.
    fn details(&self) -> Result<HashMap<String, TableDetails>, Error> {
        self.database.run(|tx| {
            let tx = tx.raw();
            let scanned = tx.scan(self.details, Range::all())?;
            let mut said = HashMap::new();
            for &entry in tx.entries(scanned)? {
                let name = tx.key(entry)?;
                let text = tx.bytes(entry.row)?;
                let name = String::from_utf8_lossy(name).into_owned();
                if let Some(details) = TableDetails::parse(&String::from_utf8_lossy(text)) {
                    said.insert(name, details);
                }
            }
            Ok(said)
        })
    }

    /// Writes what SQL says of a table; `None`: nothing.
    pub(crate) fn set_details(
        &self,
        table: &str,
        details: Option<&TableDetails>,
    ) -> Result<(), Error> {
        let text = details.map(TableDetails::to_text);
        self.database.run(|tx| {
            let tx = tx.raw();
            match &text {
                Some(text) => tx.put(self.details, table.as_bytes(), text.as_bytes()),
                None => tx.remove(self.details, table.as_bytes()).map(|_| ()),
            }
        })
    }

    /// The next number of a sequence.
    ///
    /// # Errors
    /// 42P01 where there is none of this name.
    pub fn next_value(&self, name: &str) -> Result<i64, SqlError> {
        number(self.sequence(name)?.next()?)
    }

    /// As [`Catalog::next_value`], for the key of a row that is inserted next.
    pub fn next_row_number(&self, name: &str) -> Result<i64, SqlError> {
        number(self.sequence(name)?.next_key()?)
    }

    fn sequence(&self, name: &str) -> Result<Arc<Sequence>, SqlError> {
        let known = self.sequences.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(sequence) = known.get(name) {
            return Ok(Arc::clone(sequence));
        }
        drop(known);
        if self.database.table_raw(name).is_err() {
            return Err(SqlError::undefined_table(format!("relation \"{name}\" does not exist")));
        }
        let sequence = Arc::new(self.database.sequence(name)?);
        self.sequences_mut().insert(name.into(), Arc::clone(&sequence));
        Ok(sequence)
    }

    fn sequences_mut(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<Sequence>>> {
        self.sequences.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sequence has gone, or is another one.
    pub(crate) fn forget_sequence(&self, name: &str) {
        self.sequences_mut().remove(name);
    }
}

fn number(number: u64) -> Result<i64, SqlError> {
    i64::try_from(number).map_err(|_| SqlError::numeric_out_of_range(format!("nextval: {number}")))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
