//! The fields of a machine file, taken out one by one: whatever is missing, of the wrong kind, out of
//! bounds or unknown gets one line that names the file, the field, what was wrong and what is accepted.

use chiliad_host::Stop;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use toml::{Table, Value};

/// The word in a file that stands for this computer's own value.
pub const FOUND: &str = "found";

/// A table of a machine file.
pub struct Fields<'a> {
    file: &'a str,
    /// With a trailing dot, but for the file itself.
    path: String,
    table: &'a Table,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Fields<'a> {
    /// The fields of a whole file.
    pub fn new(file: &'a str, table: &'a Table) -> Self {
        Self { file, path: String::new(), table, asked: RefCell::default() }
    }

    /// A refusal of `field`.
    pub fn refuse(&self, field: &str, problem: &str, accepted: &str) -> Stop {
        let Self { file, path, .. } = self;
        Stop::bad(file, format!("{path}{field}: {problem}; accepted: {accepted}"))
    }

    fn value(&self, field: &'static str, accepted: &str) -> Result<&'a Value, Stop> {
        self.value_if(field).ok_or_else(|| self.refuse(field, "missing", accepted))
    }

    fn value_if(&self, field: &'static str) -> Option<&'a Value> {
        self.asked.borrow_mut().push(field);
        self.table.get(field)
    }

    /// A text that `parse` understands; its refusal says what was wrong.
    pub fn parsed<T>(
        &self,
        field: &'static str,
        accepted: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Stop> {
        let value = self.value(field, accepted)?;
        let parsed = value.as_str().and_then(parse);
        parsed.ok_or_else(|| self.refuse(field, &format!("{} is not one", shown(value)), accepted))
    }

    /// As [`Fields::parsed`], or what this computer says, where the file asks for that.
    pub fn parsed_or_found<T>(
        &self,
        field: &'static str,
        accepted: &str,
        found: Option<T>,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Stop> {
        match self.asks(field) {
            true => self.found(field, accepted, found),
            false => self.parsed(field, accepted, parse),
        }
    }

    /// A whole number within bounds.
    pub fn whole(&self, field: &'static str, bounds: RangeInclusive<u32>) -> Result<u32, Stop> {
        let accepted = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        let value = self.value(field, &accepted)?;
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| self.refuse(field, &format!("{} is not one", shown(value)), &accepted))
    }

    /// As [`Fields::whole`], or what this computer says, where the file asks for that.
    pub fn whole_or_found(
        &self,
        field: &'static str,
        bounds: RangeInclusive<u32>,
        found: Option<u32>,
    ) -> Result<u32, Stop> {
        match self.asks(field) {
            true => self.found(field, "a whole number", found),
            false => self.whole(field, bounds),
        }
    }

    fn asks(&self, field: &str) -> bool {
        self.table.get(field).is_some_and(|value| value.as_str() == Some(FOUND))
    }

    fn found<T>(&self, field: &'static str, accepted: &str, found: Option<T>) -> Result<T, Stop> {
        self.asked.borrow_mut().push(field);
        found.ok_or_else(|| {
            self.refuse(field, "\"found\", and this computer does not tell", accepted)
        })
    }

    /// A number within bounds.
    pub fn real(&self, field: &'static str, bounds: RangeInclusive<f64>) -> Result<f64, Stop> {
        let accepted = format!("a number from {} to {}", bounds.start(), bounds.end());
        let value = self.value(field, &accepted)?;
        let number = value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
        number
            .filter(|number| bounds.contains(number))
            .ok_or_else(|| self.refuse(field, &format!("{} is not one", shown(value)), &accepted))
    }

    /// As [`Fields::real`], where there is one.
    pub fn real_if(
        &self,
        field: &'static str,
        bounds: RangeInclusive<f64>,
    ) -> Result<Option<f64>, Stop> {
        self.value_if(field).map(|_| self.real(field, bounds)).transpose()
    }

    /// One of several words.
    pub fn choice<T: Copy>(&self, field: &'static str, choices: &[(&str, T)]) -> Result<T, Stop> {
        let words: Vec<&str> = choices.iter().map(|choice| choice.0).collect();
        self.parsed(field, &words.join(" or "), |text| {
            choices.iter().find(|choice| choice.0 == text).map(|choice| choice.1)
        })
    }

    /// A truth.
    pub fn truth(&self, field: &'static str) -> Result<bool, Stop> {
        let value = self.value(field, "true or false")?;
        let is = value.as_bool();
        is.ok_or_else(|| {
            self.refuse(field, &format!("{} is not one", shown(value)), "true or false")
        })
    }

    /// A table within this one.
    pub fn table(&self, field: &'static str) -> Result<Fields<'a>, Stop> {
        self.value(field, "a table")?;
        let table = self.table_if(field)?;
        table.ok_or_else(|| self.refuse(field, "missing", "a table"))
    }

    /// The table named `field`, where there is one.
    pub fn table_if(&self, field: &'static str) -> Result<Option<Fields<'a>>, Stop> {
        let Some(value) = self.value_if(field) else { return Ok(None) };
        let Some(table) = value.as_table() else {
            return Err(self.refuse(field, &format!("{} is not one", shown(value)), "a table"));
        };
        let path = format!("{}{field}.", self.path);
        Ok(Some(Fields { file: self.file, path, table, asked: RefCell::default() }))
    }

    /// Refuses fields that were not read.
    pub fn done(self) -> Result<(), Stop> {
        let asked = self.asked.borrow();
        match self.table.keys().find(|key| !asked.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let mut known = asked.clone();
                known.dedup();
                Err(self.refuse(key, "unknown field", &known.join(", ")))
            }
        }
    }
}

/// A value as a refusal shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}

/// A text as a file has it: what JSON quotes, TOML reads.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
