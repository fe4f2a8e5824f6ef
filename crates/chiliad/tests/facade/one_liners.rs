//! Types as an application names them, a line each: every one is a column, comes back, and where it has an order is a key and
//! an index too.

use chiliad::{Database, Desc, Index, Json, Key, Part, Row, Stored, Table, Text};
use core::fmt::Debug;
use core::time::Duration;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::SystemTime;

/// A row is stored, and read whole, by a scan, and after a change.
fn comes_back<R: Row + PartialEq + Debug>(row: &R) {
    let db = Database::in_memory().unwrap();
    let table: Table<u64, R> = db.create_table("rows").unwrap();
    db.run(|tx| tx.insert(&table, &1, row)).unwrap();
    assert_eq!(db.run(|tx| tx.get(&table, &1)).unwrap().as_ref(), Some(row));
    db.run(|tx| tx.put(&table, &1, row)).unwrap();
    assert_eq!(&db.run(|tx| tx.scan(&table, ..).values()).unwrap(), core::slice::from_ref(row));
}

/// Two keys, given in order, are two, and lie in that order.
fn are_keys<K: Key + PartialEq + Debug>(low: &K, high: &K) {
    let db = Database::in_memory().unwrap();
    let table: Table<K, u8> = db.create_table("keys").unwrap();
    db.run(|tx| {
        tx.insert(&table, high, &2)?;
        tx.insert(&table, low, &1)
    })
    .unwrap();
    db.run(|tx| {
        assert_eq!(tx.get(&table, low)?, Some(1));
        assert_eq!(tx.get(&table, high)?, Some(2));
        let rows = tx.scan(&table, ..).rows()?;
        let [first, second] = &rows[..] else { panic!("two rows: {rows:?}") };
        assert_eq!((&first.0, first.1, &second.0, second.1), (low, 1, high, 2));
        Ok(())
    })
    .unwrap();
}

/// Two rows, given in the order of their only column, are found by it.
fn are_indexed<R, T>(index: Index<R, (T,)>, column: impl Fn(&R) -> &T, low: &R, high: &R)
where
    R: Row + PartialEq + Debug,
    T: Part + Clone,
{
    let db = Database::in_memory().unwrap();
    let table: Table<u64, R> = db.create_table("rows").unwrap();
    db.run(|tx| {
        tx.insert(&table, &1, high)?;
        tx.insert(&table, &2, low)
    })
    .unwrap();
    db.run(|tx| {
        for (key, row) in [(1, high), (2, low)] {
            let found = tx.find(&table, index, &(column(row).clone(),)).rows()?;
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].0, &found[0].1), (key, row));
        }
        assert_eq!(tx.find_range(&table, index, ..).keys()?, [2, 1]);
        Ok(())
    })
    .unwrap();
}

/// Types whose values come back: a test for each, of its value.
macro_rules! columns {
    ($($name:ident: $type:ty = $value:expr;)*) => {$(
        #[test]
        fn $name() {
            #[derive(Row, Debug, PartialEq)]
            struct It {
                it: $type,
            }
            comes_back(&It { it: $value });
        }
    )*};
}

/// Types whose values have an order: a test for each, of two values.
macro_rules! ordered {
    ($($name:ident: $type:ty = $low:expr, $high:expr;)*) => {$(
        #[test]
        fn $name() {
            #[derive(Row, Debug, PartialEq)]
            #[index(by_it(it))]
            struct It {
                it: $type,
            }
            let (low, high) = (It { it: $low }, It { it: $high });
            comes_back(&low);
            are_keys(&low.it, &high.it);
            are_indexed(It::BY_IT, |it| &it.it, &low, &high);
        }
    )*};
}

/// Keys of several parts, which are no column with an index of one part.
macro_rules! keys {
    ($($name:ident: $type:ty = $low:expr, $high:expr;)*) => {$(
        #[test]
        fn $name() {
            are_keys::<$type>(&$low, &$high);
        }
    )*};
}

#[derive(Stored, Clone, Copy, Debug, PartialEq)]
enum Color {
    Red,
    Blue = 7,
    Green,
}

#[derive(Stored, Clone, Debug, PartialEq)]
enum Shape {
    Point,
    Circle(u32),
    Rectangle { width: u32, height: u32 },
}

#[derive(Stored, Clone, Debug, PartialEq)]
enum Tree {
    Leaf(f64),
    Tags(Vec<String>),
}

#[derive(Stored, Clone, Debug, PartialEq)]
struct Address {
    street: String,
    number: u16,
}

#[derive(Stored, Clone, Debug, PartialEq)]
struct Person {
    name: String,
    at: Address,
}

#[derive(Stored, Clone, Debug, PartialEq)]
struct UserId(u64);

