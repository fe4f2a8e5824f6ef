//! The part of `crash` that databases in directories and servers of a shared log have in common: the words of a process
//! that is killed, and the report.

use chiliad_host::output::complain;
use chiliad_host::{Sink, Stop};
use chiliad_lab::BUILD;
use serde_json::{Value, json};
use std::ffi::OsString;

/// The words of a process that does what this word says.
pub fn words(order: String) -> Vec<OsString> {
    vec!["crash-child".into(), order.into()]
}

/// The results of the cycles.
pub struct Told {
    pub text: String,
    pub json: Value,
    /// Something was found amiss, or the cycles could not be run to their end.
    pub failed: bool,
    pub failure: Option<Stop>,
    /// Where what was found amiss can be looked at.
    pub kept: String,
}

/// Reports it.
pub fn tell(mut sink: Sink, told: Told) -> Result<(), Stop> {
    match told.failed {
        true => complain(&told.text),
        false => sink.say(&told.text)?,
    }
    let mut json = told.json;
    json["build"] = json!(BUILD);
    sink.json(&json)?;
    sink.finish()?;
    match told.failure {
        None => Ok(()),
        Some(Stop::Failed(text)) => Err(Stop::Failed(format!("{text}\n{}", told.kept))),
        Some(other) => Err(other),
    }
}
