//! `chiliad damage`: no damage goes by without a word, and where one would it is found out.

mod common;

use common::{chiliad, result, stderr, stdout};

/// Kinds of damage that there are.
const KINDS: u64 = 31;

#[test]
fn nothing_is_lost_without_a_word() {
    let report = result(&format!("damage --cycles {} --seed 0", 3 * KINDS));
    assert_eq!((&report["lost"], &report["wrong"]), (&0.into(), &0.into()), "{report}");
    let kinds = report["kinds"].as_object().expect("by kind");
    assert_eq!(kinds.len() as u64, KINDS, "{report}");
    assert_eq!(kinds["nothing"]["whole"], 3, "{report}");
    assert!(kinds["remove-newest-segment"]["refused"].as_u64() >= Some(2), "{report}");
    assert_eq!(kinds["remove-manifest"]["refused"], 3, "{report}");
}

/// A segment that was put back to an earlier moment is a moment's copy, and the rig asks no more of it.
#[test]
fn a_segment_put_back_is_a_moment() {
    let report = result("damage --cycles 40 --seed 200040 --kind roll-back-segment");
    // How many are taken for copies of an earlier moment depends on where the writers stood.
    let of = |verdict: &str| report[verdict].as_u64().expect("a count");
    assert_eq!((of("lost"), of("wrong")), (0, 0), "{report}");
    assert_eq!(of("refused") + of("whole") + of("unwitnessed"), 40, "{report}");
}

#[test]
fn what_is_accepted_and_should_not_be_is_found() {
    let output =
        chiliad("damage --cycles 200 --kind remove-newest-segment --plant damage-accepted");
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("acknowledged transfers are gone"), "{said}");
    assert!(said.contains("again: chiliad damage --cycles 1 --seed"), "{said}");
}

#[test]
fn bad_flags_are_refused() {
    for (line, parts) in [
        ("damage --cycles 0", ["--cycles", "1 to 1000000"]),
        ("damage --kind fire", ["--kind", "flip-bit"]),
        ("damage --scheme key-value", ["--scheme", "has no transactions"]),
    ] {
        let output = chiliad(line);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
    }
}
