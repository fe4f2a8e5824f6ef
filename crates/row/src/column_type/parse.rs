//! A type from its text form.

use super::{ColumnType, DEPTH_MAX, Fields, Member, Variant, is_name, is_of_name};
use core::fmt;
use core::str::FromStr;

/// The longest text of a type, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 16;

/// A text that is no column type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoColumnType;

impl fmt::Display for NoColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no column type")
    }
}

impl std::error::Error for NoColumnType {}

impl FromStr for ColumnType {
    type Err = NoColumnType;

    fn from_str(text: &str) -> Result<Self, NoColumnType> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(NoColumnType);
        }
        let mut parser = Parser { rest: text };
        let parsed = parser.column_type(0)?;
        // Equal text for equal types: nothing is written in two ways.
        if parser.rest.is_empty() && parsed.to_string() == text {
            Ok(parsed)
        } else {
            Err(NoColumnType)
        }
    }
}

/// Reads a text from its beginning; `rest` is the part not read yet.
struct Parser<'a> {
    rest: &'a str,
}

type Parsed<T> = Result<T, NoColumnType>;

impl<'a> Parser<'a> {
    /// Takes `token`, if it is next.
    fn takes(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.takes(token) { Ok(()) } else { Err(NoColumnType) }
    }

    /// The letters up to one that no name has.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|letter| !is_of_name(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn number<N: FromStr>(&mut self) -> Parsed<N> {
        self.word().parse().map_err(|_| NoColumnType)
    }

    fn name(&mut self) -> Parsed<String> {
        let word = self.word();
        if is_name(word) { Ok(word.into()) } else { Err(NoColumnType) }
    }

    /// Items with commas between up to the closing parenthesis; at least one.
    fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while !self.takes(")") {
            self.expect(", ")?;
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn column_type(&mut self, depth: usize) -> Parsed<ColumnType> {
        if depth > DEPTH_MAX {
            return Err(NoColumnType);
        }
        let word = self.word();
        if !self.takes("(") {
            return plain(word).ok_or(NoColumnType);
        }
        let inner = depth + 1;
        let parsed = match word {
            "bytes" => ColumnType::Bytes(self.number()?),
            "text" => ColumnType::Text(
                self.number().ok().filter(|&most| most <= 255).ok_or(NoColumnType)?,
            ),
            "option" => self.column_type(inner)?.optional(),
            "desc" => self.column_type(inner)?.descending(),
            "list" => self.item(inner)?.list(),
            "array" => {
                let of = self.item(inner)?;
                self.expect(", ")?;
                of.array(self.number()?)
            }
            "custom" => {
                let name = self.name()?;
                let bytes = if self.takes(", ") { Some(self.number()?) } else { None };
                ColumnType::Custom { name, bytes }
            }
            "tuple" => return self.items(|it| it.column_type(inner)).map(ColumnType::Tuple),
            "struct" => return self.members(inner).map(ColumnType::Struct),
            "enum" => return self.variants(inner).map(ColumnType::Enum),
            _ => return Err(NoColumnType),
        };
        self.expect(")")?;
        Ok(parsed)
    }

    /// Reads the type of the items of a list or an array. It refuses a type whose values have no bytes, so that a list
    /// never has more items than bytes.
    fn item(&mut self, depth: usize) -> Parsed<ColumnType> {
        self.column_type(depth)
            .and_then(|of| if of.value_bytes() == Some(0) { Err(NoColumnType) } else { Ok(of) })
    }

    fn members(&mut self, depth: usize) -> Parsed<Vec<Member>> {
        let members = self.items(|it| it.member(depth))?;
        distinct(members.iter().map(|member| &member.name))?;
        Ok(members)
    }

    fn member(&mut self, depth: usize) -> Parsed<Member> {
        let name = self.name()?;
        self.expect(" ")?;
        Ok(Member { name, column_type: self.column_type(depth)? })
    }

    fn variants(&mut self, depth: usize) -> Parsed<Vec<Variant>> {
        let variants = self.items(|it| it.variant(depth))?;
        distinct(variants.iter().map(|variant| &variant.name))?;
        distinct(variants.iter().map(|variant| &variant.number))?;
        Ok(variants)
    }

    fn variant(&mut self, depth: usize) -> Parsed<Variant> {
        let number = self.number()?;
        self.expect(" ")?;
        let name = self.name()?;
        let fields = if self.takes("(") { self.fields(depth)? } else { Fields::None };
        Ok(Variant { number, name, fields })
    }

    /// Named where a name and a blank come first.
    fn fields(&mut self, depth: usize) -> Parsed<Fields> {
        let end = self.rest.find(|letter| !is_of_name(letter)).unwrap_or(self.rest.len());
        if self.rest[end..].starts_with(' ') {
            self.members(depth).map(Fields::Struct)
        } else {
            self.items(|it| it.column_type(depth)).map(Fields::Tuple)
        }
    }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T> + Clone) -> Parsed<()> {
    let mut rest = items;
    while let Some(item) = rest.next() {
        if rest.clone().any(|other| other == item) {
            return Err(NoColumnType);
        }
    }
    Ok(())
}

