//! Requests that waited for the client that owns their partition: TPC-C's deliveries.

use chiliad_driver::Deferrals;
use serde::Serialize;

/// The share of deliveries that are to be done within 80 seconds (TPC-C, clause 2.7.2.2).
const SHARE_MIN: f64 = 0.9;

/// The deferred requests of a run, from the first to the last: warm-up and end included.
#[derive(Serialize)]
pub struct DeferredResult {
    /// Requests queued.
    pub queued: u64,
    /// Requests done.
    pub completed: u64,
    /// Those that their client ran itself, since the queue was full or closed.
    pub run_at_once: u64,
    /// The share of those done that were done within 80 seconds; null without time, or where there was none.
    pub within_80s: Option<f64>,
    /// Whether these are at least 90 percent, as TPC-C has it.
    pub rule_holds: Option<bool>,
    /// From being queued to being done, in microseconds; null in the same way.
    pub delay_us: Option<Delay>,
    /// Orders delivered.
    pub orders: u64,
    /// Districts that had none.
    pub districts_skipped: u64,
    /// Records of results that did not fit; absent where all did.
    #[serde(skip_serializing_if = "is_none")]
    pub unrecorded: u64,
    /// Requests without a result, or with two, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Delays in microseconds.
#[derive(Serialize)]
pub struct Delay {
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's way to ask")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl DeferredResult {
    /// From what the driver counted; `timed`: there is time.
    pub fn new(deferrals: &Deferrals, timed: bool) -> Self {
        let ns = &deferrals.delay_ns;
        let at = |quantile| ns.value_at_quantile(quantile) as f64 / 1_000.0;
        let delay = || Delay {
            mean: ns.mean() / 1_000.0,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: ns.max() as f64 / 1_000.0,
        };
        let within_80s = deferrals.share_soon().filter(|_| timed);
        Self {
            queued: deferrals.queued(),
            completed: deferrals.completed(),
            run_at_once: deferrals.run_at_once,
            within_80s,
            rule_holds: within_80s.map(|share| share >= SHARE_MIN),
            delay_us: (timed && !ns.is_empty()).then(delay),
            orders: deferrals.done,
            districts_skipped: deferrals.skipped,
            unrecorded: deferrals.unrecorded,
            problem: deferrals.problem(),
        }
    }
}
