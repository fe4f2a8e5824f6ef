//! Bytes that are equal for equal values.

use crate::datum::Datum;

/// The bytes of some values: equal for equal ones, nulls among them.
pub(super) fn of(datums: &[Datum<'_>]) -> Vec<u8> {
    let mut key = Vec::new();
    append(datums, &mut key);
    key
}

/// As [`of`], at the end of `key`.
pub(super) fn append(datums: &[Datum<'_>], key: &mut Vec<u8>) {
    key.reserve(datums.len() * 9);
    datums.iter().for_each(|datum| push(datum, key));
}

/// Appends what tells kinds of values apart, then the bytes of a value: as many for each of its kind, or with their number.
fn push(datum: &Datum<'_>, key: &mut Vec<u8>) {
    let mut fixed = |kind: u8, bytes: &[u8]| {
        key.push(kind);
        key.extend_from_slice(bytes);
    };
    match datum {
        Datum::Null => fixed(0, &[]),
        Datum::Bool(value) => fixed(1, &[u8::from(*value)]),
        Datum::Int(value) => fixed(2, &value.to_le_bytes()),
        Datum::Float(value) => {
            let one = if value.is_nan() { f64::NAN } else { value + 0.0 };
            fixed(3, &one.to_bits().to_le_bytes());
        }
        Datum::Numeric(value) => {
            let trimmed = value.trimmed();
            fixed(4, &trimmed.mantissa.to_le_bytes());
            key.push(trimmed.scale);
        }
        Datum::Text(text) => sized(5, text.as_bytes(), key),
        Datum::Bytes(bytes) => sized(6, bytes, key),
        Datum::Date(days) => fixed(7, &days.to_le_bytes()),
        Datum::Time(time) => fixed(8, &time.to_le_bytes()),
        Datum::Timestamp(time) => fixed(9, &time.to_le_bytes()),
        Datum::Uuid(bytes) => fixed(10, bytes),
        Datum::Record(parts) => {
            key.push(11);
            key.extend((parts.len() as u64).to_le_bytes());
            parts.iter().for_each(|it| push(it, key));
        }
    }
}

fn sized(kind: u8, bytes: &[u8], key: &mut Vec<u8>) {
    key.push(kind);
    key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    key.extend_from_slice(bytes);
}
