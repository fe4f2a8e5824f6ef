//! The types of other crates as columns and keys: their bytes, their order and where a column has more values than they do.

use crate::common::Scratch;
use chiliad::row::Value;
use chiliad::{Clock, Database, Error, Json, Key, Options, Row, Stored, Table};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};
use core::fmt::Debug;
use core::time::Duration;
use jiff::civil;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

fn key<K: Key>(value: &K) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

fn cell<T: Stored>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.write_cell(&mut bytes);
    bytes
}

/// The value comes back from a column and from a key, and a column has as many bytes as its type says.
fn comes_back<T: Stored + Key + PartialEq + Debug>(value: &T) {
    let bytes = cell(value);
    assert_eq!(Some(bytes.len()), T::VALUE_BYTES, "{value:?}");
    assert_eq!(Some(bytes.len()), T::column_type().value_bytes(), "{value:?}");
    assert_eq!(T::read_cell(&bytes).as_ref(), Ok(value));
    assert_eq!(T::decode(&key(value)).as_ref(), Ok(value));
}

/// Two keys compare as their values do; so keys are equal where values are.
fn is_ordered<T: Stored + Key + Ord + Debug>(one: &T, other: &T) {
    assert_eq!(key(one).cmp(&key(other)), one.cmp(other), "{one:?}, {other:?}");
    comes_back(one);
}

/// Seconds and nanoseconds of instants that both crates have.
fn instant() -> impl Strategy<Value = (i64, u32)> {
    let least = Timestamp::MIN.as_second();
    let seconds = prop_oneof![-3_i64..3, least..=Timestamp::MAX.as_second()];
    (seconds, prop_oneof![0_u32..3, 0_u32..1_000_000_000])
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    instant().prop_map(|(seconds, below)| Timestamp::new(seconds, below as i32).unwrap())
}

fn date() -> impl Strategy<Value = civil::Date> {
    let first = civil::date(1970, 1, 1);
    let days = move |day: civil::Date| day.duration_since(first).as_hours() / 24;
    (days(civil::Date::MIN)..=days(civil::Date::MAX))
        .prop_map(move |days| first.checked_add(SignedDuration::from_hours(days * 24)).unwrap())
}

fn time() -> impl Strategy<Value = civil::Time> {
    (0_i64..86_400_000_000_000).prop_map(|nanoseconds| {
        civil::Time::midnight().checked_add(SignedDuration::from_nanos(nanoseconds)).unwrap()
    })
}

/// Of a few digits, so that some are equal with other zeros, or of as many as there are.
fn decimal() -> impl Strategy<Value = Decimal> {
    let most = Decimal::MAX.mantissa();
    let mantissa = prop_oneof![-30_i128..30, (-9_i128..9).prop_map(|it| it * 1000), -most..=most];
    (mantissa, prop_oneof![0_u32..4, 0_u32..=28])
        .prop_map(|(mantissa, scale)| Decimal::from_i128_with_scale(mantissa, scale))
}

fn of_chrono((seconds, below): (i64, u32)) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, below).unwrap()
}

/// A time of day, without those of leap seconds.
fn chrono_time() -> impl Strategy<Value = NaiveTime> {
    (0_u32..86_400, 0_u32..1_000_000_000).prop_map(|(second, below)| {
        NaiveTime::from_num_seconds_from_midnight_opt(second, below).unwrap()
    })
}

fn chrono_date() -> impl Strategy<Value = NaiveDate> {
    let (least, most) = (NaiveDate::MIN.to_epoch_days(), NaiveDate::MAX.to_epoch_days());
    (least..=most).prop_map(|days| NaiveDate::from_epoch_days(days).unwrap())
}

