//! Planted bugs of the lock manager: the seven synchronisation points of the paper (Figure 3) and what else
//! the chain depends on. See the table at the crate's head.

use chiliad_machine::{Fault, Rig};

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $rig:ident $workload:literal, $step:literal, $expected:expr, $seeds:literal;)+) => {
        $(
            $(#[$doc])*
            pub(crate) static $name: Fault = Fault {
                name: $text,
                step: $step,
                rig: Rig::$rig,
                schemes: &["lock-table"],
                workload: $workload,
                expected: $expected,
                seeds: $seeds,
            };
        )+

        /// All of them.
        pub static FAULTS: &[&Fault] = &[$(&$name,)+];
    };
}

/// Two transactions have what excludes each other.
const BOTH: &[&str] = &["excluded"];
/// Nobody goes on.
const STUCK: &[&str] = &["deadlock"];

faults! {
    /// S1.
    INSERTED_APART = "inserted-apart", SimSc "locks",
        "a lock comes in by one exchange of the tail", &["excluded", "deadlock"], 200;
    /// S2.
    WAIT_UNFENCED = "wait-unfenced", SimTso "locks",
        "a lock waits before its owner looks for deadlocks", STUCK, 1000;
    /// S3.
    CLAIM_UNFENCED = "claim-unfenced", SimTso "conversions",
        "a lock that did not have to wait claims before its owner looks again", BOTH, 1000;
    /// S4.
    SLEEP_UNFENCED = "sleep-unfenced", SimTso "locks",
        "a transaction shows that it sleeps before it looks for the last time", STUCK, 1000;
    /// S5.
    WOKEN_UNFENCED = "woken-unfenced", SimTso "conversions",
        "a lock that has waited claims before its owner looks again", BOTH, 1000;
    /// S6.
    RELEASE_UNFENCED = "release-unfenced", SimTso "locks",
        "a lock is obsolete before its owner looks for those who wait", STUCK, 1000;
    /// S7.
    WAKE_UNORDERED = "wake-unordered", SimSc "locks",
        "a transaction is told not to sleep before it is woken", STUCK, 1000;
    UNLINKED_PASSED_OVER = "unlinked-passed-over", SimSc "locks",
        "who looks for locks ahead waits for those that are about to be linked", BOTH, 200;
    GAP_PASSED_OVER = "gap-passed-over", Loom "locks",
        "who looks for locks behind waits for those that are about to be linked", &["excluded", "deadlock"], 1000;
    GONE_UNMARKED = "gone-unmarked", Loom "locks",
        "a last lock that is unlinked says so", &["event limit"], 1000;
    STRONG_PASSED_OVER = "strong-passed-over", SimSc "locks",
        "intentions go behind strong requests", BOTH, 200;
    COUNT_UNAWAITED = "count-unawaited", SimSc "locks",
        "strong requests wait for the intentions that they exclude", BOTH, 200;
    REGION_UNSHOWN = "region-unshown", SimSc "locks",
        "whoever reads chains is in a critical region", &["use of freed memory"], 1000;
}
