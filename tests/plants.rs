//! Planted bugs are caught: the short version of `chiliad campaign --plant all`.
//!
//! Each search begins at a seed that tells, by this build's interleavings. Where a change of the
//! engine has moved them the search goes on from there, as far as the bug's own table allows, and the
//! test only takes longer; what `chiliad campaign --plant all` prints under a build with debug
//! assertions then says which seeds to begin at.

mod common;

use common::{chiliad, stderr, stdout};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Bugs that simulated runs catch, and a seed at which they do.
const SEEDS: [(&str, u64); 112] = [
    ("no-read-validation", 0),
    ("foreign-latch-ignored", 0),
    ("no-node-set", 1),
    ("node-set-not-validated", 2032),
    ("tid-not-above-overwritten", 3),
    ("tid-not-above-read", 2),
    ("floor-forgotten", 2),
    ("epoch-at-begin", 17),
    ("unlatched-before-tid", 3),
    ("torn-read", 20),
    ("no-write-latch", 1),
    ("old-version-lost", 0),
    ("unlink-not-dead", 64),
    ("own-changes-forgiven", 24),
    ("version-freed-at-once", 121),
    ("partition-not-locked", 0),
    ("remote-partition-not-locked", 0),
    ("partitions-released-early", 0),
    ("unlinked-without-partitions", 405),
    ("order-not-above-overwritten", 0),
    ("lock-taken-in-two-steps", 105),
    ("lock-taken-from-younger", 25),
    ("sibling-spun-for", 0),
    ("call-kept", 344),
    ("switch-in-commit-window", 0),
    ("counts-not-compared", 0),
    ("added-to-an-old-value", 0),
    ("added-twice", 0),
    ("range-not-looked-at-again", 0),
    ("rest-of-range-forgotten", 8),
    ("another-absence", 337),
    ("part-not-checked", 8),
    ("mates-left-behind", 0),
    ("latched-while-waiting", 0),
    ("no-read-lock", 1),
    ("read-lock-dropped", 0),
    ("upgrade-beside-readers", 0),
    ("unlocked-before-install", 0),
    ("gaps-not-watched", 0),
    ("placed-unlocked", 0),
    ("collected-unlocked", 92),
    ("granted-twice", 13),
    ("granted-beside-readers", 5),
    ("hand-over-forgotten", 13),
    ("queue-bit-lost", 13),
    ("younger-waits", 0),
    ("occ-reads-not-validated", 1),
    ("occ-reads-not-latched", 0),
    ("occ-unlatched-before-install", 2),
    ("occ-leaves-not-validated", 800),
    ("occ-end-not-above", 24),
    ("validated-together", 5),
    ("reads-not-compared", 0),
    ("read-not-stamped", 0),
    ("claim-ignored", 0),
    ("written-into-the-past", 0),
    ("claims-released-early", 0),
    ("gap-not-stamped", 1),
    ("inserted-into-the-past", 0),
    ("placed-unread", 84),
    ("split-forgets-gap", 831),
    ("younger-version-read", 0),
    ("newest-version-read", 0),
    ("version-not-kept", 3),
    ("collected-too-soon", 2),
    ("snapshot-too-young", 9),
    ("collected-unclaimed", 313),
    ("mark-passed-by", 1),
    ("counted-before-marks", 84),
    ("younger-overwritten", 0),
    ("read-without-lock", 3),
    ("released-before-install", 0),
    ("gaps-unlocked", 0),
    ("divided-untold", 8),
    ("placed-without-lock", 13),
    ("inserted-apart", 11),
    ("wait-unfenced", 22),
    ("claim-unfenced", 1294),
    ("sleep-unfenced", 29),
    ("woken-unfenced", 122),
    ("release-unfenced", 20),
    ("wake-unordered", 2),
    ("unlinked-passed-over", 43),
    ("strong-passed-over", 1),
    ("count-unawaited", 1),
    ("region-unshown", 4),
    ("region-elsewhere", 2),
    ("chains-untold", 965),
    ("snapshot-too-new", 14),
    ("collect-too-eager", 0),
    ("boundary-without-fence", 1164),
    ("split-forgets-guard", 88),
    ("insert-forgets-guard", 9),
    ("layer-forgets-guard", 53),
    ("removal-forgets-guard", 97),
    ("reader-skips-validation", 7),
    ("parent-not-rechecked", 4032),
    ("scan-skips-empty-leaf", 4),
    ("guard-read-too-late", 173),
    ("bucket-insert-forgets-guard", 5),
    ("bucket-split-forgets-guard", 13),
    ("bucket-reader-skips-mapping", 8),
    ("bucket-reader-skips-version", 219),
    ("bucket-writer-skips-version", 292),
    ("bucket-node-freed-early", 0),
    ("sql-bound-left-out", 0),
    ("sql-moved-row-stays", 0),
    ("sql-order-turned", 0),
    ("sql-first-not-added", 0),
    ("deferred-place-shared", 228),
    ("deferred-full-misread", 0),
    ("deferred-left-behind", 2),
];

