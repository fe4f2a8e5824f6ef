//! `chiliad backup` and `chiliad restore`: a sound directory to an empty one, checked on the way.

use crate::args::CopyFlags;
use chiliad_host::Sink;
use chiliad_host::Stop;
use chiliad_host::text::thousands;
use chiliad_rig::directory::{refusal, whole_or_not_at_all};
use serde_json::json;

/// Copies a directory.
pub fn run(flags: &CopyFlags) -> Result<(), Stop> {
    let mut sink = Sink::new(flags.json.as_deref(), flags.quiet)?;
    let (from, to) = (&flags.from, &flags.to);
    let copied = whole_or_not_at_all(to, || chiliad::directory::copy(from, to));
    let copied = copied.map_err(|error| refusal(from, &error))?;
    sink.say(&format!(
        "{} holds what {} holds: {} files, {} bytes\n",
        to.display(),
        from.display(),
        copied.files,
        thousands(copied.bytes),
    ))?;
    sink.json(&json!({
        "from": from.display().to_string(),
        "to": to.display().to_string(),
        "files": copied.files,
        "bytes": copied.bytes,
    }))?;
    sink.finish()
}
