//! Takes the literals out of a text, so that texts that differ in these alone share a plan.
//!
//! Numbers become parameters of the type that a literal has, texts such of the type that their place asks for. What the
//! scanner is not sure of it leaves alone: such a text is prepared as it is.

use chiliad_sql::{OwnedDatum, Type};
use core::fmt::Write;

/// Words by which a literal may mean something else than a value: a column by its place, a modifier of a type, the text of
/// a typed literal.
const UNSURE: [&str; 26] = [
    "order",
    "group",
    "cast",
    "interval",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "numeric",
    "decimal",
    "varchar",
    "char",
    "character",
    "bit",
    "float",
    "fetch",
    "over",
    "prepare",
    "create",
    "alter",
    "copy",
    "set",
    "declare",
    "explain",
    "distinct",
    "collate",
];
/// Literals of a text at most: longer texts are seldom sent twice.
const LITERALS_MAX: usize = 64;
/// Bytes of a text at most.
const BYTES_MAX: usize = 4 << 10;

/// A text without its literals.
#[derive(Debug, PartialEq)]
pub(crate) struct Lifted {
    /// With `$1`, `$2`, .. in their place.
    pub text: String,
    /// Their types; `None` where the place decides.
    pub types: Vec<Option<Type>>,
    pub literals: Vec<Literal>,
}

/// A literal.
#[derive(Debug, PartialEq)]
pub(crate) enum Literal {
    Value(OwnedDatum),
    /// Of whatever type its place has.
    Text(String),
}

/// A text of one statement without its literals; `None` where that might change what it means.
pub(crate) fn lift(text: &str) -> Option<Lifted> {
    let bytes = text.as_bytes();
    if bytes.len() > BYTES_MAX {
        return None;
    }
    let (types, literals) = (Vec::new(), Vec::new());
    let mut lifted = Lifted { text: String::with_capacity(bytes.len() + 8), types, literals };
    let mut at = 0;
    let mut first = true;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'\'' => {
                let (value, end) = quoted(text, at)?;
                lifted.push(None, Literal::Text(value))?;
                at = end;
            }
            b'0'..=b'9' => {
                at =
                    end_of(bytes, at, |it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'));
                let number: i64 = text[start..at].parse().ok()?;
                let of = if i32::try_from(number).is_ok() { Type::Int4 } else { Type::Int8 };
                lifted.push(Some(of), Literal::Value(OwnedDatum::Int(number)))?;
            }
            b'"' => {
                at += 1 + text[at + 1..].find('"')? + 1;
                lifted.text.push_str(&text[start..at]);
            }
            it if it.is_ascii_alphabetic() || it == b'_' || !it.is_ascii() => {
                let is_word = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || !it.is_ascii();
                at = end_of(bytes, at, is_word);
                let word = text[start..at].to_ascii_lowercase();
                let begins = matches!(&*word, "select" | "insert" | "update" | "delete");
                // The quote of a string with a prefix follows at once. SET belongs to UPDATE alone.
                let unsure = (first || word != "set") && UNSURE.contains(&&*word);
                if first && !begins || unsure || bytes.get(at) == Some(&b'\'') {
                    return None;
                }
                first = false;
                lifted.text.push_str(&text[start..at]);
            }
            // A parameter, a quote of dollars, a comment, a second statement, a cast, a subscript.
            b'$' | b'\\' | b'[' => return None,
            b'-' if bytes.get(at + 1) == Some(&b'-') => return None,
            b'/' if bytes.get(at + 1) == Some(&b'*') => return None,
            b':' if bytes.get(at + 1) == Some(&b':') => return None,
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => return None,
            b';' => {
                let rest = text[at + 1..].trim_ascii();
                return rest.is_empty().then_some(lifted).filter(|_| !first);
            }
            _ => {
                at += 1;
                lifted.text.push(char::from(byte));
            }
        }
    }
    (!first).then_some(lifted)
}

impl Lifted {
    fn push(&mut self, of: Option<Type>, literal: Literal) -> Option<()> {
        if self.literals.len() == LITERALS_MAX {
            return None;
        }
        self.types.push(of);
        self.literals.push(literal);
        write!(self.text, "${}", self.literals.len()).ok()
    }
}

fn end_of(bytes: &[u8], start: usize, is: impl Fn(u8) -> bool) -> usize {
    start + bytes[start..].iter().take_while(|it| is(**it)).count()
}

/// The value of a string that begins at a quote, and where it ends.
fn quoted(text: &str, start: usize) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut at = start + 1;
    loop {
        let end = at + text[at..].find('\'')?;
        value.push_str(&text[at..end]);
        if text[end + 1..].starts_with('\'') {
            value.push('\'');
            at = end + 2;
            continue;
        }
        return Some((value, end + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Option<(String, usize)> {
        lift(text).map(|lifted| (lifted.text, lifted.literals.len()))
    }

    #[test]
    fn literals_become_parameters() {
        let lifted =
            lift("UPDATE a SET b = b + -5 WHERE c = 'it''s' AND d1 = 3000000000;").unwrap();
        assert_eq!(lifted.text, "UPDATE a SET b = b + -$1 WHERE c = $2 AND d1 = $3");
        assert_eq!(lifted.types, [Some(Type::Int4), None, Some(Type::Int8)]);
        assert_eq!(lifted.literals[1], Literal::Text("it's".into()));
        assert_eq!(texts("select \"x 1\" from t"), Some(("select \"x 1\" from t".into(), 0)));
    }

    #[test]
    fn what_is_unsure_is_left_alone() {
        for text in [
            "",
            "  ",
            "BEGIN",
            "SELECT a FROM t ORDER BY 1",
            "SELECT '1'::int",
            "SELECT e'x'",
            "SELECT 1; SELECT 2",
            "SELECT $1",
            "SELECT 1.5",
            "SELECT 1e5",
            "SELECT .5",
            "SELECT date '2020-01-01'",
            "SELECT 1 -- x",
            "SELECT /* 1 */ 2",
            "SELECT 'x",
            "SELECT $$x$$",
            "SELECT CAST(a AS numeric(5,2)) FROM t",
            "SELECT 99999999999999999999",
            "CREATE TABLE t (a int)",
            "SET x = 1",
            "SELECT a[1] FROM t",
            "SELECT \"x",
        ] {
            assert_eq!(texts(text), None, "{text}");
        }
    }
}
