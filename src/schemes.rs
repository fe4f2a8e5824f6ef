//! `chiliad schemes`: what there is to choose from.

use crate::args::SchemesFlags;
use chiliad_driver::schemes;
use chiliad_engine::Info;
use chiliad_host::Sink;
use chiliad_host::Stop;
use serde_json::{Value, json};
use std::fmt::Write;

/// Prints the table of schemes.
pub fn run(flags: &SchemesFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), false)?;
    sink.say(&table(schemes()))?;
    sink.json(&schemes().iter().map(as_json).collect())?;
    sink.finish()
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
