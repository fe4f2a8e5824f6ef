//! Bytes that are equal for equal values.

use crate::datum::Datum;

/// The bytes of some values: equal for equal ones, nulls among them.
pub(super) fn of(datums: &[Datum<'_>]) -> Vec<u8> {
    let mut key = Vec::with_capacity(datums.len() * 9);
    datums.iter().for_each(|datum| push(datum, &mut key));
    key
}

fn push(datum: &Datum<'_>, key: &mut Vec<u8>) {
    let mut sized = |kind: u8, bytes: &[u8]| {
        key.push(kind);
        key.extend((bytes.len() as u64).to_le_bytes());
        key.extend(bytes);
    };
    match datum {
        Datum::Null => key.push(0),
        Datum::Bool(value) => sized(1, &[u8::from(*value)]),
        Datum::Int(value) => sized(2, &value.to_le_bytes()),
        Datum::Float(value) => {
            let one = if value.is_nan() { f64::NAN } else { value + 0.0 };
            sized(3, &one.to_bits().to_le_bytes());
        }
        Datum::Numeric(value) => {
            let trimmed = value.trimmed();
            sized(4, &[&trimmed.mantissa.to_le_bytes()[..], &[trimmed.scale]].concat());
        }
        Datum::Text(text) => sized(5, text.as_bytes()),
        Datum::Bytes(bytes) => sized(6, bytes),
        Datum::Date(days) => sized(7, &days.to_le_bytes()),
        Datum::Time(time) => sized(8, &time.to_le_bytes()),
        Datum::Timestamp(time) => sized(9, &time.to_le_bytes()),
        Datum::Uuid(bytes) => sized(10, bytes),
        Datum::Record(parts) => {
            key.push(11);
            key.extend((parts.len() as u64).to_le_bytes());
            parts.iter().for_each(|it| push(it, key));
        }
    }
}
