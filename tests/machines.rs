//! `chiliad machines`: the list, one machine, a file of one's own, and files that are refused.

mod common;

use common::{chiliad, stderr, stdout};
use serde_json::Value;
use std::fs;

#[test]
fn the_list_has_the_machines_of_the_papers() {
    let list: Value = serde_json::from_str(&stdout(&chiliad("machines --json"))).expect("JSON");
    let of = |name: &str| list.as_array().expect("a list").iter().find(|it| it["name"] == name);
    let chip = of("thousand-cores").expect("listed");
    assert_eq!((&chip["cores"], &chip["clock_hz"]), (&1024.into(), &1_000_000_000.into()));
    assert_eq!(of("xeon-80").expect("listed")["cores"], 80);
    assert_eq!(of("xeon-32").expect("listed")["cores"], 32);
    assert_eq!(of("swarm-64").expect("listed")["cores"], 64);
    let prices = chip["prices"].as_object().expect("by site");
    assert!(prices.len() >= 20 && prices.values().all(|price| price.as_f64() > Some(0.0)));
    assert!(stdout(&chiliad("machines")).contains("thousand-cores"));
}

#[test]
fn a_machine_that_is_printed_is_a_file_to_begin_with() {
    let path = std::env::temp_dir().join(format!("chiliad-mine-{}.toml", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    let text = stdout(&chiliad("machines xeon-32"));
    fs::write(&path, &text).expect("a file");
    assert_eq!(stdout(&chiliad(&format!("machines {file}"))), text);
    fs::write(&path, text.replace("cores = 32", "cores = 0")).expect("a file");
    let refused = chiliad(&format!("machines {file}"));
    let (status, line) = (refused.status.code(), stderr(&refused));
    fs::remove_file(&path).expect("removable");
    assert_eq!(status, Some(2));
    assert!(line.contains(file) && line.contains("cores: 0"), "{line}");
    assert!(line.contains("accepted: a whole number from 1 to 1024"), "{line}");
    assert_eq!(line.trim_end().lines().count(), 1, "{line}");
}
