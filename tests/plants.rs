//! Planted bugs are caught: the short version of `chiliad campaign --plant all`.
//!
//! Each search, of a bug under a scheme, begins at a seed that tells, by this build's interleavings. Where a change of the
//! engine has moved them the search goes on from there, as far as the bug's own table allows, and the
//! test only takes longer; what `chiliad campaign --plant all` prints under a build with debug
//! assertions then says which seeds to begin at.

mod common;

use common::{chiliad, stderr, stdout};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A planted bug, and the seed to begin at under each scheme that it breaks; `-` for a load without one.
type Bug = (&'static str, &'static [(&'static str, u64)]);

/// Bugs that simulated runs catch.
const SEEDS: &[Bug] = &[
    ("no-read-validation", &[("silo", 0)]),
    ("foreign-latch-ignored", &[("silo", 4)]),
    ("columns-not-compared", &[("silo", 5)]),
    ("renewed-and-written", &[("silo", 4)]),
    ("renewed-in-one-pass", &[("silo", 232)]),
    ("untold-change-passed-over", &[("silo", 10)]),
    ("no-node-set", &[("silo", 1)]),
    ("node-set-not-validated", &[("silo", 2661)]),
    ("tid-not-above-overwritten", &[("silo", 3)]),
    ("tid-not-above-read", &[("silo", 2)]),
    (
        "floor-forgotten",
        &[
            ("silo", 7),
            ("partitioned", 6),
            ("h-store", 3),
            ("no-wait", 3),
            ("wait-die", 6),
            ("dl-detect", 6),
            ("occ-serial", 6),
            ("lock-table", 6),
        ],
    ),
    ("epoch-at-begin", &[("silo", 17)]),
    ("unlatched-before-tid", &[("silo", 4)]),
    ("torn-read", &[("silo", 27)]),
    ("no-write-latch", &[("silo", 1)]),
    ("latches-kept", &[("silo", 0)]),
    ("old-version-lost", &[("silo", 0)]),
    ("unlink-not-dead", &[("silo", 103)]),
    ("own-changes-forgiven", &[("silo", 77)]),
    ("version-freed-at-once", &[("silo", 148)]),
    ("segment-freed-early", &[("silo", 0)]),
    ("partition-not-locked", &[("h-store", 0), ("partitioned", 0)]),
    ("remote-partition-not-locked", &[("h-store", 0), ("partitioned", 0)]),
    ("partitions-released-early", &[("h-store", 1), ("partitioned", 1)]),
    ("unlinked-without-partitions", &[("h-store", 569), ("partitioned", 748)]),
    ("order-not-above-overwritten", &[("h-store", 2), ("partitioned", 2)]),
    ("lock-taken-in-two-steps", &[("h-store", 180)]),
    ("lock-taken-from-younger", &[("h-store", 40)]),
    ("sibling-spun-for", &[("partitioned", 0)]),
    ("call-kept", &[("h-store", 432)]),
    ("switch-in-commit-window", &[("silo", 0)]),
    (
        "counts-not-compared",
        &[("silo", 1), ("occ", 13), ("no-wait", 1), ("wait-die", 0), ("dl-detect", 0)],
    ),
    ("added-to-an-old-value", &[("silo", 0), ("global-tid", 0), ("occ", 0)]),
    ("added-twice", &[("silo", 0), ("global-tid", 0), ("occ", 0)]),
    (
        "range-not-looked-at-again",
        &[("silo", 1), ("occ", 8), ("no-wait", 1), ("wait-die", 0), ("dl-detect", 1)],
    ),
    (
        "rest-of-range-forgotten",
        &[("silo", 8), ("occ", 68), ("no-wait", 8), ("wait-die", 9), ("dl-detect", 44)],
    ),
    ("another-absence", &[("silo", 40), ("wait-die", 1228)]),
    ("part-not-checked", &[("silo", 108), ("occ", 49), ("no-wait", 1357), ("lock-table", 8)]),
    ("mates-left-behind", &[("silo", 0), ("occ", 0)]),
    ("latched-while-waiting", &[("silo", 0)]),
    ("no-read-lock", &[("no-wait", 3), ("wait-die", 1), ("dl-detect", 3)]),
    ("read-lock-dropped", &[("no-wait", 1), ("wait-die", 1), ("dl-detect", 3)]),
    ("upgrade-beside-readers", &[("no-wait", 0), ("wait-die", 0), ("dl-detect", 0)]),
    ("unlocked-before-install", &[("no-wait", 0), ("wait-die", 1), ("dl-detect", 4)]),
    ("gaps-not-watched", &[("no-wait", 1), ("wait-die", 0), ("dl-detect", 0)]),
    ("placed-unlocked", &[("no-wait", 0), ("wait-die", 9), ("dl-detect", 9)]),
    ("collected-unlocked", &[("no-wait", 97), ("wait-die", 469), ("dl-detect", 417)]),
    ("granted-twice", &[("dl-detect", 133)]),
    ("granted-beside-readers", &[("dl-detect", 23)]),
    ("hand-over-forgotten", &[("dl-detect", 13)]),
    ("queue-bit-lost", &[("dl-detect", 13)]),
    ("younger-waits", &[("wait-die", 0)]),
    ("occ-reads-not-validated", &[("occ", 1)]),
    ("occ-reads-not-latched", &[("occ", 32)]),
    ("occ-unlatched-before-install", &[("occ", 9)]),
    ("occ-leaves-not-validated", &[("occ", 2048)]),
    ("occ-end-not-above", &[("occ", 24)]),
    ("validated-together", &[("occ-serial", 5)]),
    ("reads-not-compared", &[("occ-serial", 0)]),
    ("read-not-stamped", &[("timestamp", 0), ("mvcc", 5)]),
    ("claim-ignored", &[("timestamp", 1), ("mvcc", 0)]),
    ("written-into-the-past", &[("timestamp", 0), ("mvcc", 0)]),
    ("claims-released-early", &[("timestamp", 1), ("mvcc", 0)]),
    ("gap-not-stamped", &[("timestamp", 3), ("mvcc", 2)]),
    ("inserted-into-the-past", &[("timestamp", 3), ("mvcc", 2)]),
    ("placed-unread", &[("timestamp", 524), ("mvcc", 84)]),
    ("split-forgets-gap", &[("mvcc", 998)]),
    ("younger-version-read", &[("timestamp", 0)]),
    ("newest-version-read", &[("mvcc", 0)]),
    ("version-not-kept", &[("mvcc", 3), ("lock-table-repeatable-read", 3)]),
    ("collected-too-soon", &[("mvcc", 2), ("lock-table-repeatable-read", 2)]),
    ("snapshot-too-young", &[("mvcc", 12)]),
    ("collected-unclaimed", &[("timestamp", 319), ("mvcc", 429)]),
    ("mark-passed-by", &[("lock-table-repeatable-read", 1)]),
    ("counted-before-marks", &[("lock-table-repeatable-read", 84)]),
    ("younger-overwritten", &[("lock-table-repeatable-read", 0)]),
    (
        "read-without-lock",
        &[
            ("lock-table", 3),
            ("lock-table-global", 3),
            ("lock-table-bucket", 3),
            ("lock-table-sli", 3),
            ("lock-table-no-ebr", 3),
        ],
    ),
    (
        "released-before-install",
        &[
            ("lock-table", 0),
            ("lock-table-global", 0),
            ("lock-table-bucket", 0),
            ("lock-table-sli", 0),
            ("lock-table-no-ebr", 0),
        ],
    ),
    (
        "gaps-unlocked",
        &[
            ("lock-table", 0),
            ("lock-table-global", 0),
            ("lock-table-bucket", 0),
            ("lock-table-sli", 1),
            ("lock-table-no-ebr", 0),
        ],
    ),
    ("divided-untold", &[("lock-table", 149)]),
    (
        "placed-without-lock",
        &[
            ("lock-table", 28),
            ("lock-table-global", 21),
            ("lock-table-bucket", 13),
            ("lock-table-sli", 16),
            ("lock-table-no-ebr", 33),
        ],
    ),
    ("inserted-apart", &[("-", 11)]),
    ("wait-unfenced", &[("-", 22)]),
    ("claim-unfenced", &[("-", 1294)]),
    ("sleep-unfenced", &[("-", 29)]),
    ("woken-unfenced", &[("-", 122)]),
    ("release-unfenced", &[("-", 20)]),
    ("wake-unordered", &[("-", 2)]),
    ("unlinked-passed-over", &[("-", 43)]),
    ("strong-passed-over", &[("-", 1)]),
    ("count-unawaited", &[("-", 1)]),
    ("region-unshown", &[("-", 4)]),
    ("region-elsewhere", &[("-", 2)]),
    ("chains-untold", &[("-", 965)]),
    ("snapshot-too-new", &[("silo", 23)]),
    ("collect-too-eager", &[("silo", 0)]),
    ("boundary-without-fence", &[("silo", 2376)]),
    ("split-forgets-guard", &[("silo", 88)]),
    ("insert-forgets-guard", &[("silo", 12)]),
    ("layer-forgets-guard", &[("silo", 69)]),
    ("removal-forgets-guard", &[("silo", 196)]),
    ("reader-skips-validation", &[("silo", 85)]),
    ("parent-not-rechecked", &[("silo", 4204)]),
    ("scan-skips-empty-leaf", &[("silo", 9)]),
    ("guard-read-too-late", &[("silo", 1273)]),
    ("bucket-insert-forgets-guard", &[("silo", 8)]),
    ("bucket-split-forgets-guard", &[("silo", 25)]),
    ("bucket-reader-skips-mapping", &[("silo", 8)]),
    ("bucket-reader-skips-version", &[("silo", 219)]),
    ("bucket-writer-skips-version", &[("silo", 309)]),
    ("bucket-node-freed-early", &[("silo", 2)]),
    ("sql-bound-left-out", &[("silo", 0)]),
    ("sql-moved-row-stays", &[("silo", 0)]),
    ("sql-order-turned", &[("silo", 0)]),
    ("sql-first-not-added", &[("silo", 0)]),
    ("deferred-place-shared", &[("silo", 228)]),
    ("deferred-full-misread", &[("silo", 0)]),
    ("deferred-left-behind", &[("silo", 2)]),
];

/// Bugs that show in what a crash leaves behind.
const DISK_SEEDS: &[Bug] = &[
    ("incarnation-not-raised", &[("silo", 1)]),
    ("floor-at-the-end", &[("silo", 1)]),
    ("checkpoint-too-early", &[("silo", 13)]),
    ("log-removed-too-early", &[("silo", 18)]),
    ("appended-after-its-window", &[("silo", 7)]),
    ("reader-not-held-back", &[("silo", 0)]),
    ("logged-before-its-sum", &[("silo", 0), ("global-tid", 0), ("occ", 0)]),
    ("replayed-as-found", &[("silo", 0)]),
    ("acknowledged-before-sync", &[("silo", 14)]),
    ("no-checksum", &[("silo", 8)]),
    ("past-a-lagging-writer", &[("silo", 20)]),
    ("drained-too-early", &[("silo", 50)]),
    ("segment-name-not-synced", &[("silo", 0)]),
    ("manifest-not-synced", &[("silo", 2)]),
    ("checkpoint-not-synced", &[("silo", 11)]),
    ("sync-retried", &[("silo", 232)]),
    ("end-not-rewritten", &[("silo", 200)]),
    ("noted-before-sync", &[("silo", 21)]),
    ("segment-not-noted", &[("silo", 0)]),
    ("frame-not-noted", &[("silo", 5)]),
    ("seal-not-checked", &[("silo", 43)]),
    ("bare-segment-counts", &[("silo", 49)]),
];

/// Bugs that keep a load from getting on.
const SOAK_SEEDS: &[Bug] = &[("doom-unheard", &[("lock-table", 0), ("lock-table-global", 0)])];

/// All that are searched, with the name of their rig: first those that take long.
const SEARCHED: [(&[Bug], &str); 3] = [(SOAK_SEEDS, "soak"), (SEEDS, "sim"), (DISK_SEEDS, "disk")];

/// Bugs that the engine's own tests catch.
const BY_WAITS: [&str; 11] = [
    "bell-of-begin",
    "undo-forgotten",
    "waited-past-deadline",
    "waited-past-limit",
    "limit-begun-anew",
    "waited-past-cancel",
    "outer-waited-for",
    "entry-not-filled",
    "index-not-announced",
    "shown-not-checked",
    "last-of-run-forgotten",
];

/// Bugs that the loom models of the crates catch.
const BY_MODELS: [&str; 12] = [
    "no-fence",
    "tick-without-fence",
    "ruin-without-fence",
    "advance-without-fence",
    "slept-unseen",
    "gap-passed-over",
    "waited-there",
    "picked-up-uncounted",
    "doom-taken-back",
    "region-unfenced",
    "limbo-given-back-as-free",
    "reader-count-kept",
];

/// The planted bugs, each with the rig that catches it (`sim`, `disk`, `soak`, `waits`, `loom`) and the schemes that it
/// breaks, where it names any. Those of `world` and `tasks` are lists of their own, which the rigs' own tests run.
fn listed() -> BTreeMap<String, (String, Vec<String>)> {
    let mut bugs: Vec<(String, (String, Vec<String>))> = Vec::new();
    for line in stdout(&chiliad("campaign --plant list")).lines() {
        if let Some(schemes) = line.strip_prefix("    schemes: ") {
            let last = bugs.last_mut().expect("a bug before its schemes");
            last.1.1 = schemes.split(", ").map(str::to_owned).collect();
        } else if !line.starts_with(' ') {
            let mut words = line.split_whitespace().map(str::to_owned);
            let (name, rig) = (words.next().expect("a name"), words.next().expect("a rig"));
            let rig = rig.split('-').next().expect("a rig").to_owned();
            bugs.push((name, (rig, Vec::new())));
        }
    }
    bugs.into_iter().filter(|(_, (rig, _))| rig != "world" && rig != "tasks").collect()
}

#[test]
fn every_planted_bug_has_its_rig() {
    let searched =
        SEARCHED.iter().flat_map(|&(bugs, rig)| bugs.iter().map(move |bug| (bug.0, rig)));
    let others = BY_MODELS.iter().map(|&name| (name, "loom"));
    let others = others.chain(BY_WAITS.iter().map(|&name| (name, "waits")));
    let known = searched.chain(others).map(|(name, rig)| (name.to_owned(), rig.to_owned()));
    let listed = listed().into_iter().map(|(name, (rig, _))| (name, rig));
    assert_eq!(listed.collect::<BTreeMap<_, _>>(), known.collect());
}

#[test]
fn a_bug_is_searched_under_all_schemes_that_it_breaks() {
    let listed = listed();
    for &(name, seeds) in SEARCHED.iter().flat_map(|(bugs, _)| *bugs) {
        let breaks = &listed[name].1;
        let searched: Vec<&str> = seeds.iter().map(|(scheme, _)| *scheme).collect();
        // A bug that names none shows under the first of all, or has no scheme to show under.
        let any = breaks.is_empty() && (searched == ["silo"] || searched == ["-"]);
        assert!(any || searched == *breaks, "{name} breaks {breaks:?}, not {searched:?}");
    }
}

#[test]
fn planted_bugs_are_caught() {
    let next = AtomicUsize::new(0);
    let bugs = SEARCHED.iter().flat_map(|(bugs, _)| *bugs);
    let all = bugs.flat_map(|&(name, seeds)| seeds.iter().map(move |seed| (name, seed)));
    let all: Vec<_> = all.collect();
    let search = || {
        while let Some((name, (scheme, seed))) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let scheme = if *scheme == "-" { "all" } else { scheme };
            let seeds = format!("{seed}..{}", seed + 1);
            let line = format!(
                "campaign --plant {name} --scheme {scheme} --seeds {seeds} --threads 1 --quiet"
            );
            let output = chiliad(&line);
            assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        }
    };
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(search);
        }
    });
}