#[derive(Stored, Clone, Debug, PartialEq)]
struct Pair<A, B> {
    one: A,
    other: B,
}

#[derive(Stored, Clone, Debug, PartialEq)]
struct Nothing;

#[derive(Key, Clone, Debug, PartialEq)]
struct Seat {
    flight: UserId,
    row: Desc<u8>,
    place: String,
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct Settings {
    theme: Option<String>,
    limits: HashMap<String, f64>,
}

type Shared<T> = Option<Vec<T>>;

fn address(street: &str, number: u16) -> Address {
    Address { street: street.into(), number }
}

fn after(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn before(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH - Duration::from_secs(seconds)
}

fn parsed<T: core::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

ordered! {
    u8_column: u8 = 0, u8::MAX;
    u16_column: u16 = 255, 256;
    u32_column: u32 = 0, u32::MAX;
    u64_column: u64 = 7, u64::MAX;
    u128_column: u128 = 1 << 64, u128::MAX;
    i8_column: i8 = i8::MIN, -1;
    i16_column: i16 = -300, 5;
    i32_column: i32 = i32::MIN, i32::MAX;
    i64_column: i64 = -1, 0;
    i128_column: i128 = i128::MIN, 1 << 100;
    f32_column: f32 = f32::NEG_INFINITY, -0.5;
    f64_column: f64 = -0.0, f64::MIN_POSITIVE;
    bool_column: bool = false, true;
    char_column: char = 'z', 'ü';
    string_column: String = "a".into(), "a\0".into();
    text_column: Text<8> = parsed_text("ann"), parsed_text("bob");
    bytes_column: Vec<u8> = vec![1], vec![1, 0];
    array_of_bytes: [u8; 4] = *b"abcd", *b"abce";
    array_of_numbers: [i16; 3] = [-1, 5, 5], [0, -9, 0];
    array_of_texts: [String; 2] = ["a".into(), "z".into()], ["b".into(), String::new()];
    option_of_number: Option<u32> = None, Some(0);
    option_of_text: Option<String> = Some(String::new()), Some("a".into());
    option_of_option: Option<Option<u8>> = Some(None), Some(Some(0));
    fieldless_enum: Color = Color::Blue, Color::Green;
    option_of_enum: Option<Color> = None, Some(Color::Red);
    data_enum: Shape = Shape::Circle(9), Shape::Rectangle { width: 0, height: 1 };
    data_enum_without_data: Shape = Shape::Point, Shape::Circle(0);
    nested_struct: Person = Person { name: "a".into(), at: address("z", 9) },
        Person { name: "b".into(), at: address("a", 1) };
    newtype: UserId = UserId(1), UserId(2);
    generic_struct: Pair<u8, String> = Pair { one: 1, other: "b".into() }, Pair { one: 2, other: "a".into() };
    generic_in_generic: Pair<Option<u8>, Pair<i8, char>> =
        Pair { one: None, other: Pair { one: 5, other: 'a' } },
        Pair { one: None, other: Pair { one: 5, other: 'b' } };
    duration_column: Duration = Duration::from_millis(1), Duration::from_secs(1);
    system_time: SystemTime = before(1), after(1);
    option_of_system_time: Option<SystemTime> = None, Some(before(9));
    ip_version_4: IpAddr = parsed("9.9.9.9"), parsed("10.0.0.1");
    ip_version_6: IpAddr = parsed("::1"), parsed("2001:db8::1");
    uuid_column: uuid::Uuid = uuid::Uuid::nil(), parsed("67e55044-10b1-426f-9247-bb680e5fe0c8");
    jiff_timestamp: jiff::Timestamp = parsed("1969-12-31T23:59:59.5Z"), parsed("2026-01-01T00:00:00Z");
    jiff_date: jiff::civil::Date = parsed("1969-12-31"), parsed("2026-02-28");
    jiff_time: jiff::civil::Time = parsed("09:00:00"), parsed("10:00:00.000000001");
    jiff_datetime: jiff::civil::DateTime = parsed("2026-02-28T23:59:59"), parsed("2026-03-01T00:00:00");
    chrono_instant: chrono::DateTime<chrono::Utc> =
        parsed("1969-12-31T23:59:59.5Z"), parsed("2026-01-01T00:00:00Z");
    chrono_date: chrono::NaiveDate = parsed("1969-12-31"), parsed("2026-02-28");
    chrono_time: chrono::NaiveTime = parsed("09:00:00"), parsed("10:00:00.000000001");
    chrono_datetime: chrono::NaiveDateTime = parsed("2026-02-28T23:59:59"), parsed("2026-03-01T00:00:00");
    decimal_column: rust_decimal::Decimal = parsed("-1.50"), parsed("0.001");
    option_of_uuid: Option<uuid::Uuid> = None, Some(uuid::Uuid::nil());
    array_of_dates: [jiff::civil::Date; 2] = [parsed("2026-01-01"), parsed("2026-01-01")],
        [parsed("2026-01-01"), parsed("2026-01-02")];
}

columns! {
    unit_column: () = ();
    unit_struct: Nothing = Nothing;
    list_of_bytes_is_bytes: Vec<u8> = (0..=255).collect();
    list_of_numbers: Vec<i64> = vec![i64::MIN, 0, i64::MAX];
    list_of_texts: Vec<String> = vec!["one".into(), String::new()];
    list_of_lists: Vec<Vec<u16>> = vec![vec![], vec![1, 2]];
    list_of_options: Vec<Option<char>> = vec![None, Some('ü')];
    list_of_structs: Vec<Address> = vec![address("Main", 5)];
    list_of_enums: Vec<Shape> = vec![Shape::Point, Shape::Circle(3)];
    list_of_decimals: Vec<rust_decimal::Decimal> = vec![parsed("1.00"), parsed("-7")];
    aliased: Shared<u8> = Some(vec![1]);
    grid: [[f32; 2]; 2] = [[0.5, 1.5], [f32::MAX, f32::MIN]];
    tuple_of_one: (u8,) = (1,);
    tuple_of_two: (u8, String) = (1, "two".into());
    tuple_of_eight: (u8, i8, bool, char, String, (), Vec<u8>, Option<u8>) =
        (1, -1, true, 'x', "y".into(), (), vec![2], None);
    enum_with_lists: Tree = Tree::Tags(vec!["a".into()]);
    enum_with_number: Tree = Tree::Leaf(-0.0);
    pair_of_lists: Pair<Vec<u8>, Vec<char>> = Pair { one: vec![], other: vec!['a'] };
    tuple_of_others: (uuid::Uuid, jiff::Timestamp) = (uuid::Uuid::max(), jiff::Timestamp::MAX);
    json_struct: Json<Settings> =
        Json::new(Settings { theme: None, limits: HashMap::from([("day".into(), 0.5)]) }).unwrap();
    json_map: Json<BTreeMap<u32, Vec<String>>> =
        Json::new(BTreeMap::from([(7, vec!["seven".into()])])).unwrap();
    option_of_json: Option<Json<(u8, String)>> = Some(Json::new((1, "two".into())).unwrap());
    list_of_json: Vec<Json<u8>> = vec![Json::new(1).unwrap(), Json::new(2).unwrap()];
}

keys! {
    key_of_one: (u8,) = (1,), (2,);
    key_of_two: (u32, String) = (1, "b".into()), (2, "a".into());
    key_of_six: (u8, i8, bool, char, [u8; 2], u64) =
        (1, -1, false, 'a', [0, 9], 7), (1, -1, false, 'a', [1, 0], 0);
    key_in_reverse: Desc<u32> = Desc(9), Desc(8);
    key_of_text_in_reverse: Desc<String> = Desc("b".into()), Desc("a".into());
    key_partly_in_reverse: (u8, Desc<jiff::Timestamp>) =
        (1, Desc(jiff::Timestamp::MAX)), (1, Desc(jiff::Timestamp::MIN));
    key_with_an_option: (Option<u8>, u8) = (None, 9), (Some(0), 0);
    key_of_floats_by_total_order: (f64, f32) = (f64::NEG_INFINITY, 1.0), (-0.0, 0.5);
    key_of_decimal: (rust_decimal::Decimal, u8) = (parsed("9.99"), 1), (parsed("10"), 0);
    key_of_uuid_and_date: (uuid::Uuid, chrono::NaiveDate) =
        (uuid::Uuid::nil(), chrono::NaiveDate::MIN), (uuid::Uuid::nil(), chrono::NaiveDate::MAX);
    key_struct: Seat = Seat { flight: UserId(1), row: Desc(2), place: "A".into() },
        Seat { flight: UserId(1), row: Desc(1), place: "A".into() };
}

fn parsed_text<const N: usize>(text: &str) -> Text<N> {
    Text::new(text).unwrap()
}

/// A NaN is no value that is equal to itself, but it is one key, beyond all others.
#[test]
fn not_a_number_is_a_key() {
    let db = Database::in_memory().unwrap();
    let table: Table<f64, u8> = db.create_table("keys").unwrap();
    db.run(|tx| {
        tx.insert(&table, &f64::NAN, &2)?;
        tx.insert(&table, &f64::INFINITY, &1)
    })
    .unwrap();
    assert_eq!(db.run(|tx| tx.get(&table, &f64::NAN)), Ok(Some(2)));
    assert_eq!(db.run(|tx| tx.scan(&table, ..).values()), Ok(vec![1, 2]));
}
