//! Ranges of keys, with bounds that may be borrowed.

use crate::key::Lookup;
use core::ops::{
    Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive,
};

/// A range of keys of type `K`: what [`Reader::scan`](crate::Reader::scan) and other calls take.
///
/// These are ranges: `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b` and pairs of [`Bound`]s. Their bounds are keys, or
/// values that stand for keys ([`Lookup`]), such as `&str` for a `String`. A range whose bounds are in the wrong
/// order is empty.
///
/// ```
/// use chiliad::{Database, Table};
///
/// let db = Database::in_memory()?;
/// let ages: Table<String, u8> = db.create_table("ages")?;
/// let rows: [(String, u8); 3] = [("ann".into(), 31), ("bob".into(), 45), ("cleo".into(), 27)];
/// db.bulk_load(&ages, rows)?;
/// db.run(|tx| {
///     assert_eq!(tx.scan(&ages, "ann".."bob").values()?, [31]);
///     assert_eq!(tx.scan(&ages, "b"..).keys()?, ["bob", "cleo"]);
///     Ok(())
/// })?;
///
/// let visits: Table<(String, u32), u8> = db.create_table("visits")?;
/// db.run(|tx| {
///     tx.put(&visits, &("ann", 7), &1)?;
///     tx.put(&visits, &("ann", 9), &2)?;
///     assert_eq!(tx.scan(&visits, ("ann", 0)..("ann", 9)).values()?, [1]);
///     Ok(())
/// })?;
/// # Ok::<(), chiliad::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of keys of type `{K}`",
    note = "ranges are `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b` and pairs of `Bound`s, of values that stand for keys"
)]
pub trait KeyRange<K> {
    /// Where the range begins; appends the key there to `key`.
    fn encode_low(&self, key: &mut Vec<u8>) -> Bound<()>;

    /// Where it ends; appends the key there to `key`.
    fn encode_high(&self, key: &mut Vec<u8>) -> Bound<()>;
}

impl<K> KeyRange<K> for RangeFull {
    fn encode_low(&self, _: &mut Vec<u8>) -> Bound<()> {
        Bound::Unbounded
    }

    fn encode_high(&self, _: &mut Vec<u8>) -> Bound<()> {
        Bound::Unbounded
    }
}

macro_rules! ranges {
    ($($range:ty),*) => {$(
        impl<K, Q: Lookup<K>> KeyRange<K> for $range {
            fn encode_low(&self, key: &mut Vec<u8>) -> Bound<()> {
                RangeBounds::<Q>::start_bound(self).map(|low| low.encode(key))
            }

            fn encode_high(&self, key: &mut Vec<u8>) -> Bound<()> {
                RangeBounds::<Q>::end_bound(self).map(|high| high.encode(key))
            }
        }
    )*};
}
ranges!(Range<Q>, RangeInclusive<Q>, RangeFrom<Q>, RangeTo<Q>, RangeToInclusive<Q>);
ranges!((Bound<Q>, Bound<Q>));