proptest! {
    #[test]
    fn uuids_are_ordered(one: [u8; 16], other: [u8; 16], common in 0..=16_usize) {
        let mut near = other;
        near[..common].copy_from_slice(&one[..common]);
        is_ordered(&Uuid::from_bytes(one), &Uuid::from_bytes(near));
    }

    #[test]
    fn timestamps_are_ordered(one in timestamp(), other in timestamp()) {
        is_ordered(&one, &other);
    }

    #[test]
    fn dates_are_ordered(one in date(), other in date()) {
        is_ordered(&one, &other);
    }

    #[test]
    fn times_are_ordered(one in time(), other in time()) {
        is_ordered(&one, &other);
    }

    #[test]
    fn datetimes_are_ordered(one in (date(), time()), other in (date(), time()), same: bool) {
        let date = if same { one.0 } else { other.0 };
        is_ordered(&one.0.to_datetime(one.1), &date.to_datetime(other.1));
    }

    #[test]
    fn instants_of_chrono_are_ordered(one in instant(), other in instant()) {
        is_ordered(&of_chrono(one), &of_chrono(other));
    }

    #[test]
    fn dates_of_chrono_are_ordered(one in chrono_date(), other in chrono_date()) {
        is_ordered(&one, &other);
    }

    #[test]
    fn times_of_chrono_are_ordered(one in chrono_time(), other in chrono_time()) {
        is_ordered(&one, &other);
    }

    #[test]
    fn datetimes_of_chrono_are_ordered(
        one in (chrono_date(), chrono_time()),
        other in (chrono_date(), chrono_time()),
        same: bool,
    ) {
        let date = if same { one.0 } else { other.0 };
        is_ordered(&one.0.and_time(one.1), &date.and_time(other.1));
    }

    #[test]
    fn decimals_are_ordered(one in decimal(), other in decimal()) {
        is_ordered(&one, &other);
        // A column keeps the zeros at the end.
        prop_assert_eq!(Decimal::read_cell(&cell(&one)).unwrap().scale(), one.scale());
        // Only zeros are added: it is the same number, and the same key.
        let mut wider = one;
        wider.rescale((one.scale() + 3).min(28));
        if wider == one {
            prop_assert_eq!(key(&wider), key(&one));
        }
    }

    /// One column, one key, whichever crate and the standard library's type have written it.
    #[test]
    fn an_instant_is_the_same_in_all_crates(at in instant()) {
        let of_jiff = Timestamp::new(at.0, at.1 as i32).unwrap();
        let of_std = SystemTime::from(of_chrono(at));
        let all = [cell(&of_jiff), cell(&of_chrono(at)), cell(&of_std)];
        prop_assert!(all.iter().all(|it| *it == all[0]), "{all:?}");
        let keys = [key(&of_jiff), key(&of_chrono(at)), key(&of_std)];
        prop_assert!(keys.iter().all(|it| *it == keys[0]), "{keys:?}");
    }

    /// Any bytes are a value or a typed error.
    #[test]
    fn foreign_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
        fn read<T: Stored + Key + PartialEq + Debug>(bytes: &[u8]) {
            if let Ok(value) = T::read_cell(bytes) {
                assert_eq!(T::read_cell(&cell(&value)), Ok(value));
            }
            if let Ok(value) = T::decode(bytes) {
                assert_eq!(key(&value), bytes);
            }
        }
        read::<Uuid>(&bytes);
        read::<Timestamp>(&bytes);
        read::<civil::Date>(&bytes);
        read::<civil::Time>(&bytes);
        read::<civil::DateTime>(&bytes);
        read::<DateTime<Utc>>(&bytes);
        read::<NaiveDate>(&bytes);
        read::<NaiveTime>(&bytes);
        read::<NaiveDateTime>(&bytes);
        read::<Decimal>(&bytes);
        let _ = Json::<Vec<u8>>::read_cell(&bytes);
    }
}

#[test]
fn the_furthest_values_come_back() {
    [Uuid::nil(), Uuid::max()].iter().for_each(comes_back);
    [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX].iter().for_each(comes_back);
    [civil::Date::MIN, civil::Date::MAX, civil::Date::ZERO].iter().for_each(comes_back);
    [civil::Time::MIN, civil::Time::MAX].iter().for_each(comes_back);
    [civil::DateTime::MIN, civil::DateTime::MAX].iter().for_each(comes_back);
    [DateTime::<Utc>::MIN_UTC, DateTime::UNIX_EPOCH, DateTime::<Utc>::MAX_UTC]
        .iter()
        .for_each(comes_back);
    [NaiveDate::MIN, NaiveDate::MAX].iter().for_each(comes_back);
    [NaiveTime::MIN, NaiveTime::from_hms_nano_opt(23, 59, 59, 999_999_999).unwrap()]
        .iter()
        .for_each(comes_back);
    [NaiveDateTime::MIN, NaiveDateTime::MAX].iter().for_each(comes_back);
    let least = Decimal::from_i128_with_scale(1, 28);
    [Decimal::MIN, -least, Decimal::ZERO, least, Decimal::MAX].iter().for_each(comes_back);
}

