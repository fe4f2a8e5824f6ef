//! `chiliad figure`: a small figure from its description to the page, and the directories that it refuses.

mod common;

use common::{Folder, chiliad, stderr, stdout};
use std::fs;

#[test]
fn the_list_names_every_figure() {
    let output = chiliad("figure list");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list = stdout(&output);
    for id in [
        "silo-6-1",
        "silo-6-6",
        "cores-4-1",
        "cores-5-10",
        "cores-table-6-1",
        "lm-12",
        "hyder-e1",
        "hyder-e14",
        "all",
    ] {
        assert!(list.lines().any(|line| line.split(' ').next() == Some(id)), "{list}");
    }
}

/// The list estimates thousands of points, and asks the system for its limits once: the kernel counts the reads of
/// an ended process until it is waited for.
#[test]
fn the_list_reads_the_limits_of_the_system_once() {
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_chiliad"));
    command.args(["figure", "list"]).stdout(Stdio::null());
    let mut child = command.spawn().expect("the command runs");
    let of_child = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id()));
    while !of_child("stat").expect("not waited for yet").contains(") Z ") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let counts = of_child("io");
    assert!(child.wait().expect("it ends").success());
    let Ok(counts) = counts else {
        println!("skipped: this kernel does not count a process's reads");
        return;
    };
    let reads = counts.lines().find_map(|line| line.strip_prefix("syscr: ")).expect("counted");
    let reads: u64 = reads.parse().expect("a number");
    assert!(reads < 1_000, "{reads} reads");
}

#[test]
fn a_figure_becomes_numbers_a_picture_and_a_page() {
    let folder = Folder::new("figure-run");
    let out = folder.file("out");
    let line = format!("figure run cores-4-4 --quick --native --out {out}");
    // Twice: what an earlier run has left is replaced.
    for _ in 0..2 {
        let output = chiliad(&line);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stdout(&output).starts_with("1 figure: "), "{}", stdout(&output));
    }
    let read = |name: &str| fs::read_to_string(format!("{out}/{name}")).expect(name);
    let csv = read("cores-4-4.csv");
    let mut rows = csv.lines();
    let header = "figure,panel,series,source,x,metric,unit,value,low,high,runs";
    assert_eq!(rows.next(), Some(header));
    let mut series = std::collections::BTreeSet::new();
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields.len(), header.split(',').count(), "{row}");
        let number = |at: usize| fields[at].parse::<f64>().expect(row);
        assert!(number(8) <= number(7) && number(7) <= number(9) && number(10) == 3.0, "{row}");
        assert!(fields[5] != "throughput" || number(7) > 0.0, "{row}");
        series.insert(fields[2].to_owned());
    }
    assert_eq!(series.into_iter().collect::<Vec<_>>(), ["atomic", "batched", "clock", "mutex"]);
    let svg = read("cores-4-4.svg");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let page = read("index.html");
    for part in
        [svg.trim(), "Mutex-based allocation has the lowest", "verdict", "Not shown: hardware"]
    {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert_eq!(fs::read_dir(&out).expect("readable").count(), 3);
}

#[test]
fn a_figure_that_does_not_exist_is_refused() {
    let folder = Folder::new("figure-unknown");
    let out = folder.file("out");
    for (line, parts) in [
        (format!("figure run silo-9-9 --out {out}"), ["`silo-9-9`", "all, silo-6-1"]),
        (format!("figure run silo-6-2 fast --out {out}"), ["`fast`", "cores-5-10"]),
        ("figure run silo-6-2".to_owned(), ["--out", "missing"]),
        (format!("figure run --out {out}"), ["ID", "missing"]),
        ("figure draw".to_owned(), ["`draw`", "list, run"]),
    ] {
        refused(&line, &parts);
    }
    assert_eq!(folder.files(), 0);
}

#[test]
fn a_directory_with_other_things_in_it_is_left_alone() {
    let folder = Folder::new("figure-place");
    for (name, file, text) in [
        ("notes", "notes.txt", "mine"),
        ("page", "index.html", "<!doctype html><title>mine</title>"),
        ("odd", "silo-9-9.csv", "mine"),
    ] {
        let out = folder.file(name);
        fs::create_dir(&out).expect("a directory");
        fs::write(format!("{out}/{file}"), text).expect("a file");
        let line = format!("figure run cores-4-4 --quick --native --out {out}");
        refused(&line, &["--out", &out, &format!("`{file}`"), "missing, empty, or left by"]);
        assert_eq!(fs::read_to_string(format!("{out}/{file}")).expect("there"), text);
        assert_eq!(fs::read_dir(&out).expect("readable").count(), 1);
    }
    fs::write(folder.file("file"), "mine").expect("a file");
    for place in ["file", "file/below"] {
        let out = folder.file(place);
        refused(&format!("figure run cores-4-4 --out {out}"), &["--out", &out, "accepted"]);
    }
    assert_eq!(fs::read_to_string(folder.file("file")).expect("there"), "mine");
}

/// One line on standard error with all of `parts`, status 2.
#[track_caller]
fn refused(line: &str, parts: &[&str]) {
    let output = chiliad(line);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    for part in parts {
        assert!(said.contains(part), "{line}: {said}\nlacks {part}");
    }
}