/// Bugs that show in what a crash leaves behind, and a seed at which they do.
const DISK_SEEDS: [(&str, u64); 22] = [
    ("incarnation-not-raised", 1),
    ("floor-at-the-end", 1),
    ("checkpoint-too-early", 11),
    ("log-removed-too-early", 12),
    ("appended-after-its-window", 7),
    ("reader-not-held-back", 0),
    ("logged-before-its-sum", 0),
    ("replayed-as-found", 0),
    ("acknowledged-before-sync", 14),
    ("no-checksum", 8),
    ("past-a-lagging-writer", 11),
    ("drained-too-early", 26),
    ("segment-name-not-synced", 0),
    ("manifest-not-synced", 2),
    ("checkpoint-not-synced", 11),
    ("sync-retried", 232),
    ("end-not-rewritten", 200),
    ("noted-before-sync", 21),
    ("segment-not-noted", 0),
    ("frame-not-noted", 5),
    ("seal-not-checked", 43),
    ("bare-segment-counts", 49),
];

/// Bugs that keep a load from getting on, and a seed at which they do.
const SOAK_SEEDS: [(&str, u64); 1] = [("doom-unheard", 0)];

/// Bugs that the engine's own tests catch.
const BY_WAITS: [&str; 9] = [
    "bell-of-begin",
    "undo-forgotten",
    "waited-past-deadline",
    "waited-past-limit",
    "limit-begun-anew",
    "waited-past-cancel",
    "outer-waited-for",
    "entry-not-filled",
    "index-not-announced",
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

/// The planted bugs, with the rigs that catch them: `sim`, `disk`, `soak`, `waits`, `loom`. Those of `world` and `tasks` are
/// lists of their own, which the rigs' own tests run.
fn listed() -> BTreeMap<String, String> {
    let said = stdout(&chiliad("campaign --plant list"));
    let bugs = said.lines().filter(|line| !line.starts_with(' '));
    bugs.filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        Some((name, words.next()?.split('-').next()?.to_owned()))
    })
    .filter(|(_, rig)| rig != "world" && rig != "tasks")
    .collect()
}

#[test]
fn every_planted_bug_has_its_rig() {
    let simulated = SEEDS.iter().map(|(name, _)| (name, "sim"));
    let crashed = DISK_SEEDS.iter().map(|(name, _)| (name, "disk"));
    let stuck = SOAK_SEEDS.iter().map(|(name, _)| (name, "soak"));
    let others = BY_MODELS.iter().map(|name| (name, "loom"));
    let others = others.chain(BY_WAITS.iter().map(|name| (name, "waits")));
    let all = simulated.chain(crashed).chain(stuck).chain(others);
    assert_eq!(listed(), all.map(|(name, rig)| (name.to_string(), rig.to_owned())).collect());
}

#[test]
fn planted_bugs_are_caught() {
    let next = AtomicUsize::new(0);
    let search = || {
        let all: Vec<_> = SEEDS.iter().chain(&DISK_SEEDS).chain(&SOAK_SEEDS).collect();
        while let Some((name, seed)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seeds = format!("{seed}..{}", seed + 1);
            let line = format!("campaign --plant {name} --seeds {seeds} --threads 1 --quiet");
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
