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
    /// One line for each column, after one for the table.
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
            let escaped = fields
                .map(|field| field.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"));
            text.push_str(&escaped.join("\t"));
            text.push('\n');
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
        let columns = lines.map(column).collect::<Option<_>>()?;
        Some(Self { columns, hidden_key })
    }
}

fn column(line: &str) -> Option<ColumnDetails> {
    let fields: Vec<String> = line.split('\t').map(unescape).collect();
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

fn unescape(field: &str) -> String {
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
        let details = TableDetails { columns, hidden_key: true };
        assert_eq!(TableDetails::parse(&details.to_text()), Some(details));
        for text in ["", "2\t0\n", "1\t0\na\tb\n", "1\t0\na\t99\t0\t\t\t0\n"] {
            assert_eq!(TableDetails::parse(text), None, "{text:?}");
        }
    }
}
