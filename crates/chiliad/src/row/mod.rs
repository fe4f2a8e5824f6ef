//! Rows: how a Rust value becomes the bytes of a row and comes back.
//!
//! The bytes are those of `docs/rows.md`, whatever declares the table. For a Rust type the places of its columns are known
//! when the program is compiled, so one column is read or changed without decoding the others ([`Field`]).

mod calls;
mod composite;
mod expiry;
mod field;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "rust_decimal", feature = "uuid"))]
mod foreign;
#[cfg(feature = "serde")]
mod json;
mod numbers;
mod places;
mod stored;
mod text;
mod times;
mod whole;

#[doc(hidden)]
pub use calls::{Calls, calls};
pub use chiliad_api::row::{
    BadRow, BadValue, Fields, Member, SchemaChange, SchemaError, Value, ValueSource, Variant,
};
pub use expiry::{Expires, Expiry};
pub use field::Field;
#[cfg(feature = "serde")]
pub use json::Json;
pub use places::{BodyReader, BodyWriter, ColumnShape, Places};
pub use stored::{Stored, sum_bytes};
pub use text::Text;

use crate::raw::SecondarySpec;
use crate::{Column, Result};

/// A value that can be a row of a table. Usually derived:
///
/// ```
/// use chiliad::{Field, Row, Text};
///
/// #[derive(Row, Debug, PartialEq)]
/// #[index(by_owner(owner))]
/// #[index(by_rank(branch, balance desc))]
/// pub struct Account {
///     owner: String,
///     branch: u16,
///     balance: i64,
///     open: bool,
///     note: Option<String>,
/// }
///
/// let account =
///     Account { owner: "ann".into(), branch: 7, balance: -250, open: true, note: None };
/// let mut bytes = Vec::new();
/// account.encode(&mut bytes);
/// assert_eq!(Account::decode(&bytes)?, account);
///
/// // One column, without decoding the rest; `Account::BALANCE` is generated.
/// assert_eq!(Account::BALANCE.get(&bytes)?, -250);
/// Account::BALANCE.set(&mut bytes, &100);
/// assert_eq!(Account::decode(&bytes)?.balance, 100);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// The derive macro accepts fields whose type is [`Stored`], and generates
///
/// - a constant of type [`Field`] for each field, named like it in upper case;
/// - a constant of type [`Index`](crate::Index) for each `#[index(name(field, field desc))]`; with
///   `#[index(name(field), unique)]` no two rows may share the key;
/// - with `#[row(crate = path)]`, code that finds this crate under another path.
///
/// A field with `#[row(default)]`, or `#[row(default = expression)]`, may be missing in rows that are older than it: they
/// have its default there. See [`Database::table`](crate::Database::table).
///
/// With `#[row(expires = "field")]` a row is absent from the instant on that the field says: a
/// [`SystemTime`](std::time::SystemTime), or an `Option` of one, where `None` is a row that stays:
///
/// ```
/// use chiliad::{Clock, Database, Options, Row, Table};
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
///
/// #[derive(Row)]
/// #[row(expires = "until")]
/// struct Session {
///     user: u64,
///     until: SystemTime,
/// }
///
/// // A clock that is set; without one it is the system's.
/// let clock = Clock::set_to(UNIX_EPOCH);
/// let db = Database::in_memory_with(Options::default().clock(clock.clone()))?;
/// let sessions: Table<u64, Session> = db.create_table("sessions")?;
/// let until = UNIX_EPOCH + Duration::from_secs(60);
/// db.run(|tx| tx.insert(&sessions, &1, &Session { user: 7, until }))?;
///
/// clock.advance(Duration::from_secs(60));
/// assert!(db.run(|tx| tx.get(&sessions, &1))?.is_none());
/// assert_eq!(db.run(|tx| tx.scan(&sessions, ..).count())?, 0);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// - A transaction reads the clock once, when it first looks at such a row, and so sees each row or does not see it all along;
///   so does a snapshot, by the time at which it is read.
/// - To look-ups, scans, indexes, updates and removals the row is not there, and its key can be inserted anew. A thread of the
///   database removes it later, in small transactions, which a follower of [changes](crate::changes) sees. Until then it has
///   its memory, and its key in a unique index; and [`raw`](crate::raw) sees it, as does
///   [`Database::for_each_row`](crate::Database::for_each_row).
/// - Such a table is ordered: a hash table of such rows is refused. Rows are removed while the table is open: once a program
///   has opened it with its type.
///
/// An index over a field that is not there, or that has no order in a key, does not compile:
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// #[index(by_author(writer))]
/// struct Note {
///     author: u64,
/// }
/// ```
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// #[index(by_tags(tags))]
/// struct Parcel {
///     tags: Vec<String>,
/// }
/// ```
///
/// nor does a field of a type that is no column:
///
/// ```compile_fail
/// #[derive(chiliad::Row)]
/// struct Note {
///     tags: std::collections::BTreeSet<u8>,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row",
    note = "`#[derive(chiliad::Row)]` makes a struct one"
)]
pub trait Row: Sized {
    /// Its columns, in order: what the catalog keeps of the type.
    #[must_use]
    fn columns() -> Vec<Column>;

