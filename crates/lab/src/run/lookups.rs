//! One run of look-ups alone, single or in groups.

use super::progress::Bar;
use crate::result::RunResult;
use crate::spec::Shown;
use chiliad_driver::{Length, Lookup, run_lookup};
use chiliad_engine::IndexKind;
use chiliad_host::values::show_time;
use chiliad_host::{Stop, limit};
use serde_json::Value;

/// A run of look-ups alone.
#[derive(Clone, Debug)]
pub struct LookupSpec {
    /// The index, the keys and the size of a group.
    pub lookup: Lookup,
    /// How often it runs.
    pub repeat: usize,
}

impl LookupSpec {
    /// Loads an index and looks up keys in it.
    pub(super) fn run(&self, quiet: bool) -> Result<RunResult, Stop> {
        let lookup = &self.lookup;
        let memory = lookup.memory();
        limit::check_memory(memory.flag, memory.bytes)?;
        limit::check_threads("--threads", lookup.threads, 0)?;
        let bar = Bar::new(Length::Time(lookup.duration), quiet);
        let report = run_lookup(lookup, &bar)?;
        drop(bar);
        let names = ("index", "get");
        Ok(RunResult::counted(names, lookup.threads, lookup.seed, &report, self.options()))
    }

    fn options(&self) -> Shown {
        let lookup = &self.lookup;
        let index = match lookup.index {
            IndexKind::Ordered => "ordered",
            IndexKind::Hash => "hash",
        };
        let fields: [(&str, Value); 9] = [
            ("records", lookup.records.into()),
            ("record_bytes", lookup.record_bytes.into()),
            ("group", lookup.group.into()),
            ("index", index.into()),
            ("threads", lookup.threads.into()),
            ("duration", show_time(lookup.duration).into()),
            ("warmup", show_time(lookup.warmup).into()),
            ("seed", lookup.seed.into()),
            ("repeat", self.repeat.into()),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
