//! Cancelling statements from other connections, by a number and a key that only the session's client was told.

use crate::auth::random;
use chiliad::Cancel;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sessions of a server, by the numbers that their clients know.
#[derive(Default)]
pub(crate) struct Sessions {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: u32,
    sessions: HashMap<u32, Entry>,
}

struct Entry {
    key: u32,
    running: Arc<Running>,
    uses_tables: Arc<AtomicBool>,
}

/// The statement that a session is running, for others to cancel.
#[derive(Default)]
pub(crate) struct Running(Mutex<Statement>);

#[derive(Default)]
struct Statement {
    runs: bool,
    /// Of this statement or, where none runs, of the last one.
    cancel: Option<Cancel>,
}

impl Running {
    /// A statement begins: it ends when the handle is told, which is another one than the last only where `is_new`.
    pub fn begin(&self, cancel: &Cancel, is_new: bool) {
        let mut statement = lock(&self.0);
        statement.runs = true;
        if is_new || statement.cancel.is_none() {
            statement.cancel = Some(cancel.clone());
        }
    }

    /// It has ended.
    pub fn end(&self) {
        lock(&self.0).runs = false;
    }

    fn cancel(&self) {
        let statement = lock(&self.0);
        if let Some(cancel) = statement.cancel.as_ref().filter(|_| statement.runs) {
            cancel.cancel();
        }
    }
}

/// A session's place among the others, until it is dropped.
pub(crate) struct Place {
    sessions: Arc<Sessions>,
    pub id: u32,
    pub key: u32,
    pub running: Arc<Running>,
    /// A statement of it is running, or its commit.
    pub uses_tables: Arc<AtomicBool>,
}

impl Sessions {
    /// Takes a place for one more session; `None` when there are `most`.
    pub fn enter(self: &Arc<Self>, most: usize) -> Option<Place> {
        let mut inner = lock(&self.inner);
        if inner.sessions.len() >= most {
            return None;
        }
        let id = loop {
            inner.last = inner.last.wrapping_add(1) & 0x7fff_ffff;
            if inner.last != 0 && !inner.sessions.contains_key(&inner.last) {
                break inner.last;
            }
        };
        let key = u32::from_be_bytes(random());
        let running = Arc::<Running>::default();
        let uses_tables = Arc::<AtomicBool>::default();
        let (of_running, of_uses) = (Arc::clone(&running), Arc::clone(&uses_tables));
        inner.sessions.insert(id, Entry { key, running: of_running, uses_tables: of_uses });
        drop(inner);
        Some(Place { sessions: Arc::clone(self), id, key, running, uses_tables })
    }

    /// Whether a statement is running, or a commit.
    pub fn use_tables(&self) -> bool {
        // SeqCst: pairs with `Dialog::enter_tables`, as the other half of a handshake.
        lock(&self.inner).sessions.values().any(|it| it.uses_tables.load(Ordering::SeqCst))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.inner).sessions.len()
    }

    /// Cancels what a session runs. A wrong number or key does nothing, and nobody is told.
    pub fn cancel(&self, id: u32, key: &[u8]) {
        let inner = lock(&self.inner);
        let Some(entry) = inner.sessions.get(&id) else { return };
        if key != entry.key.to_be_bytes() {
            return;
        }
        entry.running.cancel();
    }

    /// Cancels what any session runs: the server goes down, and their time is over.
    pub fn cancel_all(&self) {
        lock(&self.inner).sessions.values().for_each(|entry| entry.running.cancel());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.sessions.inner).sessions.remove(&self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_cancels() {
        let sessions = Arc::<Sessions>::default();
        let place = sessions.enter(1).unwrap();
        assert!(sessions.enter(1).is_none());
        let cancel = Cancel::new();
        place.running.begin(&cancel, true);
        sessions.cancel(place.id, &(!place.key).to_be_bytes());
        sessions.cancel(place.id + 1, &place.key.to_be_bytes());
        sessions.cancel(place.id, &[]);
        assert!(!cancel.is_canceled());
        sessions.cancel(place.id, &place.key.to_be_bytes());
        assert!(cancel.is_canceled());
        drop(place);
        assert_eq!(sessions.count(), 0);
    }
}