    /// The defaults of its columns, by their places: the bytes of a value within another one ([`Stored::write_value`]).
    #[must_use]
    fn defaults() -> Vec<(usize, Vec<u8>)> {
        Vec::new()
    }

    /// The secondary indexes of a table of such rows. The number of a column that is a part is its place.
    #[must_use]
    fn indexes() -> Vec<SecondarySpec> {
        Vec::new()
    }

    /// The column that says when a row expires, if there is one; see [`Expires`].
    #[must_use]
    fn expiry() -> Option<Expiry> {
        None
    }

    /// Appends the row's body: all but the version, which is the table's.
    fn encode(&self, body: &mut Vec<u8>);

    /// The row that a body stands for.
    ///
    /// # Errors
    /// [`Error::BadRow`](crate::Error::BadRow), when it is none of this type.
    fn decode(body: &[u8]) -> Result<Self>;
}

#[cfg(test)]
mod tests {
    use super::{Row, Stored, Text, Value};
    use crate::key;
    use crate::{Error, Key, Part};
    use chiliad_api::row::{
        BadRow, RowFormat, Schema, SchemaColumn, ValueSource, read_key, write_key,
    };
    use core::fmt::Debug;
    use core::time::Duration;
    use std::net::IpAddr;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[derive(crate::Stored, Debug, PartialEq, Clone, Copy)]
    enum Color {
        Red,
        Blue = 7,
        Green,
    }

    #[derive(crate::Stored, Debug, PartialEq, Clone)]
    enum Shape<T> {
        Point,
        Circle(T),
        Polygon { corners: Vec<(T, T)>, color: Option<Color> },
    }

    #[derive(crate::Stored, Debug, PartialEq, Clone)]
    struct Street {
        name: String,
        number: u16,
    }

    #[derive(crate::Stored, Debug, PartialEq, Clone)]
    struct Meters(f64);

    #[derive(crate::Stored, Debug, PartialEq, Clone)]
    struct Nothing;

    #[derive(crate::Row, Debug, PartialEq, Clone)]
    struct All {
        a: u8,
        b: i16,
        text: String,
        c: Option<u32>,
        d: i128,
        e: bool,
        f: f64,
        g: [u8; 3],
        h: Text<5>,
        r#type: u16,
        letter: char,
        bytes: Vec<u8>,
        words: Vec<String>,
        grid: [[u16; 2]; 2],
        maybe: Option<Option<u8>>,
        maybe_text: Option<String>,
        unit: (),
        pair: (u8, String),
        length: Duration,
        at: SystemTime,
        host: IpAddr,
        color: Color,
        shape: Shape<u32>,
        street: Street,
        meters: Meters,
        nothing: Nothing,
    }

    fn all() -> All {
        All {
            a: 200,
            b: -2,
            text: "first".into(),
            c: Some(3),
            d: i128::MIN,
            e: true,
            f: -0.5,
            g: *b"xyz",
            h: Text::new("ab").unwrap(),
            r#type: 513,
            letter: 'ü',
            bytes: vec![9, 9],
            words: vec!["one".into(), String::new()],
            grid: [[1, 2], [3, 4]],
            maybe: Some(None),
            maybe_text: None,
            unit: (),
            pair: (1, "two".into()),
            length: Duration::new(3, 4),
            at: UNIX_EPOCH - Duration::new(1, 1),
            host: "::1".parse().unwrap(),
            color: Color::Green,
            shape: Shape::Polygon { corners: vec![(1, 2)], color: Some(Color::Red) },
            street: Street { name: "Main".into(), number: 5 },
            meters: Meters(1.5),
            nothing: Nothing,
        }
    }

    fn encoded(row: &impl Row) -> Vec<u8> {
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        bytes
    }

    fn schema<R: Row>() -> Schema {
        let columns = (0..).zip(R::columns());
        let columns =
            columns.map(|(at, column)| SchemaColumn::new(at, &column.name, column.column_type));
        Schema::new(columns.collect()).unwrap()
    }

    /// A program that learns the schema at run time reads the same values, and writes the same bytes.
    #[test]
    fn rust_types_and_schemas_have_one_format() {
        let bytes = encoded(&all());
        let schema = schema::<All>();
        let values = schema.decode(&bytes).unwrap();
        let mut again = Vec::new();
        // Of an option within an option a `Value` does not tell which of the two is none.
        if schema.encode(&values, &mut again).is_ok() {
            let at = schema.place_of("maybe").unwrap();
            let cell = schema.format().cell(&bytes, at).unwrap();
            assert_eq!(cell, Some(&[0, 0][..]));
        }
        assert_eq!(values[0], Value::Unsigned(200));
        assert_eq!(values[2], Value::Text("first".into()));
        let number = values[schema.place_of("color").unwrap()].clone();
        assert_eq!(number, Value::Enum { number: 8, fields: vec![] });
        assert_eq!(All::decode(&bytes).unwrap(), all());
        let other = All { maybe: None, maybe_text: Some("x".into()), shape: Shape::Point, ..all() };
        let bytes = encoded(&other);
        let values = schema.decode(&bytes).unwrap();
        again.clear();
        schema.encode(&values, &mut again).unwrap();
        assert_eq!(again, bytes);
        assert_eq!(All::decode(&bytes).unwrap(), other);
    }

