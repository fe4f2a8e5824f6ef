//! A workload with its types erased: one driver serves all of them.

use crate::workload::{ClientId, Condition, InsertRow, RunReadOnly, Shape, Workload};
use crate::{DEFERRED_WORDS, Deferred, Outcome};
use chiliad_api::{Result, TableId, TableSpec, Transaction};

/// A [`Workload`] as drivers see it: object-safe.
pub trait AnyWorkload: Send + Sync + 'static {
    /// As [`Workload::name`].
    fn name(&self) -> &'static str;
    /// As [`Workload::kinds`].
    fn kinds(&self) -> &'static [&'static str];
    /// As [`Workload::tables`].
    fn tables(&self) -> Vec<TableSpec>;
    /// As [`Workload::load_parts`].
    fn load_parts(&self) -> usize;
    /// As [`Workload::load`].
    ///
    /// # Errors
    /// Those of `insert`.
    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()>;
    /// A client with this identity, made once and used for every request.
    fn any_client<'w>(&'w self, tables: &[TableId], client_id: ClientId)
    -> Box<dyn AnyClient + 'w>;
    /// As [`Workload::deferring`].
    fn deferring(&self) -> u32 {
        0
    }
    /// As [`Workload::conditions_kept`].
    ///
    /// # Errors
    /// Those of the transactions.
    fn conditions_kept(
        &self,
        serializable: bool,
        tables: &[TableId],
        run: &mut RunReadOnly<'_>,
    ) -> Result<Vec<Condition>>;
}

/// One client of a workload, with the request in hand.
pub trait AnyClient {
    /// As [`Workload::next`].
    fn next(&mut self, partitions: &mut Vec<u32>) -> Shape;
    /// As [`Workload::next_stalled`].
    fn next_stalled(&mut self, partitions: &mut Vec<u32>) -> Shape;
    /// As [`Workload::draws`].
    fn draws(&self) -> u32;
    /// As [`Workload::unsuccessful`].
    fn unsuccessful(&self) -> bool;
    /// As [`Workload::deferred`].
    fn deferred(&self) -> Option<Deferred> {
        None
    }
    /// As [`Workload::resume`].
    ///
    /// # Panics
    /// Where no request may wait.
    fn resume(&mut self, words: [u64; DEFERRED_WORDS], partitions: &mut Vec<u32>) -> Shape {
        let _ = (words, partitions);
        unreachable!("this workload defers no request")
    }
    /// As [`Workload::outcome`].
    fn outcome(&self) -> Outcome {
        Outcome::default()
    }
    /// As [`Workload::execute`].
    ///
    /// # Errors
    /// Those of the transaction.
    fn execute(&mut self, tx: &mut dyn Transaction) -> Result<()>;
}

impl<W: Workload> AnyWorkload for W {
    fn name(&self) -> &'static str {
        Workload::name(self)
    }

    fn kinds(&self) -> &'static [&'static str] {
        Workload::kinds(self)
    }

    fn tables(&self) -> Vec<TableSpec> {
        Workload::tables(self)
    }

    fn load_parts(&self) -> usize {
        Workload::load_parts(self)
    }

    fn load(
        &self,
        tables: &[TableId],
        part: usize,
        seed: u64,
        insert: &mut InsertRow<'_>,
    ) -> Result<()> {
        Workload::load(self, tables, part, seed, insert)
    }

    fn any_client<'w>(
        &'w self,
        tables: &[TableId],
        client_id: ClientId,
    ) -> Box<dyn AnyClient + 'w> {
        Box::new(Erased { workload: self, client: self.client(tables, client_id) })
    }

    fn deferring(&self) -> u32 {
        Workload::deferring(self)
    }

    fn conditions_kept(
        &self,
        serializable: bool,
        tables: &[TableId],
        run: &mut RunReadOnly<'_>,
    ) -> Result<Vec<Condition>> {
        Workload::conditions_kept(self, serializable, tables, run)
    }
}

/// A client with its workload.
struct Erased<'w, W: Workload> {
    workload: &'w W,
    client: W::Client,
}

impl<W: Workload> AnyClient for Erased<'_, W> {
    fn next(&mut self, partitions: &mut Vec<u32>) -> Shape {
        self.workload.next(&mut self.client, partitions)
    }

    fn next_stalled(&mut self, partitions: &mut Vec<u32>) -> Shape {
        self.workload.next_stalled(&mut self.client, partitions)
    }

    fn draws(&self) -> u32 {
        self.workload.draws(&self.client)
    }

    fn unsuccessful(&self) -> bool {
        self.workload.unsuccessful(&self.client)
    }

    fn deferred(&self) -> Option<Deferred> {
        self.workload.deferred(&self.client)
    }

    fn resume(&mut self, words: [u64; DEFERRED_WORDS], partitions: &mut Vec<u32>) -> Shape {
        self.workload.resume(&mut self.client, words, partitions)
    }

    fn outcome(&self) -> Outcome {
        self.workload.outcome(&self.client)
    }

    fn execute(&mut self, tx: &mut dyn Transaction) -> Result<()> {
        self.workload.execute(&mut self.client, tx)
    }
}
