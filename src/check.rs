//! `chiliad check`: the verdict on a recorded history.

use crate::args::CheckFlags;
use chiliad_checker::{History, Isolation, Options, check};
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_lab::result::Verified;
use chiliad_lab::run::reading;
use serde_json::{Value, json};
use std::fs::File;

/// Checks a history.
pub fn run(flags: &CheckFlags) -> Result<(), Stop> {
    let isolation = Isolation::from_name(&flags.isolation).ok_or_else(|| {
        let names: Vec<&str> = Isolation::ALL.into_iter().map(Isolation::name).collect();
        let (given, names) = (&flags.isolation, names.join(", "));
        Stop::bad("--isolation", format!("`{given}` is unknown; accepted: {names}"))
    })?;
    let path = flags.file.display();
    let accepted = "accepted: a history, binary or text";
    let file = File::open(&flags.file)
        .map_err(|error| Stop::bad(&path, format!("{error}; {accepted}")))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = reading(bytes, flags.quiet);
    let history = History::read(bar.wrap_read(file));
    bar.finish_and_clear();
    let history = history.map_err(|error| Stop::bad(&path, format!("{error}; {accepted}")))?;
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let verdict =
        check(&history, &Options { isolation, strict: flags.strict, ..Options::default() });
    sink.say(&verdict.to_string())?;
    sink.json(&as_json(&Verified::new(&verdict), flags.strict))?;
    sink.finish()?;
    if verdict.passed() { Ok(()) } else { Err(Stop::FailedAndSaid) }
}

fn as_json(verified: &Verified, strict: bool) -> Value {
    let mut value = json!(verified);
    value["strict"] = strict.into();
    value
}
