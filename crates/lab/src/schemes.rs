//! The schemes that there are, for people and as JSON.

use chiliad_driver::schemes;
use chiliad_engine::Info;
use serde_json::{Value, json};
use std::fmt::Write;

/// The schemes: their promises, and where they come from.
#[must_use]
pub fn list() -> (String, Value) {
    (table(schemes()), schemes().iter().map(as_json).collect())
}

fn table(schemes: &[Info]) -> String {
    let mut out = format!(
        "{:<28}{:<16}{:<8}{:<11}{:<12}summary\n",
        "scheme", "isolation", "strict", "snapshots", "partitions"
    );
    let yes = |is: bool| if is { "yes" } else { "no" };
    for info in schemes {
        let partitions = if info.needs_partitions { "needed" } else { "no" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{:<28}{:<16}{:<8}{:<11}{:<12}{}",
            info.name,
            info.isolation.name(),
            yes(info.strict),
            yes(info.snapshots),
            partitions,
            info.summary
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
