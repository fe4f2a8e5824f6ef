//! Rows and keys of which nobody knows where they come from, under types that are read from text: what the reader
//! makes of any bytes.
//!
//! An input is a line with the types of the columns, with a semicolon after each, and then the bytes of a row.

use chiliad_row::{
    ColumnType, History, Schema, SchemaChange, SchemaColumn, Value, key, read_key, split,
    with_version, write_key,
};

/// Reads an input by everything that reads rows.
///
/// # Panics
/// When a reader panics, or contradicts itself.
pub fn check(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (line, row) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let texts = core::str::from_utf8(line).unwrap_or_default().split_terminator(';');
    let types: Vec<ColumnType> = texts.take(16).filter_map(|text| text.parse().ok()).collect();
    for of in &types {
        assert_eq!(of.to_string().parse().as_ref(), Ok(of), "a type comes back from its text");
        check_key(of, row);
    }
    let columns = (0..).zip(types);
    let column = |(number, of)| SchemaColumn::new(number, &format!("c{number}"), of);
    let Ok(schema) = Schema::new(columns.map(column).collect()) else { return };
    check_row(&schema, row);
    check_history(schema, row);
}

/// A row that is one comes back as itself from its values.
fn check_row(schema: &Schema, row: &[u8]) {
    let Ok((version, body)) = split(row) else { return };
    let cells = (0..schema.columns().len()).map(|at| schema.format().cell(body, at));
    let cells: Vec<_> = cells.collect();
    let whole = schema.format().check(body).is_ok() && cells.iter().all(Result::is_ok);
    let Ok(values) = schema.decode(body) else { return };
    assert!(whole, "a row of which all columns can be read is sound");
    let mut again = Vec::new();
    with_version(version, &mut again);
    schema.encode(&values, &mut again).expect("values of their types");
    let (_, body) = split(&again).expect("a row");
    let back = schema.decode(body).expect("a row");
    assert_eq!(format!("{back:?}"), format!("{values:?}"), "the values come back");
    for (column, value) in schema.columns().iter().zip(&values) {
        value.write_json(&column.column_type, &mut String::new());
    }
}

/// A row of the version before is one of the version after, or is refused.
fn check_history(schema: Schema, row: &[u8]) {
    let (old, mut history) = (schema.clone(), History::new(schema));
    let (name, column_type) = ("new".to_owned(), ColumnType::Unsigned(16));
    let add = SchemaChange::Add { name, column_type, default: Some(Value::Unsigned(7)) };
    let mut changes = vec![add];
    if let [first, .., last] = old.columns() {
        changes.push(SchemaChange::Move { name: last.name.clone(), place: 0 });
        changes.push(SchemaChange::Drop { name: first.name.clone() });
    }
    let nullable = old.columns().last().filter(|it| it.column_type.value_bytes() != Some(0));
    changes.extend(nullable.map(|column| SchemaChange::Widen {
        name: column.name.clone(),
        column_type: column.column_type.clone().optional(),
    }));
    if changes.iter().try_for_each(|it| history.change(core::slice::from_ref(it))).is_err() {
        // A type of too many levels.
        return;
    }
    let Ok(body) = history.read(row) else { return };
    let Ok((0, before)) = split(row) else { return };
    if old.decode(before).is_ok() {
        let values = history.current().decode(&body).expect("a sound row stays one");
        let added = history.current().place_of("new").expect("it was added");
        assert_eq!(values[added], Value::Unsigned(7), "the default");
    }
}

/// Bytes that are a key are the only key of their value.
fn check_key(of: &ColumnType, bytes: &[u8]) {
    let mut source = key::Source::new(bytes);
    let Ok(value) = read_key(of, &mut source) else { return };
    let rest = bytes.len() - taken(bytes, of);
    let Ok(cell) = value.encode_cell(of) else { return };
    let mut again = Vec::new();
    // Of an option in an option the inner one is lost, and a number that is none has many forms.
    let text = of.to_string();
    let is_only = !["option(option(", "f32", "f64"].iter().any(|it| text.contains(it));
    if write_key(of, cell.as_deref(), &mut again).is_ok() && is_only {
        assert_eq!(again, bytes[..bytes.len() - rest], "{of}: {value:?}");
    }
}

/// The bytes of the key at the beginning.
fn taken(bytes: &[u8], of: &ColumnType) -> usize {
    let is_whole = |length: &usize| {
        let mut source = key::Source::new(&bytes[..*length]);
        read_key(of, &mut source).is_ok() && source.is_empty()
    };
    (0..=bytes.len()).find(is_whole).expect("the key that was read")
}

/// Inputs to begin with: rows and types of all kinds.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let inputs: [(&str, &[u8]); 6] = [
        ("u8;string;blob;", &[0, 0, 0, 7, 1, 0, 0, 0, b'a', b'b']),
        ("option(u16);tuple(u8, string);list(u8);", &[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("desc(i64);f64;ip;", &[0; 40]),
        ("text(4);char;duration;instant;", b"\0\0\0abcd\0\0\0a"),
        ("bytes(3);bool;unit;array(u8, 2);", &[0, 0, 0, 1, 2, 3, 1, 9, 9]),
        ("struct(a: u8, b: string);enum(0 A, 1 B(u8));", &[0, 0, 0, 1, 0, 0, 0, 0]),
    ];
    let input = |(types, row): &(&str, &[u8])| [types.as_bytes(), b"\n", row].concat();
    inputs.iter().map(input).collect()
}
