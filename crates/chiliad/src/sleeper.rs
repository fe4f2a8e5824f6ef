//! Waiting for what a waker tells of.
//!
//! A thread that waits sleeps. A transaction that waits among others on one thread leaves it to them:
//! nothing in this crate blocks a thread in another way while its peers could run.

use crate::cancel::Cancel;
use crate::clock::ticks_at;
use crate::until::Until;
use chiliad_machine::{Interleaved, Machine, WorkerId, park_for_long};
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The caller of [`Sleeper::here`]: a thread, or a fiber on it.
pub(crate) struct Sleeper(Waker);

/// Wakes it.
struct Bell(WorkerId);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Its number may be another's by now, which then wakes without reason, as any may.
        Interleaved::unpark(self.0);
    }
}

impl Sleeper {
    pub fn here() -> Self {
        Self(Waker::from(Arc::new(Bell(Interleaved::worker()))))
    }

    /// The waker that wakes it.
    pub fn waker(&self) -> &Waker {
        &self.0
    }

    /// Sleeps until `poll` has an answer. While it has none it sees to it that the waker is woken when
    /// there may be one.
    pub fn until<T>(&self, mut poll: impl FnMut(&Waker) -> Option<T>) -> T {
        loop {
            if let Some(answer) = self.until_or(&Until::default(), &mut poll) {
                return answer;
            }
        }
    }

    /// Polls until there is a result, but not beyond `limit`: `None` then.
    pub fn until_or<T>(&self, limit: &Until, poll: impl FnMut(&Waker) -> Option<T>) -> Option<T> {
        self.until_either([limit, &Until::default()], poll)
    }

    /// Polls until there is a result or the first of two limits is reached.
    pub fn until_either<T>(
        &self,
        limits: [&Until; 2],
        mut poll: impl FnMut(&Waker) -> Option<T>,
    ) -> Option<T> {
        // Shown before the handles are looked at for the last time.
        let _woken = limits.map(|limit| limit.cancel.as_ref().map(Cancel::wakes_caller));
        let deadline = limits.iter().filter_map(|limit| limit.deadline).min();
        loop {
            if let Some(answer) = poll(&self.0) {
                return Some(answer);
            }
            if limits.iter().any(|limit| limit.check().is_err()) {
                return None;
            }
            park_for_long(deadline.map(ticks_at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sleeper;
    use chiliad_machine::interleave;
    use std::cell::RefCell;
    use std::task::Waker;

    #[test]
    fn peers_run_while_one_sleeps() {
        let waiting: RefCell<Option<Waker>> = RefCell::new(None);
        let results = interleave(2, |fiber| {
            if fiber == 1 {
                let waker = waiting.borrow_mut().take().expect("the first one sleeps");
                waker.wake();
                return 0;
            }
            let mut looks = 0;
            Sleeper::here().until(|waker| {
                looks += 1;
                *waiting.borrow_mut() = Some(waker.clone());
                (looks == 2).then_some(looks)
            })
        })
        .expect("room for stacks");
        let looks: Vec<i32> = results.into_iter().map(|looks| looks.unwrap()).collect();
        assert_eq!(looks, [2, 0]);
    }
}
