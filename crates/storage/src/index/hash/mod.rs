//! Buckets; in the making.
use super::{Changes, Found, Hooks, Inserted};
use crate::{LocalHeap, OutOfMemory, RecordRef};
use chiliad_machine::Machine;
use core::marker::PhantomData;
/// Buckets; in the making.
pub struct HashIndex<M: Machine>(PhantomData<M>);
/// Buckets; in the making.
pub struct HashProbe<M: Machine>(PhantomData<M>);
#[allow(missing_docs, unused_variables)]
impl<M: Machine> HashIndex<M> {
    pub fn get(&self, heap: &LocalHeap<M>, key: &[u8]) -> Found<M> {
        unimplemented!()
    }
    pub fn probe(&self, key: &[u8]) -> HashProbe<M> {
        unimplemented!()
    }
    pub fn step(
        &self,
        heap: &LocalHeap<M>,
        probe: &mut HashProbe<M>,
        key: &[u8],
    ) -> Option<Found<M>> {
        unimplemented!()
    }
    pub fn insert(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        changes: &mut Changes<M>,
    ) -> Result<Inserted<M>, OutOfMemory> {
        unimplemented!()
    }
    pub fn unlink(
        &self,
        heap: &mut LocalHeap<M>,
        key: &[u8],
        record: RecordRef<M>,
        hooks: &mut dyn Hooks<M>,
        confirm: &mut dyn FnMut() -> bool,
    ) -> bool {
        unimplemented!()
    }
}
