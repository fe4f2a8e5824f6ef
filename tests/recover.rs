//! `chiliad recover`, `backup` and `restore` on real directories, sound and damaged.

mod common;

use chiliad::{Database, Options, Table};
use common::{Folder, chiliad, result, stderr, stdout};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Rows of a table that [`make`] writes.
const ROWS: u64 = 3_000;

/// A database of two incarnations, the first with a checkpoint, with several segments of log in the second.
fn make(directory: &str) {
    let options = Options::default().log_segment_bytes(64 << 10);
    let db = Database::open_with(directory, options.clone()).expect("a new database");
    let rows: Table<u64, u64> = db.create_table("rows").expect("a table");
    db.bulk_load(&rows, (0..ROWS / 2).map(|key| (key, key))).expect("rows");
    db.checkpoint().expect("a checkpoint");
    drop(db);
    let db = Database::open_with(directory, options).expect("opens");
    let rows: Table<u64, u64> = db.table("rows").expect("the table");
    for keys in (ROWS / 2..ROWS).collect::<Vec<_>>().chunks(100) {
        let one = |key: &u64| (*key, key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        db.bulk_load(&rows, keys.iter().map(one)).expect("rows");
        db.sync().expect("durable");
    }
}

fn rows_in(directory: &str) -> u64 {
    let db = Database::open_with(directory, Options::default().read_only(true)).expect("opens");
    let rows: Table<u64, u64> = db.table("rows").expect("the table");
    db.run(|tx| tx.scan(&rows, ..).keys()).expect("a scan").len() as u64
}

/// All files with their contents.
fn files(directory: impl AsRef<Path>) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("readable").map(|entry| entry.expect("an entry"));
    let named = entries.map(|entry| {
        let name = entry.file_name().into_string().expect("UTF-8");
        (name, fs::read(entry.path()).expect("a file"))
    });
    named.collect()
}

/// The last segment but one of the second incarnation: damage in it is no cut at the end.
fn segment(directory: &str) -> String {
    let names = files(directory).into_keys().filter(|name| name.starts_with("log-00000002"));
    let mut names: Vec<String> = names.collect();
    assert!(names.len() >= 3, "{names:?}");
    names.remove(names.len() - 2)
}

fn flip(path: &str, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 1;
    fs::write(path, bytes).expect("written");
}

/// The line is refused in one line with all of `parts`, and `directory` stays as it is.
#[track_caller]
fn refused(line: &str, directory: &str, parts: &[&str]) {
    let before = Path::new(directory).is_dir().then(|| files(directory));
    let output = chiliad(line);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}{}", stdout(&output));
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(said.starts_with("chiliad: ") && stdout(&output).is_empty(), "{line}: {said}");
    for part in parts {
        assert!(said.contains(part), "{line}: {said}\nlacks {part}");
    }
    let after = Path::new(directory).is_dir().then(|| files(directory));
    assert!(before == after, "{line} has changed {directory}");
}

