//! SET, SHOW and other statements that no transaction runs.

use super::dialog::Dialog;
use super::run::Formats;
use crate::plans::Plan;
use crate::wire::Writer;
use chiliad_sql::{Datum, Kind, OwnedDatum, SqlError, Type};

impl Dialog {
    /// Runs a statement of one of the small kinds, and tells the client.
    pub fn run_utility(&mut self, plan: &Plan, formats: &Formats) -> Result<(), SqlError> {
        if matches!(plan.prepared.kind(), Kind::Show(_)) && self.query.is_some() {
            self.describe_rows(plan, formats);
        }
        let rows = self.run_utility_rows(plan, formats)?;
        self.output.complete(&plan.prepared.tag(rows));
        Ok(())
    }

    /// Runs it, and returns the number for the tag of its success.
    pub fn run_utility_rows(&mut self, plan: &Plan, formats: &Formats) -> Result<u64, SqlError> {
        match plan.prepared.kind() {
            Kind::Show(name) => {
                for row in self.shown(name)? {
                    let values = row.iter().enumerate();
                    let values = values.map(|(at, it)| (it, Type::Text, formats.is_binary(at)));
                    self.output.data_row(values);
                }
            }
            Kind::Set(set) if set.name == "session_characteristics" => {
                self.settings.set_modes(&set.modes);
            }
            Kind::Set(set) => {
                self.set(&set.name, set.value.as_deref(), set.local)?;
            }
            Kind::Reset(Some(name)) => self.set(name, None, false)?,
            Kind::Reset(None) => self.reset_all(),
            Kind::Discard => self.discard()?,
            Kind::Deallocate(name) => self.deallocate(name.as_deref())?,
            Kind::Nothing => {}
            other => {
                let message = format!("statements of this kind ({other:?})");
                return Err(SqlError::feature_not_supported(message));
            }
        }
        Ok(1)
    }

    fn set(&mut self, name: &str, value: Option<&str>, local: bool) -> Result<(), SqlError> {
        if let Some((name, value)) = self.settings.set(name, value, local)? {
            self.output.parameter_status(name, &value);
        }
        if self.tx.state() == super::transaction::State::None {
            // There is no transaction whose rollback would bring it back.
            _ = self.settings.end_transaction(true);
        }
        Ok(())
    }

    fn reset_all(&mut self) {
        self.settings.reset_all();
        let reported: Vec<_> = self
            .settings
            .reported()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (name, value) in reported {
            self.output.parameter_status(&name, &value);
        }
    }

    /// The rows of SHOW, whose values are texts.
    ///
    /// # Errors
    /// 42704 for an unknown parameter.
    pub fn shown(&self, name: &str) -> Result<Vec<Vec<OwnedDatum>>, SqlError> {
        let text = |text: &str| Datum::text(text.to_owned());
        if name == "all" {
            let rows = self.settings.all().map(|(name, value)| [name, value, ""].map(text).into());
            return Ok(rows.collect());
        }
        let name = name.to_lowercase();
        let value = self.settings.get(&name).ok_or_else(|| {
            SqlError::undefined_object(format!("unrecognized configuration parameter \"{name}\""))
        })?;
        Ok(vec![vec![text(value)]])
    }

    fn discard(&mut self) -> Result<(), SqlError> {
        if self.tx.status() != b'I' {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(SqlError::active_transaction(message));
        }
        self.not_again();
        self.statements.clear();
        self.portals.clear();
        self.reset_all();
        Ok(())
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<(), SqlError> {
        self.not_again();
        match name {
            None => self.statements.clear(),
            Some(name) if self.statements.remove(name).is_some() => {}
            Some(name) => {
                let message = format!("prepared statement \"{name}\" does not exist");
                return Err(SqlError::undefined_statement(message));
            }
        }
        Ok(())
    }
}
