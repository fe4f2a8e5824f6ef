//! Every history under `tests/histories` against the verdict that its first lines name:
//!
//! ```text
//! #! check [strict] [insertion] [order-follows-reads] [isolation NAME]
//! #! expect CLASS; CLASS | nothing       all the classes found, in order
//! #! cycle N                             the length of the first cycle
//! #! count N                             how many anomalies of the first class
//! #! ambiguous N, #! unexplained N
//! #! passed yes | no
//! ```
//!
//! Each history is also taken through the binary form, and through text again.

use std::fs;
use std::path::Path;

use chiliad_checker::{Anomaly, History, Isolation, Options, Verdict, check};

fn options(words: &str) -> Options {
    let mut options = Options::default();
    let mut words = words.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "strict" => options.strict = true,
            "insertion" => options.version_insertion = true,
            "order-follows-reads" => options.order_follows_reads = true,
            "isolation" => {
                options.isolation = words.next().and_then(Isolation::from_name).expect("a level");
            }
            _ => panic!("unknown option {word}"),
        }
    }
    options
}

fn compare(name: &str, directive: &str, verdict: &Verdict) {
    let (verb, expected) = directive.split_once(' ').expect("a directive and its value");
    let actual = match verb {
        "check" => return,
        "expect" => {
            let classes: Vec<&str> = verdict.classes().map(|(class, _)| class.name()).collect();
            if classes.is_empty() { "nothing".to_owned() } else { classes.join("; ") }
        }
        "cycle" => {
            let cycles = verdict.anomalies.iter().map(|a: &Anomaly| a.cycle.len());
            cycles.filter(|&n| n > 0).min().unwrap_or(0).to_string()
        }
        "count" => verdict.classes().next().map_or(0, |(_, n)| n).to_string(),
        "ambiguous" => verdict.ambiguous_reads.to_string(),
        "unexplained" => verdict.unexplained_reads.to_string(),
        "passed" => if verdict.passed() { "yes" } else { "no" }.to_owned(),
        _ => panic!("{name}: unknown directive {verb}"),
    };
    assert_eq!(actual, expected, "{name}: {verb}\n{verdict}");
}

#[test]
fn every_history_gets_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 40);
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let directives: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("#! ")).collect();
        let options = directives
            .iter()
            .find_map(|d| d.strip_prefix("check "))
            .map(options)
            .unwrap_or_default();
        let history = History::from_text(&text).unwrap_or_else(|e| panic!("{name}: {e}"));

        let written = history.to_text();
        let again =
            History::from_text(&written).unwrap_or_else(|e| panic!("{name}: {e}\n{written}"));
        assert_eq!(again.to_text(), written, "{name}");
        let mut bytes = Vec::new();
        History::write(history.header(), &history.to_recorders(), &mut bytes).unwrap();
        let binary = History::read(bytes.as_slice()).unwrap_or_else(|e| panic!("{name}: {e}"));

        for history in [history, again, binary] {
            let verdict = check(&history, &options);
            for directive in &directives {
                compare(&name, directive, &verdict);
            }
        }
    }
}

/// The explanation is what people act on: one, word by word.
#[test]
fn an_explanation_reads_well() {
    let history = History::from_text(
        "txn 1 start 1 end 5 order 1 commit
           u accounts alice over 0
           u accounts bob over 0
         txn 2 start 2 end 6 order 2 commit
           r accounts alice 1
           r accounts bob 0
           r accounts carol 0",
    )
    .unwrap();
    let verdict = check(&history, &Options::default());
    assert_eq!(
        verdict.to_string(),
        "\
isolation serializable: VIOLATED
2 transactions (2 committed), 5 operations
edges: 0 ww, 1 wr, 1 rw, 0 predicate
G-single: 1

G-single
  txn 2 worker 0 start 2 end 6 order 2 epoch 0 commit
    r accounts alice 1
    r accounts bob 0
  txn 1 worker 0 start 1 end 5 order 1 epoch 0 commit
    u accounts alice over 0
    u accounts bob over 0
  2 -rw-> 1: 2 read version 0 of accounts bob, which 1 overwrote
  1 -wr-> 2: 2 read version 1 of accounts alice
"
    );
}