#[test]
fn a_sound_directory_is_described_and_not_changed() {
    let folder = Folder::new("recover-sound");
    let data = folder.file("data");
    make(&data);
    let before = files(&data);
    let output = chiliad(&format!("recover {data}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    for part in
        ["sound, format version 4", "rows", "1,500 rows", "incarnation 2 writer 0", "closed"]
    {
        assert!(said.contains(part), "{said}\nlacks {part}");
    }
    let found = result(&format!("recover {data}"));
    assert_eq!(found["tables"][0], "rows");
    assert_eq!(found["checkpoint"]["rows"], ROWS / 2);
    assert_eq!(found["writes"], ROWS / 2);
    assert_eq!(found["closed"], true);
    assert!(found["logs"].as_array().is_some_and(|logs| logs.len() == 2), "{found}");
    assert!(found["rows"].is_null() && found["rebuilt"].is_null(), "{found}");
    let rebuilt = result(&format!("recover {data} --rebuild --threads 3 --memory-ready 8MiB"));
    assert_eq!(rebuilt["rows"], ROWS);
    assert!(rebuilt["rebuilt"]["versions_per_second"].as_f64() > Some(0.0), "{rebuilt}");
    assert!(stdout(&chiliad(&format!("recover {data} --rebuild"))).contains("3,000 rows;"));
    assert!(files(&data) == before);
    let output = chiliad(&format!("recover {data} --quiet"));
    assert!(output.status.success() && stdout(&output).is_empty());
}

#[test]
fn a_backup_is_restored() {
    let folder = Folder::new("recover-backup");
    let (data, backup, restored) =
        (folder.file("data"), folder.file("backup"), folder.file("restored"));
    make(&data);
    let before = files(&data);
    let copied = result(&format!("backup {data} {backup}"));
    assert!(copied["files"].as_u64() > Some(3) && copied["bytes"].as_u64() > Some(0), "{copied}");
    assert!(files(&data) == before);
    let output = chiliad(&format!("restore {backup} {restored}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(&restored));
    assert_eq!(rows_in(&restored), ROWS);
    // Neither writes over anything.
    refused(&format!("backup {data} {backup}"), &backup, &[&backup, "not empty"]);
    refused(&format!("restore {backup} {data}"), &data, &[&data, "not empty"]);
    let foreign = folder.file("foreign");
    fs::create_dir(&foreign).expect("a folder");
    fs::write(format!("{foreign}/notes"), "mine").expect("a file");
    refused(&format!("restore {backup} {foreign}"), &foreign, &[&foreign, "not empty"]);
}

#[test]
fn damage_is_told_with_its_place_and_what_is_sound_is_saved() {
    let folder = Folder::new("recover-damage");
    let (data, saved) = (folder.file("data"), folder.file("saved"));
    make(&data);
    let log = segment(&data);
    flip(&format!("{data}/{log}"), 20480 + 40);
    let parts = [data.as_str(), &log, "damaged at byte 16384", "--salvage"];
    refused(&format!("recover {data}"), &data, &parts);
    refused(&format!("backup {data} {}", folder.file("copy")), &data, &[&log]);
    let before = files(&data);
    let lost = result(&format!("recover {data} --salvage {saved}"));
    let losses = lost["losses"].as_array().expect("losses");
    assert!(losses.len() == 1 && losses[0].as_str().is_some_and(|it| it.contains(&log)), "{lost}");
    assert!(files(&data) == before);
    let rows = rows_in(&saved);
    assert_eq!(lost["rows"], rows);
    assert!((ROWS / 2..ROWS).contains(&rows), "{rows}");
    assert_eq!(chiliad(&format!("recover {saved}")).status.code(), Some(0));
    refused(&format!("recover {data} --salvage {saved}"), &saved, &[&saved, "not empty"]);
}

#[test]
fn files_that_are_missing_are_named() {
    let folder = Folder::new("recover-missing");
    let data = folder.file("data");
    make(&data);
    let log = segment(&data);
    fs::remove_file(format!("{data}/{log}")).expect("removed");
    refused(&format!("recover {data}"), &data, &[&log, "missing"]);
    let manifest = format!("{data}/MANIFEST");
    let sound = fs::read(&manifest).expect("a manifest");
    fs::remove_file(&manifest).expect("removed");
    refused(&format!("recover {data}"), &data, &[&data, "manifest"]);
    fs::write(&manifest, &sound[..100]).expect("written");
    refused(&format!("recover {data}"), &data, &["MANIFEST"]);
    let mut newer = sound;
    newer[8] = 200;
    fs::write(&manifest, &newer).expect("written");
    refused(&format!("recover {data}"), &data, &["version 200", "accepted: up to"]);
}

#[test]
fn what_is_no_data_directory_is_refused() {
    let folder = Folder::new("recover-foreign");
    let (missing, foreign, empty) =
        (folder.file("missing"), folder.file("foreign"), folder.file("empty"));
    fs::create_dir(&foreign).expect("a folder");
    fs::create_dir(&empty).expect("a folder");
    fs::write(format!("{foreign}/notes"), "mine").expect("a file");
    let to = folder.file("to");
    for command in ["recover", "backup", "restore"] {
        let line = |from: &str| match command {
            "recover" => format!("recover {from}"),
            _ => format!("{command} {from} {to}"),
        };
        refused(&line(&missing), &missing, &[&missing, "accepted: a directory"]);
        refused(&line(&foreign), &foreign, &[&foreign, "accepted:"]);
        refused(&line(&empty), &empty, &[&empty, "holds no database"]);
        refused(&line(&format!("{foreign}/notes")), &foreign, &["notes"]);
    }
    refused(&format!("crash --data {foreign} --cycles 1"), &foreign, &[&foreign, "accepted:"]);
    let data = folder.file("data");
    make(&data);
    let parts = ["--data", &data, "another kind", "crash --workload bank"];
    refused(&format!("crash --data {data} --cycles 1"), &data, &parts);
    assert!(!Path::new(&missing).exists() && !Path::new(&to).exists());
}

#[test]
fn a_directory_in_use_is_refused() {
    let folder = Folder::new("recover-locked");
    let data = folder.file("data");
    make(&data);
    let _db = Database::open(&data).expect("opens");
    refused(&format!("recover {data}"), &folder.file("none"), &[&data, "in use"]);
    let to = folder.file("to");
    refused(&format!("backup {data} {to}"), &to, &[&data, "in use"]);
    refused(&format!("restore {data} {to}"), &to, &[&data, "in use"]);
}

#[test]
fn a_directory_without_permission_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("recover-permission");
    let (data, closed) = (folder.file("data"), folder.file("closed"));
    make(&data);
    fs::create_dir(&closed).expect("a folder");
    let allow = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode));
    allow(0o500).expect("permissions");
    if fs::write(format!("{closed}/probe"), "").is_ok() {
        println!("skipped: this user writes where permissions forbid it");
        return;
    }
    let to = format!("{closed}/to");
    refused(&format!("backup {data} {to}"), &closed, &[&to, "accepted:"]);
    refused(&format!("backup {data} {closed}"), &closed, &[&closed, "accepted:"]);
    allow(0o700).expect("permissions");
}

#[derive(chiliad::Row)]
struct Person {
    name: String,
    age: Option<u8>,
    tags: Vec<String>,
}

/// A directory of two releases: rows of two versions of a schema, beside a table of bytes and a hash table.
fn make_people(directory: &str) {
    use chiliad::raw::TableSpec;
    use chiliad::row::SchemaChange;
    let db = Database::open(directory).expect("a new database");
    let people: Table<(u16, String), Person> = db.create_table("people").expect("a table");
    let person = |name: &str, age| Person { name: name.into(), age, tags: vec!["a \"b\"".into()] };
    db.run(|tx| tx.insert(&people, &(1, "x"), &person("ann, and bob", Some(30)))).expect("a row");
    let change = SchemaChange::Add {
        name: "big".into(),
        column_type: "u64".parse().expect("a type"),
        default: Some(chiliad::row::Value::Unsigned(1 << 60)),
    };
    db.change_schema("people", &[change]).expect("changed");
    let bytes = db.create_table_raw(TableSpec::ordered("bytes")).expect("a table");
    let rows = (0..1_000_u32).map(|key| (key.to_be_bytes(), b"\x00\xff"));
    db.bulk_load_raw(bytes, rows).expect("rows");
    db.create_table_with::<u64, u64>(TableSpec::hash("hashed", 10)).expect("a table");
}

#[test]
fn inspect_lists_tables_and_writes_rows() {
    let folder = Folder::new("inspect");
    let data = folder.file("data");
    make_people(&data);
    let before = files(&data);
    let listed = stdout(&chiliad(&format!("inspect {data}")));
    let people = "people: key (0 u16, 1 string), row (name string, age option(u8), tags list(string), big u64)\n";
    assert!(listed.starts_with(people), "{listed}");
    assert!(listed.contains("\nbytes: key (key blob), row (value blob)\n"), "{listed}");
    let json = result(&format!("inspect {data}"));
    assert_eq!(json["tables"][0]["row"][1]["type"], "option(u8)");

    let rows = |words: &str| stdout(&chiliad(&format!("inspect {data} --table {words}")));
    let expected = "{\"key.0\":1,\"key.1\":\"x\",\"name\":\"ann, and bob\",\"age\":30,\"tags\":[\"a \\\"b\\\"\"],\
                    \"big\":\"1152921504606846976\"}\n";
    assert_eq!(rows("people"), expected);
    assert_eq!(
        rows("people --form csv"),
        "key.0,key.1,name,age,tags,big\n1,x,\"ann, and bob\",30,\"[a \"\"b\"\"]\",1152921504606846976\n"
    );
    let bytes = rows("bytes");
    assert_eq!(bytes.lines().count(), 1_000);
    assert_eq!(bytes.lines().nth(999), Some("{\"key\":\"000003e7\",\"value\":\"00ff\"}"));
    assert!(files(&data) == before, "nothing is changed");
}

#[test]
fn what_inspect_cannot_show_is_one_line() {
    let folder = Folder::new("inspect-bad");
    let data = folder.file("data");
    make_people(&data);
    let line = |words: &str| format!("inspect {data} {words}");
    let missing = ["nobody: no such table", "accepted: people, bytes, hashed"];
    refused(&line("--table nobody"), &data, &missing);
    let hashed = ["a hash table cannot be scanned", "accepted: ordered tables"];
    refused(&line("--table hashed"), &data, &hashed);
    refused(&line("--form csv"), &data, &["--table"]);
    refused(&line("--table people --form xml"), &data, &["json, csv"]);
    let nothing = folder.file("nothing");
    refused(&format!("inspect {nothing}"), &nothing, &[&nothing]);
}