/// Equal numbers are one key, and a key gives back as few places as there can be.
#[test]
fn decimals_that_are_equal_are_one_key() {
    let db = Database::in_memory().unwrap();
    let prices: Table<Decimal, u8> = db.create_table("prices").unwrap();
    let [one, same]: [Decimal; 2] = ["1.0", "1.00"].map(|text| text.parse().unwrap());
    db.run(|tx| tx.insert(&prices, &one, &1)).unwrap();
    let again = db.run(|tx| tx.insert(&prices, &same, &2));
    assert!(matches!(again, Err(Error::DuplicateKey(_))), "{again:?}");
    assert_eq!(db.run(|tx| tx.get(&prices, &same)), Ok(Some(1)));
    let keys = db.run(|tx| tx.scan(&prices, ..).keys()).unwrap();
    assert_eq!(keys[0].to_string(), "1");
    let mut negative = Decimal::ZERO;
    negative.set_sign_negative(true);
    assert_eq!(key(&negative), key(&Decimal::new(0, 5)));
    comes_back(&negative);
}

/// All nanoseconds of a leap second are the last of the second before.
#[test]
fn leap_seconds_are_clamped() {
    let leap = NaiveDate::from_ymd_opt(2016, 12, 31).unwrap();
    let leap = leap.and_hms_nano_opt(23, 59, 59, 1_500_000_000).unwrap();
    let last = leap.date().and_hms_nano_opt(23, 59, 59, 999_999_999).unwrap();
    assert_eq!(NaiveDateTime::read_cell(&cell(&leap)), Ok(last));
    assert_eq!(NaiveTime::read_cell(&cell(&leap.time())), Ok(last.time()));
    assert_eq!(DateTime::<Utc>::read_cell(&cell(&leap.and_utc())), Ok(last.and_utc()));
    assert_eq!(<DateTime<Utc> as Key>::decode(&key(&leap.and_utc())), Ok(last.and_utc()));
    assert!(key(&leap) < key(&(last + chrono::TimeDelta::nanoseconds(1))));
}

#[derive(Row, Debug, PartialEq)]
#[index(by_at(at))]
struct OfJiff {
    at: Timestamp,
    day: civil::Date,
    hour: civil::Time,
    meeting: Option<civil::DateTime>,
}

#[derive(Row, Debug, PartialEq)]
#[index(by_at(at))]
struct OfChrono {
    at: DateTime<Utc>,
    day: NaiveDate,
    hour: NaiveTime,
    meeting: Option<NaiveDateTime>,
}

/// A table is written with one crate, and read with the other one: rows, keys and indexes.
#[test]
fn what_jiff_writes_chrono_reads() {
    let path = Scratch::new();
    let at: Timestamp = "1969-12-31T23:59:58.000000001Z".parse().unwrap();
    let meeting = civil::date(2026, 11, 26).at(9, 30, 0, 5);
    let row = OfJiff { at, day: meeting.date(), hour: meeting.time(), meeting: Some(meeting) };
    {
        let db = Database::open(&path).unwrap();
        let days: Table<Timestamp, OfJiff> = db.create_table("days").unwrap();
        db.run(|tx| tx.insert(&days, &at, &row)).unwrap();
    }
    let db = Database::open(&path).unwrap();
    let days: Table<DateTime<Utc>, OfChrono> = db.table("days").unwrap();
    let at: DateTime<Utc> = "1969-12-31T23:59:58.000000001Z".parse().unwrap();
    let meeting: NaiveDateTime = "2026-11-26T09:30:00.000000005".parse().unwrap();
    let expected =
        OfChrono { at, day: meeting.date(), hour: meeting.time(), meeting: Some(meeting) };
    assert_eq!(db.run(|tx| tx.get(&days, &at)).unwrap(), Some(expected));
    assert_eq!(db.run(|tx| tx.find(&days, OfChrono::BY_AT, &(at,)).keys()), Ok(vec![at]));
    // And back, what that one has written.
    let later = at + chrono::TimeDelta::days(400);
    db.run(|tx| {
        let row = tx.get(&days, &at)?.expect("it is there");
        tx.insert(&days, &later, &OfChrono { at: later, ..row })
    })
    .unwrap();
    let days: Table<Timestamp, OfJiff> = db.table("days").unwrap();
    let later: Timestamp = "1971-02-04T23:59:58.000000001Z".parse().unwrap();
    assert_eq!(db.run(|tx| tx.get(&days, &later)), Ok(Some(OfJiff { at: later, ..row })));
}

fn is_bad_row<T: Debug>(read: &Result<T, Error>, what: &str) {
    let Err(Error::BadRow(bad)) = read else { panic!("{read:?}") };
    assert!(bad.to_string().contains(what), "{bad}");
}

