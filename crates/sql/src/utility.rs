//! Statements about the session and its transactions, which have a grammar of their own.

use crate::error::SqlError;
use crate::prepared::{CopyFormat, Cursor, Fetch, Modes, Set, TransactionControl};
use crate::routine::Procedure;
use crate::statement::{Unexpected, parser, syntax_error};
use sqlparser::ast;
use sqlparser::tokenizer::{Token, TokenWithSpan};

pub(crate) type Parsed<T> = core::result::Result<T, Unexpected>;

/// A statement about the session.
#[derive(Clone, Debug)]
pub(crate) enum Utility {
    Transaction(TransactionControl, &'static str),
    Set(Set),
    Reset(Option<String>),
    Show(String),
    Copy(CopyStatement),
    Deallocate(Option<String>),
    Declare(Cursor, Box<ast::Statement>),
    Fetch(Fetch),
    Close(Option<String>),
    CreateProcedure {
        procedure: Procedure,
        replaces: bool,
    },
    DropProcedure {
        name: String,
        if_exists: bool,
    },
    Discard,
    /// Nothing is to be done; the tag.
    Nothing(&'static str),
}

/// `COPY`, before its names are resolved.
#[derive(Clone, Debug)]
pub(crate) struct CopyStatement {
    pub source: CopySource,
    pub from_client: bool,
    pub format: CopyFormat,
    pub freeze: bool,
}

/// What is copied.
#[derive(Clone, Debug)]
pub(crate) enum CopySource {
    Table { name: ast::Ident, columns: Vec<ast::Ident> },
    Query(Box<ast::Query>),
}

/// The statement, if it is one about the session.
pub(crate) fn parse(tokens: &[TokenWithSpan]) -> Parsed<Option<Utility>> {
    let mut words = Words { tokens, at: 0 };
    let utility = match words.word().as_deref() {
        Some("begin") => {
            words.takes("work");
            words.takes("transaction");
            let modes = words.modes()?;
            Utility::Transaction(TransactionControl::Begin(modes), "BEGIN")
        }
        Some("start") if words.takes("transaction") => {
            let modes = words.modes()?;
            Utility::Transaction(TransactionControl::Begin(modes), "START TRANSACTION")
        }
        Some("commit" | "end") => {
            let control = TransactionControl::Commit { chain: words.ending()? };
            Utility::Transaction(control, "COMMIT")
        }
        Some("rollback" | "abort") => words.rollback()?,
        Some("savepoint") => {
            Utility::Transaction(TransactionControl::Savepoint(words.name()?), "SAVEPOINT")
        }
        Some("release") => {
            words.takes("savepoint");
            Utility::Transaction(TransactionControl::Release(words.name()?), "RELEASE")
        }
        Some("set") => words.set()?,
        Some("reset") => words.reset()?,
        Some("show") => words.show()?,
        Some("copy") => Utility::Copy(words.copy()?),
        Some("deallocate") => {
            words.takes("prepare");
            let name = words.name()?;
            Utility::Deallocate((name != "all").then_some(name))
        }
        Some("declare") => words.declare()?,
        Some("fetch") => words.fetch(false)?,
        Some("move") => words.fetch(true)?,
        Some("close") => {
            let name = words.name()?;
            Utility::Close((name != "all").then_some(name))
        }
        Some("create") if words.takes("procedure") => words.create_procedure(false)?,
        Some("create") if words.takes_all(&["or", "replace", "procedure"]) => {
            words.create_procedure(true)?
        }
        Some("drop") if words.takes("procedure") => words.drop_procedure()?,
        Some("discard") => {
            words.rest();
            Utility::Discard
        }
        Some("vacuum") => words.nothing("VACUUM"),
        Some("analyze" | "analyse") => words.nothing("ANALYZE"),
        Some("checkpoint") => words.nothing("CHECKPOINT"),
        Some("reindex") => words.nothing("REINDEX"),
        Some("cluster") => words.nothing("CLUSTER"),
        Some("comment") => words.nothing("COMMENT"),
        Some("grant") => words.nothing("GRANT"),
        Some("revoke") => words.nothing("REVOKE"),
        _ => return Ok(None),
    };
    match words.peek() {
        None => Ok(Some(utility)),
        Some(_) => Err(words.unexpected()),
    }
}

/// The tokens of a statement, without blanks, from `at` on.
pub(crate) struct Words<'t> {
    pub tokens: &'t [TokenWithSpan],
    pub at: usize,
}

impl Words<'_> {
    pub fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|it| &it.token)
    }

    /// The next token is not what may stand here.
    pub fn unexpected(&self) -> Unexpected {
        let (message, location) = match self.tokens.get(self.at) {
            Some(token) => {
                let message = format!("syntax error at or near \"{}\"", token.token);
                (message, Some(token.span.start))
            }
            None => {
                let end = self.tokens.last().map(|it| it.span.end);
                ("syntax error at end of input".into(), end)
            }
        };
        Unexpected { error: Box::new(SqlError::syntax_error(message)), location }
    }

    /// The next token as a word in small letters, which it passes.
    fn word(&mut self) -> Option<String> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        let word = match word.quote_style {
            None => word.value.to_lowercase(),
            Some(_) => word.value.clone(),
        };
        self.at += 1;
        Some(word)
    }

    /// Passes `word`, if it is next.
    pub fn takes(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(it))
            if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word));
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes these words, if all of them are next.
    fn takes_all(&mut self, words: &[&str]) -> bool {
        let start = self.at;
        let all = words.iter().all(|word| self.takes(word));
        if !all {
            self.at = start;
        }
        all
    }

    pub fn takes_token(&mut self, token: &Token) -> bool {
        let is_next = self.peek() == Some(token);
        self.at += usize::from(is_next);
        is_next
    }

    pub fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.takes(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub fn name(&mut self) -> Parsed<String> {
        self.word().ok_or_else(|| self.unexpected())
    }

    fn rest(&mut self) {
        self.at = self.tokens.len();
    }

    fn nothing(&mut self, tag: &'static str) -> Utility {
        self.rest();
        Utility::Nothing(tag)
    }

    /// `DECLARE name [BINARY] [INSENSITIVE] [NO SCROLL] CURSOR [WITH HOLD] FOR query`. All cursors are insensitive.
    fn declare(&mut self) -> Parsed<Utility> {
        let name = self.name()?;
        let mut cursor = Cursor { name, holds: false, binary: false };
        while !self.takes("cursor") {
            match self.word().as_deref() {
                Some("binary") => cursor.binary = true,
                Some("insensitive" | "asensitive") => {}
                Some("no") => self.expect("scroll")?,
                Some("scroll") => return Err(self.refused("a cursor that scrolls")),
                _ => {
                    self.at = self.at.min(self.tokens.len().saturating_sub(1));
                    return Err(self.unexpected());
                }
            }
        }
        if self.takes("with") {
            self.expect("hold")?;
            cursor.holds = true;
        } else if self.takes("without") {
            self.expect("hold")?;
        }
        self.expect("for")?;
        let query = query_of(self.tokens[self.at..].to_vec())?;
        self.rest();
        Ok(Utility::Declare(cursor, Box::new(ast::Statement::Query(query))))
    }

    /// `FETCH [NEXT | n | ALL | FORWARD [n | ALL]] [FROM | IN] name`, and `MOVE`.
    fn fetch(&mut self, moves: bool) -> Parsed<Utility> {
        let start = self.at;
        for word in ["prior", "first", "last", "absolute", "relative", "backward"] {
            // A cursor may have such a name.
            if self.takes(word) && self.peek().is_some() {
                return Err(self.refused("FETCH in other directions than forward"));
            }
            self.at = start;
        }
        let is_name = self.tokens.len() == start + 1;
        let forward = !is_name && self.takes("forward");
        let rows = match self.peek().cloned() {
            Some(Token::Number(number, _)) if !is_name => {
                let rows = number.parse().map_err(|_| self.unexpected())?;
                self.at += 1;
                Some(rows)
            }
            Some(Token::Minus) => {
                return Err(self.refused("FETCH in other directions than forward"));
            }
            _ if !is_name && self.takes("all") => None,
            _ => {
                let _ = !is_name && !forward && self.takes("next");
                Some(1)
            }
        };
        if self.tokens.len() > self.at + 1 {
            let _ = self.takes("from") || self.takes("in");
        }
        Ok(Utility::Fetch(Fetch { cursor: self.name()?, rows, moves }))
    }

    /// What is not supported.
    pub fn refused(&self, what: &str) -> Unexpected {
        let error = SqlError::feature_not_supported(format!("{what} is not supported"));
        Unexpected { error: Box::new(error), location: None }
    }

    /// `WORK`, `TRANSACTION`, `AND [NO] CHAIN`.
    fn ending(&mut self) -> Parsed<bool> {
        let _ = self.takes("work") || self.takes("transaction");
        if !self.takes("and") {
            return Ok(false);
        }
        let no = self.takes("no");
        self.expect("chain")?;
        Ok(!no)
    }

    fn rollback(&mut self) -> Parsed<Utility> {
        let _ = self.takes("work") || self.takes("transaction");
        let control = if self.takes("to") {
            self.takes("savepoint");
            TransactionControl::RollbackTo(self.name()?)
        } else {
            TransactionControl::Rollback { chain: self.ending()? }
        };
        Ok(Utility::Transaction(control, "ROLLBACK"))
    }

    fn modes(&mut self) -> Parsed<Modes> {
        let mut modes = Modes::default();
        loop {
            self.takes_token(&Token::Comma);
            if self.takes("isolation") {
                self.expect("level")?;
                modes.isolation = Some(self.isolation()?);
            } else if self.takes("read") {
                let only = self.takes("only");
                if !only {
                    self.expect("write")?;
                }
                modes.read_only = Some(only);
            } else if self.takes("deferrable") {
                modes.deferrable = Some(true);
            } else if self.takes("not") {
                self.expect("deferrable")?;
                modes.deferrable = Some(false);
            } else {
                return Ok(modes);
            }
        }
    }

    fn isolation(&mut self) -> Parsed<&'static str> {
        if self.takes("serializable") {
            return Ok("serializable");
        }
        if self.takes("repeatable") {
            self.expect("read")?;
            return Ok("repeatable read");
        }
        self.expect("read")?;
        if self.takes("committed") {
            return Ok("read committed");
        }
        self.expect("uncommitted")?;
        Ok("read uncommitted")
    }

    fn set(&mut self) -> Parsed<Utility> {
        let local = self.takes("local");
        let session = !local && self.takes("session");
        if session && self.takes("characteristics") {
            self.expect("as")?;
            self.expect("transaction")?;
            let (name, modes) = ("session_characteristics".to_owned(), self.modes()?);
            return Ok(Utility::Set(Set { name, value: None, local, modes }));
        }
        if !session && self.takes("transaction") {
            let modes = self.modes()?;
            return Ok(Utility::Transaction(TransactionControl::SetModes(modes), "SET"));
        }
        let name = if self.takes("time") {
            self.expect("zone")?;
            "timezone".to_owned()
        } else if self.takes("names") {
            "client_encoding".to_owned()
        } else if session && self.takes("authorization") {
            "session_authorization".to_owned()
        } else if self.takes("role") {
            "role".to_owned()
        } else {
            let name = self.parameter()?;
            if !self.takes_token(&Token::Eq) {
                self.expect("to")?;
            }
            name
        };
        let value = self.values()?;
        Ok(Utility::Set(Set { name, value, local, modes: Modes::default() }))
    }

    /// A name with dots, in small letters.
    fn parameter(&mut self) -> Parsed<String> {
        let mut name = self.name()?;
        while self.takes_token(&Token::Period) {
            name.push('.');
            name.push_str(&self.name()?);
        }
        Ok(name.to_lowercase())
    }

    /// `DEFAULT`, or values with commas between.
    fn values(&mut self) -> Parsed<Option<String>> {
        if self.takes("default") {
            return Ok(None);
        }
        let mut values = vec![self.value()?];
        while self.takes_token(&Token::Comma) {
            values.push(self.value()?);
        }
        Ok(Some(values.join(", ")))
    }

    fn value(&mut self) -> Parsed<String> {
        let sign = match self.peek() {
            Some(Token::Minus) => "-",
            Some(Token::Plus) => "",
            _ => {
                let value = self.literal().ok_or_else(|| self.unexpected())?;
                self.at += 1;
                return Ok(value);
            }
        };
        self.at += 1;
        let Some(Token::Number(number, _)) = self.peek() else { return Err(self.unexpected()) };
        let value = format!("{sign}{number}");
        self.at += 1;
        Ok(value)
    }

    fn literal(&self) -> Option<String> {
        Some(match self.peek()? {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            Token::Word(word) => word.value.clone(),
            Token::Number(number, _) => number.clone(),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
            _ => return None,
        })
    }

    fn reset(&mut self) -> Parsed<Utility> {
        let name = match () {
            () if self.takes("all") => None,
            () if self.takes("time") => {
                self.expect("zone")?;
                Some("timezone".into())
            }
            () if self.takes("session") => {
                self.expect("authorization")?;
                Some("session_authorization".into())
            }
            () => Some(self.parameter()?),
        };
        Ok(Utility::Reset(name))
    }

    fn show(&mut self) -> Parsed<Utility> {
        let name = if self.takes("time") {
            self.expect("zone")?;
            "timezone".into()
        } else if self.takes("transaction") {
            self.expect("isolation")?;
            self.expect("level")?;
            "transaction_isolation".into()
        } else if self.takes("session") {
            self.expect("authorization")?;
            "session_authorization".into()
        } else {
            self.parameter()?
        };
        Ok(Utility::Show(name))
    }

    fn copy(&mut self) -> Parsed<CopyStatement> {
        let source = if self.takes_token(&Token::LParen) {
            CopySource::Query(self.query()?)
        } else {
            let mut name = self.ident()?;
            while self.takes_token(&Token::Period) {
                name = self.ident()?;
            }
            let columns = if self.takes_token(&Token::LParen) { self.idents()? } else { vec![] };
            CopySource::Table { name, columns }
        };
        let from_client = self.takes("from");
        if from_client {
            self.expect("stdin")?;
        } else {
            self.expect("to")?;
            self.expect("stdout")?;
        }
        if from_client && matches!(source, CopySource::Query(_)) {
            return Err(self.unexpected());
        }
        let mut options = CopyOptions::default();
        self.takes("with");
        if self.takes_token(&Token::LParen) {
            loop {
                let name = self.name()?;
                self.copy_option(&name, &mut options)?;
                if self.takes_token(&Token::RParen) {
                    break;
                }
                if !self.takes_token(&Token::Comma) {
                    return Err(self.unexpected());
                }
            }
        } else {
            while let Some(word) = self.word() {
                match word.as_str() {
                    "csv" | "binary" | "text" => options.format = Some(word),
                    "header" => options.header = true,
                    "freeze" => options.freeze = true,
                    _ => {
                        self.takes("as");
                        self.copy_option(&word, &mut options)?;
                    }
                }
            }
        }
        let freeze = options.freeze;
        Ok(CopyStatement { source, from_client, format: options.format()?, freeze })
    }

    fn copy_option(&mut self, name: &str, options: &mut CopyOptions) -> Parsed<()> {
        let location = self.tokens.get(self.at.saturating_sub(1)).map(|it| it.span.start);
        match name {
            "format" => options.format = Some(self.value()?.to_lowercase()),
            "delimiter" => options.delimiter = Some(self.value()?),
            "null" => options.null = Some(self.value()?),
            "quote" => options.quote = Some(self.value()?),
            "escape" => options.escape = Some(self.value()?),
            "encoding" => drop(self.value()?),
            "header" => options.header = self.switch()?,
            "freeze" => options.freeze = self.switch()?,
            _ => {
                let message = format!("option \"{name}\" not recognized");
                return Err(Unexpected {
                    error: Box::new(SqlError::syntax_error(message)),
                    location,
                });
            }
        }
        Ok(())
    }

    /// `ON`, `OFF` and their kin; nothing is `ON`.
    fn switch(&mut self) -> Parsed<bool> {
        if matches!(self.peek(), Some(Token::Comma | Token::RParen) | None) {
            return Ok(true);
        }
        match self.value()?.to_lowercase().as_str() {
            "on" | "true" | "1" | "match" => Ok(true),
            "off" | "false" | "0" => Ok(false),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn ident(&mut self) -> Parsed<ast::Ident> {
        let span = self.tokens.get(self.at).map(|it| it.span);
        let value = self.name()?;
        Ok(ast::Ident { value, quote_style: Some('"'), span: span.unwrap_or_else(empty_span) })
    }

    fn idents(&mut self) -> Parsed<Vec<ast::Ident>> {
        let mut idents = vec![self.ident()?];
        loop {
            if self.takes_token(&Token::RParen) {
                return Ok(idents);
            }
            if !self.takes_token(&Token::Comma) {
                return Err(self.unexpected());
            }
            idents.push(self.ident()?);
        }
    }

    /// The query up to the parenthesis that closes.
    fn query(&mut self) -> Parsed<Box<ast::Query>> {
        let (start, mut open) = (self.at, 1_usize);
        while open > 0 {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(Token::LParen) => open += 1,
                Some(Token::RParen) => open -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        query_of(self.tokens[start..self.at - 1].to_vec())
    }
}

/// The query that all of these tokens are.
fn query_of(tokens: Vec<TokenWithSpan>) -> Result<Box<ast::Query>, Unexpected> {
    let mut parser = parser(tokens);
    let query = parser.parse_query().map_err(|it| syntax_error(&it))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("syntax error at or near \"{}\"", next.token);
        let error = SqlError::syntax_error(message);
        return Err(Unexpected { error: Box::new(error), location: Some(next.span.start) });
    }
    Ok(query)
}

fn empty_span() -> sqlparser::tokenizer::Span {
    sqlparser::tokenizer::Span::empty()
}

/// The options of COPY as they are written.
#[derive(Default)]
struct CopyOptions {
    format: Option<String>,
    delimiter: Option<String>,
    null: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    header: bool,
    freeze: bool,
}

impl CopyOptions {
    fn format(self) -> Parsed<CopyFormat> {
        let refuse = |message: String| {
            let error = Box::new(SqlError::invalid_parameter(message));
            Err(Unexpected { error, location: None })
        };
        let letter = |of: Option<String>, otherwise: u8, what: &str| match of.as_deref() {
            None => Ok(otherwise),
            Some(text) => match text.as_bytes() {
                [one] => Ok(*one),
                _ => refuse(format!("COPY {what} must be a single one-byte character"))
                    .map(|_: CopyFormat| 0),
            },
        };
        let header = self.header;
        match self.format.as_deref() {
            None | Some("text") => Ok(CopyFormat::Text {
                delimiter: letter(self.delimiter, b'\t', "delimiter")?,
                null: self.null.unwrap_or_else(|| "\\N".into()),
                header,
            }),
            Some("csv") => {
                let quote = letter(self.quote, b'"', "quote")?;
                Ok(CopyFormat::Csv {
                    delimiter: letter(self.delimiter, b',', "delimiter")?,
                    null: self.null.unwrap_or_default(),
                    header,
                    quote,
                    escape: letter(self.escape, quote, "escape")?,
                })
            }
            Some("binary") => Ok(CopyFormat::Binary),
            Some(other) => refuse(format!("COPY format \"{other}\" not recognized")),
        }
    }
}
