//! Planted bugs of the lock manager: the seven synchronisation points of the paper (Figure 3) and what else
//! the chain depends on. See the table at the crate's head.

use chiliad_machine::{Fault, Rig};

/// Two transactions have what excludes each other.
const BOTH: &[&str] = &["excluded"];
/// Nobody goes on.
const STUCK: &[&str] = &["deadlock"];

/// The entry of a bug in the table.
const fn planted(
    name: &'static str,
    rig: Rig,
    workload: &'static str,
    step: &'static str,
    expected: &'static [&'static str],
    seeds: u32,
) -> Fault {
    Fault { name, step, rig, schemes: &[], workload, expected, seeds }
}

/// S1.
pub(crate) static INSERTED_APART: Fault = planted(
    "inserted-apart",
    Rig::SimSc,
    "locks",
    "a lock comes in by one exchange of the tail",
    &["excluded", "deadlock"],
    200,
);

/// S2.
pub(crate) static WAIT_UNFENCED: Fault = planted(
    "wait-unfenced",
    Rig::SimTso,
    "locks",
    "a lock waits before its owner looks for deadlocks",
    STUCK,
    1000,
);

/// S3.
pub(crate) static CLAIM_UNFENCED: Fault = planted(
    "claim-unfenced",
    Rig::SimTso,
    "conversions",
    "a lock that did not have to wait claims before its owner looks again",
    BOTH,
    4000,
);

/// S4.
pub(crate) static SLEEP_UNFENCED: Fault = planted(
    "sleep-unfenced",
    Rig::SimTso,
    "locks",
    "a transaction shows that it sleeps before it looks for the last time",
    STUCK,
    1000,
);

/// S5.
pub(crate) static WOKEN_UNFENCED: Fault = planted(
    "woken-unfenced",
    Rig::SimTso,
    "conversions",
    "a lock that has waited claims before its owner looks again",
    BOTH,
    1000,
);

/// S6.
pub(crate) static RELEASE_UNFENCED: Fault = planted(
    "release-unfenced",
    Rig::SimTso,
    "locks",
    "a lock is obsolete before its owner looks for those who wait",
    STUCK,
    1000,
);

/// S7.
pub(crate) static WAKE_UNORDERED: Fault = planted(
    "wake-unordered",
    Rig::SimSc,
    "locks",
    "a transaction is told not to sleep before it is woken",
    STUCK,
    1000,
);

pub(crate) static UNLINKED_PASSED_OVER: Fault = planted(
    "unlinked-passed-over",
    Rig::SimSc,
    "locks",
    "who looks for locks ahead waits for those that are about to be linked",
    BOTH,
    200,
);

pub(crate) static GAP_PASSED_OVER: Fault = planted(
    "gap-passed-over",
    Rig::Loom,
    "locks",
    "who looks for locks behind waits for those that are about to be linked",
    &["excluded", "deadlock"],
    1000,
);

pub(crate) static WAITED_THERE: Fault = planted(
    "waited-there",
    Rig::Loom,
    "locks",
    "who waits for a lock to be linked begins at the head again",
    &["event limit"],
    1000,
);

pub(crate) static STRONG_PASSED_OVER: Fault = planted(
    "strong-passed-over",
    Rig::SimSc,
    "locks",
    "intentions go behind strong requests",
    BOTH,
    200,
);

pub(crate) static COUNT_UNAWAITED: Fault = planted(
    "count-unawaited",
    Rig::SimSc,
    "locks",
    "strong requests wait for the intentions that they exclude",
    BOTH,
    200,
);

pub(crate) static GUARD_UNSHOWN: Fault = planted(
    "region-unshown",
    Rig::SimSc,
    "locks",
    "a reader of chains holds an epoch guard",
    &["use of freed memory"],
    1000,
);

pub(crate) static GUARD_UNFENCED: Fault = planted(
    "region-unfenced",
    Rig::Loom,
    "locks",
    "an epoch guard is seen before its chain is read",
    &["use of freed memory"],
    4000,
);

pub(crate) static GUARD_ELSEWHERE: Fault = planted(
    "region-elsewhere",
    Rig::SimSc,
    "locks",
    "an epoch guard shows the chain that it protects",
    &["use of freed memory"],
    1000,
);

pub(crate) static CHAINS_UNTOLD: Fault = planted(
    "chains-untold",
    Rig::SimSc,
    "locks",
    "a segment tells in which chains its locks were",
    &["use of freed memory"],
    4000,
);

pub(crate) static PICKED_UP_UNCOUNTED: Fault = planted(
    "picked-up-uncounted",
    Rig::Loom,
    "locks",
    "a stack of segments counts how often its top was picked up",
    &["use of freed memory"],
    1000,
);

pub(crate) static VICTIM_TAKEN_BACK: Fault = planted(
    "doom-taken-back",
    Rig::Loom,
    "locks",
    "a late order to abort takes back none that another has given",
    STUCK,
    1000,
);

pub(crate) static VICTIM_UNHEARD: Fault = Fault {
    name: "doom-unheard",
    step: "a transaction that is told to give up, to end a deadlock, does so",
    rig: Rig::Soak,
    schemes: &["lock-table", "lock-table-global"],
    workload: "scan",
    expected: &["starved", "deadlock"],
    seeds: 4,
};

/// All of them.
pub static FAULTS: &[&Fault] = &[
    &INSERTED_APART,
    &WAIT_UNFENCED,
    &CLAIM_UNFENCED,
    &SLEEP_UNFENCED,
    &WOKEN_UNFENCED,
    &RELEASE_UNFENCED,
    &WAKE_UNORDERED,
    &UNLINKED_PASSED_OVER,
    &GAP_PASSED_OVER,
    &WAITED_THERE,
    &STRONG_PASSED_OVER,
    &COUNT_UNAWAITED,
    &GUARD_UNSHOWN,
    &GUARD_UNFENCED,
    &GUARD_ELSEWHERE,
    &CHAINS_UNTOLD,
    &PICKED_UP_UNCOUNTED,
    &VICTIM_TAKEN_BACK,
    &VICTIM_UNHEARD,
];