/// Rows and keys that another type has written and this one does not have.
#[test]
fn values_that_a_type_does_not_have_are_errors() {
    let db = Database::in_memory().unwrap();
    let times: Table<u64, SystemTime> = db.create_table("times").unwrap();
    let keys: Table<SystemTime, u8> = db.create_table("keys").unwrap();
    let far = UNIX_EPOCH + Duration::from_secs(1 << 40);
    let further = UNIX_EPOCH + Duration::from_secs(1 << 60);
    db.run(|tx| {
        tx.insert(&times, &1, &far)?;
        tx.insert(&times, &2, &further)?;
        tx.insert(&keys, &far, &1)
    })
    .unwrap();
    let of_jiff: Table<u64, Timestamp> = db.table("times").unwrap();
    is_bad_row(&db.run(|tx| tx.get(&of_jiff, &1)), "an instant that jiff does not have");
    let of_chrono: Table<u64, DateTime<Utc>> = db.table("times").unwrap();
    assert!(db.run(|tx| tx.get(&of_chrono, &1)).unwrap().is_some());
    is_bad_row(&db.run(|tx| tx.get(&of_chrono, &2)), "an instant that chrono does not have");
    let of_jiff: Table<Timestamp, u8> = db.table("keys").unwrap();
    let read = db.run(|tx| tx.scan(&of_jiff, ..).rows());
    assert!(matches!(read, Err(Error::InvalidOption(_))), "{read:?}");

    let days: Table<u64, NaiveDate> = db.create_table("days").unwrap();
    db.run(|tx| tx.insert(&days, &1, &NaiveDate::MAX)).unwrap();
    let of_jiff: Table<u64, civil::Date> = db.table("days").unwrap();
    is_bad_row(&db.run(|tx| tx.get(&of_jiff, &1)), "a date that jiff does not have");
    assert!(NaiveDate::read_cell(&i32::MAX.to_le_bytes()).is_err());
    assert!(NaiveTime::read_cell(&86_400_000_000_000_u64.to_le_bytes()).is_err());
    assert!(civil::Time::read_cell(&u64::MAX.to_le_bytes()).is_err());
}

/// Of numbers of up to 38 digits it has those of 96 bits and 28 places, whatever zeros end them.
#[test]
fn decimals_of_more_digits_are_errors() {
    let of = |mantissa: i128, scale: u8| {
        Decimal::read_cell(&[&mantissa.to_le_bytes()[..], &[scale]].concat())
    };
    assert_eq!(of(10_i128.pow(37), 37), Ok(Decimal::ONE));
    assert_eq!(of(0, 38), Ok(Decimal::ZERO));
    assert_eq!(of(-25 * 10_i128.pow(34), 35), Ok(Decimal::new(-25, 1)));
    for (mantissa, scale) in [(1, 29), (1 << 96, 0), (10_i128.pow(37) + 1, 0)] {
        let error = of(mantissa, scale).unwrap_err().to_string();
        assert_eq!(error, "a decimal of more digits than rust_decimal has");
    }
    let error = of(10_i128.pow(38), 0).unwrap_err().to_string();
    assert_eq!(error, "a decimal of more than 38 digits");
}

#[derive(Row)]
struct Everything {
    id: Uuid,
    at: Timestamp,
    day: NaiveDate,
    hour: NaiveTime,
    meeting: civil::DateTime,
    price: Decimal,
    settings: Json<Vec<Option<u8>>>,
}

fn everything() -> Everything {
    Everything {
        id: "67e55044-10b1-426f-9247-bb680e5fe0c8".parse().unwrap(),
        at: "2026-11-26T05:00:00.25Z".parse().unwrap(),
        day: "2024-02-29".parse().unwrap(),
        hour: "23:00:01".parse().unwrap(),
        meeting: "2026-01-02T03:04:05".parse().unwrap(),
        price: "-12.50".parse().unwrap(),
        settings: Json::new(vec![Some(1), None]).unwrap(),
    }
}

