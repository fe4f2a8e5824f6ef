//! `chiliad schemes`: what there is to choose from.

use crate::args::SchemesFlags;
use chiliad_host::{Sink, Stop};
use chiliad_lab::schemes;

/// Prints the table of schemes.
pub fn run(flags: &SchemesFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), false)?;
    let (text, json) = schemes::list();
    sink.say(&text)?;
    sink.json(&json)?;
    sink.finish()
}
