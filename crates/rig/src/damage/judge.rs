//! A copy damaged and looked at.

use super::base::{self, ACCOUNTS, ACCOUNTS_NAME, Base, Files, INITIAL, JOURNAL_NAME, Tables};
use super::kinds::{Done, Kind};
use super::trouble::{Trouble, trouble};
use chiliad::{Database, Error, LogError, Scheme};
use chiliad_workload::random::Random;
use std::path::{Path, PathBuf};

/// The verdict on a damaged directory.
pub enum Verdict {
    /// There was nothing to damage.
    None,
    /// It was refused, and nothing in it changed.
    Refused,
    /// Everything acknowledged is there.
    Whole,
    /// Everything is there but the last transfers before the kill, of which nothing was a witness yet, or
    /// those after the time that a segment was put back to.
    Unwitnessed,
    /// Something acknowledged is gone, and nobody said so.
    Lost(String),
    /// Something else that must not be.
    Wrong(String),
}

/// A verdict, and what was done to the directory.
pub struct Judged {
    /// The outcome.
    pub verdict: Verdict,
    /// The damage, in words.
    pub what: String,
}

/// A base and the damage that is to be done to a copy of it.
pub struct Case<'a> {
    /// The directory that is copied.
    pub base: &'a Base,
    /// The damage.
    pub kind: Kind,
    /// The scheme under which the copy is opened.
    pub scheme: Scheme,
    /// Where copies are made.
    pub place: &'a Path,
    /// Take a refusal for an acceptance of what is left: to see that the rig notices.
    pub skip_checks: bool,
}

