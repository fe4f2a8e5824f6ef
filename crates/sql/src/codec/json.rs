//! JSON: whether a text is, and the one form that `jsonb` gives equal ones.

use crate::numeric::Numeric;

/// Values within values, at most.
const DEPTH_MAX: usize = 100;

/// The text is no JSON.
#[derive(Debug)]
pub(crate) struct NoJson;

enum Json<'a> {
    Word(&'a str),
    Number(&'a str),
    Text(String),
    List(Vec<Json<'a>>),
    Object(Vec<(String, Json<'a>)>),
}

/// Refuses a text that is no JSON.
pub(crate) fn check(text: &str) -> Result<(), NoJson> {
    parse(text).map(drop)
}

/// The text that `jsonb` prints: keys in order of their length, the last of equal ones, one blank after each comma and
/// colon.
pub(crate) fn canonical(text: &str) -> Result<String, NoJson> {
    let mut out = String::with_capacity(text.len());
    write(&parse(text)?, &mut out);
    Ok(out)
}

fn parse(text: &str) -> Result<Json<'_>, NoJson> {
    let mut parser = Parser { rest: text };
    let json = parser.value(0)?;
    parser.blanks();
    if parser.rest.is_empty() { Ok(json) } else { Err(NoJson) }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn takes(&mut self, token: char) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, NoJson> {
        if depth > DEPTH_MAX {
            return Err(NoJson);
        }
        self.blanks();
        match self.rest.bytes().next().ok_or(NoJson)? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.text().map(Json::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                for word in ["true", "false", "null"] {
                    if let Some(rest) = self.rest.strip_prefix(word) {
                        self.rest = rest;
                        return Ok(Json::Word(word));
                    }
                }
                Err(NoJson)
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, NoJson> {
        self.takes('[');
        let mut items = Vec::new();
        if self.takes(']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes(']') {
                return Ok(Json::List(items));
            }
            if !self.takes(',') {
                return Err(NoJson);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, NoJson> {
        self.takes('{');
        let mut members = Vec::new();
        if self.takes('}') {
            return Ok(Json::Object(members));
        }
        loop {
            self.blanks();
            let name = self.text()?;
            if !self.takes(':') {
                return Err(NoJson);
            }
            members.push((name, self.value(depth + 1)?));
            if self.takes('}') {
                return Ok(Json::Object(members));
            }
            if !self.takes(',') {
                return Err(NoJson);
            }
        }
    }

    fn number(&mut self) -> Result<Json<'a>, NoJson> {
        let end = |it: char| !matches!(it, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let (number, rest) = self.rest.split_at(self.rest.find(end).unwrap_or(self.rest.len()));
        self.rest = rest;
        let bare = number.strip_prefix('-').unwrap_or(number);
        let whole = bare.split(['.', 'e', 'E']).next().unwrap_or_default();
        let zero = whole.len() > 1 && whole.starts_with('0');
        let ends = bare.ends_with(|it: char| it.is_ascii_digit()) && !bare.contains(".e");
        if whole.is_empty() || zero || !ends || number.parse::<f64>().is_err() {
            return Err(NoJson);
        }
        Ok(Json::Number(number))
    }

    fn text(&mut self) -> Result<String, NoJson> {
        let mut letters = self.rest.strip_prefix('"').ok_or(NoJson)?.chars();
        let mut text = String::new();
        loop {
            match letters.next().ok_or(NoJson)? {
                '"' => break,
                '\\' => text.push(escaped(&mut letters)?),
                control if u32::from(control) < 0x20 => return Err(NoJson),
                letter => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        Ok(text)
    }
}

fn escaped(letters: &mut core::str::Chars<'_>) -> Result<char, NoJson> {
    Ok(match letters.next().ok_or(NoJson)? {
        it @ ('"' | '\\' | '/') => it,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let high = unit(letters)?;
            if !(0xd800..0xdc00).contains(&high) {
                return char::from_u32(high).filter(|it| *it != '\0').ok_or(NoJson);
            }
            if letters.next() != Some('\\') || letters.next() != Some('u') {
                return Err(NoJson);
            }
            let low = unit(letters)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(NoJson);
            }
            char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).ok_or(NoJson)?
        }
        _ => return Err(NoJson),
    })
}

fn unit(letters: &mut core::str::Chars<'_>) -> Result<u32, NoJson> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit << 4 | letters.next().and_then(|it| it.to_digit(16)).ok_or(NoJson)?;
    }
    Ok(unit)
}

fn write(json: &Json<'_>, out: &mut String) {
    match json {
        Json::Word(word) => out.push_str(word),
        Json::Number(number) => match Numeric::parse(number) {
            Ok(number) => out.push_str(&number.to_string()),
            Err(_) => out.push_str(number),
        },
        Json::Text(text) => write_text(text, out),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            let mut order: Vec<_> = members.iter().collect();
            // Stable: of equal names the last one is kept.
            order.sort_by(|(one, _), (two, _)| (one.len(), one).cmp(&(two.len(), two)));
            let last = |at: usize| order.get(at + 1).is_none_or(|next| next.0 != order[at].0);
            out.push('{');
            let mut first = true;
            for at in (0..order.len()).filter(|at| last(*at)) {
                out.push_str(if first { "" } else { ", " });
                first = false;
                write_text(&order[at].0, out);
                out.push_str(": ");
                write(&order[at].1, out);
            }
            out.push('}');
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}
