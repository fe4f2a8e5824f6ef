//! A case from its workload to its verdicts, whatever panics.

use super::verdicts::Verdicts;
use chiliad_workload::{AnyWorkload, WorkloadOptions};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Tells the story of a case of `workload`. A workload that cannot be made, and what panics, are verdicts of the report.
pub fn told<R>(
    workload: &WorkloadOptions,
    report: &mut R,
    verdicts: fn(&mut R) -> &mut Verdicts,
    story: impl FnOnce(Arc<dyn AnyWorkload>, &mut R),
) {
    let tell = |report: &mut R| match workload.make() {
        Ok(workload) => story(workload, report),
        Err(error) => {
            verdicts(report).add("not begun", || format!("making up the workload: {error}"));
        }
    };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| tell(report))) {
        verdicts(report).add("panicked", || message(&*payload));
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}
