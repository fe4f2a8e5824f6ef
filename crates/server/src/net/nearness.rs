//! Which connections a thread had better leave to another one.
//!
//! Where a client's thread and the thread that serves it share a core, they take turns by a switch. On two cores each
//! wakes the other by an interrupt, and on a virtual machine that takes longer than most statements. So the
//! connections of one thread of a client belong together, with one thread of ours; but no system tells which they are.
//!
//! What comes while our thread runs without a pause was sent from another core: this is certain, and cheap to know.
//! A thread counts it for each connection, by sample. A round ends with the connections that are *far*: of which that is
//! seen more often than of others. They are given away, a few at a time: those of one client's thread that are together
//! somewhere draw that thread to where they are, and show the ones that are left as far. Where giving away does not
//! help, as with a client that sends from anywhere, rounds become longer.

use std::cell::{Cell, RefCell};

/// One look of so many is compared with the one before: to ask for switches costs a call of the system.
const LOOKS: u32 = 4;
/// A round is looked at whenever it has so many sights more of each connection.
const STEP: u32 = 16;
/// The most sights of each connection before one is given away, where it has not helped to do so.
const CAUTION: u32 = 64;
/// A round ends with so many of each, whether a connection is far or not.
const LONGEST: u32 = 256;
/// A far connection has been seen so often to come from another core,
const FAR: u32 = 4;
/// and, of this many sights,
const SHARES: u32 = 1024;
/// at least so often.
const FAR_SHARE: u32 = 16;

/// How often something has come, and how often from another core for certain.
#[derive(Clone, Copy, Default, Debug)]
struct Sights {
    all: u32,
    far: u32,
}

impl Sights {
    fn add(&mut self, far: bool) {
        self.all += 1;
        self.far += u32::from(far);
    }

    /// Of 1,024.
    fn share(self) -> u32 {
        let share = u64::from(self.far) * u64::from(SHARES) / u64::from(self.all.max(1));
        share as u32
    }
}

/// Counts, for one thread and one round, what it has found of each of its connections.
#[derive(Debug)]
pub(crate) struct Nearness {
    looks: Cell<u32>,
    /// How often the thread had left its core at the last look, if the next one is to be compared.
    switches: Cell<Option<u64>>,
    /// By the places of connections.
    sights: RefCell<Vec<Sights>>,
    /// The places that were seen in this round.
    seen: RefCell<Vec<usize>>,
    total: Cell<Sights>,
    /// The sights with which the round is looked at next.
    due: Cell<u32>,
    /// Sights of each connection before one is given away.
    caution: Cell<u32>,
    /// The share of sights from other cores when connections were given away last.
    share_before: Cell<u32>,
}

impl Nearness {
    pub fn new() -> Self {
        Self {
            looks: Cell::new(0),
            switches: Cell::new(None),
            sights: RefCell::default(),
            seen: RefCell::default(),
            total: Cell::default(),
            due: Cell::new(STEP),
            caution: Cell::new(STEP),
            share_before: Cell::new(SHARES),
        }
    }

    /// The thread has just looked at its sockets, having left its core `switches` times by now. Whether what it has found
    /// came from other cores for certain, if this look is one that counts.
    pub fn look(&self, switches: impl FnOnce() -> Option<u64>) -> Option<bool> {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if let Some(before) = self.switches.take() {
            return Some(switches()? == before);
        }
        if looks.is_multiple_of(LOOKS) {
            self.switches.set(switches());
        }
        None
    }

    /// A look that counts has found something of the connection at this place.
    pub fn see(&self, at: usize, far: bool) {
        let mut sights = self.sights.borrow_mut();
        if sights.len() <= at {
            sights.resize(at + 1, Sights::default());
        }
        if sights[at].all == 0 {
            self.seen.borrow_mut().push(at);
        }
        sights[at].add(far);
        let mut total = self.total.get();
        total.add(far);
        self.total.set(total);
    }

    /// Ends the round if it has seen enough: the places of connections to give away, the farthest first.
    pub fn end_round(&self) -> Option<Vec<usize>> {
        let total = self.total.get();
        if total.all < self.due.get() {
            return None;
        }
        let number = self.seen.borrow().len() as u32;
        if total.all < self.caution.get() * number {
            self.due.set(self.caution.get() * number);
            return None;
        }
        self.due.set(total.all + STEP * number);
        let far = self.far(total);
        if far.is_empty() {
            if total.all < LONGEST * number {
                return None;
            }
            self.caution.set(STEP);
            self.share_before.set(SHARES);
        } else {
            let helped = total.share() < self.share_before.replace(total.share()) / 8 * 7;
            let longer = (self.caution.get() * 2).min(CAUTION);
            self.caution.set(if helped { STEP } else { longer });
        }
        self.begin_round();
        Some(far)
    }

