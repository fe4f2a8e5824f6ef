//! Writes and checks the recorded history.

use super::files::Files;
use crate::result::Verified;
use crate::spec::RunSpec;
use chiliad_checker::Recorder;
use chiliad_driver::{Judgement, Target, judge, write_history};
use chiliad_host::Stop;

/// The facts that a history of a run on `target` is judged by.
pub fn judgement(target: &dyn Target, complete: bool) -> Result<Judgement, Stop> {
    Judgement::new(target, complete).map_err(Stop::Failed)
}

/// Writes and checks what was recorded, as far as it was asked for.
pub fn verify(
    spec: &RunSpec,
    judgement: &Judgement,
    recorders: Vec<Recorder>,
    files: &mut Files,
) -> Result<Option<Verified>, Stop> {
    if let Some(file) = files.history.take() {
        file.finish(|file| write_history(judgement, &recorders, file))?;
    }
    if !spec.verify {
        return Ok(None);
    }
    let verdict = judge(judgement, recorders)
        .map_err(|error| Stop::Failed(format!("the recorded history: {error}")))?;
    Ok(Some(Verified::new(&verdict)))
}
