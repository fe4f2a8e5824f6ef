//! Signals: a measurement ends early and says what came of it, and nothing is left behind.

mod common;

use common::Folder;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Starts `chiliad` with temporary files in `folder`, in a process group of its own, as a terminal does, and heeding
/// signals that this process may have been started without (`nohup`, the background of a shell).
fn start(folder: &Folder, line: &str) -> Child {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_chiliad")]);
    command.args(line.split(' ')).env("TMPDIR", folder.file("")).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command runs")
}

/// Sends a signal to the process, or to all of its group.
fn send(child: &Child, signal: &str, group: bool) {
    let target = format!("{}{}", if group { "-" } else { "" }, child.id());
    let sent = Command::new("kill").args(["-s", signal, "--", &target]).status();
    assert!(sent.expect("kill runs").success(), "{signal} to {target}");
}

/// Waits until `is` holds: for as long as a loaded machine may take.
#[track_caller]
fn until(what: &str, mut is: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is() {
        assert!(begun.elapsed() < Duration::from_secs(100), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end(child: Child) -> Output {
    child.wait_with_output().expect("it ends")
}

/// Names in the folder.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.file("")).expect("a folder");
    entries.map(|it| it.expect("readable").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_measurement_ends_early_and_is_told() {
    let folder = Folder::new("interrupted-bench");
    for (signal, status, verify) in [("INT", 130, " --verify"), ("HUP", 129, "")] {
        let (json, series) = (folder.file("json"), folder.file("series"));
        let line = format!(
            "bench bank --threads 1 --warmup 0s --duration 10min --durability epoch \
             --json {json} --series {series}{verify}"
        );
        let child = start(&folder, &line);
        // The log's directory is there shortly before the window begins.
        until("a log", || names(&folder).iter().any(|it| it.starts_with("chiliad-bench-")));
        std::thread::sleep(Duration::from_millis(400));
        send(&child, signal, true);
        let output = end(child);
        let (said, told) = (common::stderr(&output), common::stdout(&output));
        assert_eq!(output.status.code(), Some(status), "{said}{told}");
        assert_eq!(said, "chiliad: interrupted\n");
        // A machine that was too slow to begin within that time has nothing to tell.
        if !told.is_empty() {
            assert!(told.contains("throughput") && told.contains("interrupted"), "{told}");
            assert_eq!(told.contains("serializable holds"), !verify.is_empty(), "{told}");
            let text = std::fs::read_to_string(&json).expect("the result");
            let result: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(result["interrupted"], true);
        }
        let left = names(&folder);
        assert!(left.iter().all(|name| name == "json" || name == "series"), "{left:?}");
    }
}

#[test]
fn a_second_signal_ends_at_once_and_leaves_nothing() {
    let folder = Folder::new("interrupted-crash");
    let child = start(&folder, "crash --cycles 100000 --threads 2");
    until("a database", || {
        let data = names(&folder).into_iter().find(|it| it.starts_with("chiliad-crash-"));
        data.is_some_and(|data| std::path::Path::new(&folder.file(&data)).join("MANIFEST").exists())
    });
    send(&child, "INT", true);
    send(&child, "INT", true);
    let output = end(child);
    assert_eq!(output.status.code(), Some(130), "{}", common::stderr(&output));
    assert_eq!(names(&folder), Vec::<String>::new());
}

#[test]
fn crash_and_campaign_tell_what_came_until_then() {
    let folder = Folder::new("interrupted-counts");
    for (line, part) in [
        ("crash --cycles 100000 --threads 2", "acknowledged"),
        (
            "campaign --seeds 0..100000000 --scheme silo --workload bank --threads 1",
            "runs of seeds",
        ),
        // While cells are simulated, and while one runs on the host.
        (
            "soak --simulated --scheme silo --workload bank --interleave 1 --duration 10min",
            "longest without a commit",
        ),
        ("soak --native --scheme silo --workload bank --cell 10min", "longest without a commit"),
        ("simulate bank --schedule random --cores 2 --sweep seed=1:9999:1 --jobs 1", "throughput"),
    ] {
        let mut child = start(&folder, line);
        if line.starts_with("simulate") {
            // Until the first point is told.
            let mut told = BufReader::new(child.stdout.take().expect("a pipe"));
            let mut first = String::new();
            told.read_line(&mut first).expect("text");
            assert!(first.contains("bank under silo"), "{first}");
            send(&child, "TERM", true);
            told.read_to_string(&mut first).expect("text");
            assert!(first.contains("  point        --seed=1\n"), "{first}");
            assert_eq!(end(child).status.code(), Some(143));
            continue;
        }
        std::thread::sleep(Duration::from_millis(700));
        send(&child, "INT", true);
        let output = end(child);
        let told = common::stdout(&output);
        assert_eq!(output.status.code(), Some(130), "{line}: {}{told}", common::stderr(&output));
        assert!(told.contains(part), "{line}: {told}");
        assert_eq!(names(&folder), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn a_search_for_a_planted_bug_ends_early() {
    let folder = Folder::new("interrupted-search");
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        // A search of a hundred seeds, each a case of its own.
        let json = folder.file("json");
        let line = format!("campaign --plant swarm-canary --threads 1 --json {json}");
        let child = start(&folder, &line);
        until("a file in the making", || !names(&folder).is_empty());
        std::thread::sleep(Duration::from_millis(300));
        send(&child, signal, false);
        let asked = Instant::now();
        let output = end(child);
        assert_eq!(output.status.code(), Some(status), "{}", common::stderr(&output));
        assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
        assert!(!common::stdout(&output).contains("swarm-canary"), "{}", common::stdout(&output));
        std::fs::remove_file(&json).ok();
        assert_eq!(names(&folder), Vec::<String>::new());
    }
}

#[test]
fn what_cannot_be_told_early_ends_at_once() {
    let folder = Folder::new("interrupted-simulate");
    let json = folder.file("result.json");
    let line = format!("simulate ycsb --cores 16 --duration 1h --json {json}");
    let child = start(&folder, &line);
    until("a file in the making", || !names(&folder).is_empty());
    send(&child, "TERM", false);
    let output = end(child);
    assert_eq!(output.status.code(), Some(143), "{}", common::stderr(&output));
    assert_eq!(output.status.signal(), None);
    assert_eq!(names(&folder), Vec::<String>::new());
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let folder = Folder::new("interrupted-nohup");
    let line = "bench bank --threads 1 --warmup 0s --duration 1500ms --quiet";
    let chiliad = env!("CARGO_BIN_EXE_chiliad");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' HUP; exec {chiliad} {line}")]).process_group(0);
    let child = command.env("TMPDIR", folder.file("")).spawn().expect("a shell");
    std::thread::sleep(Duration::from_millis(600));
    send(&child, "HUP", false);
    assert_eq!(end(child).status.code(), Some(0));
}