    /// The far ones, a quarter of all at most.
    fn far(&self, total: Sights) -> Vec<usize> {
        let (sights, seen) = (self.sights.borrow(), self.seen.borrow());
        // With clients that all run elsewhere, and leave it no pause, a thread is where it should be.
        if total.share() > SHARES / 2 {
            return Vec::new();
        }
        let least = FAR_SHARE.max(total.share() / 4 * 5);
        let is_far = |it: Sights| it.far >= FAR && it.share() >= least;
        let mut far: Vec<usize> = seen.iter().copied().filter(|&at| is_far(sights[at])).collect();
        far.sort_by_key(|&at| core::cmp::Reverse(sights[at].share()));
        far.truncate((seen.len() / 4).max(1));
        far
    }

    /// Begins a round: connections have come or gone.
    pub fn begin_round(&self) {
        let mut sights = self.sights.borrow_mut();
        for at in self.seen.borrow_mut().drain(..) {
            sights[at] = Sights::default();
        }
        self.total.take();
        self.due.set(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sees each connection so often, and each time of so many from another core, 0 for never; what the round ends with.
    fn round(nearness: &Nearness, times: u32, far_of: &[u32]) -> Option<Vec<usize>> {
        for time in 1..=times {
            for (at, &of) in far_of.iter().enumerate() {
                nearness.see(at, of > 0 && time.is_multiple_of(of));
            }
            if let Some(ended) = nearness.end_round() {
                return Some(ended);
            }
        }
        None
    }

    #[test]
    fn only_what_comes_without_a_pause_is_from_another_core() {
        let nearness = Nearness::new();
        let mut switches = 7;
        let mut counted = Vec::new();
        for look in 1..=16 {
            // It leaves its core between the fourth and the fifth look, and between the twelfth and the thirteenth.
            switches += u64::from(look == 5 || look == 13);
            counted.extend(nearness.look(|| Some(switches)));
        }
        assert_eq!(counted, [false, true, false]);
        let unknown = Nearness::new();
        assert!(
            (0..99).all(|_| unknown.look(|| None).is_none()),
            "no system tells, nothing counts"
        );
    }

    #[test]
    fn the_far_ones_are_given_away_and_the_near_ones_stay() {
        let ended = |far_of: &[u32]| round(&Nearness::new(), LONGEST, far_of);
        assert_eq!(ended(&[0, 2, 0, 0]), Some(vec![1]));
        assert_eq!(ended(&[0, 3, 0, 2, 0, 0, 0, 0]), Some(vec![3, 1]));
        // Rarely, but the only one.
        assert_eq!(ended(&[0, 60, 0, 0]), Some(vec![1]));
        assert_eq!(ended(&[0; 4]), Some(vec![]));
        assert_eq!(ended(&[0, 100, 0, 0]), Some(vec![]), "by chance, perhaps");
        // All alike: one is as good here as another.
        assert_eq!(ended(&[5; 4]), Some(vec![]));
        assert_eq!(ended(&[1; 4]), Some(vec![]));
    }

    #[test]
    fn rounds_become_longer_while_giving_away_does_not_help() {
        let nearness = Nearness::new();
        let mut all = Vec::new();
        for _ in 0..5 {
            let mut sights = 0;
            while nearness.end_round().is_none() {
                let at = sights % 4;
                nearness.see(at, at == 1);
                sights += 1;
            }
            all.push(sights as u32 / 4);
        }
        assert_eq!(all, [STEP, STEP, 2 * STEP, CAUTION, CAUTION]);
        // It helps.
        assert_eq!(round(&nearness, CAUTION, &[0, 2, 0, 0]), Some(vec![1]));
        assert_eq!(round(&nearness, STEP, &[0, 2, 0, 0]), Some(vec![1]));
    }

    #[test]
    fn a_round_begins_without_what_was_seen() {
        let nearness = Nearness::new();
        assert_eq!(round(&nearness, STEP - 1, &[0, 2, 0, 0]), None);
        nearness.begin_round();
        assert_eq!(round(&nearness, STEP, &[0, 0, 0, 0]), None);
    }
}
