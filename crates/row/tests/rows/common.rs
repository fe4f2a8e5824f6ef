//! Types, values of them and the order of the values, as a plain model has it.

use chiliad_row::{ColumnType, Fields, Member, Value, Variant};
use core::cmp::Ordering;
use proptest::collection::vec;
use proptest::prelude::*;

const DAY: u64 = 86_400_000_000_000;

/// A type that columns of rows can have, of a few levels.
pub fn column_type() -> BoxedStrategy<ColumnType> {
    let plain = prop_oneof![
        Just(ColumnType::Unit),
        Just(ColumnType::Bool),
        prop::sample::select(vec![8, 16, 32, 64, 128]).prop_map(ColumnType::Unsigned),
        prop::sample::select(vec![8, 16, 32, 64, 128]).prop_map(ColumnType::Signed),
        prop::sample::select(vec![32, 64]).prop_map(ColumnType::Float),
        Just(ColumnType::Decimal),
        Just(ColumnType::Char),
        (0_u32..6).prop_map(ColumnType::Bytes),
        (0_u32..6).prop_map(ColumnType::Text),
        Just(ColumnType::Blob),
        Just(ColumnType::String),
        Just(ColumnType::Duration),
        Just(ColumnType::Instant),
        Just(ColumnType::Date),
        Just(ColumnType::Time),
        Just(ColumnType::Ip),
        Just(ColumnType::Uuid),
    ];
    let nested = plain.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(ColumnType::optional),
            (item(inner.clone()), 0_u32..3).prop_map(|(of, length)| of.array(length)),
            item(inner.clone()).prop_map(ColumnType::list),
            vec(inner.clone(), 1..3).prop_map(ColumnType::Tuple),
            vec(inner.clone(), 1..3).prop_map(|types| ColumnType::Struct(members(types))),
            vec(fields(inner), 1..4).prop_map(variants),
        ]
    });
    nested.boxed()
}

/// A type that can be repeated: its values have bytes.
fn item(inner: BoxedStrategy<ColumnType>) -> BoxedStrategy<ColumnType> {
    inner.prop_map(|of| if of.value_bytes() == Some(0) { of.optional() } else { of }).boxed()
}

fn fields(inner: BoxedStrategy<ColumnType>) -> BoxedStrategy<Fields> {
    prop_oneof![
        Just(Fields::None),
        vec(inner.clone(), 1..3).prop_map(Fields::Tuple),
        vec(inner, 1..3).prop_map(|types| Fields::Struct(members(types))),
    ]
    .boxed()
}

fn members(types: Vec<ColumnType>) -> Vec<Member> {
    let member = |(at, column_type)| Member { name: format!("m{at}"), column_type };
    types.into_iter().enumerate().map(member).collect()
}

fn variants(all: Vec<Fields>) -> ColumnType {
    let variant = |(number, fields)| Variant { number, name: format!("V{number}"), fields };
    ColumnType::Enum((0..).zip(all).map(variant).collect())
}

/// A value of a type.
pub fn value(column_type: &ColumnType) -> BoxedStrategy<Value> {
    use ColumnType as T;
    match column_type {
        T::Unit => Just(Value::Unit).boxed(),
        T::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        T::Unsigned(bits) => {
            let unused = 128 - u32::from(*bits);
            any::<u128>().prop_map(move |value| Value::Unsigned(value >> unused)).boxed()
        }
        T::Signed(bits) => {
            let unused = 128 - u32::from(*bits);
            any::<i128>().prop_map(move |value| Value::Signed(value >> unused)).boxed()
        }
        T::Float(32) => any::<f32>().prop_map(|value| Value::Float(value.into())).boxed(),
        T::Float(_) => any::<f64>().prop_map(Value::Float).boxed(),
        T::Decimal => decimal().boxed(),
        T::Char => any::<char>().prop_map(Value::Char).boxed(),
        T::Bytes(length) => vec(byte(), *length as usize).prop_map(Value::Bytes).boxed(),
        T::Text(most) => text(*most as usize),
        T::String => text(9),
        T::Blob => vec(byte(), 0..9).prop_map(Value::Bytes).boxed(),
        T::Duration => (any::<u64>(), 0_u32..1_000_000_000)
            .prop_map(|(seconds, nanoseconds)| Value::Duration { seconds, nanoseconds })
            .boxed(),
        T::Instant => (any::<i64>(), 0_u32..1_000_000_000)
            .prop_map(|(seconds, nanoseconds)| Value::Instant { seconds, nanoseconds })
            .boxed(),
        T::Date => any::<i32>().prop_map(Value::Date).boxed(),
        T::Time => (0..DAY).prop_map(Value::Time).boxed(),
        T::Ip => any::<std::net::IpAddr>().prop_map(Value::Ip).boxed(),
        T::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        // Of two options within each other, no value of the inner one cannot be told by a `Value`.
        T::Optional(of) if of.is_nullable() => Just(Value::Null).boxed(),
        T::Optional(of) => prop_oneof![Just(Value::Null), value(of)].boxed(),
        T::Array(of, length) => vec(value(of), *length as usize).prop_map(Value::List).boxed(),
        T::List(of) => vec(value(of), 0..4).prop_map(Value::List).boxed(),
        T::Tuple(types) => {
            types.iter().map(value).collect::<Vec<_>>().prop_map(Value::List).boxed()
        }
        T::Struct(members) => {
            let parts = members.iter().map(|member| value(&member.column_type));
            parts.collect::<Vec<_>>().prop_map(Value::List).boxed()
        }
        T::Enum(variants) => {
            let one = |variant: &Variant| {
                let number = variant.number;
                let fields = variant.fields.types().map(value).collect::<Vec<_>>();
                fields.prop_map(move |fields| Value::Enum { number, fields }).boxed()
            };
            proptest::strategy::Union::new(variants.iter().map(one)).boxed()
        }
        other => panic!("no values of {other}"),
    }
}