    #[test]
    fn places_are_those_of_the_schema() {
        let schema = schema::<All>();
        let format: &RowFormat = schema.format();
        let place = |at: usize| All::__CHILIAD_PLACES.place(at);
        assert!((0..format.columns()).all(|at| place(at) == format.place(at)));
        assert_eq!(All::__CHILIAD_PLACES.head().bytes(), format.head().bytes());
        assert_eq!(
            schema.columns()[schema.place_of("shape").unwrap()].column_type.to_string(),
            "enum(0 Point, 1 Circle(u32), 2 Polygon(corners list(tuple(u32, u32)), \
             color option(enum(0 Red, 7 Blue, 8 Green))))"
        );
    }

    #[test]
    fn one_column_changes_alone() {
        let mut bytes = encoded(&all());
        All::D.set(&mut bytes, &77);
        assert_eq!(All::decode(&bytes).unwrap(), All { d: 77, ..all() });
        assert_eq!(All::TEXT.get(&bytes).unwrap(), "first");
        assert_eq!(All::MAYBE_TEXT.get(&bytes).unwrap(), None);
        assert_eq!(All::STREET.get(&bytes).unwrap(), all().street);
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let bytes = encoded(&all());
        for length in 0..bytes.len() {
            assert!(matches!(All::decode(&bytes[..length]), Err(Error::BadRow(_))), "{length}");
        }
        assert!(matches!(All::D.get(&bytes[..3]), Err(Error::BadRow(_))));
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(All::decode(&longer), Err(Error::from(BadRow::Ends)));
        // Any byte changed is another row or none; none of it panics.
        for at in 0..bytes.len() {
            for change in [1, 2, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                let _ = All::decode(&changed);
            }
        }
        assert!(<u64 as Row>::decode(&[0; 9]).is_err());
        assert!(<String as Row>::decode(&[1, 0, 0, 0, 0xff]).is_err());
        let unknown = Color::read_cell(&[5, 0]).unwrap_err().to_string();
        assert_eq!(unknown, "the number 5, which no variant has");
    }

    /// The key of a value, its order and what comes back, by its type and by its type as data.
    fn in_order<T>(values: &[T])
    where
        T: Stored + Part + PartialEq + Debug,
    {
        let key = |value: &T| {
            let mut key = Vec::new();
            value.write(&mut key);
            key
        };
        for value in values {
            let mut cell = Vec::new();
            value.write_cell(&mut cell);
            let cell = value.has_value().then_some(&cell[..]);
            let mut by_data = Vec::new();
            write_key(&T::column_type(), cell, &mut by_data).unwrap();
            assert_eq!(by_data, key(value), "{value:?}");
            assert_eq!(&T::decode(&key(value)).unwrap(), value);
            let mut source = key::Source::new(&by_data);
            read_key(&T::column_type(), &mut source).unwrap();
            assert!(source.is_empty());
            let mut nested = Vec::new();
            value.write_value(&mut nested);
            assert_eq!(T::VALUE_BYTES.unwrap_or(nested.len()), nested.len());
            assert_eq!(&T::read_value(&mut ValueSource::new(&nested)).unwrap(), value);
        }
        for pair in values.windows(2) {
            assert!(key(&pair[0]) < key(&pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn what_has_an_order_is_a_part_of_keys() {
        in_order(&[f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-9, f64::INFINITY]);
        in_order(&[-1.5_f32, 0.5, 2.0]);
        in_order(&['\0', 'a', 'ü', char::MAX]);
        in_order(&[Duration::ZERO, Duration::new(0, 7), Duration::new(1, 0), Duration::MAX]);
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        in_order(&[UNIX_EPOCH - Duration::new(5, 5), UNIX_EPOCH, at(7)]);
        in_order(&["9.9.9.9", "10.0.0.1", "::1"].map(|it| it.parse::<IpAddr>().unwrap()));
        in_order(&[[0_u16, 9], [1, 0], [1, 300]]);
        in_order(&[None, Some(Color::Red), Some(Color::Green)]);
        in_order(&[Color::Red, Color::Blue, Color::Green]);
        in_order(&[Street { name: "A".into(), number: 9 }, Street { name: "B".into(), number: 1 }]);
        in_order(&[Meters(-1.0), Meters(2.0)]);
        in_order(&[()]);
    }
}
