//! The schemes that there are, for people and as JSON.

use chiliad_driver::{SWARM, is_ordered, schemes};
use chiliad_engine::Info;
use serde_json::{Value, json};
use std::fmt::Write;

/// The schemes: their promises, and where they come from. The text also has the one that needs a machine of its own;
/// each of the list in JSON runs on all of them.
#[must_use]
pub fn list() -> (String, Value) {
    (table(schemes().iter().chain([&SWARM])), schemes().iter().map(as_json).collect())
}

/// The machine that a scheme needs, where any will not do.
fn machine(info: &Info) -> Option<&'static str> {
    is_ordered(info).then_some("swarm-64, swarm-256 or another one with task units")
}

fn table(schemes: impl Iterator<Item = &'static Info>) -> String {
    let mut out = format!(
        "{:<28}{:<16}{:<8}{:<11}{:<12}summary\n",
        "scheme", "isolation", "strict", "snapshots", "partitions"
    );
    let yes = |is: bool| if is { "yes" } else { "no" };
    for info in schemes {
        let partitions = if info.needs_partitions { "needed" } else { "no" };
        let machine = machine(info).map(|it| format!("; needs the machine {it}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:<28}{:<16}{:<8}{:<11}{:<12}{}{}",
            info.name,
            info.isolation.name(),
            yes(info.strict),
            yes(info.snapshots),
            partitions,
            info.summary,
            machine.unwrap_or_default()
        );
    }
    out
}

fn as_json(info: &Info) -> Value {
    json!({
        "name": info.name,
        "summary": info.summary,
        "isolation": info.isolation.name(),
        "strict": info.strict,
        "snapshots": info.snapshots,
        "needs_partitions": info.needs_partitions,
        "source": info.source,
    })
}
