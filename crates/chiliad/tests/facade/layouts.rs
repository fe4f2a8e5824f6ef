//! A table is opened with the columns that it was created with, or not at all.

use crate::common;
use crate::common::Scratch;
use chiliad::key::Lookup;
use chiliad::raw::{TableLayout, TableSpec, Transaction as _};
use chiliad::row::{BadValue, ValueSource};
use chiliad::{
    Change, Column, ColumnType, Database, Desc, Difference, Error, Key, Layout, LayoutDiffers,
    LayoutPart, Options, Result, Row, Stored, Table, Text, Typed, directory,
};

#[derive(Row, Debug, PartialEq, Clone)]
#[index(by_age(age))]
struct Person {
    age: u8,
    height: u32,
    weight: u32,
    city: Text<8>,
    name: String,
}

/// The rows as another version of a program may declare them.
mod changed {
    use chiliad::{Row, Text};

    macro_rules! rows {
        ($($(#[$index:meta])* $name:ident { $($field:ident: $type:ty),* })*) => {$(
            #[derive(Row, Debug)]
            $(#[$index])*
            pub struct $name { $(pub $field: $type),* }
        )*};
    }
    rows! {
        #[index(by_age(age))]
        More { age: u8, level: u8, height: u32, weight: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Swapped { age: u8, weight: u32, height: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Fewer { age: u8, height: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Renamed { age: u8, height: u32, mass: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Signed { age: u8, height: i32, weight: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Float { age: u8, height: f32, weight: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        Wide { age: u8, height: u32, weight: u32, city: Text<9>, name: String }
        #[index(by_age(age))]
        Blob { age: u8, height: u32, weight: u32, city: Text<8>, name: Vec<u8> }
        #[index(by_age(age))]
        NoTail { age: u8, height: u32, weight: u32, city: Text<8> }
        #[index(by_age(age), unique)]
        Unique { age: u8, height: u32, weight: u32, city: Text<8>, name: String }
        NoIndex { age: u8, height: u32, weight: u32, city: Text<8>, name: String }
        #[index(by_age(age))]
        #[index(by_city(city, height desc))]
        MoreIndexes { age: u8, height: u32, weight: u32, city: Text<8>, name: String }
    }
}

fn differs<K: Key, V: Row>(db: &Database, table: &str) -> LayoutDiffers {
    match db.table::<K, V>(table) {
        Err(Error::LayoutDiffers(differs)) => *differs,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("opened with {}", Table::<K, V>::layout()),
    }
}

fn column(text: &str) -> Column {
    let (name, column_type) = text.split_once(' ').unwrap();
    Column::new(name, column_type.parse().unwrap())
}

/// The report on a column of the rows: its place, its change, and the column before and after.
fn row<V: Row>(db: &Database) -> (usize, Change, Option<Column>, Option<Column>) {
    let differs = differs::<u64, V>(db, "people");
    assert_eq!(differs.table, "people");
    match differs.difference {
        Difference::Column { part: LayoutPart::Row, place, change, stored, opened } => {
            (place, change, stored, opened)
        }
        other => panic!("{other}"),
    }
}

fn index<V: Row>(db: &Database) -> (Option<String>, Option<String>) {
    match differs::<u64, V>(db, "people").difference {
        Difference::Index { stored, opened, .. } => (stored, opened),
        other => panic!("{other}"),
    }
}

/// Every change of the type is told by the first column that differs, with both types.
fn every_change_is_refused(db: &Database) {
    let is = |place, change, stored: &str, opened: &str| {
        let column = |text: &str| (!text.is_empty()).then(|| column(text));
        (place, change, column(stored), column(opened))
    };
    assert_eq!(row::<changed::More>(db), is(1, Change::Added, "height u32", "level u8"));
    assert_eq!(row::<changed::Swapped>(db), is(1, Change::Moved, "height u32", "weight u32"));
    assert_eq!(row::<changed::Fewer>(db), is(2, Change::Removed, "weight u32", "city text(8)"));
    assert_eq!(row::<changed::Renamed>(db), is(2, Change::Renamed, "weight u32", "mass u32"));
    assert_eq!(row::<changed::Signed>(db), is(1, Change::Type, "height u32", "height i32"));
    assert_eq!(row::<changed::Float>(db), is(1, Change::Type, "height u32", "height f32"));
    assert_eq!(row::<changed::Wide>(db), is(3, Change::Type, "city text(8)", "city text(9)"));
    assert_eq!(row::<changed::Blob>(db), is(4, Change::Type, "name string", "name blob"));
    assert_eq!(row::<changed::NoTail>(db), is(4, Change::Removed, "name string", ""));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(index::<changed::Unique>(db), (some("by_age(age)"), some("by_age(age), unique")));
    assert_eq!(index::<changed::NoIndex>(db), (some("by_age(age)"), None));
    let added = (None, some("by_city(city, height desc)"));
    assert_eq!(index::<changed::MoreIndexes>(db), added);
    let text =
        Error::LayoutDiffers(Box::new(differs::<u64, changed::More>(db, "people"))).to_string();
    assert_eq!(
        text,
        "the table people is opened as something that it is not: column 2 of the row is height u32 in \
         the table, level u8 in the type (a column that the table does not have)"
    );
}

fn ann() -> Person {
    let city = Text::new("Oslo").unwrap();
    Person { age: 30, height: 170, weight: 60, city, name: "ann".into() }
}

fn with_ann(db: &Database) {
    let people: Table<u64, Person> = db.create_table("people").unwrap();
    db.run(|tx| tx.insert(&people, &1, &ann())).unwrap();
}

fn still_ann(db: &Database) {
    let people: Table<u64, Person> = db.table("people").unwrap();
    assert_eq!(db.run(|tx| tx.get(&people, &1)), Ok(Some(ann())));
}

#[test]
fn a_row_type_that_has_changed_is_refused_in_memory() {
    let db = Database::in_memory().unwrap();
    with_ann(&db);
    every_change_is_refused(&db);
    still_ann(&db);
}

#[test]
fn a_row_type_that_has_changed_is_refused_at_the_next_opening() {
    let path = Scratch::new();
    with_ann(&Database::open(&path).unwrap());
    for round in 0..3 {
        let db = Database::open_with(&path, Options::default().read_only(round == 1)).unwrap();
        every_change_is_refused(&db);
        still_ann(&db);
        if round == 0 {
            db.checkpoint().unwrap();
        }
    }
}

#[test]
fn copies_keep_the_columns() {
    let (path, to) = (Scratch::new(), Scratch::new());
    std::fs::create_dir(&to).unwrap();
    let db = Database::open(&path).unwrap();
    with_ann(&db);
    db.backup(to.join("backup")).unwrap();
    directory::copy(to.join("backup"), to.join("copy")).unwrap();
    directory::salvage(to.join("copy"), to.join("salvaged"), &|_, _, _| {}).unwrap();
    let killed = common::killed(&path);
    for place in [killed.to_path_buf(), to.join("backup"), to.join("copy"), to.join("salvaged")] {
        let db = Database::open(&place).unwrap();
        every_change_is_refused(&db);
        still_ann(&db);
    }
}

#[derive(Key, Debug, PartialEq, Clone)]
struct Place {
    shelf: u32,
    slot: u32,
}

#[derive(Key, Debug, PartialEq, Clone)]
struct Turned {
    slot: u32,
    shelf: u32,
}

#[test]
fn a_key_of_another_type_is_refused() {
    let db = Database::in_memory().unwrap();
    let numbers: Table<u64, u64> = db.create_table("numbers").unwrap();
    db.bulk_load(&numbers, [(1, 1)]).unwrap();
    let key = |differs: LayoutDiffers| match differs.difference {
        Difference::Column { part: LayoutPart::Key, stored, opened, .. } => {
            let text = |column: Option<Column>| column.map(|it| it.to_string()).unwrap_or_default();
            (text(stored), text(opened))
        }
        other => panic!("{other}"),
    };
    let is = |stored: &str, opened: &str| (stored.to_owned(), opened.to_owned());
    assert_eq!(key(differs::<(u32, u32), u64>(&db, "numbers")), is("0 u64", "0 u32"));
    assert_eq!(key(differs::<i64, u64>(&db, "numbers")), is("0 u64", "0 i64"));
    assert_eq!(key(differs::<Desc<u64>, u64>(&db, "numbers")), is("0 u64", "0 desc(u64)"));
    assert_eq!(key(differs::<[u8; 8], u64>(&db, "numbers")), is("0 u64", "0 bytes(8)"));
    assert_eq!(key(differs::<Option<u64>, u64>(&db, "numbers")), is("0 u64", "0 option(u64)"));
    assert_eq!(key(differs::<(u64, u8), u64>(&db, "numbers")), is("", "1 u8"));
    assert_eq!(key(differs::<String, u64>(&db, "numbers")), is("0 u64", "0 string"));
    // Rows of one field, too.
    let message = differs::<u64, f64>(&db, "numbers").to_string();
    assert!(message.contains("column 1 of the row is 0 u64 in the table, 0 f64 in"), "{message}");
    assert!(db.table::<u64, u64>("numbers").is_ok());

    db.create_table::<Place, u64>("places").unwrap();
    assert_eq!(key(differs::<Turned, u64>(&db, "places")), is("shelf u32", "slot u32"));
    assert_eq!(key(differs::<(u32, u32), u64>(&db, "places")), is("shelf u32", "0 u32"));
    assert_eq!(key(differs::<u64, u64>(&db, "places")), is("shelf u32", "0 u64"));
    assert!(db.table::<Place, u64>("places").is_ok());
}

#[test]
fn a_table_of_bytes_is_not_opened_as_one_of_columns() {
    let path = Scratch::new();
    let layout = Table::<u64, u32>::layout();
    {
        let db = Database::open(&path).unwrap();
        db.create_table_raw(TableSpec::ordered("bytes")).unwrap();
        // One whose columns are stated as data is.
        db.create_table_raw(TableSpec::ordered("stated").with_layout(layout.clone())).unwrap();
        let unknown = TableSpec { layout: TableLayout::Unknown, ..TableSpec::ordered("unknown") };
        let refused = db.create_table_raw(unknown).unwrap_err().to_string();
        assert!(refused.contains("a new table has columns, or holds bytes"), "{refused}");
    }
    let db = Database::open(&path).unwrap();
    let refused = differs::<Vec<u8>, Vec<u8>>(&db, "bytes");
    assert_eq!(refused.difference, Difference::NoColumns);
    let stated: Table<u64, u32> = db.table("stated").unwrap();
    db.run(|tx| tx.insert(&stated, &7, &70)).unwrap();
    let row = db.run(|tx| {
        let row = tx.raw().get(stated.id(), &7_u64.to_be_bytes())?.expect("there");
        tx.raw().bytes(row).map(<[u8]>::to_vec)
    });
    assert_eq!(row.unwrap(), 70_u32.to_le_bytes());
    assert_eq!(db.table_raw("stated").unwrap().1.layout, TableLayout::Columns(layout));
    assert!(db.table::<u64, i32>("stated").is_err());
}

/// A type of the application's own, as a field and as a row.
#[derive(Debug, PartialEq, Clone, Copy)]
struct Cents(i64);

impl Typed for Cents {
    fn column_type() -> ColumnType {
        ColumnType::custom("cents", Some(8))
    }
}

impl Stored for Cents {
    const VALUE_BYTES: Option<usize> = Some(8);

    fn write_value(&self, out: &mut Vec<u8>) {
        self.0.write_value(out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> core::result::Result<Self, BadValue> {
        i64::read_value(source).map(Self)
    }
}

#[derive(Row, Debug, PartialEq)]
struct Price {
    net: Cents,
}

#[derive(Row, Debug, PartialEq)]
struct Plain {
    net: i64,
}

/// A row and a key written by hand, of the bytes of a `u16`.
#[derive(Debug, PartialEq)]
struct ByHand<const NAME: char>(u16);

impl<const NAME: char> Row for ByHand<NAME> {
    fn columns() -> Vec<Column> {
        vec![Column::new(&NAME.to_string(), u16::column_type())]
    }

    fn encode(&self, row: &mut Vec<u8>) {
        row.extend(self.0.to_le_bytes());
    }

    fn decode(row: &[u8]) -> Result<Self> {
        <u16 as Row>::decode(row).map(Self)
    }
}

impl<const NAME: char> Lookup<Self> for ByHand<NAME> {
    fn encode(&self, key: &mut Vec<u8>) {
        key.extend(self.0.to_be_bytes());
    }
}

impl<const NAME: char> Key for ByHand<NAME> {
    fn columns() -> Vec<Column> {
        <Self as Row>::columns()
    }

    fn decode(key: &[u8]) -> Result<Self> {
        Ok(Self(u16::from_be_bytes(key.try_into().expect("as encoded"))))
    }
}

#[test]
fn types_of_the_applications_own_state_what_they_are() {
    let db = Database::in_memory().unwrap();
    db.create_table::<u64, Price>("prices").unwrap();
    let message = differs::<u64, Plain>(&db, "prices").to_string();
    assert!(
        message.contains("net custom(cents, 8) in the table, net i64 in the type"),
        "{message}"
    );

    let table: Table<ByHand<'a'>, ByHand<'a'>> = db.create_table("by hand").unwrap();
    db.run(|tx| tx.insert(&table, &ByHand(3), &ByHand(4))).unwrap();
    assert_eq!(db.run(|tx| tx.get(&table, &ByHand(3))), Ok(Some(ByHand(4))));
    assert!(db.table::<ByHand<'b'>, ByHand<'a'>>("by hand").is_err());
    assert!(db.table::<ByHand<'a'>, ByHand<'b'>>("by hand").is_err());
    assert!(db.table::<ByHand<'a'>, ByHand<'a'>>("by hand").is_ok());
    // What could not be kept is refused before there is a table.
    let refused = db.create_table::<u64, ByHand<' '>>("blank").unwrap_err();
    assert!(matches!(refused, Error::Schema(_)), "{refused}");
    assert!(matches!(db.table_raw("blank"), Err(Error::UnknownTable(_))));
}

#[test]
fn a_table_that_is_dropped_leaves_nothing_of_its_columns() {
    let path = Scratch::new();
    let db = Database::open(&path).unwrap();
    with_ann(&db);
    db.drop_table("people").unwrap();
    db.create_table::<u64, changed::Swapped>("people").unwrap();
    drop(db);
    let db = Database::open(&path).unwrap();
    assert!(db.table::<u64, changed::Swapped>("people").is_ok());
    assert!(db.table::<u64, Person>("people").is_err());
    assert_eq!(Layout::default().to_string(), "key (), row ()");
}
