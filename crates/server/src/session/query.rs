//! The simple protocol: a string of statements, which is one transaction unless it says otherwise.

use super::dialog::{Committed, Dialog, Step};
use super::run::{Formats, Ran};
use super::transaction::State;
use super::waiting::After;
use crate::plans::Plan;
use crate::wire::Writer;
use chiliad_sql::{SqlError, Statement, parse};
use std::sync::Arc;

/// A string of statements in progress.
pub(super) struct Query {
    parts: Vec<Part>,
    next: usize,
    /// Where the statements begin that may be run again.
    restart: usize,
}

impl Query {
    /// Whether there is one statement alone.
    pub fn is_single(&self) -> bool {
        self.parts.len() == 1
    }
}

/// One of the statements.
#[derive(Clone)]
enum Part {
    /// It was prepared before.
    Plan(Arc<Plan>, Vec<chiliad_sql::OwnedDatum>),
    /// It is prepared when its turn comes: the statements before may declare its tables.
    Statement(Box<Statement>),
}

impl Dialog {
    /// Runs a string of statements, or tells why there is none.
    pub fn simple_query(&mut self, text: Result<&str, SqlError>) -> Step {
        // A pipeline that was not ended by Sync ends here.
        self.skips_to_sync = false;
        self.portals.remove("");
        if self.tx.state() == State::Implicit {
            let ended = match self.tx.changes() {
                Some(_) => Err(SqlError::feature_not_supported(
                    "a pipeline that changes tables and is not ended by Sync",
                )),
                None => self.commit(After::Query).map(|_| ()),
            };
            if let Err(error) = ended {
                self.fail(&error);
            }
        }
        self.new_attempt();
        match text.and_then(|text| self.parts(text)) {
            Ok(parts) if parts.is_empty() => {
                self.output.empty(b'I');
                self.finish_query()
            }
            Ok(parts) => {
                self.query = Some(Query { parts, next: 0, restart: 0 });
                self.go_on()
            }
            Err(error) => {
                let error = self.judge(error);
                self.fail(&error);
                self.finish_query()
            }
        }
    }

    fn parts(&self, text: &str) -> Result<Vec<Part>, SqlError> {
        // By which some clients ask whether the server is there.
        if matches!(text, "" | ";") {
            return Ok(Vec::new());
        }
        if let Some((plan, values)) = self.server.plans.of_string(self.tables(), text) {
            return Ok(vec![Part::Plan(plan, values)]);
        }
        let statements = parse(text)?;
        Ok(statements.into_iter().map(|it| Part::Statement(Box::new(it))).collect())
    }

    /// Runs the rest of a string.
    pub fn go_on(&mut self) -> Step {
        while let Some(query) = &mut self.query {
            let Some(part) = query.parts.get(query.next).cloned() else {
                if self.tx.state() != State::Implicit {
                    break;
                }
                match self.commit(After::Query) {
                    Ok(Committed::Now) => break,
                    Ok(Committed::Later) => return Step::Wait,
                    Err(error) => {
                        // What the statements have said counts when they are committed.
                        self.take_back();
                        match self.again_or_over(error) {
                            true => continue,
                            false => break,
                        }
                    }
                }
            };
            query.next += 1;
            match self.run_part(part) {
                Ok(Ran::Done) => self.after_part(),
                Ok(Ran::Suspended) => return Step::Next,
                Ok(Ran::Waits) => return Step::Wait,
                Err(error) => {
                    if !self.again_or_over(error) {
                        break;
                    }
                }
            }
        }
        self.query = None;
        self.finish_query()
    }

    fn run_part(&mut self, part: Part) -> Result<Ran, SqlError> {
        self.begin_statement();
        let (plan, mut values) = match part {
            Part::Plan(plan, values) => (plan.renewed(self.tables())?, values),
            Part::Statement(statement) => {
                let plan = Plan::of_statement(self.tables(), &statement);
                self.refuse_if_failed(|| plan.as_ref().is_ok_and(|plan| plan.ends_transaction()))?;
                (plan?, Vec::new())
            }
        };
        self.run(&Arc::new(plan), &mut values, &Formats::Text)
    }

    /// What ended with its own commit is not run again.
    pub fn after_part(&mut self) {
        if self.tx.state() == State::None {
            self.new_attempt();
            if let Some(query) = &mut self.query {
                query.restart = query.next;
            }
        }
    }

    /// After an error: whether the string goes on from where it may be run again.
    pub fn again_or_over(&mut self, error: SqlError) -> bool {
        let error = self.judge(error);
        if self.repeats(&error) {
            if let Some(query) = &mut self.query {
                query.next = query.restart;
            }
            return true;
        }
        self.fail_lost(&error);
        self.query = None;
        false
    }

    pub fn finish_query(&mut self) -> Step {
        if let Err(error) = self.prove() {
            self.fail(&error);
        }
        self.ready();
        Step::Next
    }
}