/// Bytes that escapes are about, more often than others.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![0_u8..3, any::<u8>()]
}

fn text(most: usize) -> BoxedStrategy<Value> {
    let letters = prop_oneof![Just('\0'), Just('\u{1}'), Just('a'), any::<char>()];
    let cut = move |letters: Vec<char>| {
        let text: String = letters.into_iter().collect();
        Value::Text(text[..text.floor_char_boundary(most)].into())
    };
    vec(letters, 0..6).prop_map(cut).boxed()
}

fn decimal() -> impl Strategy<Value = Value> {
    let end = 10_i128.pow(38);
    let mantissa = prop_oneof![-30_i128..30, -end + 1..end];
    (mantissa, prop_oneof![0_u8..4, 0_u8..=38])
        .prop_map(|(mantissa, scale)| Value::Decimal { mantissa, scale })
}

/// The order of two values of one type: that of Rust's values.
pub fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Null, Value::Null) | (Value::Unit, Value::Unit) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Unsigned(one), Value::Unsigned(other)) => one.cmp(other),
        (Value::Signed(one), Value::Signed(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        (Value::Decimal { .. }, Value::Decimal { .. }) => compare_decimals(one, other),
        (Value::Char(one), Value::Char(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (
            Value::Duration { seconds, nanoseconds },
            Value::Duration { seconds: seconds_2, nanoseconds: nanoseconds_2 },
        ) => (seconds, nanoseconds).cmp(&(seconds_2, nanoseconds_2)),
        (
            Value::Instant { seconds, nanoseconds },
            Value::Instant { seconds: seconds_2, nanoseconds: nanoseconds_2 },
        ) => (seconds, nanoseconds).cmp(&(seconds_2, nanoseconds_2)),
        (Value::Date(one), Value::Date(other)) => one.cmp(other),
        (Value::Time(one), Value::Time(other)) => one.cmp(other),
        (Value::Ip(one), Value::Ip(other)) => one.cmp(other),
        (Value::Uuid(one), Value::Uuid(other)) => one.cmp(other),
        (Value::List(one), Value::List(other)) => compare_all(one, other),
        (Value::Enum { number, fields }, Value::Enum { number: number_2, fields: fields_2 }) => {
            number.cmp(number_2).then_with(|| compare_all(fields, fields_2))
        }
        _ => panic!("{one:?} and {other:?} are of two types"),
    }
}

fn compare_all(one: &[Value], other: &[Value]) -> Ordering {
    let pairs = one.iter().zip(other).map(|(one, other)| compare(one, other));
    pairs.fold(Ordering::Equal, Ordering::then).then(one.len().cmp(&other.len()))
}

/// By their digits: of one sign, with as many places as 76 digits can have.
fn compare_decimals(one: &Value, other: &Value) -> Ordering {
    let digits = |value: &Value| {
        let Value::Decimal { mantissa, scale } = value else { panic!("a decimal") };
        let places = 38 - usize::from(*scale);
        let digits = format!("{:0>40}{}", mantissa.unsigned_abs(), "0".repeat(places));
        (mantissa.signum(), format!("{digits:0>90}"))
    };
    let ((sign, one), (sign_2, other)) = (digits(one), digits(other));
    sign.cmp(&sign_2).then_with(|| if sign < 0 { other.cmp(&one) } else { one.cmp(&other) })
}
