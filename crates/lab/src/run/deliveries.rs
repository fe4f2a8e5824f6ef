//! The result file of TPC-C's deliveries (clause 2.7.2): a line of JSON for each.

use super::files::Files;
use chiliad_driver::{Deferrals, ResultRecord};
use chiliad_host::Stop;
use chiliad_workload::tpcc::Delivery;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes the results, in the order in which the deliveries were queued, where there is to be a file.
pub fn write(deferrals: Option<&Deferrals>, files: &mut Files) -> Result<(), Stop> {
    let Some(file) = files.deliveries.take() else { return Ok(()) };
    let mut records: Vec<&ResultRecord> = deferrals.iter().flat_map(|it| &it.records).collect();
    records.sort_by_key(|record| (record.queued_ns, record.client, record.number));
    file.finish(|file| write_lines(&records, file))
}

fn write_lines(records: &[&ResultRecord], file: &mut dyn Write) -> io::Result<()> {
    records.iter().try_for_each(|record| writeln!(file, "{}", line(record)))
}

fn line(record: &ResultRecord) -> Value {
    let Delivery { warehouse, carrier, .. } = Delivery::of(record.words);
    let microseconds = |ns: u64| ns as f64 / 1_000.0;
    let districts = || (1..).zip(record.outcome.parts());
    let orders = districts().filter_map(|(district, order)| {
        order.map(|order| json!({ "district": district, "order": order }))
    });
    let skipped = districts().filter_map(|(district, order)| order.is_none().then_some(district));
    json!({
        "client": record.client, "number": record.number, "warehouse": warehouse, "carrier": carrier,
        "queued_us": microseconds(record.queued_ns), "completed_us": microseconds(record.completed_ns),
        "run_by": record.run_by, "orders": orders.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<u32>>(),
    })
}
