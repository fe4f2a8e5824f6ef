//! The catalog of SQL over the tables of a database: what statements are prepared against, and how it changes.
//!
//! The database owns its tables. What SQL says of them beyond that (lengths of texts, defaults) lies in a table of
//! the server's own, by the table's name. The application may change tables behind the server's back: whoever meets an
//! unknown table, or a row of a schema that is newer, has the catalog read anew.

use crate::change::{self, NOTES, is_reserved};
use chiliad::raw::{Range, TableId, TableLayout, TableSpec, Transaction as _};
use chiliad::{Database, Error, RunOptions, Sequence};
use chiliad_sql::{CatalogView, SqlError, TableDetails, TableInput};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

/// The table of what SQL says of tables. No statement sees it.
pub(crate) const DETAILS: &str = "chiliad sql details";

/// The table of procedures in SQL: declarations by name. No statement sees it.
const PROCEDURES: &str = "chiliad sql procedures";

/// The catalog of a server.
pub(crate) struct Catalog {
    database: Database,
    view: RwLock<Arc<CatalogView>>,
    version: AtomicU64,
    /// The last version in which tables were others than before under the same names.
    replaced: AtomicU64,
    /// Numbers the versions that single transactions see.
    own_versions: AtomicU64,
    /// Held while it is read anew.
    renewing: Mutex<()>,
    sequences: RwLock<HashMap<String, Arc<Sequence>>>,
    details: TableId,
    notes: TableId,
    procedures: TableId,
    sees_newest: bool,
}

/// Versions that single transactions see have this bit.
const OWN: u64 = 1 << 63;

/// This version, if it is one of the catalog of all; `None`: a single transaction has it for itself.
pub(crate) fn shared_version(version: u64) -> Option<u64> {
    (version & OWN == 0).then_some(version)
}

/// Whether an error may be gone when the catalog is read anew.
fn is_of_catalog(error: &SqlError) -> bool {
    matches!(error.sqlstate, "42P01" | "42703" | "42704")
}

/// The tables as one session sees them: those of all, or as its transaction has changed them.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    catalog: &'a Catalog,
    own: Option<&'a Arc<CatalogView>>,
}

impl<'a> Tables<'a> {
    pub fn new(catalog: &'a Catalog, own: Option<&'a Arc<CatalogView>>) -> Self {
        Self { catalog, own }
    }

    /// Whether nobody else sees them so.
    pub fn are_own(&self) -> bool {
        self.own.is_some()
    }

    /// The number of their version.
    pub fn version(&self) -> u64 {
        self.own.map_or_else(|| self.catalog.version(), |own| own.version())
    }

    /// The tables.
    pub fn view(&self) -> Arc<CatalogView> {
        self.own.map_or_else(|| self.catalog.view(), Arc::clone)
    }

    /// Has those of all read anew.
    ///
    /// # Errors
    /// Those of a transaction.
    pub fn renew(&self) -> Result<(), Error> {
        match self.own {
            Some(_) => Ok(()),
            None => self.catalog.renew(),
        }
    }

    /// What `make` makes of the tables; of the catalog read anew, where it misses a table that the application may have made
    /// since.
    ///
    /// # Errors
    /// Those of `make`, and of a transaction.
    pub fn newest<T>(
        &self,
        make: impl Fn(&CatalogView) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        match make(&self.view()) {
            Err(error) if is_of_catalog(&error) => {
                self.renew()?;
                make(&self.view())
            }
            made => made,
        }
    }
}

