//! The results of all jobs, put out in their order as soon as all before them are there.

use crate::result::{merge, summary};
use chiliad_host::{Sink, Stop};
use serde_json::Value;

/// The results of all jobs.
pub struct Book {
    repeat: usize,
    /// The labels of the points of a sweep.
    labels: Vec<Option<String>>,
    results: Vec<Vec<Value>>,
    /// Jobs whose results have been put out.
    out: usize,
    problems: Vec<String>,
    sink: Sink,
}

impl Book {
    /// An empty one, of jobs with these labels that each run so often.
    pub fn new(labels: Vec<Option<String>>, repeat: usize, sink: Sink) -> Self {
        let results = labels.iter().map(|_| Vec::new()).collect();
        Self { repeat, labels, results, out: 0, problems: Vec::new(), sink }
    }

    /// Enters a result of job `number`, and what is wrong with the run.
    pub fn enter(
        &mut self,
        number: usize,
        result: Value,
        problem: Option<String>,
    ) -> Result<(), Stop> {
        self.results[number].push(result);
        self.problems.extend(problem);
        while self.results.get(self.out).is_some_and(|results| results.len() == self.repeat) {
            self.put_out()?;
        }
        Ok(())
    }

    /// Puts out what there is of the next job.
    fn put_out(&mut self) -> Result<(), Stop> {
        let mut results = std::mem::take(&mut self.results[self.out]);
        let merged = if results.len() > 1 { merge(results) } else { results.remove(0) };
        self.sink.say(&summary(&merged, self.labels[self.out].as_deref()))?;
        self.sink.json(&merged)?;
        self.out += 1;
        Ok(())
    }

    /// Puts out what there is of all jobs, the last of which were cut short.
    pub fn close_early(mut self) -> Result<(), Stop> {
        while self.out < self.results.len() {
            match self.results[self.out].is_empty() {
                true => self.out += 1,
                false => self.put_out()?,
            }
        }
        self.finish()
    }

    /// Ends; what is wrong with any run is told.
    pub fn finish(self) -> Result<(), Stop> {
        self.sink.finish()?;
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(Stop::Failed(self.problems.join("; "))),
        }
    }
}
