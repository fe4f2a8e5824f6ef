//! Words that may stand in some rooms only, or nowhere.

use super::Complaints;
use super::sources::Source;

/// Where these very words are listed.
const LISTS: &str = "xtask/src/tidy/";

/// What says that something is not finished.
const UNFINISHED: &[&str] =
    &["TODO", "FIXME", "XXX", "todo!", "unimplemented!", "#[ignore", UNUSED];

/// Not in the product: there, what is not used goes. What tests share is not used by each of them,
/// and of what the derive macros generate an application uses what it likes.
const UNUSED: &str = "allow(dead_code)";

/// Rooms whose code runs on any machine, so that threads, clocks, files and locks reach it through
/// the machine or not at all.
const GENERIC: &[&str] = &["crates/storage", "crates/engine", "crates/checker", "crates/derive"];

/// The host's own.
const OF_THE_HOST: &[&str] = &[
    "sync::atomic",
    "std::thread",
    "thread_local!",
    "time::Instant",
    "SystemTime",
    "std::fs",
    "std::net",
    "sync::Mutex",
    "MutexGuard",
    "sync::{Arc, Mutex",
    "RwLock",
    "Condvar",
    "OnceLock",
    "LazyLock",
];

/// Who may write `unsafe`: memory, its layout, and the switch between stacks.
const UNSAFE: &[&str] = &[
    "crates/machine/src/",
    "crates/loom/src/",
    "crates/simulator/src/",
    "crates/lock/src/",
    "crates/storage/src/",
    // Of the engine, file by file.
    "crates/engine/src/durable/crew.rs",
    "crates/engine/src/durable/restore.rs",
    "crates/engine/src/scheme/central_lock/",
    "crates/engine/src/scheme/occ.rs",
    "crates/engine/src/scheme/occ_serial.rs",
    "crates/engine/src/scheme/partition/partitioned.rs",
    "crates/engine/src/scheme/parts/in_place.rs",
    "crates/engine/src/scheme/parts/unlink.rs",
    "crates/engine/src/scheme/silo/",
    "crates/engine/src/scheme/timestamp/",
    "crates/engine/src/scheme/two_phase/",
    "crates/engine/src/tables/dropped.rs",
];

/// Where schemes are called by name: the schemes themselves, the command, and the table of the
/// embedding API.
const NAMING: &[&str] = &["crates/engine/src/scheme/", "crates/chiliad/src/options.rs", "src/"];

fn complaint(source: &Source, line: usize, what: &str) -> String {
    format!("{}:{}: {what}", source.path, line + 1)
}

/// Main holds what is finished.
pub fn unfinished(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| !source.is_in(LISTS.trim_end_matches('/'))) {
        let may_be_unused = !source.is_product() || source.is_in("crates/derive");
        for (number, line) in source.text.lines().enumerate() {
            let found = UNFINISHED.iter().filter(|word| line.contains(**word));
            let found = found.filter(|word| **word != UNUSED || !may_be_unused);
            complaints.extend(found.map(|word| complaint(source, number, word)));
        }
    }
    complaints
}

/// What runs under a scheme reaches the host through the machine.
pub fn seam(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    let generic = |source: &&Source| GENERIC.iter().any(|room| source.is_in(room));
    for source in sources.iter().filter(generic).filter(|source| source.is_product()) {
        for (number, line) in source.code.lines().enumerate() {
            let found = OF_THE_HOST.iter().find(|word| line.contains(**word));
            let what = found.map(|word| format!("{word} belongs to the machine"));
            complaints.extend(what.map(|what| complaint(source, number, &what)));
        }
    }
    complaints
}

/// Schemes wait for transactions in one way, which knows deadlines and who is told to give up.
pub fn waits(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    let schemes = |source: &&Source| source.is_in("crates/engine/src/scheme");
    for source in sources.iter().filter(schemes) {
        for (number, line) in source.code.lines().enumerate() {
            let found =
                ["Patience", "M::park", "M::yield_now"].iter().find(|it| line.contains(**it));
            let what = found.map(|word| format!("{word}: a scheme waits by its `Limits`"));
            complaints.extend(what.map(|what| complaint(source, number, &what)));
        }
    }
    complaints
}

/// Adding a scheme is one file and one line: nobody else knows its name.
pub fn schemes(sources: &[Source]) -> Complaints {
    let names: Vec<String> = sources.iter().flat_map(scheme_names).collect();
    let mut complaints = Vec::new();
    let elsewhere = |source: &&Source| !NAMING.iter().any(|place| source.path.starts_with(place));
    for source in sources.iter().filter(elsewhere).filter(|source| source.is_product()) {
        for (number, line) in source.code.lines().enumerate() {
            let declares = line.contains("Info {");
            let found = names.iter().find(|name| line.contains(name.as_str()) && !declares);
            let what = found.map(|name| format!("names the scheme {name}"));
            complaints.extend(what.map(|what| complaint(source, number, &what)));
        }
    }
    complaints
}

/// The names in quotes that a file gives to schemes.
fn scheme_names(source: &Source) -> Vec<String> {
    let infos = source.code.split("Info {").skip(1);
    let names =
        infos.filter_map(|info| info.trim_start().strip_prefix("name: \"")?.split('"').next());
    names.map(|name| format!("\"{name}\"")).collect()
}

/// Where memory is touched by hand.
pub fn unsafe_rooms(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    let outside = |source: &&Source| !UNSAFE.iter().any(|room| source.path.starts_with(room));
    for source in sources.iter().filter(outside).filter(|source| source.is_product()) {
        for (number, line) in source.code.lines().enumerate() {
            if line.contains("unsafe ") {
                complaints.push(complaint(source, number, "`unsafe` has no place in this room"));
            }
        }
    }
    complaints
}

/// Every `unsafe` block and implementation says why it is sound, at most five lines above.
pub fn safety(sources: &[Source]) -> Complaints {
    let mut complaints = Vec::new();
    for source in sources.iter().filter(|source| !source.is_in(LISTS.trim_end_matches('/'))) {
        let lines: Vec<&str> = source.text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let claims = ["unsafe {", "unsafe impl "].iter().any(|it| code.contains(it));
            let above = &lines[number.saturating_sub(5)..=number];
            if claims && !above.iter().any(|line| line.contains("SAFETY")) {
                complaints.push(complaint(source, number, "`unsafe` without SAFETY"));
            }
        }
    }
    complaints
}
