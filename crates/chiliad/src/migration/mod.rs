//! Releases of an application on one database: migrations, each made once.

mod raw_changes;
mod rewrite;
mod table_changes;

pub use rewrite::RewriteError;
pub use table_changes::TableChanges;

use crate::raw::TableChange;
use crate::watch::span;
use crate::{Database, Error, Key, Nested, Result, Row, declare, nest};
use core::fmt;
use std::sync::PoisonError;

/// A step from one release of an application to the next: changes of tables under a number, which the database keeps.
///
/// See [`Database::migrate`].
pub struct Migration<'a> {
    number: u32,
    name: &'a str,
    make: Box<Make<'a>>,
}

/// The closure of a migration.
type Make<'a> = dyn Fn(&mut TableChanges<'_>) -> Result<()> + 'a;

impl<'a> Migration<'a> {
    /// The migration `number`, counted from 1, which `make` makes. Its name is for people, and stays the same.
    pub fn new(
        number: u32,
        name: &'a str,
        make: impl Fn(&mut TableChanges<'_>) -> Result<()> + 'a,
    ) -> Self {
        Self { number, name, make: Box::new(make) }
    }
}

impl fmt::Debug for Migration<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Migration {} ({})", self.number, self.name)
    }
}

impl Database {
    /// Makes those of these migrations that this database has not seen, in their order, and returns their numbers. Each
    /// is made once in the life of the database, with its number, or not at all: after a failure or a crash in its midst
    /// everything is as it was before it. In a directory it is durable before the next one begins.
    ///
    /// A release of an application calls this first after opening, with the migrations of all releases so far.
    ///
    /// ```
    /// use chiliad::{Database, Error, Migration, Result, Row, Table};
    ///
    /// #[derive(Row)]
    /// struct PersonOfRelease1 {
    ///     name: String,
    /// }
    ///
    /// #[derive(Row, Debug, PartialEq)]
    /// #[index(by_last(last))]
    /// struct Person {
    ///     first: String,
    ///     last: String,
    /// }
    ///
    /// fn release_1(db: &Database) -> Result<()> {
    ///     let create = Migration::new(1, "people", |changes| {
    ///         changes.create_table::<u64, PersonOfRelease1>("people")
    ///     });
    ///     db.migrate(&[create])?;
    ///     let people: Table<u64, PersonOfRelease1> = db.table("people")?;
    ///     db.run(|tx| tx.insert(&people, &1, &PersonOfRelease1 { name: "Ann Lee".into() }))
    /// }
    ///
    /// fn release_2(db: &Database) -> Result<()> {
    ///     let create = Migration::new(1, "people", |changes| {
    ///         changes.create_table::<u64, PersonOfRelease1>("people")
    ///     });
    ///     let split = Migration::new(2, "first and last names", |changes| {
    ///         changes.rewrite("people", |id: u64, person: PersonOfRelease1| {
    ///             let (first, last) = person.name.split_once(' ').ok_or("a name of one word")?;
    ///             Ok((id, Person { first: first.into(), last: last.into() }))
    ///         })
    ///     });
    ///     db.migrate(&[create, split])?;
    ///     let people: Table<u64, Person> = db.table("people")?;
    ///     let found = db.run(|tx| tx.find(&people, Person::BY_LAST, &("Lee",)).first())?;
    ///     assert_eq!(found, Some((1, Person { first: "Ann".into(), last: "Lee".into() })));
    ///     Ok(())
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// release_1(&db)?;
    /// release_2(&db)?;
    /// assert!(matches!(release_1(&db), Err(Error::LaterRelease { .. })));
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LaterRelease`] for a database that has seen a migration later than the last of these;
    /// [`Error::InvalidOption`] for numbers that do not ascend from 1 on, and for migrations that are none of those that
    /// the database has seen; [`Error::Nested`] in a transaction's closure; those of the migration that has failed.
    pub fn migrate(&self, migrations: &[Migration<'_>]) -> Result<Vec<u32>> {
        let seen = self.shared.engine.applied();
        check(migrations, &seen)?;
        let last = seen.last().map_or(0, |(number, _)| *number);
        let mut made = Vec::new();
        for migration in migrations.iter().filter(|migration| migration.number > last) {
            let Migration { number, name, make } = migration;
            span!("chiliad.migration", number, name);
            self.change_all(|changes| {
                make(changes)?;
                changes.also(TableChange::Applied(*number, (*name).to_owned()))
            })?;
            made.push(*number);
        }
        Ok(made)
    }

    /// The migrations that this database has seen, ascending, with their names.
    #[must_use]
    pub fn migrations(&self) -> Vec<(u32, String)> {
        self.shared.engine.applied()
    }

    /// Makes changes of tables, all at once or not at all, without a number. See [`TableChanges`].
    ///
    /// ```
    /// # use chiliad::{Database, Table};
    /// # let db = Database::in_memory()?;
    /// let old: Table<u64, u64> = db.create_table("hits")?;
    /// let _: Table<u64, u64> = db.create_table("unused")?;
    /// db.change_tables(|changes| {
    ///     changes.drop_table("unused")?;
    ///     changes.rename_table("hits", "visits")
    /// })?;
    /// // It is the same table.
    /// let visits: Table<u64, u64> = db.table("visits")?;
    /// assert_eq!(visits, old);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `make` and of its changes; [`Error::Nested`] in a transaction's closure; [`Error::LogFailed`],
    /// [`Error::OpenedReadOnly`]; [`Error::Unsupported`] on a server that shares a log.
    pub fn change_tables(
        &self,
        make: impl FnOnce(&mut TableChanges<'_>) -> Result<()>,
    ) -> Result<()> {
        self.change_all(make)
    }

    /// Gives a table the indexes that `V` declares: adds those that it lacks, drops those that `V` does not have. As
    /// [`TableChanges::change_indexes`].
    ///
    /// ```
    /// use chiliad::{Database, Row, Table};
    ///
    /// #[derive(Row)]
    /// struct Before {
    ///     city: String,
    /// }
    ///
    /// #[derive(Row)]
    /// #[index(by_city(city))]
    /// struct After {
    ///     city: String,
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let guests: Table<u64, Before> = db.create_table("guests")?;
    /// db.run(|tx| tx.insert(&guests, &1, &Before { city: "Oslo".into() }))?;
    /// db.change_indexes::<u64, After>("guests")?;
    /// let guests: Table<u64, After> = db.table("guests")?;
    /// assert_eq!(db.run(|tx| tx.find(&guests, After::BY_CITY, &("Oslo",)).keys())?, [1]);
    /// # Ok::<(), chiliad::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`TableChanges::change_indexes`] and [`Database::change_tables`].
    pub fn change_indexes<K: Key, V: Row>(&self, table: &str) -> Result<()> {
        self.change_all(|changes| changes.change_indexes::<K, V>(table))
    }

    fn change_all(&self, make: impl FnOnce(&mut TableChanges<'_>) -> Result<()>) -> Result<()> {
        if !nest::outer(self.shared.rules.database).is_empty() {
            // It would wait for the transaction in whose closure it runs.
            return Err(Error::Nested(Nested::WaitsForOuter));
        }
        let _one = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = TableChanges::new(&self.shared.engine);
        make(&mut changes)?;
        // Held throughout, so that nobody opens a table by the declaration before.
        let mut declared = self.declared();
        changes.bring_into_force()?;
        *declared = declare::all(&*self.shared.engine);
        declared.iter().for_each(|(id, spec)| self.shared.schemas.keep(*id, spec));
        Ok(())
    }
}

/// Refuses migrations that do not go on where a database stands that has seen others.
fn check(migrations: &[Migration<'_>], seen: &[(u32, String)]) -> Result<()> {
    let refuse = |what: String| Err(Error::InvalidOption(what));
    let mut before = 0;
    for Migration { number, .. } in migrations {
        if *number <= before {
            return refuse(format!(
                "migration {number} comes after {before}: numbers ascend from 1"
            ));
        }
        before = *number;
    }
    let last = seen.last().map_or(0, |(number, _)| *number);
    if let Some(made) = seen.last().filter(|(number, _)| *number > before) {
        return Err(Error::LaterRelease { made: made.clone(), known: before });
    }
    for (number, name) in seen {
        let known = migrations.iter().find(|migration| migration.number == *number);
        if known.is_none_or(|known| known.name != name) {
            let known = known.map_or("none".into(), |known| format!("{known:?}"));
            let what =
                format!("the database has seen migration {number} ({name}), here it is {known}");
            return refuse(what);
        }
    }
    let known = |number| seen.iter().any(|(seen, _)| *seen == number);
    match migrations.iter().find(|it| it.number < last && !known(it.number)) {
        Some(late) => refuse(format!("{late:?} comes too late: migration {last} was made before")),
        None => Ok(()),
    }
}
