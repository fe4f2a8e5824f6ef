//! COPY to the client.

use super::dialog::Dialog;
use super::formats::check_result;
use super::output::Output;
use super::run::Ran;
use crate::copy::Encoder;
use crate::plans::Plan;
use crate::wire::Writer;
use chiliad_sql::{Copy, OutputColumn, ResultRow, RowSink, SqlError, codec, execute};
use std::sync::Arc;

/// Writes rows as messages of COPY.
struct Lines<'a> {
    output: &'a mut Output,
    columns: &'a [OutputColumn],
    encoder: &'a Encoder<'a>,
    /// One value, before it is written in the format.
    value: Vec<u8>,
    bytes_max: usize,
}

impl RowSink for Lines<'_> {
    fn row(&mut self, row: ResultRow<'_>) -> Result<(), SqlError> {
        let Self { output, columns, encoder, value, .. } = self;
        output.message(b'd', |out| {
            let mut line = encoder.begin_row(row.iter().len(), out);
            for (datum, column) in row.iter().zip(*columns) {
                value.clear();
                match encoder.is_binary() {
                    true => codec::to_binary(column.sql_type, datum, value),
                    false => codec::to_text(column.sql_type, datum, value),
                }
                line.field((!datum.is_null()).then_some(value), out);
            }
            encoder.end_row(out);
        });
        check_result(self.output.unsent(), self.bytes_max)
    }
}

impl Dialog {
    /// COPY in either direction.
    pub fn begin_copy(&mut self, plan: &Arc<Plan>, copy: &Copy) -> Result<Ran, SqlError> {
        if copy.from_client {
            return self.begin_copy_in(plan, copy);
        }
        let columns = plan.prepared.columns();
        let encoder = Encoder::new(&copy.format);
        self.output.copy_response(b'H', encoder.is_binary(), columns.len());
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let mut head = Vec::new();
        if encoder.start(&names, &mut head) {
            self.output.message(b'd', |out| out.append(&mut head));
        }
        let bytes_max = self.server.limits.result_bytes_max;
        let done = self.part(plan, |tx, environment, output| {
            let value = Vec::new();
            let mut lines = Lines { output, columns, encoder: &encoder, value, bytes_max };
            execute(&plan.prepared, &[], tx.raw(), environment, &mut lines)
        })?;
        let mut tail = Vec::new();
        if encoder.finish(&mut tail) {
            self.output.message(b'd', |out| out.append(&mut tail));
        }
        self.output.empty(b'c');
        self.output.complete(&plan.prepared.tag(done.rows));
        Ok(Ran::Done)
    }
}
