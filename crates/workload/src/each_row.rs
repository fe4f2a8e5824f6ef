//! Tables walked from one end to the other, in pieces, each in a transaction of its own: for conditions.

use crate::RunReadOnly;
use chiliad_api::{Range, Result, TableId};
use core::ops::Bound;

/// Rows read in one transaction.
const CHUNK: usize = 512;

/// Gives all rows of a table to `look`, by key.
///
/// # Errors
/// Those of the transactions.
pub(crate) fn each_row(
    table: TableId,
    run: &mut RunReadOnly<'_>,
    look: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<()> {
    let mut last: Option<Vec<u8>> = None;
    loop {
        let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        run(&mut |tx| {
            let low = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let scanned = tx.scan(table, Range { low, ..Range::all() }.limit(CHUNK))?;
            let entries = tx.entries(scanned)?.iter();
            let copy = entries.map(|it| Ok((tx.key(*it)?.to_vec(), tx.bytes(it.row)?.to_vec())));
            found = copy.collect::<Result<_>>()?;
            Ok(())
        })?;
        for (key, row) in &found {
            look(key, row);
        }
        match found.pop() {
            Some((key, _)) => last = Some(key),
            None => return Ok(()),
        }
    }
}
