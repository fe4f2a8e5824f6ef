//! A second index beside the database: words to the notes that have them, kept by following the changes of a table.
//!
//! ```text
//! cargo run --release -p chiliad --example second_index
//! ```

use chiliad::changes::{Changes, Position};
use chiliad::{Database, Result, Table};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Words, each with the keys of the notes that have it.
pub struct WordIndex {
    notes: Table<u64, String>,
    changes: Changes,
    words: BTreeMap<String, BTreeSet<u64>>,
    /// The words of each note as it was met last: a change tells what a note is now, and not what it was.
    of_note: HashMap<u64, Vec<String>>,
}

impl WordIndex {
    /// An index of the notes that there are, and of those to come.
    ///
    /// # Errors
    /// As for [`Database::changes`].
    pub fn new(db: &Database, notes: Table<u64, String>) -> Result<Self> {
        // The position first and the table after it: what lies between is met twice and ends in the same words.
        let position = db.newest_position()?;
        Self::from(db, notes, position)
    }

    fn from(db: &Database, notes: Table<u64, String>, position: Position) -> Result<Self> {
        let changes = db.changes(position)?;
        let (words, of_note) = (BTreeMap::new(), HashMap::new());
        let mut index = Self { notes, changes, words, of_note };
        for (key, note) in db.run(|tx| tx.scan(&notes, ..).rows())? {
            index.put(key, Some(&note));
        }
        Ok(index)
    }

    /// Takes up what is durable by now.
    ///
    /// # Errors
    /// As for [`Changes::try_next`].
    pub fn catch_up(&mut self) -> Result<()> {
        while let Some(change) = self.changes.try_next()? {
            if let Some((key, note)) = change.of(&self.notes)? {
                self.put(key, note.as_deref());
            }
        }
        Ok(())
    }

    fn put(&mut self, key: u64, note: Option<&str>) {
        for word in self.of_note.remove(&key).unwrap_or_default() {
            if let Some(keys) = self.words.get_mut(&word) {
                keys.remove(&key);
            }
        }
        let Some(note) = note else { return };
        let words: Vec<String> = note.split_whitespace().map(str::to_lowercase).collect();
        for word in &words {
            self.words.entry(word.clone()).or_default().insert(key);
        }
        self.of_note.insert(key, words);
    }

    /// The keys of the notes that have a word.
    pub fn find(&self, word: &str) -> Vec<u64> {
        self.words.get(word).into_iter().flatten().copied().collect()
    }
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("chiliad-second-index-{}", std::process::id()));
    let db = Database::open(&path)?;
    let notes: Table<u64, String> = db.open_or_create_table("notes")?;
    db.run(|tx| tx.put(&notes, &1, &"Buy milk and bread".into()))?;
    let mut index = WordIndex::new(&db, notes)?;
    println!("milk: {:?}", index.find("milk"));

    db.run(|tx| tx.put(&notes, &2, &"More milk".into()))?;
    db.run(|tx| tx.put(&notes, &1, &"Buy bread".into()))?;
    index.catch_up()?;
    println!("milk: {:?}, bread: {:?}", index.find("milk"), index.find("bread"));
    drop(index);
    db.close()?;
    let _ = std::fs::remove_dir_all(&path);
    Ok(())
}