/// A program without the types reads the columns and their values.
#[test]
fn what_inspects_a_directory_shows_them() {
    let path = Scratch::new();
    {
        let db = Database::open(&path).unwrap();
        let all: Table<Uuid, Everything> = db.create_table("all").unwrap();
        let row = everything();
        db.run(|tx| tx.insert(&all, &row.id, &row)).unwrap();
        let mut seen = Vec::new();
        let types: Vec<_> = Everything::columns().into_iter().map(|it| it.column_type).collect();
        db.for_each_row("all", |_, values: &[Value]| {
            for (value, column_type) in values.iter().zip(&types) {
                let mut text = String::new();
                value.write_json(column_type, &mut text);
                seen.push(text);
            }
            Ok(())
        })
        .unwrap();
        let expected = [
            "\"67e55044-10b1-426f-9247-bb680e5fe0c8\"",
            "\"2026-11-26T05:00:00.25Z\"",
            "\"2024-02-29\"",
            "\"23:00:01\"",
            "[\"2026-01-02\",\"03:04:05\"]",
            "\"-12.50\"",
            "[1,null]",
        ];
        assert_eq!(seen, expected);
    }
    let db = Database::open_with(&path, Options::default().read_only(true)).unwrap();
    let shown = db.tables()[0].layout.columns().to_string();
    assert_eq!(
        shown,
        "key (0 uuid), row (id uuid, at instant, day date, hour time, meeting tuple(date, time), \
         price decimal, settings json)"
    );
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct First {
    name: String,
}

#[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
struct Second {
    name: String,
    #[serde(default)]
    level: u8,
}

/// Another type of the same JSON, as serde allows; what it does not know stays.
#[test]
fn json_is_read_by_other_types() {
    let db = Database::in_memory().unwrap();
    let second: Table<u64, Json<Second>> = db.create_table("names").unwrap();
    let first: Table<u64, Json<First>> = db.table("names").unwrap();
    let ann = || "ann".to_owned();
    db.run(|tx| tx.insert(&second, &1, &Json::new(Second { name: ann(), level: 7 })?)).unwrap();
    db.run(|tx| tx.insert(&first, &2, &Json::new(First { name: ann() })?)).unwrap();
    let read = db.run(|tx| tx.get(&second, &2)).unwrap().unwrap();
    assert_eq!(*read, Second { name: ann(), level: 0 });
    let read = db.run(|tx| tx.get(&first, &1)).unwrap().unwrap();
    assert_eq!(read, Json::new(First { name: ann() }).unwrap());
    db.run(|tx| tx.put(&first, &1, &read)).unwrap();
    let mut read = db.run(|tx| tx.get(&second, &1)).unwrap().unwrap();
    assert_eq!(read.level, 7, "a type without it has written the row");
    read.set(Second { name: ann(), level: 8 }).unwrap();
    assert_eq!(read.text(), r#"{"name":"ann","level":8}"#);
    assert_eq!(read.into_inner().level, 8);
    let numbers: Table<u64, Json<u8>> = db.table("names").unwrap();
    is_bad_row(&db.run(|tx| tx.get(&numbers, &1)), "JSON of another type: invalid type: map");
}

/// To write a row cannot fail, so a value without JSON is refused before.
#[test]
fn values_without_json_are_refused() {
    let pairs = std::collections::BTreeMap::from([((1, 2), 3)]);
    let refused = Json::new(pairs).unwrap_err();
    assert!(matches!(refused, Error::BadValue(_)), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "no value of the column: a value without JSON: key must be a string"
    );
    let refused = Json::new(f64::NAN).unwrap_err().to_string();
    assert!(refused.contains("JSON of another type: invalid type: null"), "{refused}");
    let mut number = Json::new(1.5).unwrap();
    assert!(number.set(f64::INFINITY).is_err());
    assert_eq!((*number, number.text()), (1.5, "1.5"));
    for text in ["", "{", "[1", "1 2", "null"] {
        assert!(matches!(Json::<u8>::from_text(text), Err(Error::BadValue(_))), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(Json::<serde::de::IgnoredAny>::from_text(deep).is_err());
    assert_eq!(*Json::<u8>::from_text(" 7 ").unwrap(), 7);
}

#[derive(Row)]
#[row(expires = "until")]
struct UntilOfJiff {
    until: Timestamp,
}

#[derive(Row)]
#[row(expires = "until")]
struct UntilOfChrono {
    until: Option<DateTime<Utc>>,
}

#[test]
fn rows_expire_by_instants_of_other_crates() {
    let clock = Clock::set_to(UNIX_EPOCH);
    let db = Database::in_memory_with(Options::default().clock(clock.clone())).unwrap();
    let of_jiff: Table<u64, UntilOfJiff> = db.create_table("jiff").unwrap();
    let of_chrono: Table<u64, UntilOfChrono> = db.create_table("chrono").unwrap();
    let until = UNIX_EPOCH + Duration::from_secs(60);
    db.run(|tx| {
        tx.insert(&of_jiff, &1, &UntilOfJiff { until: Timestamp::from_second(60).unwrap() })?;
        tx.insert(&of_chrono, &1, &UntilOfChrono { until: Some(until.into()) })?;
        tx.insert(&of_chrono, &2, &UntilOfChrono { until: None })
    })
    .unwrap();
    let left = || {
        db.run(|tx| Ok((tx.scan(&of_jiff, ..).count()?, tx.scan(&of_chrono, ..).count()?))).unwrap()
    };
    assert_eq!(left(), (1, 2));
    clock.advance(Duration::from_secs(60));
    assert_eq!(left(), (0, 1));
}
