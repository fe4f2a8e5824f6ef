//! The checkpoints on a disk: at most two stay, and none goes before a newer one is durable under its name.
//!
//! ```text
//! checkpoint-LLLLLLLLLLLLLLLLLLLL          that of label L
//! checkpoint-LLLLLLLLLLLLLLLLLLLL.S.new    one that server S is writing
//! ```
//!
//! Several servers may keep theirs in one place: checkpoints of a label are the same, whoever writes them. The one
//! before the newest stays, for the newest may turn out to be damaged.

use chiliad_log::LogError;
use chiliad_machine::disk::Disk;
use std::io::ErrorKind;
use std::sync::Arc;

/// How the names of all files begin that are checkpoints, or will be.
pub const PREFIX: &str = "checkpoint-";
const NEW: &str = "new";

/// Checkpoints that stay.
const KEPT: usize = 2;

/// The place of a server's checkpoints.
#[derive(Clone)]
pub struct Checkpoints {
    disk: Arc<dyn Disk>,
}

impl Checkpoints {
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk }
    }

    /// Where they are.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// The labels of those that are whole, the newest first.
    ///
    /// # Errors
    /// The system's.
    pub fn labels(&self) -> Result<Vec<u64>, LogError> {
        let names = self.names()?;
        let mut labels: Vec<_> = names.iter().filter_map(|name| label_of(name)).collect();
        labels.sort_unstable_by(|one, other| other.cmp(one));
        Ok(labels)
    }

    fn names(&self) -> Result<Vec<String>, LogError> {
        let doing = format!("listing {}", self.disk.place());
        self.disk.names().map_err(LogError::io(doing))
    }

    /// Gives a file that is complete and synced its name, durably, and removes what is not needed any more. Returns the
    /// labels that stay, the newest first, and how many files have gone; no labels, if the file itself has: other servers
    /// have made newer ones meanwhile.
    ///
    /// # Errors
    /// The system's: the checkpoint counts or does not.
    pub fn publish(&self, label: u64, server: u64) -> Result<(Vec<u64>, usize), LogError> {
        let (new, name) = (new_name(label, server), name(label));
        match self.disk.rename(&new, &name) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            renamed => renamed.map_err(LogError::io(format!("renaming {new}")))?,
        }
        self.disk.sync_names().map_err(LogError::io("syncing the name of a checkpoint"))?;
        let mut labels = self.labels()?;
        labels.truncate(KEPT);
        let oldest = labels.last().copied().unwrap_or(label);
        let mut released = 0;
        for name in self.names()? {
            let is_old = label_of(&name).is_some_and(|label| label < oldest);
            if is_old || label_of_new(&name).is_some_and(|label| label < oldest) {
                released += usize::from(self.remove(&name)?);
            }
        }
        Ok((labels, released))
    }

    /// Removes what a checkpoint that failed has left.
    pub fn discard(&self, label: u64, server: u64) {
        // It is of no use, and goes with the next one otherwise.
        let _ = self.remove(&new_name(label, server));
    }

    /// Removes a file; `false`: another server has done so.
    fn remove(&self, name: &str) -> Result<bool, LogError> {
        match self.disk.remove(name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(LogError::io(format!("removing {name}"))(error)),
        }
    }
}

/// The name of the checkpoint of a label.
pub fn name(label: u64) -> String {
    format!("{PREFIX}{label:020}")
}

/// The name of one that a server is writing.
pub fn new_name(label: u64, server: u64) -> String {
    format!("{PREFIX}{label:020}.{server}.{NEW}")
}

fn label_of(file: &str) -> Option<u64> {
    let label = file.strip_prefix(PREFIX)?.parse().ok()?;
    (name(label) == file).then_some(label)
}

fn label_of_new(file: &str) -> Option<u64> {
    let mut parts = file.strip_prefix(PREFIX)?.split('.');
    let (label, server) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    (new_name(label, server) == file).then_some(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for label in [0, 77, u64::MAX] {
            assert_eq!(label_of(&name(label)), Some(label));
            assert_eq!(label_of_new(&new_name(label, 3)), Some(label));
            assert_eq!(label_of(&new_name(label, 3)), None);
            assert_eq!(label_of_new(&name(label)), None);
        }
        for other in ["checkpoint-7", "checkpoint-00000001-0000", "shared-log", "checkpoint-"] {
            assert_eq!((label_of(other), label_of_new(other)), (None, None), "{other}");
        }
    }
}