impl Catalog {
    /// Reads the catalog of a database, after it has brought to an end what a crash has interrupted.
    ///
    /// # Errors
    /// Those of reading and of declaring the server's own tables.
    pub fn new(database: Database) -> Result<Self, Error> {
        let (details, notes) = (own_table(&database, DETAILS)?, own_table(&database, NOTES)?);
        let procedures = own_table(&database, PROCEDURES)?;
        change::finish(&database, details, notes)?;
        let sees_newest = sees_newest(&database, details, notes)?;
        let catalog = Self {
            database,
            view: RwLock::default(),
            version: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
            own_versions: AtomicU64::new(OWN),
            renewing: Mutex::default(),
            sequences: RwLock::default(),
            details,
            notes,
            procedures,
            sees_newest,
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

    /// A number for a version that one transaction sees.
    pub fn own_version(&self) -> u64 {
        // Relaxed: nothing but the number is meant.
        self.own_versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether a statement that was prepared for this version may still run: names mean the tables that they meant.
    pub fn is_good(&self, version: u64) -> bool {
        // SeqCst: pairs with `have_replaced`, before which the tables were closed.
        version >= self.replaced.load(Ordering::SeqCst)
    }

    /// Some names mean other tables from the newest version on.
    pub(crate) fn have_replaced(&self) {
        self.replaced.store(self.version(), Ordering::SeqCst);
    }

    /// Whether a transaction reads what others commit after it has begun, where it has read nothing that they change: not
    /// under schemes that give it a time or its partitions when it begins.
    pub fn sees_newest(&self) -> bool {
        self.sees_newest
    }

    /// The table of what SQL says of tables.
    pub(crate) fn details_table(&self) -> TableId {
        self.details
    }

    /// The table of notes of commits that have not come into force.
    pub(crate) fn notes_table(&self) -> TableId {
        self.notes
    }

    /// The table of procedures in SQL.
    pub(crate) fn procedures_table(&self) -> TableId {
        self.procedures
    }

    /// A key for a note. One that was left by an earlier process has come into force by now.
    pub(crate) fn note_key(&self) -> [u8; 8] {
        static KEYS: AtomicU64 = AtomicU64::new(0);
        // Relaxed: nothing but the number is meant.
        KEYS.fetch_add(1, Ordering::Relaxed).to_be_bytes()
    }

    pub(crate) fn remove_note(&self, key: &[u8]) -> Result<(), Error> {
        self.database.run(|tx| tx.raw().remove(self.notes, key).map(|_| ()))
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
            if matches!(spec.layout, TableLayout::Bytes | TableLayout::Unknown)
                || is_reserved(&spec.name)
            {
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

    /// The next number of a sequence.
    ///
    /// # Errors
    /// 42P01 where there is none of this name.
    pub fn next_value(&self, name: &str) -> Result<i64, SqlError> {
        next_of(&*self.sequence(name)?)
    }

    /// The sequence of this name.
    ///
    /// # Errors
    /// 42P01 where there is none.
    pub fn sequence(&self, name: &str) -> Result<Arc<Sequence>, SqlError> {
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

/// The next number of a sequence.
///
/// # Errors
/// Those of the database; 22003 for a number that no type has.
pub(crate) fn next_of(sequence: &Sequence) -> Result<i64, SqlError> {
    number(sequence.next()?)
}

/// As [`next_of`], for the key of a row that is inserted next.
pub(crate) fn next_row_number_of(sequence: &Sequence) -> Result<i64, SqlError> {
    number(sequence.next_key()?)
}

/// A table of the server's own.
fn own_table(database: &Database, name: &str) -> Result<TableId, Error> {
    match database.table_raw(name) {
        Ok((id, _)) => Ok(id),
        Err(Error::UnknownTable(_)) => database.create_table_raw(TableSpec::ordered(name)),
        Err(error) => Err(error),
    }
}

/// Tries it: a transaction that has read one table meets a row that another one has put into a second table since.
fn sees_newest(database: &Database, read: TableId, written: TableId) -> Result<bool, Error> {
    const KEY: &[u8] = b"?";
    if database.options().scheme.info().needs_partitions {
        // The other one would wait for the first one's partition.
        return Ok(false);
    }
    let mut open = database.open_transaction(&RunOptions::default())?;
    open.with(|tx| tx.raw().get(read, KEY).map(|_| ()))?;
    database.run(|tx| tx.raw().put(written, KEY, b""))?;
    let found = open.with(|tx| Ok::<_, Error>(tx.raw().get(written, KEY)?.is_some()));
    let sees = matches!((found, open.commit()), (Ok(true), Ok(())));
    database.run(|tx| tx.raw().remove(written, KEY).map(|_| ()))?;
    Ok(sees)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
