//! Run-time parameters of a session: `SET`, `SHOW`, `RESET`.

use chiliad_sql::{Modes, SqlError};
use std::collections::BTreeMap;
use std::time::Duration;

/// A parameter that the server knows.
struct Known {
    name: &'static str,
    default: &'static str,
    rule: Rule,
    /// Clients are told of it, and of its changes.
    reported: bool,
}

/// The values that a parameter may have.
#[derive(Clone, Copy)]
enum Rule {
    /// Nobody changes it.
    Fixed,
    /// Any text.
    Text,
    Bool,
    /// Milliseconds, or a number with a unit.
    Time,
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
}

const UTF8: Rule = Rule::OneOf(&["utf8", "utf-8", "unicode", "sql_ascii"]);
const ISOLATION: Rule =
    Rule::OneOf(&["serializable", "repeatable read", "read committed", "read uncommitted"]);

const fn known(name: &'static str, default: &'static str, rule: Rule) -> Known {
    Known { name, default, rule, reported: false }
}

const fn reported(name: &'static str, default: &'static str, rule: Rule) -> Known {
    Known { name, default, rule, reported: true }
}

/// Every parameter, by its name in small letters.
const KNOWN: &[Known] = &[
    reported("application_name", "", Rule::Text),
    known("bytea_output", "hex", Rule::OneOf(&["hex"])),
    known("chiliad.durability", "sync", Rule::OneOf(&["sync", "epoch"])),
    known("client_min_messages", "notice", Rule::Text),
    reported("client_encoding", "UTF8", UTF8),
    reported("datestyle", "ISO, MDY", Rule::Text),
    known("default_transaction_isolation", "serializable", ISOLATION),
    known("default_transaction_read_only", "off", Rule::Bool),
    reported("default_transaction_deferrable", "off", Rule::Bool),
    known("extra_float_digits", "1", Rule::Text),
    known("idle_in_transaction_session_timeout", "0", Rule::Time),
    reported("in_hot_standby", "off", Rule::Fixed),
    reported("integer_datetimes", "on", Rule::Fixed),
    reported("intervalstyle", "postgres", Rule::OneOf(&["postgres"])),
    known("lock_timeout", "1000", Rule::Time),
    known("max_identifier_length", "63", Rule::Fixed),
    known("search_path", "\"$user\", public", Rule::Text),
    reported("server_encoding", "UTF8", Rule::Fixed),
    reported("server_version", SERVER_VERSION, Rule::Fixed),
    known("server_version_num", "150000", Rule::Fixed),
    reported("standard_conforming_strings", "on", Rule::OneOf(&["on"])),
    known("statement_timeout", "0", Rule::Time),
    known("synchronous_commit", "on", Rule::Text),
    reported("timezone", "UTC", Rule::OneOf(&["utc", "etc/utc", "gmt", "z", "0", "default"])),
    known("transaction_isolation", "serializable", ISOLATION),
    known("transaction_read_only", "off", Rule::Bool),
    known("transaction_timeout", "0", Rule::Time),
];

/// The names of parameters as clients are told them.
const SPELLED: &[(&str, &str)] =
    &[("datestyle", "DateStyle"), ("intervalstyle", "IntervalStyle"), ("timezone", "TimeZone")];

/// The version of PostgreSQL whose clients are answered as they expect.
pub(crate) const SERVER_VERSION: &str = "15.0";

/// The parameters of a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Their defaults in this session, where the client or the server has said others.
    defaults: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
    /// Values before `SET LOCAL` of the transaction, or before any `SET` of it: a rollback brings them back.
    before: Vec<(String, Option<String>, bool)>,
    pub statement_timeout: Option<Duration>,
    pub lock_timeout: Option<Duration>,
    pub idle_in_transaction_timeout: Option<Duration>,
    /// Commits are answered when they are durable.
    pub durable: bool,
    /// A transaction writes nothing unless it says otherwise.
    pub begins_read_only: bool,
}

impl Settings {
    /// `durable`: by default commits are answered when they are durable.
    pub fn new(durable: bool) -> Self {
        let mut settings = Self {
            defaults: BTreeMap::new(),
            values: BTreeMap::new(),
            before: Vec::new(),
            statement_timeout: None,
            lock_timeout: None,
            idle_in_transaction_timeout: None,
            durable,
            begins_read_only: false,
        };
        if !durable {
            settings.defaults.insert("chiliad.durability".into(), "epoch".into());
            settings.defaults.insert("synchronous_commit".into(), "off".into());
        }
        settings.derive();
        settings
    }

