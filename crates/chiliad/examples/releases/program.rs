//! A club keeps its members, from release to release in another form.

use chiliad::row::{SchemaChange, Value};
use chiliad::{Database, Error, Migration, Result, Row, Table, TableChanges};

/// The rows of release 1.
#[derive(Row, Debug, PartialEq, Clone)]
pub struct Person {
    pub name: String,
    pub age: u8,
}

/// Those of release 2: a number of points, and an index.
#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_age(age))]
pub struct Player {
    pub name: String,
    pub age: u8,
    pub points: u32,
}

/// Those of release 3: the name is two, the points are computed anew, and a mail address is unique.
#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_age(age, last))]
#[index(by_mail(mail), unique)]
pub struct Member {
    pub first: String,
    pub last: String,
    pub mail: String,
    pub age: u8,
    pub points: u64,
}

fn create(changes: &mut TableChanges<'_>) -> Result<()> {
    changes.create_table::<u64, Person>("people")?;
    changes.create_table::<u64, String>("drafts")
}

fn points(changes: &mut TableChanges<'_>) -> Result<()> {
    let (name, column_type) = ("points".into(), <u32 as chiliad::Typed>::column_type());
    let add = SchemaChange::Add { name, column_type, default: Some(Value::Unsigned(10)) };
    changes.change_schema("people", &[add])?;
    changes.change_indexes::<u64, Player>("people")
}

fn members(changes: &mut TableChanges<'_>) -> Result<()> {
    changes.rewrite("people", |id: u64, player: Player| {
        let (first, last) = player.name.split_once(' ').ok_or("a name of one word")?;
        let mail = format!("{first}.{last}@club.example");
        let points = u64::from(player.points) + 1;
        let (first, last) = (first.to_owned(), last.to_owned());
        Ok((id, Member { first, last, mail, age: player.age, points }))
    })?;
    changes.rename_table("people", "members")?;
    changes.drop_table("drafts")
}

/// Makes the migrations that a release knows.
pub fn migrate(db: &Database, release: u32) -> Result<Vec<u32>> {
    let all = [
        Migration::new(1, "people", create),
        Migration::new(2, "points and an index of ages", points),
        Migration::new(3, "members", members),
    ];
    db.migrate(&all[..all.len().min(release as usize)])
}

/// The person of a number.
pub fn person(id: u64) -> Person {
    Person { name: format!("ann{id} lee{}", id % 10), age: (id % 100) as u8 }
}

/// The player that this person becomes.
pub fn player(id: u64) -> Player {
    let Person { name, age } = person(id);
    Player { name, age, points: 10 }
}

/// The member that this player becomes.
pub fn member(id: u64) -> Member {
    let (first, last) = (format!("ann{id}"), format!("lee{}", id % 10));
    let mail = format!("{first}.{last}@club.example");
    Member { first, last, mail, age: player(id).age, points: 11 }
}

/// Runs a release: makes its migrations, fills an empty table with people up to `rows`, and looks at all rows.
pub fn run(db: &Database, release: u32, rows: u64) -> std::result::Result<(), String> {
    migrate(db, release).map_err(|error| error.to_string())?;
    if release == 1 {
        let people: Table<u64, Person> = db.table("people").map_err(|error| error.to_string())?;
        let fill = |error: Error| error.to_string();
        db.bulk_load(&people, (0..rows).map(|id| (id, person(id)))).map_err(fill)?;
    }
    check(db, rows)
}

/// Looks at a database between or after releases: people up to `rows`, and some after them, are there once, in the
/// form of the migrations that were made, and the indexes have them and nothing else.
///
/// # Errors
/// The first difference, in words.
pub fn check(db: &Database, rows: u64) -> std::result::Result<(), String> {
    let release = db.migrations().last().map_or(0, |(number, _)| *number);
    let checked = match release {
        0 => return Ok(()),
        1 => rows_of(db, "people", person, rows).map(|_| ()),
        2 => rows_of(db, "people", player, rows).and_then(|(people, found)| {
            let by_age = db.run(|tx| tx.find_range(&people, Player::BY_AGE, ..).rows());
            same("by_age", found, by_age)
        }),
        _ => rows_of(db, "members", member, rows).and_then(|(members, found)| {
            let by_age = db.run(|tx| tx.find_range(&members, Member::BY_AGE, ..).rows());
            same("by_age", found.clone(), by_age)?;
            let by_mail = db.run(|tx| tx.find_range(&members, Member::BY_MAIL, ..).rows());
            same("by_mail", found, by_mail)
        }),
    };
    checked.map_err(|what| format!("after migration {release}: {what}"))
}

/// A table with its rows.
type Rows<V> = (Table<u64, V>, Vec<(u64, V)>);

fn rows_of<V: Row + PartialEq + std::fmt::Debug>(
    db: &Database,
    name: &str,
    expected: impl Fn(u64) -> V,
    rows: u64,
) -> std::result::Result<Rows<V>, String> {
    let table: Table<u64, V> = db.table(name).map_err(|error| error.to_string())?;
    let found = db.run(|tx| tx.scan(&table, ..).rows()).map_err(|error| error.to_string())?;
    if let Some((id, row)) = found.iter().find(|(id, row)| *row != expected(*id)) {
        return Err(format!("row {id} is {row:?}"));
    }
    let there = found.iter().take_while(|(id, _)| *id < rows).count() as u64;
    let once = found.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if there != rows || !once {
        return Err(format!("{there} of {rows} rows are there"));
    }
    Ok((table, found))
}

fn same<V: PartialEq>(
    index: &str,
    rows: Vec<(u64, V)>,
    found: Result<Vec<(u64, V)>>,
) -> std::result::Result<(), String> {
    let mut found = found.map_err(|error| format!("an index, {index}: {error}"))?;
    found.sort_by_key(|(id, _)| *id);
    match found == rows {
        true => Ok(()),
        false => Err(format!("an index, {index}, has {} of {} rows", found.len(), rows.len())),
    }
}
