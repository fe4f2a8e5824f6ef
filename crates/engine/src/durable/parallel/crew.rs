//! Work that a host runs on several threads at once.

use crate::durable::checkpoint::walkers::Walkers;
use crate::durable::recover::finalize::Finalizers;
use crate::durable::recover::readers::Readers;
use chiliad_api::{Crew, Host, Work};
use chiliad_machine::{Interleaved, Machine};

/// A task that several threads share.
pub enum Parallel<'a, M: Machine> {
    /// Reading checkpoint and logs.
    Readers(&'a Readers<'a, M>),
    /// Making records ready.
    Finalizers(&'a Finalizers<'a, M>),
    /// Writing a checkpoint.
    Walkers(&'a Walkers<'a, M>),
}

/// Threads share what it refers to, on the machine that has threads.
const _: () = {
    const fn is_sync<T: Sync>() {}
    is_sync::<Readers<'static, Interleaved>>();
    is_sync::<Finalizers<'static, Interleaved>>();
    is_sync::<Walkers<'static, Interleaved>>();
};

// SAFETY: on the machine of threads all that it leads to is `Sync`, as the constant above shows; the cores of the
// others take turns on one thread. (No bound says so: a generic engine does not know which machine it is on.)
unsafe impl<M: Machine> Sync for Parallel<'_, M> {}

impl<M: Machine> Work for Parallel<'_, M> {
    fn take_part(&self) {
        match self {
            Self::Readers(work) => work.take_part(),
            Self::Finalizers(work) => work.take_part(),
            Self::Walkers(work) => work.take_part(),
        }
    }
}

impl<M: Machine> Parallel<'_, M> {
    /// Has the threads of `host` do it, and returns when all have returned.
    pub fn run(&self, host: &dyn Host<M>) {
        host.parallel(&Crew::new(self));
    }
}
