//! Appending: the callers that arrive while one of them writes are written and synced together by the next.

use super::state::{Request, Shared, State, wake};
use super::writer::{Refusal, Writer};
use crate::batch::Batch;
use crate::sleeper::Sleeper;
use chiliad_machine::Machine;
use chiliad_machine::shared_log::SharedLogError;
use std::sync::{Arc, OnceLock};

/// Bytes of a group, or a little more.
const GROUP_BYTES: usize = 4 << 20;

impl<M: Machine> Shared<M> {
    /// Appends records: in several parts, if they are large.
    pub fn append(&self, records: &[&[u8]]) -> Result<(), SharedLogError> {
        Batch::check(records, self.record_bytes_max)?;
        let mut rest = records;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |record: &&[u8]| {
                bytes += record.len();
                bytes <= GROUP_BYTES
            };
            let count = rest.iter().copied().take_while(fits).count().max(1);
            let (part, after) = rest.split_at(count);
            self.append_batch(Batch::of(part))?;
            rest = after;
        }
        Ok(())
    }

    fn append_batch(&self, batch: Batch) -> Result<(), SharedLogError> {
        let (batch, outcome) = (Arc::new(batch), OnceLock::new());
        let request = Arc::new(Request { batch, worker: M::worker(), outcome });
        {
            let mut state = self.lock();
            if let Some(refusal) = &state.broken {
                return Err(refusal.error());
            }
            state.queue.push_back(Arc::clone(&request));
        }
        let mut sleeper = Sleeper::<M>::new();
        loop {
            if let Some(outcome) = request.outcome.get() {
                return outcome.clone().map_err(|refusal| refusal.error());
            }
            let writer = self.lock().writer.take();
            match writer {
                Some(writer) => self.write_group(writer),
                None => sleeper.sleep(),
            }
        }
    }

    /// Writes the oldest of what is queued.
    fn write_group(&self, mut writer: Writer) {
        let group = take_group(&mut self.lock());
        if group.is_empty() {
            self.release(writer);
            return;
        }
        let outcome = writer.write::<M>(group.iter().map(|it| &*it.batch));
        let mut told = group;
        let readers = {
            let mut state = self.lock();
            match &outcome {
                Ok(()) => {
                    for request in &told {
                        state.window.push(Arc::clone(&request.batch));
                    }
                    state.window.shrink_to(self.memory_bytes);
                    state.note_segment(&writer);
                }
                Err(Refusal::Full(_)) => {}
                Err(broken) => {
                    state.broken = Some(broken.clone());
                    told.extend(std::mem::take(&mut state.queue));
                }
            }
            std::mem::take(&mut state.readers)
        };
        for request in &told {
            let first = request.outcome.set(outcome.clone());
            debug_assert!(first.is_ok(), "a request is answered once");
        }
        self.release(writer);
        let own = M::worker();
        wake::<M>(told.iter().map(|it| it.worker).filter(|it| *it != own));
        wake::<M>(readers);
    }
}

/// Takes what is written together.
fn take_group<M>(state: &mut State<M>) -> Vec<Arc<Request>> {
    let mut bytes = 0;
    let mut group = Vec::new();
    while bytes < GROUP_BYTES {
        let Some(request) = state.queue.pop_front() else { break };
        bytes += request.batch.bytes() + request.batch.len() * size_of::<u32>();
        group.push(request);
    }
    group
}
