//! The log that is kept for those who follow changes, though recovery needs it no more.
//!
//! ```text
//! in the manifest, behind the catalog:
//! u32 incarnation | u64 epoch: changes of it and before have been dropped, in part at least
//! u32 count of incarnations, ascending, each:
//!     u32 incarnation | u64 last durable epoch | u32 count of writers
//!     for each: u32 last segment | u64 its bytes | u64 epoch of its last frame
//! u32 count of segments, ascending, each:
//!     u32 incarnation | u32 writer | u32 sequence | u64 newest epoch of a transaction in it
//! ```

use crate::codec::Decoder;
use crate::error::Result;
use crate::marks::LogEnd;
use crate::names::SegmentId;
use crate::retired::Retired;

/// An incarnation that is over, of which log is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EndedLog {
    /// Its number.
    pub incarnation: u32,
    /// Transactions above this epoch never became durable.
    pub durable: u64,
    /// For each of its writers, where its log ends.
    pub ends: Vec<LogEnd>,
}

/// Log that is kept, and what has been dropped before it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptLog {
    /// The incarnation and the epoch of the newest change that has been dropped; zeros: none has.
    pub dropped: (u32, u64),
    /// The incarnations that are over, ascending.
    pub ended: Vec<EndedLog>,
    /// Segments that are complete, or of an incarnation that is over; ascending.
    pub segments: Vec<Retired>,
}

impl KeptLog {
    /// What a directory keeps whose manifest says nothing of it: nothing but what recovery needs, which is all after
    /// this epoch of this incarnation.
    #[must_use]
    pub fn nothing_before(dropped: (u32, u64)) -> Self {
        Self { dropped, ..Self::default() }
    }

    /// Adds segments that recovery needs no more, or of an incarnation that is over.
    pub fn keep(&mut self, segments: impl IntoIterator<Item = Retired>) {
        self.segments.extend(segments);
        self.segments.sort_unstable_by_key(|it| it.id);
    }

    /// Drops the oldest segments until the others have `limit` bytes at most; returns those that were dropped. `bytes`
    /// tells the length of a segment's file.
    ///
    /// # Errors
    /// Those of `bytes`. Nothing has been dropped then.
    pub fn trim(
        &mut self,
        limit: u64,
        bytes: impl Fn(SegmentId) -> Result<u64>,
    ) -> Result<Vec<SegmentId>> {
        debug_assert!(self.segments.is_sorted_by_key(|it| it.id), "each was put in its place");
        // By epoch and not by writer: all changes after those that are dropped are kept.
        let mut newest_first = self.segments.clone();
        newest_first.sort_by_key(|it| (it.id.incarnation, it.newest_epoch, it.id.sequence));
        newest_first.reverse();
        let (mut kept, mut total) = (0, 0_u64);
        for segment in newest_first.iter().filter(|_| limit > 0) {
            total = total.saturating_add(bytes(segment.id)?);
            if total > limit {
                break;
            }
            kept += 1;
        }
        let dropped = newest_first.split_off(kept);
        for segment in dropped.iter().filter(|it| it.newest_epoch > 0) {
            self.dropped = self.dropped.max((segment.id.incarnation, segment.newest_epoch));
        }
        self.keep_only(newest_first);
        Ok(dropped.into_iter().map(|it| it.id).collect())
    }

    fn keep_only(&mut self, segments: Vec<Retired>) {
        self.segments.clear();
        self.keep(segments);
        let known = |ended: &EndedLog| {
            self.segments.iter().any(|it| it.id.incarnation == ended.incarnation)
        };
        self.ended.retain(known);
        debug_assert!(self.ended.is_sorted_by_key(|it| it.incarnation), "the order stays");
    }

    pub(crate) fn encode(&self, body: &mut Vec<u8>) {
        let word = |body: &mut Vec<u8>, number: u32| body.extend_from_slice(&number.to_le_bytes());
        let long = |body: &mut Vec<u8>, number: u64| body.extend_from_slice(&number.to_le_bytes());
        word(body, self.dropped.0);
        long(body, self.dropped.1);
        word(body, self.ended.len() as u32);
        for ended in &self.ended {
            word(body, ended.incarnation);
            long(body, ended.durable);
            word(body, ended.ends.len() as u32);
            for end in &ended.ends {
                word(body, end.sequence);
                long(body, end.bytes);
                long(body, end.epoch);
            }
        }
        word(body, self.segments.len() as u32);
        for Retired { id, newest_epoch } in &self.segments {
            word(body, id.incarnation);
            word(body, id.writer);
            word(body, id.sequence);
            long(body, *newest_epoch);
        }
    }

    pub(crate) fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let dropped = (from.u32()?, from.u64()?);
        let (mut ended, mut segments) = (Vec::new(), Vec::new());
        for _ in 0..from.u32()? {
            let (incarnation, durable) = (from.u32()?, from.u64()?);
            let mut ends = Vec::new();
            for _ in 0..from.u32()? {
                let (sequence, bytes) = (from.u32()?, from.u64()?);
                ends.push(LogEnd { sequence, bytes, epoch: from.u64()? });
            }
            ended.push(EndedLog { incarnation, durable, ends });
        }
        for _ in 0..from.u32()? {
            let (incarnation, writer, sequence) = (from.u32()?, from.u32()?, from.u32()?);
            let id = SegmentId { incarnation, writer, sequence };
            segments.push(Retired { id, newest_epoch: from.u64()? });
        }
        let ascending = ended.is_sorted_by(|one, next| one.incarnation < next.incarnation)
            && segments.is_sorted_by(|one, next| one.id < next.id);
        ascending.then_some(Self { dropped, ended, segments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(incarnation: u32, writer: u32, sequence: u32, newest_epoch: u64) -> Retired {
        Retired { id: SegmentId { incarnation, writer, sequence }, newest_epoch }
    }

    fn some() -> KeptLog {
        let end = LogEnd { sequence: 1, bytes: 4096, epoch: 9 };
        let ended = vec![EndedLog { incarnation: 1, durable: 9, ends: vec![end, end] }];
        let mut kept = KeptLog { dropped: (0, 0), ended, segments: Vec::new() };
        let ones = [segment(1, 0, 0, 5), segment(1, 0, 1, 9), segment(1, 1, 0, 3)];
        kept.keep(ones.into_iter().chain([segment(1, 1, 1, 8), segment(2, 0, 0, 4)]));
        kept
    }

    #[test]
    fn it_comes_back() {
        let mut body = Vec::new();
        some().encode(&mut body);
        assert_eq!(KeptLog::decode(&mut Decoder::new(&body)), Some(some()));
        for length in 0..body.len() {
            assert_eq!(KeptLog::decode(&mut Decoder::new(&body[..length])), None);
        }
    }

    #[test]
    fn the_oldest_epochs_go_first() {
        let mut kept = some();
        let dropped = kept.trim(30, |_| Ok(10)).unwrap();
        assert_eq!(dropped, [segment(1, 0, 0, 0).id, segment(1, 1, 0, 0).id]);
        assert_eq!((kept.dropped, kept.segments.len(), kept.ended.len()), ((1, 5), 3, 1));
        assert!(kept.trim(30, |_| Ok(10)).unwrap().is_empty());
        assert_eq!(kept.trim(0, |_| Ok(10)).unwrap().len(), 3);
        assert_eq!((kept.dropped, kept.ended.len()), ((2, 4), 0));
    }
}
