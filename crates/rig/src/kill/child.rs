//! The processes that are killed, as one word of their command lines.

use super::client::Trouble;
use super::joined::Server;
use super::victim::Victim;
use crate::directory::refusal;
use chiliad_host::{Stop, threads};
use serde::{Deserialize, Serialize};

/// A process that is killed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Child {
    /// It has a database in a directory.
    Victim(Victim),
    /// It has servers that share a log.
    Server(Server),
}

impl Child {
    /// The word that tells the process what to do.
    ///
    /// # Errors
    /// A path in it is not UTF-8.
    pub(super) fn word(&self) -> Result<String, Stop> {
        serde_json::to_string(self).map_err(|error| Stop::Failed(error.to_string()))
    }
}

/// Does what `word` says, in a process that is killed: until it is, or is asked to end.
///
/// # Errors
/// Why it has ended by itself.
pub fn run_child(word: &str) -> Result<(), Stop> {
    let child = serde_json::from_str(word).map_err(|error| Stop::bad(word, error))?;
    match &child {
        Child::Victim(victim) => {
            victim.run().map_err(|trouble| stop(trouble, |error| refusal(&victim.data, error)))
        }
        Child::Server(server) => {
            server.run().map_err(|trouble| stop(trouble, |error| Stop::bad(&server.log, error)))
        }
    }
}

/// Why a process has ended by itself; `refusal` says it of its database.
fn stop(trouble: Trouble, refusal: impl FnOnce(&chiliad::Error) -> Stop) -> Stop {
    match trouble {
        Trouble::Database(error) => refusal(&error),
        Trouble::Pipe(error) => Stop::bad("standard output", error),
        Trouble::NoThread(error) => threads::refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kill::{Acknowledges, Work};

    #[test]
    fn a_process_is_told_what_was_meant() {
        let victim = Child::Victim(Victim {
            data: "a place/with \"quotes\"".into(),
            work: Work::Tpcc,
            threads: 3,
            scheme: "silo".into(),
            acknowledges: Acknowledges::Early,
            seed: u64::MAX,
            cycle: 7,
            checkpoints: true,
        });
        let word = victim.word().expect("a word");
        assert_eq!(serde_json::from_str::<Child>(&word).expect("the same"), victim);
        assert!(matches!(run_child("{}"), Err(Stop::BadInput(_))));
    }
}
