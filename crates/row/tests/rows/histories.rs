//! Random schemas, rows and changes against a plain model: a row as a map from a column's number to its value.

use crate::common::{column_type, value};
use chiliad_row::{
    BadRow, ColumnType, History, Schema, SchemaChange, SchemaColumn, Value, with_version,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A change, by numbers that are reduced to what there is.
#[derive(Clone, Debug)]
enum Step {
    Add(ColumnType, Value),
    AddOption(ColumnType),
    Drop(usize),
    Rename(usize),
    Move(usize, usize),
    Widen(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let typed = || column_type().prop_flat_map(|of| (Just(of.clone()), value(&of)));
    prop_oneof![
        typed().prop_map(|(of, value)| Step::Add(of, value)),
        column_type().prop_map(|of| Step::AddOption(of.optional())),
        any::<usize>().prop_map(Step::Drop),
        any::<usize>().prop_map(Step::Rename),
        (any::<usize>(), any::<usize>()).prop_map(|(from, to)| Step::Move(from, to)),
        any::<usize>().prop_map(Step::Widen),
    ]
}

/// A type that holds all values of `of`, and looks at them otherwise.
fn wider(of: &ColumnType) -> ColumnType {
    match of {
        ColumnType::Unsigned(bits @ 8..128) => ColumnType::Unsigned(bits * 2),
        ColumnType::Signed(bits @ 8..128) => ColumnType::Signed(bits * 2),
        ColumnType::Text(_) => ColumnType::String,
        ColumnType::Array(of, _) => wider(of).list(),
        ColumnType::List(of) => wider(of).list(),
        ColumnType::Tuple(types) => ColumnType::Tuple(types.iter().map(wider).collect()),
        ColumnType::Optional(of) => wider(of).optional(),
        other => other.clone().optional(),
    }
}

fn change(step: &Step, schema: &Schema, next: u32) -> Option<SchemaChange> {
    let columns = schema.columns();
    let pick = |at: usize| columns.get(at % columns.len().max(1));
    let name = |at| pick(at).map(|column| column.name.clone());
    Some(match step {
        Step::Add(of, value) => SchemaChange::Add {
            name: format!("c{next}"),
            column_type: of.clone(),
            default: Some(value.clone()),
        },
        Step::AddOption(of) => {
            SchemaChange::Add { name: format!("c{next}"), column_type: of.clone(), default: None }
        }
        Step::Drop(at) => SchemaChange::Drop { name: name(*at)? },
        Step::Rename(at) => SchemaChange::Rename { from: name(*at)?, to: format!("r{next}_{at}") },
        Step::Move(at, to) => SchemaChange::Move { name: name(*at)?, place: to % columns.len() },
        Step::Widen(at) => {
            let column = pick(*at)?;
            SchemaChange::Widen {
                name: column.name.clone(),
                column_type: wider(&column.column_type),
            }
        }
    })
}

fn same(one: &[Value], other: &[Value]) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

type Model = BTreeMap<u32, Value>;

/// The values of a row in the order of a schema's columns.
fn in_order(model: &Model, schema: &Schema) -> Vec<Value> {
    schema.columns().iter().map(|column| model[&column.number].clone()).collect()
}

proptest! {
    #[test]
    fn old_rows_are_read_as_new_ones(
        (types, values) in prop::collection::vec(column_type(), 1..6)
            .prop_flat_map(|types| (Just(types.clone()), types.iter().map(value).collect::<Vec<_>>())),
        steps in prop::collection::vec(step(), 0..8),
    ) {
        let columns = (0..).zip(&types).map(|(number, of)| SchemaColumn::new(number, &format!("c{number}"), of.clone()));
        let mut history = History::new(Schema::new(columns.collect()).expect("a schema"));
        let mut model: Model = (0..).zip(values).collect();
        // A row of each version, by the model's values of that time.
        let mut rows = Vec::new();
        for step in &steps {
            rows.push(written(&history, &model));
            let next = history.next_column();
            let Some(change) = change(step, history.current(), next) else { continue };
            if history.change(core::slice::from_ref(&change)).is_err() {
                // A type of too many levels.
                continue;
            }
            match &change {
                SchemaChange::Add { default, .. } => {
                    model.insert(next, default.clone().unwrap_or(Value::Null));
                }
                SchemaChange::Drop { .. } => {
                    let kept: Vec<u32> = history.current().columns().iter().map(|it| it.number).collect();
                    model.retain(|number, _| kept.contains(number));
                }
                _ => {}
            }
        }
        rows.push(written(&history, &model));
        let expected = in_order(&model, history.current());
        for row in &rows {
            let body = history.read(row).expect("a row of a known version");
            let read = history.current().decode(&body).expect("a row of the current version");
            prop_assert!(same(&read, &expected), "{:?} is not {:?}", read, expected);
        }
        // Stored and read again, it is the same history.
        let again = History::from_parts(history.versions().to_vec(), history.next_column());
        prop_assert_eq!(again.as_ref(), Ok(&history));
        // What is cut short or of a version to come is refused.
        let row = &rows[rows.len() - 1];
        let cut = history.read(&row[..row.len() - 1]).map(|body| history.current().decode(&body).is_err());
        prop_assert!(cut.unwrap_or(true));
        let mut later = Vec::new();
        with_version(history.version() + 1, &mut later);
        later.extend(&row[2..]);
        prop_assert_eq!(history.read(&later), Err(BadRow::UnknownVersion(history.version() + 1)));
    }

    #[test]
    fn foreign_bytes_never_panic(
        types in prop::collection::vec(column_type(), 0..5),
        row in prop::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..60),
    ) {
        let columns = (0..).zip(types).map(|(number, of)| SchemaColumn::new(number, &format!("c{number}"), of));
        let mut history = History::new(Schema::new(columns.collect()).expect("a schema"));
        let add = SchemaChange::Add { name: "new".into(), column_type: ColumnType::Bool, default: Some(Value::Bool(true)) };
        history.change(&[add]).expect("a change");
        let mut row = row;
        if let Some(first) = row.first_mut() {
            *first &= 1;
        }
        if let Ok(body) = history.read(&row) {
            let _ = history.current().decode(&body);
        }
    }
}

/// A row of the current version.
fn written(history: &History, model: &Model) -> Vec<u8> {
    let mut row = Vec::new();
    with_version(history.version(), &mut row);
    let values = in_order(model, history.current());
    history.current().encode(&values, &mut row).expect("values of the columns");
    row
}
