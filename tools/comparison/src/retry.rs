//! How a refused transaction is run again, for stores that leave that to their application.
//!
//! The policy is the one that Chiliad's own loop has by default: a random time, below a window that
//! begins at 2 us and doubles with each refusal up to 1 ms.

use crate::random::Random;
use crate::store::{Error, Ran, Result};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

const FIRST: Duration = Duration::from_micros(2);
const MOST: Duration = Duration::from_millis(1);
/// Below this the scheduler's own delay would exceed the wait.
const SLEEP_FROM: Duration = Duration::from_micros(100);

/// Runs `attempt` until it is not refused.
pub fn until_accepted(mut attempt: impl FnMut() -> Result<()>) -> Result<Ran> {
    let mut refused = 0;
    loop {
        match attempt() {
            Err(Error::Conflict) => {
                refused += 1;
                wait(refused);
            }
            Ok(()) | Err(Error::RolledBack) => return Ok(Ran::at_once(refused)),
            Err(error) => return Err(error),
        }
    }
}

fn window(refused: u64) -> Duration {
    FIRST.saturating_mul(1 << (refused - 1).min(16)).min(MOST)
}

fn wait(refused: u64) {
    let clock = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let mut random = Random::new(clock.as_nanos() as u64, refused);
    let wait = Duration::from_nanos(random.below(window(refused).as_nanos() as u64));
    if wait >= SLEEP_FROM {
        return thread::sleep(wait);
    }
    let began = Instant::now();
    while began.elapsed() < wait {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::{until_accepted, window};
    use crate::store::{Error, Ran};

    #[test]
    fn the_window_doubles_up_to_its_cap() {
        assert_eq!([1, 2, 3, 10, 99].map(|it| window(it).as_micros()), [2, 4, 8, 1000, 1000]);
    }

    #[test]
    fn refusals_are_counted_and_failures_end_it() {
        let mut left = 3;
        let refused_thrice = until_accepted(|| {
            left -= 1;
            if left < 0 { Ok(()) } else { Err(Error::Conflict) }
        });
        assert_eq!(refused_thrice.unwrap(), Ran::at_once(3));
        assert!(until_accepted(|| Err(Error::Failed("full".into()))).is_err());
    }
}
