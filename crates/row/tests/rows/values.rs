//! Values of any type come back from their bytes and from their keys, and keys have the order of values.

use crate::common::{column_type, compare, value};
use chiliad_row::{ColumnType, Value, ValueSource, key, read_key, write_key};
use proptest::prelude::*;

fn typed() -> impl Strategy<Value = (ColumnType, Value, Value)> {
    column_type().prop_flat_map(|of| (Just(of.clone()), value(&of), value(&of)))
}

fn key_of(of: &ColumnType, value: &Value) -> Vec<u8> {
    let cell = value.encode_cell(of).expect("a value of its type");
    let mut key = Vec::new();
    write_key(of, cell.as_deref(), &mut key).expect("a key");
    key
}

/// Whether the two are one value to the bit: a float that is no number is not equal to itself.
fn same(one: &Value, other: &Value) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

proptest! {
    #[test]
    fn types_come_back_from_their_text(of in column_type()) {
        prop_assert_eq!(of.to_string().parse(), Ok(of));
    }

    #[test]
    fn values_come_back((of, value, _) in typed()) {
        let mut bytes = Vec::new();
        value.encode(&of, &mut bytes).expect("a value of its type");
        if let Some(size) = of.value_bytes() {
            prop_assert_eq!(bytes.len(), size);
        }
        let mut source = ValueSource::new(&bytes);
        let back = Value::decode(&of, &mut source).expect("the bytes of a value");
        prop_assert!(source.is_empty() && same(&back, &value), "{:?}", back);
        let cell = value.encode_cell(&of).expect("a value of its type");
        let back = Value::decode_cell(&of, cell.as_deref()).expect("the bytes of a cell");
        prop_assert!(same(&back, &value), "{:?}", back);
        // No prefix of a value is one, but of what has no end of its own.
        for length in 0..bytes.len() {
            let decoded = Value::decode(&of, &mut ValueSource::new(&bytes[..length]));
            prop_assert!(decoded.is_err(), "{} of {} bytes", length, bytes.len());
        }
    }

    #[test]
    fn bytes_that_are_a_value_are_its_only_form(
        of in column_type(),
        bytes in prop::collection::vec(prop_oneof![0_u8..3, any::<u8>()], 0..40),
    ) {
        let mut source = ValueSource::new(&bytes);
        if let Ok(value) = Value::decode(&of, &mut source) {
            let mut again = Vec::new();
            value.encode(&of, &mut again).expect("a value of its type");
            let taken = bytes.len() - source.left();
            // A number that is none has many forms; of an option in an option the inner one is lost.
            let text = of.to_string();
            if !text.contains('f') && !text.contains("option(option(") {
                prop_assert_eq!(&again[..], &bytes[..taken]);
            }
        }
        let _ = Value::decode_cell(&of, Some(&bytes));
        let _ = write_key(&of, Some(&bytes), &mut Vec::new());
        let _ = read_key(&of, &mut key::Source::new(&bytes));
    }

    #[test]
    fn keys_have_the_order_of_values((of, one, other) in typed()) {
        let (key, key_2) = (key_of(&of, &one), key_of(&of, &other));
        prop_assert_eq!(key.cmp(&key_2), compare(&one, &other));
        let is_prefix = key_2.starts_with(&key) && key != key_2;
        prop_assert!(!is_prefix, "{:?} is a prefix of {:?}", key, key_2);
    }

    #[test]
    fn values_come_back_from_keys((of, value, _) in typed()) {
        let key = key_of(&of, &value);
        let mut source = key::Source::new(&key);
        let back = read_key(&of, &mut source).expect("a key");
        prop_assert!(source.is_empty());
        prop_assert!(compare(&back, &value).is_eq(), "{:?}", back);
    }

    #[test]
    fn json_is_json((of, value, _) in typed()) {
        let mut json = String::new();
        value.write_json(&of, &mut json);
        let mut depth = 0_i32;
        let mut in_string = false;
        let mut letters = json.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if in_string => drop(letters.next()),
                '"' => in_string = !in_string,
                '[' | '{' if !in_string => depth += 1,
                ']' | '}' if !in_string => depth -= 1,
                _ => prop_assert!(letter >= ' ', "{}", json),
            }
            prop_assert!(depth >= 0, "{}", json);
        }
        prop_assert!(depth == 0 && !in_string, "{}", json);
    }
}

/// The keys of typed programs and those of programs that learn types at run time are the same.
#[test]
fn keys_are_those_of_rust_types() {
    fn check<T: key::KeyPart + ?Sized>(of: &str, part: &T, value: &Value) {
        let of: ColumnType = of.parse().expect(of);
        let mut expected = Vec::new();
        part.write(&mut expected);
        assert_eq!(key_of(&of, value), expected, "{of}");
    }
    check("u32", &7_u32, &Value::Unsigned(7));
    check("i64", &-7_i64, &Value::Signed(-7));
    check("bool", &true, &Value::Bool(true));
    check("string", "a\0b", &Value::Text("a\0b".into()));
    check("option(u16)", &Some(9_u16), &Value::Unsigned(9));
    check("option(u16)", &None::<u16>, &Value::Null);
    check("bytes(3)", b"xyz", &Value::Bytes(b"xyz".to_vec()));
    check("blob", &vec![0_u8, 1, 2], &Value::Bytes(vec![0, 1, 2]));
    check(
        "tuple(u8, string)",
        &(1_u8, "x"),
        &Value::List(vec![Value::Unsigned(1), Value::Text("x".into())]),
    );
    check("desc(u8)", &key::Desc(3_u8), &Value::Unsigned(3));
}