impl Case<'_> {
    /// Damages a copy and looks at it; `random` draws the place and the extent of the damage.
    ///
    /// # Errors
    /// [`Trouble`]: what the host refuses.
    pub fn judge(&self, random: &mut Random) -> Result<Judged, Trouble> {
        let mut files = self.base.files.clone();
        let Some(done) = self.kind.apply(&mut files, self.base, random) else {
            return Ok(Judged { verdict: Verdict::None, what: "nothing to damage".into() });
        };
        let path = self.place.join("copy");
        base::write_all(&path, &files)?;
        self.kind.finish(&path).map_err(trouble)?;
        let verdict = self.look(&path, &done, random)?;
        Ok(Judged { verdict, what: done.what })
    }

    /// Looks, and opens: both must say the same.
    fn look(&self, path: &Path, done: &Done, random: &mut Random) -> Result<Verdict, Trouble> {
        let before = everything(path)?;
        let looked = chiliad::directory::inspect(path, &|_, _, _| {}).err();
        if everything(path)? != before {
            return Ok(Verdict::Wrong("looking at the directory has changed it".into()));
        }
        // To open for writing costs syncs: not each time, where nothing is wrong.
        let writes = looked.is_some() || random.below(4) == 0;
        let options = base::small(self.scheme).read_only(!writes);
        match (Database::open_with(path, options), looked) {
            (Err(error), Some(looked)) => {
                if let Some(wrong) = refusal(&error, &looked) {
                    return Ok(Verdict::Wrong(wrong));
                }
                if self.kind.is_harmless() {
                    return Ok(Verdict::Wrong(format!("a sound directory is refused: {error}")));
                }
                if everything(path)? != before {
                    return Ok(Verdict::Wrong(format!("refused ({error}), and changed")));
                }
                if self.skip_checks {
                    return self.salvaged(path, done);
                }
                Ok(Verdict::Refused)
            }
            (Ok(db), None) => {
                let verdict = self.compare(&db, done).map_err(trouble)?;
                drop(db);
                Ok(verdict)
            }
            (Ok(_), Some(looked)) => {
                Ok(Verdict::Wrong(format!("opened, and looking says: {looked}")))
            }
            (Err(error), None) => {
                Ok(Verdict::Wrong(format!("looking says sound, and opening: {error}")))
            }
        }
    }

    /// Compares what is saved of a directory that was refused.
    fn salvaged(&self, path: &Path, done: &Done) -> Result<Verdict, Trouble> {
        let to = self.place.join("saved");
        if to.exists() {
            std::fs::remove_dir_all(&to).map_err(trouble)?;
        }
        if chiliad::directory::salvage(path, &to, &|_, _, _| {}).is_err() {
            return Ok(Verdict::Refused);
        }
        let options = base::small(self.scheme).read_only(true);
        let db = Database::open_with(&to, options).map_err(trouble)?;
        Ok(self.compare(&db, done).unwrap_or(Verdict::Lost("a table is gone".into())))
    }

    /// Compares the rows with the ledger.
    fn compare(&self, db: &Database, done: &Done) -> chiliad::Result<Verdict> {
        let tables = || -> chiliad::Result<Tables> {
            Ok((db.table(ACCOUNTS_NAME)?, db.table(JOURNAL_NAME)?))
        };
        let Ok((accounts, journal)) = tables() else {
            return Ok(Verdict::Lost("the tables are gone".into()));
        };
        let rows = db.run(|tx| tx.scan(&journal, ..).rows())?;
        let balances = db.run(|tx| tx.scan(&accounts, ..).rows())?;
        let ledger = &self.base.ledger;
        let mut expected = vec![INITIAL; ACCOUNTS as usize];
        for (key, row) in &rows {
            match ledger.acknowledged.get(key) {
                Some(transfer) if transfer.packed() == *row => {
                    expected[transfer.from as usize] -= transfer.amount;
                    expected[transfer.to as usize] += transfer.amount;
                }
                _ => return Ok(Verdict::Wrong(format!("transfer {key:x} was never made"))),
            }
        }
        let there: std::collections::BTreeSet<u64> = rows.iter().map(|(key, _)| *key).collect();
        let gone: Vec<u64> =
            ledger.acknowledged.keys().copied().filter(|key| !there.contains(key)).collect();
        // What a segment that was put back does not know of is not missed, as in a copy of that time; but a
        // state that has one transfer has all those that had ended before it began.
        let moment =
            done.segment_of.filter(|_| !self.base.closed).map(|time| &self.base.before[time]);
        let is_missed = |key: &&u64| match moment {
            Some(moment) => {
                let of_its_client = there.range(**key..=**key | 0xffff).next();
                let of_later_streams = there.range(((**key >> 32) + 1) << 32..).next();
                moment.acknowledged.contains(key) || of_its_client.or(of_later_streams).is_some()
            }
            None => !ledger.last.contains(key),
        };
        let witnessed = gone.iter().filter(is_missed).count();
        if witnessed > 0 {
            let how = if self.base.closed { "closed" } else { "killed" };
            let all = ledger.acknowledged.len();
            return Ok(Verdict::Lost(format!(
                "{witnessed} of {all} acknowledged transfers are gone; the database had been {how}"
            )));
        }
        for (account, balance) in balances {
            if expected.get(account as usize) != Some(&balance) {
                return Ok(Verdict::Wrong(format!(
                    "the balance of account {account} is {balance}"
                )));
            }
        }
        Ok(if gone.is_empty() { Verdict::Whole } else { Verdict::Unwitnessed })
    }
}

/// Checks a refusal; returns what is wrong with it.
fn refusal(error: &Error, looked: &Error) -> Option<String> {
    match error {
        Error::Data(LogError::Damaged { file, .. }) if file.is_empty() => {
            Some(format!("the refusal names no file: {error}"))
        }
        Error::Data(_) if error == looked => None,
        Error::Data(_) => Some(format!("looking says `{looked}`, and opening `{error}`")),
        _ => Some(format!("refused by {error}")),
    }
}

/// All entries of a directory and what they hold.
fn everything(path: &Path) -> Result<Files, Trouble> {
    let mut all = Files::new();
    for entry in std::fs::read_dir(path).map_err(trouble)? {
        let entry: PathBuf = entry.map_err(trouble)?.path();
        let name = entry.display().to_string();
        let kind = std::fs::symlink_metadata(&entry).map_err(trouble)?.file_type();
        let content = match kind.is_file() {
            true => std::fs::read(&entry).map_err(trouble)?,
            false => format!("{kind:?}").into_bytes(),
        };
        all.insert(name, content);
    }
    Ok(all)
}