    /// A value that the client gives at the connection's begin: it is the session's default.
    pub fn start_with(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let name = name.to_lowercase();
        let value = checked(&name, value)?;
        self.defaults.insert(name, value);
        self.derive();
        Ok(())
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let given = self.values.get(name).or_else(|| self.defaults.get(name));
        given.map(String::as_str).or_else(|| find(name).map(|known| known.default))
    }

    /// Names and values of all parameters.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let known = KNOWN.iter().map(|known| known.name);
        let others = self.values.keys().map(String::as_str).filter(|name| find(name).is_none());
        known.chain(others).map(|name| (spelled(name), self.get(name).unwrap_or_default()))
    }

    /// Names and values of the parameters that clients are told of.
    pub fn reported(&self) -> impl Iterator<Item = (&str, &str)> {
        let reported = KNOWN.iter().filter(|known| known.reported);
        reported.map(|it| (spelled(it.name), self.get(it.name).unwrap_or_default()))
    }

    /// `SET name = value`, or to its default (`None`). Returns what clients are to be told.
    ///
    /// # Errors
    /// 42704, 22023, 55P02 for a parameter or a value that is not accepted.
    pub fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        local: bool,
    ) -> Result<Option<(&'static str, String)>, SqlError> {
        let name = name.to_lowercase();
        let before = self.values.get(&name).cloned();
        match value {
            Some(value) => {
                let value = checked(&name, value)?;
                if name == "synchronous_commit" || name == "chiliad.durability" {
                    self.set_durability(&name, &value);
                }
                self.values.insert(name.clone(), value);
            }
            None => {
                if find(&name).is_none() && !name.contains('.') {
                    return Err(unknown(&name));
                }
                self.values.remove(&name);
            }
        }
        self.before.push((name.clone(), before, local));
        self.derive();
        Ok(self.report_of(&name))
    }

    /// Two parameters say when commits are answered: one follows the other.
    fn set_durability(&mut self, name: &str, value: &str) {
        let durable = !matches!(value, "off" | "epoch" | "false" | "no" | "0");
        let (other, value) = match (name, durable) {
            ("synchronous_commit", true) => ("chiliad.durability", "sync"),
            ("synchronous_commit", false) => ("chiliad.durability", "epoch"),
            (_, true) => ("synchronous_commit", "on"),
            (_, false) => ("synchronous_commit", "off"),
        };
        self.values.insert(other.into(), value.into());
    }

    fn report_of(&self, name: &str) -> Option<(&'static str, String)> {
        let known = find(name).filter(|known| known.reported)?;
        Some((spelled_of(known), self.get(name).unwrap_or_default().to_owned()))
    }

    /// `RESET ALL`.
    pub fn reset_all(&mut self) {
        self.values.clear();
        self.derive();
    }

    /// The transaction has ended. Returns what clients are to be told.
    pub fn end_transaction(&mut self, committed: bool) -> Vec<(&'static str, String)> {
        let mut told = Vec::new();
        if self.before.is_empty() {
            return told;
        }
        for (name, value, local) in std::mem::take(&mut self.before).into_iter().rev() {
            if committed && !local {
                continue;
            }
            match value {
                Some(value) => self.values.insert(name.clone(), value),
                None => self.values.remove(&name),
            };
            told.extend(self.report_of(&name));
        }
        self.derive();
        told
    }

    /// `SET SESSION CHARACTERISTICS`.
    pub fn set_modes(&mut self, modes: &Modes) {
        if let Some(isolation) = modes.isolation {
            self.values.insert("default_transaction_isolation".into(), isolation.into());
        }
        if let Some(read_only) = modes.read_only {
            let value = if read_only { "on" } else { "off" };
            self.values.insert("default_transaction_read_only".into(), value.into());
        }
        self.derive();
    }

    fn derive(&mut self) {
        self.statement_timeout = self.time("statement_timeout");
        self.lock_timeout = self.time("lock_timeout");
        self.idle_in_transaction_timeout = self.time("idle_in_transaction_session_timeout");
        self.durable = self.get("chiliad.durability") != Some("epoch");
        self.begins_read_only = self.get("default_transaction_read_only") == Some("on");
    }

    /// A time limit; zero: none.
    fn time(&self, name: &str) -> Option<Duration> {
        let millis = millis(self.get(name)?)?;
        (millis > 0).then(|| Duration::from_millis(millis))
    }
}

fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

fn spelled(name: &str) -> &str {
    SPELLED.iter().find(|(small, _)| *small == name).map_or(name, |(_, spelled)| spelled)
}

fn spelled_of(known: &Known) -> &'static str {
    SPELLED.iter().find(|(small, _)| *small == known.name).map_or(known.name, |(_, it)| it)
}

fn unknown(name: &str) -> SqlError {
    SqlError::undefined_object(format!("unrecognized configuration parameter \"{name}\""))
}

/// The value, as it is kept. Names with a dot are the client's own.
fn checked(name: &str, value: &str) -> Result<String, SqlError> {
    let Some(known) = find(name) else {
        return if name.contains('.') { Ok(value.into()) } else { Err(unknown(name)) };
    };
    let refused = |accepted: &str| {
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        Err(SqlError::invalid_parameter(message).with_hint(format!("Accepted: {accepted}.")))
    };
    // Encodings have quotes where a driver means to write SQL.
    let bare =
        if name == "client_encoding" { value.trim().trim_matches('\'') } else { value.trim() };
    let small = bare.to_lowercase();
    match known.rule {
        Rule::Fixed => {
            Err(SqlError::new("55P02", format!("parameter \"{name}\" cannot be changed")))
        }
        Rule::Text => Ok(value.into()),
        Rule::Bool => match &*small {
            "on" | "true" | "yes" | "1" | "t" => Ok("on".into()),
            "off" | "false" | "no" | "0" | "f" => Ok("off".into()),
            _ => refused("on, off"),
        },
        Rule::Time => match millis(&small) {
            Some(millis) => Ok(millis.to_string()),
            None => refused("a number of milliseconds, or with a unit (us, ms, s, min, h, d)"),
        },
        Rule::OneOf(accepted) if accepted.contains(&&*small) => Ok(match name {
            "client_encoding" => "UTF8".into(),
            "timezone" => "UTC".into(),
            _ => small,
        }),
        Rule::OneOf(accepted) => refused(&accepted.join(", ")),
    }
}

/// The milliseconds of a time such as `250`, `2s` or `1 min`.
fn millis(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "" | "ms" => Some(number),
        "us" => Some(number.div_ceil(1000)),
        "s" => number.checked_mul(1000),
        "min" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "d" => number.checked_mul(86_400_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_checked_kept_and_brought_back() {
        let mut settings = Settings::new(true);
        assert_eq!(settings.set("DateStyle", Some("ISO"), false).unwrap().unwrap().0, "DateStyle");
        settings.end_transaction(true);
        settings.set("statement_timeout", Some("2s"), true).unwrap();
        assert_eq!(settings.statement_timeout, Some(Duration::from_secs(2)));
        settings.end_transaction(true);
        assert_eq!(settings.statement_timeout, None);
        settings.set("datestyle", Some("German"), false).unwrap();
        let told = settings.end_transaction(false);
        assert_eq!(told, [("DateStyle", "ISO".to_owned())]);
        for (name, value, code) in [
            ("server_version", "9", "55P02"),
            ("nonsense", "1", "42704"),
            ("client_encoding", "LATIN1", "22023"),
            ("statement_timeout", "soon", "22023"),
        ] {
            assert_eq!(settings.set(name, Some(value), false).unwrap_err().sqlstate, code);
        }
        assert_eq!(settings.get("server_version"), Some(SERVER_VERSION));
    }

    #[test]
    fn the_two_names_of_durability_go_together() {
        let mut settings = Settings::new(true);
        settings.set("synchronous_commit", Some("off"), false).unwrap();
        assert!(!settings.durable);
        settings.set("chiliad.durability", Some("sync"), false).unwrap();
        assert_eq!((settings.durable, settings.get("synchronous_commit")), (true, Some("on")));
    }

    /// `find` needs no order, but readers do.
    #[test]
    fn parameters_have_defaults_that_they_accept() {
        for known in KNOWN.iter().filter(|known| !matches!(known.rule, Rule::Fixed)) {
            assert!(checked(known.name, known.default).is_ok(), "{}", known.name);
        }
    }
}
