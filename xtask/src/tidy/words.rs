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
const GENERIC: &[&str] = &[
    "crates/storage",
    "crates/lock",
    "crates/log",
    "crates/api",
    "crates/engine",
    "crates/checker",
    "crates/derive",
];

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
    "crates/swarm/src/hash.rs",
    "crates/swarm/src/log/drain.rs",
    "crates/swarm/src/memory.rs",
    "crates/swarm/src/record.rs",
    "crates/swarm/src/tree/",
    "crates/swarm/src/view.rs",
    "crates/swarm/src/whole.rs",
    // Of the engine, file by file.
    "crates/engine/src/access.rs",
    "crates/engine/src/durable/parallel/crew.rs",
    "crates/engine/src/durable/recover/restore.rs",
    "crates/engine/src/scheme/central_lock/",
    "crates/engine/src/scheme/parts/in_place.rs",
    "crates/engine/src/scheme/parts/install.rs",
    "crates/engine/src/scheme/parts/unlink.rs",
    "crates/engine/src/scheme/silo/",
    "crates/engine/src/scheme/timestamp/",
    "crates/engine/src/scheme/two_phase/",
    "crates/engine/src/tables/dropped.rs",
    "crates/engine/src/insert_run.rs",
    "crates/engine/src/write_ops.rs",
    // Of servers that share a log: what makes, frees and refers to immutable memory.
    "crates/hyder/src/batch.rs",
    "crates/hyder/src/collector.rs",
    "crates/hyder/src/maker.rs",
    "crates/hyder/src/node.rs",
    "crates/hyder/src/state.rs",
];

/// Where schemes have their names: a row for each.
const LIST: &str = "crates/engine/src/scheme/list.rs";

/// Where schemes are called by name: the schemes themselves, the command, and the runs that prices are found from.
const NAMING: &[&str] = &["crates/engine/src/scheme/", "src/", "crates/lab/src/calibrate/cases.rs"];

/// Files in which a word that is also a scheme's name stands for something else: drawing a timestamp has a cost, and
/// is a part of a transaction's time.
const HOMONYMS: &[(&str, &str)] = &[
    ("crates/machine/src/cost.rs", "timestamp"),
    ("crates/api/src/part.rs", "timestamp"),
    ("crates/lab/src/result/reading.rs", "timestamp"),
    // A type of SQL.
    ("crates/server/src/lift.rs", "timestamp"),
    ("crates/sql/src/bind/select.rs", "timestamp"),
    ("crates/sql/src/bind/type_names.rs", "timestamp"),
];

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

/// Adding a scheme is one file and one row: nobody else knows its name.
pub fn schemes(sources: &[Source]) -> Complaints {
    let lists = sources.iter().filter(|source| source.path == LIST);
    let names: Vec<String> = lists.flat_map(scheme_names).collect();
    if names.is_empty() {
        return vec![format!("{LIST}: names no scheme")];
    }
    let mut complaints = Vec::new();
    let elsewhere = |source: &&Source| !NAMING.iter().any(|place| source.path.starts_with(place));
    for source in sources.iter().filter(elsewhere).filter(|source| source.is_product()) {
        let is_other = |name: &str| HOMONYMS.contains(&(source.path.as_str(), name));
        for (number, line) in source.code.lines().enumerate() {
            // A planted bug says under which schemes it must be caught.
            let declares = line.trim_start().starts_with("schemes: &[");
            let names = || names.iter().filter(|name| !is_other(name.trim_matches('"')));
            let found = names().find(|name| !declares && line.contains(name.as_str()));
            let what = found.map(|name| format!("names the scheme {name}"));
            complaints.extend(what.map(|what| complaint(source, number, &what)));
        }
    }
    complaints
}

/// The names in quotes that the rows of the list give to schemes.
fn scheme_names(list: &Source) -> Vec<String> {
    let names = list.code.lines().filter_map(|line| line.trim().strip_prefix("name: "));
    let quoted = names.filter_map(|name| name.strip_suffix(','));
    quoted.filter(|name| *name != "\"\"").map(str::to_owned).collect()
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

/// What an argument does not say: it stands on its own, so that a change of the one above does not change it.
pub const BORROWED: &[&str] = &["SAFETY: as above", "SAFETY: see above"];

/// Every `unsafe` block and implementation says why it is sound, at most five lines above, in words of its own.
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
            let borrowed = BORROWED.iter().find(|words| line.contains(**words));
            let what = borrowed.map(|words| format!("`{words}` is no argument"));
            complaints.extend(what.map(|what| complaint(source, number, &what)));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::super::sources;
    use super::*;

    /// Every name of the list is known to the rule, whatever module the scheme lies in.
    #[test]
    fn every_scheme_is_seen() {
        let list = crate::root().join(LIST);
        let list = Source::new(LIST, &std::fs::read_to_string(list).expect("the list"));
        let rows = list.code.matches(": Info {").count();
        let names = scheme_names(&list);
        assert_eq!(names.len(), rows, "{names:?}");
        for name in &names {
            let user =
                Source::new("crates/log/src/a.rs", &format!("//! x\nfn f() {{ g({name}) }}\n"));
            let again = Source::new(LIST, &list.text);
            assert_eq!(schemes(&[again, user]).len(), 1, "{name}");
        }
    }

    /// What the guide says of its scheme: besides its own file, a row names it, and the line that declares the module.
    #[test]
    fn a_scheme_is_one_file_and_one_row() {
        let sources = sources::read(&crate::root()).expect("sources");
        let product = sources.iter().filter(|it| it.is_product() && it.path.starts_with("crates/"));
        let own = "crates/engine/src/scheme/occ_serial.rs";
        let mut found = Vec::new();
        for source in product.filter(|source| source.path != own) {
            let names = |line: &&str| {
                ["occ_serial", "OccSerial", "\"occ-serial\""].iter().any(|name| line.contains(name))
            };
            let file = source.path.rsplit('/').next().unwrap_or_default();
            let lines = source.code.lines().filter(names);
            found.extend(lines.map(|line| format!("{file}: {}", line.trim())));
        }
        found.sort();
        let row = ["OccSerial: Info {", "name: \"occ-serial\",", "occ_serial, \"occ\" {"];
        let mut expected = row.map(|line| format!("list.rs: {line}")).to_vec();
        // A planted bug of a shared part says which schemes it breaks.
        expected.push("min_insert_tid.rs: \"occ-serial\",".into());
        expected.push("mod.rs: mod occ_serial;".into());
        assert_eq!(found, expected);
    }
}