/// The type that is written as one word.
fn plain(word: &str) -> Option<ColumnType> {
    Some(match word {
        "unit" => ColumnType::Unit,
        "bool" => ColumnType::Bool,
        "u8" => ColumnType::Unsigned(8),
        "u16" => ColumnType::Unsigned(16),
        "u32" => ColumnType::Unsigned(32),
        "u64" => ColumnType::Unsigned(64),
        "u128" => ColumnType::Unsigned(128),
        "i8" => ColumnType::Signed(8),
        "i16" => ColumnType::Signed(16),
        "i32" => ColumnType::Signed(32),
        "i64" => ColumnType::Signed(64),
        "i128" => ColumnType::Signed(128),
        "f32" => ColumnType::Float(32),
        "f64" => ColumnType::Float(64),
        "decimal" => ColumnType::Decimal,
        "char" => ColumnType::Char,
        "blob" => ColumnType::Blob,
        "string" => ColumnType::String,
        "json" => ColumnType::Json,
        "duration" => ColumnType::Duration,
        "instant" => ColumnType::Instant,
        "date" => ColumnType::Date,
        "time" => ColumnType::Time,
        "ip" => ColumnType::Ip,
        "uuid" => ColumnType::Uuid,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back_from_their_text() {
        for text in [
            "unit",
            "bool",
            "u8",
            "u16",
            "u32",
            "u64",
            "u128",
            "i8",
            "i16",
            "i32",
            "i64",
            "i128",
            "f32",
            "f64",
            "decimal",
            "char",
            "bytes(0)",
            "bytes(16)",
            "text(255)",
            "blob",
            "string",
            "json",
            "duration",
            "instant",
            "date",
            "time",
            "ip",
            "uuid",
            "option(u8)",
            "desc(text(3))",
            "option(desc(option(string)))",
            "array(list(u8), 4)",
            "tuple(u8, option(string))",
            "struct(street string, at tuple(f64, f64))",
            "enum(0 Red, 7 Gray(u8), 8 Mixed(red u8, blue array(u8, 2)), 9 Nested(option(u8), u8))",
            "custom(money)",
            "custom(my::Money<i64>, 8)",
        ] {
            let parsed: ColumnType = text.parse().expect(text);
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_types() {
        let deep = format!("{}u8{}", "option(".repeat(5_000), ")".repeat(5_000));
        let long = format!("{}u8{}", "option(".repeat(1_000_000), ")".repeat(1_000_000));
        for text in [
            "",
            "u7",
            "u08",
            "u8 ",
            "i256",
            "f16",
            "bytes",
            "bytes()",
            "bytes(-1)",
            "bytes(+1)",
            "bytes(01)",
            "bytes(4294967296)",
            "text(256)",
            "text(3",
            "text(3))",
            "option()",
            "option(u8",
            "option(u8, u8)",
            "desc",
            "custom()",
            "custom(a, )",
            "custom(a, 08)",
            "custom(a b)",
            "custom(a(b))",
            "blob(3)",
            "U8",
            "array(u8)",
            "array(u8,4)",
            "list()",
            "list(unit)",
            "array(tuple(bytes(0)), 4)",
            "tuple()",
            "tuple(u8,u8)",
            "tuple(u8, )",
            "struct(u8)",
            "struct(a u8, a u16)",
            "enum()",
            "enum(Red)",
            "enum(0 Red, 0 Blue)",
            "enum(0 Red, 1 Red)",
            "enum(0 Red())",
            "enum(0 Red(a u8, u8))",
            "enum(65536 Red)",
            &deep,
            &long,
        ] {
            assert_eq!(text.parse::<ColumnType>(), Err(NoColumnType), "{:.40}", text);
        }
    }
}
