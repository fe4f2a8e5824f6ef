//! Rows of one type made rows of another, as bytes.

use crate::form::{Form, Schemas};
use crate::raw::{TableId, TableSpec};
use crate::{Key, Result, Row, Table, declare};
use chiliad_engine::RewrittenRow;
use core::marker::PhantomData;

/// Why a row cannot be written anew: any error, or a text by `into` or `?`.
pub type RewriteError = Box<dyn std::error::Error + Send + Sync>;

/// A function of typed rows as one of bytes.
pub(super) struct Rewriter<F, K, V> {
    table: TableId,
    /// The form of the old rows, and their schema.
    form: Form,
    schemas: Schemas,
    new_form: Form,
    make: F,
    of: PhantomData<fn(K, V)>,
}

impl<K, V, L, W, F> Rewriter<F, K, V>
where
    K: Key,
    V: Row,
    L: Key,
    W: Row,
    F: FnMut(K, V) -> core::result::Result<(L, W), RewriteError>,
{
    /// Makes rows of the table declared as `new` of those of `table`, which is declared as `had`.
    pub fn new(table: TableId, had: &TableSpec, new: &TableSpec, make: F) -> Result<Self> {
        let schemas = Schemas::default();
        schemas.keep(table, had);
        let form = declare::form(had, &Table::<K, V>::layout())?;
        let new_form = declare::form(new, &Table::<L, W>::layout())?;
        Ok(Self { table, form, schemas, new_form, make, of: PhantomData })
    }

    pub fn rewrite(&mut self, key: &[u8], row: &[u8]) -> RewrittenRow {
        let read = self.form.read::<V>(self.table, &self.schemas, row);
        let read = read.and_then(|row| Ok((K::decode(key)?, row)));
        let (key, row) = read.map_err(|error| error.to_string())?;
        let (key, row) = (self.make)(key, row).map_err(|error| error.to_string())?;
        let (mut new_key, mut new_row) = (Vec::new(), Vec::new());
        key.encode(&mut new_key);
        self.new_form.write(&row, &mut new_row);
        Ok((new_key, new_row))
    }
}
