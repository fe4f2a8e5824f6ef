//! Looks at the process's memory and at the log now and then, while all goes on.

use super::curve::Curve;
use super::metered::Appended;
use chiliad::shared_log::SharedLog;
use chiliad_driver::resident_bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often the log's growth is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Over so many looks the log's growth is measured, and after as many a sample is taken.
const LOOKS: usize = 10;

/// The samples of a soak.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Resident memory of the process, in bytes, once a second.
    pub memory: Curve,
    /// The size of the log where it is stored, in bytes, once a second; in records where it does not tell.
    pub log: Curve,
    /// The fastest that the log grew over a second, in bytes a second.
    pub fullest: f64,
}

/// Samples until `over`.
pub fn sample(log: &Arc<dyn SharedLog>, appended: &Appended, over: &AtomicBool) -> Samples {
    let mut samples = Samples::default();
    let mut window = VecDeque::new();
    // Relaxed: nothing is handed over by it.
    for look in 1_usize.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (now, bytes) = (Instant::now(), appended.bytes());
        window.push_back((now, bytes));
        if window.len() > LOOKS
            && let Some((then, had)) = window.pop_front()
        {
            let rate = (bytes - had) as f64 / (now - then).as_secs_f64().max(1e-3);
            samples.fullest = samples.fullest.max(rate);
        }
        if look.is_multiple_of(LOOKS) {
            samples.memory.add(resident_bytes());
            samples.log.add(size(&**log));
        }
        thread::sleep(LOOK);
    }
    samples
}

fn size(log: &dyn SharedLog) -> u64 {
    let records = || log.bounds().map_or(0, |bounds| bounds.end - bounds.start);
    log.stored_bytes().unwrap_or_else(records)
}
