//! The loop that runs a transaction until it goes through: of drivers, crash harnesses and applications.
//!
//! They differ in what an attempt is, in what they do about an abort, and in how they wait before the next attempt;
//! each says so by [`Attempts`], at compile time, so that the first attempt of a transaction costs none of them more
//! than a call of its own.

use core::ops::ControlFlow;

/// How an attempt ended.
pub enum Attempt<T, R> {
    /// The transaction is over: it has committed, or another attempt would not help.
    Over(T),
    /// It was refused, and may do better next time.
    Aborted(R),
    /// It is run again at once: what stopped it was no other transaction, and has been seen to.
    Again,
}

/// The attempts of one transaction.
pub trait Attempts {
    /// How the transaction ended.
    type Outcome;
    /// Why an attempt was refused.
    type Abort;

    /// Runs the transaction once, after so many aborts.
    fn attempt(&mut self, aborts: u32) -> Attempt<Self::Outcome, Self::Abort>;

    /// Takes note of an abort, the `aborts`-th, counted from one. [`ControlFlow::Break`]: there are no further
    /// attempts.
    fn aborted(&mut self, abort: Self::Abort, aborts: u32) -> ControlFlow<Self::Outcome>;

    /// Waits before the next attempt, by [`crate::Backoff::wait`].
    fn back_off(&mut self, aborts: u32);
}

/// Runs a transaction until it is over.
#[inline]
pub fn retry<A: Attempts>(mut attempts: A) -> A::Outcome {
    let mut aborts: u32 = 0;
    loop {
        match attempts.attempt(aborts) {
            Attempt::Over(outcome) => return outcome,
            Attempt::Again => continue,
            Attempt::Aborted(abort) => {
                aborts = aborts.saturating_add(1);
                if let ControlFlow::Break(outcome) = attempts.aborted(abort, aborts) {
                    return outcome;
                }
            }
        }
        attempts.back_off(aborts);
    }
}

#[cfg(test)]
mod tests {
    use super::{Attempt, Attempts, retry};
    use core::ops::ControlFlow;

    /// Does what it is told, and writes down what is asked of it.
    struct Scripted<'a> {
        script: &'a str,
        most: u32,
        log: &'a mut String,
    }

    impl Attempts for Scripted<'_> {
        type Outcome = &'static str;
        type Abort = ();

        fn attempt(&mut self, aborts: u32) -> Attempt<&'static str, ()> {
            self.log.push_str(&aborts.to_string());
            let (first, rest) = self.script.split_at(1);
            self.script = rest;
            match first {
                "r" => Attempt::Aborted(()),
                "a" => Attempt::Again,
                _ => Attempt::Over("over"),
            }
        }

        fn aborted(&mut self, (): (), aborts: u32) -> ControlFlow<&'static str> {
            if aborts > self.most {
                ControlFlow::Break("given up")
            } else {
                ControlFlow::Continue(())
            }
        }

        fn back_off(&mut self, _: u32) {
            self.log.push('w');
        }
    }

    fn run(script: &str, most: u32) -> (&'static str, String) {
        let mut log = String::new();
        let outcome = retry(Scripted { script, most, log: &mut log });
        (outcome, log)
    }

    #[test]
    fn it_waits_between_refusals_and_only_there() {
        assert_eq!(run("c", 0), ("over", "0".into()));
        assert_eq!(run("rarc", 9), ("over", "0w11w2".into()));
        assert_eq!(run("rrr", 1), ("given up", "0w1".into()));
    }
}
