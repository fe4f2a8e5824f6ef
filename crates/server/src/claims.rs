//! Claims on rows: a block that reads a row in order to change it goes before those that come later and mean the same.
//!
//! A scheme without locks lets them all read the row, and refuses each but the first that commits. With claims they come
//! one after the other. They are advice: no result depends on them, a wait for one is short, and one that has waited in
//! vain goes on without.

use chiliad_machine::{Interleaved, Machine, WorkerId};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a claim is waited for: blocks that wait for each other go on after that.
const WAIT: Duration = Duration::from_millis(100);
const SHARDS: usize = 64;
/// Rows that are remembered as wanted.
const WANTED: usize = 1024;

/// The claims of all sessions.
pub(crate) struct Claims {
    hasher: RandomState,
    shards: [Shard; SHARDS],
    /// Rows that were waited for, each until another one has its place.
    wanted: Box<[AtomicU64]>,
}

/// By the hashes of rows: two rows of one hash share a claim, which costs a wait.
type Shard = Mutex<Queues>;
type Queues = HashMap<u64, Claim, BuildHasherDefault<Hashed>>;

/// Passes a key through as its own hash: `Claims` has hashed the row with a random seed, so no client can choose rows that
/// collide.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, bytes: &[u8]) {
        unreachable!("{} bytes that are no hash", bytes.len());
    }
}

struct Claim {
    /// The session that has it.
    owner: u32,
    /// Sessions that wait, with the fibers that are to be woken.
    queue: VecDeque<(u32, WorkerId)>,
}

/// The claims of one session.
pub(crate) struct Claimed {
    claims: Arc<Claims>,
    session: u32,
    rows: Vec<u64>,
    /// For these it has waited, and does not wait again.
    missed: Vec<u64>,
}

impl Default for Claims {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            shards: core::array::from_fn(|_| Shard::default()),
            wanted: (0..WANTED).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Claims {
    fn shard(&self, row: u64) -> MutexGuard<'_, Queues> {
        let shard = &self.shards[(row >> 32) as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the session the claim, or a place in the queue.
    fn ask(&self, session: u32, row: u64) -> Asked {
        use std::collections::hash_map::Entry;
        match self.shard(row).entry(row) {
            Entry::Vacant(free) => {
                free.insert(Claim { owner: session, queue: VecDeque::new() });
                Asked::Granted
            }
            Entry::Occupied(claim) if claim.get().owner == session => Asked::Had,
            Entry::Occupied(mut claim) => {
                // Relaxed, as where it is read: a guess at what will be.
                self.wanted[row as usize % WANTED].store(row, Ordering::Relaxed);
                claim.get_mut().queue.push_back((session, Interleaved::worker()));
                Asked::Queued
            }
        }
    }

    /// Waits in the queue. Whether the session has the claim then.
    fn wait(&self, session: u32, row: u64) -> bool {
        let end = Interleaved::now() + Interleaved::ticks(WAIT);
        loop {
            _ = Interleaved::park_until(end);
            let mut shard = self.shard(row);
            let Some(claim) = shard.get_mut(&row) else { return false };
            if claim.owner == session {
                return true;
            }
            if Interleaved::now() >= end {
                claim.queue.retain(|(waits, _)| *waits != session);
                return false;
            }
        }
    }

    /// The first of the queue has the claim now.
    fn hand_on(&self, row: u64) {
        let mut shard = self.shard(row);
        let next = shard.get_mut(&row).and_then(|claim| {
            let (session, fiber) = claim.queue.pop_front()?;
            claim.owner = session;
            Some(fiber)
        });
        match next {
            Some(fiber) => {
                drop(shard);
                Interleaved::unpark(fiber);
            }
            None => _ = shard.remove(&row),
        }
    }
}

/// The answer to a session that asks for a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Granted,
    Had,
    Queued,
}

impl Claimed {
    /// None yet, for the session of this number.
    pub fn new(claims: Arc<Claims>, session: u32) -> Self {
        Self { claims, session, rows: Vec::new(), missed: Vec::new() }
    }

    /// Claims a row of a table by its key, and waits for whoever has it, once. Whether the session has the claim then.
    pub fn claim(&mut self, table: u32, key: &[u8]) -> bool {
        let row = self.claims.hasher.hash_one((table, key));
        if self.missed.contains(&row) {
            return false;
        }
        let is_mine = match self.claims.ask(self.session, row) {
            Asked::Had => return true,
            Asked::Granted => true,
            Asked::Queued => self.claims.wait(self.session, row),
        };
        if is_mine {
            self.rows.push(row)
        } else {
            self.missed.push(row)
        }
        is_mine
    }

    /// Whether sessions have waited for the claim on a row lately, and this one has none.
    pub fn is_wanted(&self, table: u32, key: &[u8]) -> bool {
        let row = self.claims.hasher.hash_one((table, key));
        let wanted = self.claims.wanted[row as usize % WANTED].load(Ordering::Relaxed);
        wanted == row && !self.rows.contains(&row)
    }

    /// Hands all of them on.
    pub fn release(&mut self) {
        self.missed.clear();
        for row in self.rows.drain(..) {
            self.claims.hand_on(row);
        }
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    #[test]
    fn one_comes_after_the_other() {
        let claims = Arc::new(Claims::default());
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for session in 0..4 {
                let (claims, inside) = (Arc::clone(&claims), &inside);
                scope.spawn(move || {
                    let mut claimed = Claimed::new(claims, session);
                    for _ in 0..200 {
                        assert!(claimed.claim(7, b"row") && claimed.claim(7, b"row"));
                        assert_eq!(claimed.rows.len(), 1, "nobody keeps it for long");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "it is alone");
                        inside.fetch_sub(1, Ordering::SeqCst);
                        claimed.release();
                    }
                });
            }
        });
        assert!(claims.shards.iter().all(|it| it.lock().expect("sound").is_empty()));
    }

    #[test]
    fn a_wait_is_short_and_what_ends_hands_on() {
        let claims = Arc::new(Claims::default());
        let mut first = Claimed::new(Arc::clone(&claims), 1);
        let mut second = Claimed::new(Arc::clone(&claims), 2);
        assert!(first.claim(7, b"row") && !first.is_wanted(7, b"row"));
        let begun = Instant::now();
        let is_mine = second.claim(7, b"row");
        assert!(
            !is_mine && second.rows.is_empty() && begun.elapsed() >= WAIT,
            "it goes on without"
        );
        assert!(!second.claim(7, b"row") && begun.elapsed() < 2 * WAIT, "it does not wait twice");
        second.release();
        assert!(second.is_wanted(7, b"row") && !second.is_wanted(7, b"other"));
        assert!(!first.is_wanted(7, b"row"), "who has it need not be told");
        drop(first);
        assert!(second.claim(7, b"row"));
        assert_eq!(second.rows.len(), 1);
    }
}
