//! What the disk alone takes, measured just before and just after a run that waits for it: disks
//! have moods, and a store should not be blamed for them.

use crate::store::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Appended and synced, each time.
const BYTES: usize = 4096;
const TIMES: usize = 31;

/// The median time of appending a block to a file in `directory` and syncing it, in microseconds.
pub fn sync_us(directory: &Path) -> Result<f64> {
    let failed = |error| Error::Failed(format!("{}: {error}", directory.display()));
    let path = directory.join("disk");
    let mut file = File::create(&path).map_err(failed)?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        let began = Instant::now();
        file.write_all(&[1; BYTES]).and_then(|()| file.sync_data()).map_err(failed)?;
        times.push(began.elapsed());
    }
    std::fs::remove_file(&path).map_err(failed)?;
    times.sort_unstable();
    Ok(times[TIMES / 2].as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::sync_us;
    use crate::directory::Directory;

    #[test]
    fn the_probe_takes_time_and_leaves_nothing_behind() {
        let name = format!("disk-{}", std::process::id());
        let directory = Directory::new(&std::env::temp_dir(), &name).unwrap();
        assert!(sync_us(directory.path()).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(sync_us(&directory.path().join("none")).is_err());
    }
}
