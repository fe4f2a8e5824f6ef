//! What SQL knows of a table beyond what its layout says: lengths of texts, expressions that are defaults, the order of
//! columns.

use crate::types::Type;

/// What SQL has declared of a table, beyond its layout. The owner of the catalog keeps its text beside the table, and
/// gives it back with the table ([`crate::TableInput`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableDetails {
    /// Its columns, in the order of the declaration.
    pub columns: Vec<ColumnDetails>,
    /// Rows have no primary key, but a number of their own.
    pub hidden_key: bool,
    /// Conditions that all rows meet, or that have no value for them.
    pub checks: Vec<Check>,
}

/// A condition on rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The text of its expression.
    pub condition: String,
}

/// What SQL has declared of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDetails {
    /// Its name.
    pub name: String,
    /// Its type.
    pub column_type: Type,
    /// Length or precision, as PostgreSQL encodes it; -1: none.
    pub modifier: i32,
    /// The text of the expression that is its value where an INSERT gives none.
    pub default: Option<String>,
    /// The value comes from this sequence where an INSERT gives none.
    pub sequence: Option<String>,
    /// An INSERT may not give one.
    pub always: bool,
}

impl TableDetails {
    /// One line for each column and then for each condition, after one for the table.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("1\t{}\n", u8::from(self.hidden_key));
        for column in &self.columns {
            let fields = [
                column.name.clone(),
                column.column_type.oid().to_string(),
                column.modifier.to_string(),
                column.default.as_ref().map_or(String::new(), |it| format!("={it}")),
                column.sequence.as_ref().map_or(String::new(), |it| format!("={it}")),
                u8::from(column.always).to_string(),
            ];
            text.push_str(&line(fields));
        }
        for Check { name, condition } in &self.checks {
            text.push_str(&line(["check".into(), name.clone(), condition.clone()]));
        }
        text
    }

    /// The reverse of [`TableDetails::to_text`]; `None` for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let hidden_key = match lines.next()? {
            "1\t0" => false,
            "1\t1" => true,
            _ => return None,
        };
        let (mut columns, mut checks) = (Vec::new(), Vec::new());
        for line in lines {
            let fields: Vec<String> = line.split('\t').map(unescape).collect();
            match <[String; 3]>::try_from(fields) {
                Ok([word, name, condition]) if word == "check" => {
                    checks.push(Check { name, condition });
                }
                Ok(_) => return None,
                Err(fields) => columns.push(column(fields)?),
            }
        }
        Some(Self { columns, hidden_key, checks })
    }
}

/// Fields with tabs between.
fn line<const N: usize>(fields: [String; N]) -> String {
    fields.map(|field| escape(&field)).join("\t") + "\n"
}

/// A text as a field of a line: without tabs and line breaks of its own.
#[must_use]
pub fn escape(field: &str) -> String {
    field.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn column(fields: Vec<String>) -> Option<ColumnDetails> {
    let [name, oid, modifier, default, sequence, always] = <[String; 6]>::try_from(fields).ok()?;
    Some(ColumnDetails {
        name,
        column_type: Type::of_oid(oid.parse().ok()?)?,
        modifier: modifier.parse().ok()?,
        default: default.strip_prefix('=').map(String::from),
        sequence: sequence.strip_prefix('=').map(String::from),
        always: always == "1",
    })
}

/// The reverse of [`escape`].
#[must_use]
pub fn unescape(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut letters = field.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_come_back() {
        let column = |name: &str, default: Option<&str>| ColumnDetails {
            name: name.into(),
            column_type: Type::Varchar,
            modifier: 26,
            default: default.map(String::from),
            sequence: default.map(|_| "a_seq".into()),
            always: true,
        };
        let columns = vec![column("a", Some("'x\\\t\n'")), column("b c", None)];
        let checks = vec![Check { name: "c\td".into(), condition: "a > '\n'".into() }];
        let details = TableDetails { columns, hidden_key: true, checks };
        assert_eq!(TableDetails::parse(&details.to_text()), Some(details));
        for text in ["", "2\t0\n", "1\t0\na\tb\n", "1\t0\na\tb\tc\n", "1\t0\na\t99\t0\t\t\t0\n"] {
            assert_eq!(TableDetails::parse(text), None, "{text:?}");
        }
    }
}
