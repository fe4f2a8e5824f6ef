//! YCSB-like load: reads, writes and scans of one table of equal records.
//!
//! One table, 8-byte keys, records of one size. A transaction makes `ops` accesses to distinct keys,
//! drawn before it begins; each is a read, a write or a scan by chance. A write is blind (the record
//! is replaced unseen) or a read-modify-write. What is read is asked for in groups, so that the
//! cache misses overlap; a transaction of one access takes a short way. On demand the accesses are
//! made in the order of their keys instead, whatever their kinds (Yu, 2015, 4.2.2).
//!
//! With partitions a key belongs to partition *number modulo partitions*. A client's transactions
//! stay in its own partition, but for a chosen share, which touch some others too (Yu, 2015,
//! 5.5).

mod options;
mod request;

pub use options::YcsbOptions;
pub use request::Client;

use crate::random::{Chance, Random};
use crate::zipf::Zipf;
use crate::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use chiliad_api::{Result, TableId, TableSpec, Transaction};

const KINDS: [&str; 3] = ["read", "write", "scan"];
/// Records made by one part of the load.
const LOAD_PART: u64 = 1 << 16;

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    options: YcsbOptions,
    /// Which record of a partition, the most likely first.
    ranks: Zipf,
    scatter: Option<Scatter>,
    reads: Chance,
    scans: Chance,
    multi_partition: Chance,
}

impl Ycsb {
    /// YCSB as asked for.
    ///
    /// # Errors
    /// Those of [`YcsbOptions::validate`].
    pub fn new(options: YcsbOptions) -> core::result::Result<Self, String> {
        options.validate()?;
        let ranks = Zipf::new(options.records / u64::from(options.partitions), options.theta);
        let is_skewed = options.theta > 0.0;
        Ok(Self {
            scatter: (is_skewed && options.scramble).then(|| Scatter::new(ranks.items())),
            reads: Chance::percent(options.read_ratio),
            scans: Chance::percent(options.scan_ratio),
            multi_partition: Chance::percent(options.multi_partition),
            ranks,
            options,
        })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &YcsbOptions {
        &self.options
    }

    /// Draws the number of a record of `partition`.
    #[inline]
    fn draw(&self, random: &mut Random, partition: u32) -> u64 {
        let rank = self.ranks.draw(random);
        let place = self.scatter.as_ref().map_or(rank, |scatter| scatter.place(rank));
        place * u64::from(self.options.partitions) + u64::from(partition)
    }
}

/// The key of record `number`.
#[inline]
#[must_use]
pub fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A fixed permutation, so that the likely records do not lie side by side.
#[derive(Debug)]
struct Scatter {
    items: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    fn new(items: u64) -> Self {
        let mask = items.next_power_of_two() - 1;
        Self { items, mask, shift: mask.count_ones().div_ceil(2).max(1) }
    }

    #[inline]
    fn place(&self, rank: u64) -> u64 {
        let mut place = rank;
        loop {
            // Both steps can be undone within the mask; what falls beyond the items walks on, and
            // comes back to them because a permutation has only cycles.
            place = place.wrapping_mul(0x9e37_79b9_7f4a_7c15) & self.mask;
            place ^= place >> self.shift;
            place = place.wrapping_mul(0xbf58_476d_1ce4_e5b9) & self.mask;
            if place < self.items {
                return place;
            }
        }
    }
}

impl Workload for Ycsb {
    type Client = Client;

    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn tables(&self) -> Vec<TableSpec> {
        let rows = self.options.records as usize;
        vec![match self.options.hash {
            true => TableSpec::hash("records", rows),
            false => TableSpec::ordered("records"),
        }]
    }

    fn load_parts(&self) -> usize {
        self.options.records.div_ceil(LOAD_PART) as usize
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        let mut random = Random::new(seed, 0x10ad_0000_0000 + part as u64);
        let mut record = vec![0; self.options.record_bytes];
        random.letters(&mut record[8..]);
        let first = part as u64 * LOAD_PART;
        for number in first..(first + LOAD_PART).min(self.options.records) {
            record[8..16].copy_from_slice(&number.to_le_bytes());
            insert(tables[0], &key(number), &record)?;
        }
        Ok(())
    }

    fn client(&self, tables: &[TableId], client_id: ClientId) -> Client {
        Client::new(&self.options, tables[0], client_id)
    }

    #[inline]
    fn next(&self, client: &mut Client, partitions: &mut Vec<u32>) -> Shape {
        client.draw(self, partitions)
    }

    #[inline]
    fn draws(&self, _client: &Client) -> u32 {
        self.options.ops as u32
    }

    #[inline]
    fn execute<T: Transaction + ?Sized>(&self, client: &mut Client, tx: &mut T) -> Result<()> {
        client.run(&self.options, tx)
    }

    fn conditions(&self, _: &[TableId], _: &mut RunReadOnly<'_>) -> Result<Vec<Condition>> {
        Ok(vec![])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_a_permutation() {
        for items in [1, 2, 3, 5, 1000, 1024, 1025] {
            let scatter = Scatter::new(items);
            let mut places: Vec<u64> = (0..items).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..items).collect::<Vec<_>>(), "{items}");
        }
    }
}
