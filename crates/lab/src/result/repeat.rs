//! `--repeat N`: the medians of several runs of one command line.

use serde_json::{Map, Number, Value};

/// Fields that do not differ between runs.
const FIXED: [&str; 2] = ["options", "build"];

/// The medians of the runs' results, and the runs themselves under `runs`.
pub fn merge(runs: Vec<Value>) -> Value {
    let mut merged = median(&runs.iter().collect::<Vec<_>>());
    if let Value::Object(fields) = &mut merged {
        fields.insert("runs".into(), runs.into_iter().map(strip).collect());
    }
    merged
}

/// A run without what is said once for all.
fn strip(run: Value) -> Value {
    match run {
        Value::Object(mut fields) => {
            fields.retain(|name, _| !FIXED.contains(&name.as_str()));
            Value::Object(fields)
        }
        other => other,
    }
}

/// Numbers become their median, lists of numbers place by place, truths hold if they hold in all runs,
/// other lists are joined, all else is taken from the first run that has it.
fn median(values: &[&Value]) -> Value {
    let values: Vec<&Value> = values.iter().copied().filter(|value| !value.is_null()).collect();
    let values = values.as_slice();
    let Some(first) = values.first() else { return Value::Null };
    match first {
        Value::Bool(_) => values.iter().all(|value| **value == Value::Bool(true)).into(),
        Value::Number(_) => median_number(values),
        Value::Array(list) if !list.is_empty() && list.iter().all(Value::is_number) => {
            median_list(values)
        }
        Value::Array(_) => {
            values.iter().filter_map(|value| value.as_array()).flatten().cloned().collect()
        }
        Value::Object(_) => Value::Object(median_object(values)),
        Value::Null | Value::String(_) => (*first).clone(),
    }
}

fn median_object(values: &[&Value]) -> Map<String, Value> {
    let mut merged = Map::new();
    let objects: Vec<_> = values.iter().filter_map(|value| value.as_object()).collect();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !merged.contains_key(name) {
            let fields: Vec<&Value> = objects.iter().filter_map(|o| o.get(name)).collect();
            let field =
                if FIXED.contains(&name.as_str()) { fields[0].clone() } else { median(&fields) };
            merged.insert(name.clone(), field);
        }
    }
    merged
}

/// Of lists of counts, where the end of a shorter one is zeros.
fn median_list(values: &[&Value]) -> Value {
    let lists = values.iter().filter_map(|value| value.as_array());
    let lists: Vec<&Vec<Value>> = lists.collect();
    let length = lists.iter().map(|list| list.len()).max().unwrap_or(0);
    let zero = Value::from(0);
    let at = |at| {
        let numbers: Vec<&Value> = lists.iter().map(|list| list.get(at).unwrap_or(&zero)).collect();
        median_number(&numbers)
    };
    (0..length).map(at).collect()
}

fn median_number(values: &[&Value]) -> Value {
    let whole: Option<Vec<u64>> = values.iter().map(|value| value.as_u64()).collect();
    if let Some(mut whole) = whole {
        whole.sort_unstable();
        let middle = whole.len() / 2;
        let low = whole[(whole.len() - 1) / 2];
        return Value::from(low + (whole[middle] - low) / 2);
    }
    let mut reals: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    reals.sort_unstable_by(f64::total_cmp);
    let middle = (reals[(reals.len() - 1) / 2] + reals[reals.len() / 2]) / 2.0;
    Number::from_f64(middle).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn medians_and_all_runs() {
        let runs = vec![
            json!({"tps": 3.0, "committed": 30, "ok": true, "name": "x", "options": {"a": 1}}),
            json!({"tps": 1.0, "committed": 10, "ok": true, "name": "x", "options": {"a": 1}}),
            json!({"tps": 2.0, "committed": 20, "ok": false, "name": "x", "options": {"a": 1}}),
        ];
        let merged = merge(runs);
        assert_eq!(merged["tps"], 2.0);
        assert_eq!(merged["committed"], 20);
        assert_eq!(merged["ok"], false);
        assert_eq!(merged["name"], "x");
        assert_eq!(merged["options"], json!({"a": 1}));
        assert_eq!(merged["runs"].as_array().map(Vec::len), Some(3));
        assert!(merged["runs"][0].get("options").is_none());
    }

    #[test]
    fn lists_are_joined_and_nulls_passed_over() {
        let merged = merge(vec![json!({"a": ["x"], "b": null}), json!({"a": ["y"], "b": 4})]);
        assert_eq!(merged["a"], json!(["x", "y"]));
        assert_eq!(merged["b"], 4);
        let counts = [json!({"v": [9, 1]}), json!({"v": [7]}), json!({"v": [5, 4, 1]})];
        assert_eq!(merge(counts.to_vec())["v"], json!([7, 1, 0]));
        assert_eq!(merge(vec![json!({"x": 1}), json!({"x": 4})])["x"], 2);
    }
}
