//! A text as statements.

use crate::error::{Result, SqlError};
use crate::stack::{Nesting, with_room_to_prepare};
use crate::utility::{self, Utility};
use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use std::ops::Range;
use std::sync::Arc;

/// Parentheses within parentheses, at most. A statement is compiled on the stack of a thread or a fiber.
const DEPTH_MAX: usize = 40;
/// Levels of a tree of operators, at most.
const OPERATORS_MAX: usize = 400;
/// The longest text, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// One statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Where it stands in the text that was parsed, in bytes.
    pub range: Range<usize>,
    pub(crate) ast: Arc<Ast>,
    pub(crate) nesting: Nesting,
    lines: Arc<Lines>,
}

/// What a statement says.
#[derive(Debug)]
pub(crate) enum Ast {
    /// One with names and expressions.
    Parsed(Box<ast::Statement>),
    /// One that is about the session.
    Utility(Box<Utility>),
}

/// Where the lines of a text begin.
#[derive(Debug)]
struct Lines {
    /// For each line, the characters and the bytes before it.
    begins: Vec<(u32, usize)>,
    text: String,
}

impl Lines {
    fn new(text: &str) -> Self {
        let mut begins = vec![(0, 0)];
        let mut letters = 0;
        for (at, letter) in text.char_indices() {
            letters += 1;
            if letter == '\n' {
                begins.push((letters, at + 1));
            }
        }
        Self { begins, text: text.to_owned() }
    }

    fn begin(&self, line: u64) -> Option<(u32, usize)> {
        self.begins.get(usize::try_from(line.checked_sub(1)?).ok()?).copied()
    }

    /// The character at a location, from 1.
    fn position(&self, location: Location) -> Option<u32> {
        let (letters, _) = self.begin(location.line)?;
        letters.checked_add(u32::try_from(location.column).ok()?)
    }
}

/// Finds the bytes of locations, each behind the last one: a line may be as long as the text.
struct Walk<'l> {
    lines: &'l Lines,
    line: u64,
    column: u64,
    at: usize,
}

impl<'l> Walk<'l> {
    fn new(lines: &'l Lines) -> Self {
        Self { lines, line: 1, column: 1, at: 0 }
    }

    /// The byte at a location.
    fn byte(&mut self, location: Location) -> usize {
        if location.line > self.line {
            self.at = self.lines.begin(location.line).map_or(self.lines.text.len(), |it| it.1);
            (self.line, self.column) = (location.line, 1);
        }
        let rest = &self.lines.text[self.at..];
        let letters = usize::try_from(location.column.saturating_sub(self.column));
        let letters = letters.unwrap_or(usize::MAX);
        self.at += rest.char_indices().nth(letters).map_or(rest.len(), |(at, _)| at);
        self.column = self.column.max(location.column);
        self.at
    }
}

impl Statement {
    /// Where something stands in the text, in characters from 1.
    pub(crate) fn position(&self, span: Span) -> Option<u32> {
        self.lines.position(span.start)
    }
}

/// The statements of a text. A text of blanks and comments has none.
///
/// # Errors
/// 42601 with the position; 54001 for a text that is nested too deep.
pub fn parse(sql: &str) -> Result<Vec<Statement>> {
    if sql.len() > TEXT_BYTES_MAX {
        return Err(SqlError::program_limit(format!(
            "a statement of {} bytes; at most {TEXT_BYTES_MAX} are accepted",
            sql.len()
        )));
    }
    let lines = Arc::new(Lines::new(sql));
    let dialect = PostgreSqlDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().map_err(|error| {
        SqlError::syntax_error(format!("syntax error: {}", error.message))
            .at(lines.position(error.location))
    })?;
    let mut statements = Vec::new();
    let mut walk = Walk::new(&lines);
    let mut rest = tokens.into_iter().peekable();
    while rest.peek().is_some() {
        let of_one = rest.by_ref().take_while(|it| it.token != Token::SemiColon);
        let tokens: Vec<TokenWithSpan> =
            of_one.filter(|it| !matches!(it.token, Token::Whitespace(_) | Token::EOF)).collect();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { continue };
        let range = walk.byte(first.span.start)..walk.byte(last.span.end);
        let nesting = check_depth(&tokens, &lines)?;
        let parse = || match utility::parse(&tokens).map_err(|it| it.located(&lines))? {
            Some(utility) => Ok(Ast::Utility(Box::new(utility))),
            None => parse_tokens(tokens, &lines).map(|it| Ast::Parsed(Box::new(it))),
        };
        let ast = Arc::new(with_room_to_prepare(nesting.is_deep(), parse)?);
        statements.push(Statement { range, ast, nesting, lines: Arc::clone(&lines) });
    }
    Ok(statements)
}

/// An error at a token.
#[derive(Debug)]
pub(crate) struct Unexpected {
    pub error: Box<SqlError>,
    pub location: Option<Location>,
}

impl Unexpected {
    fn located(self, lines: &Lines) -> SqlError {
        let position = self.location.and_then(|it| lines.position(it));
        self.error.at(position)
    }
}

fn parse_tokens(tokens: Vec<TokenWithSpan>, lines: &Lines) -> Result<ast::Statement> {
    let mut parser = parser(tokens);
    let parsed = parser.parse_statement().map_err(|it| syntax_error(&it).located(lines))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let message = format!("syntax error at or near \"{}\"", next.token);
        return Err(SqlError::syntax_error(message).at(lines.position(next.span.start)));
    }
    Ok(parsed)
}

/// A parser of these tokens.
pub(crate) fn parser(tokens: Vec<TokenWithSpan>) -> Parser<'static> {
    Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(DEPTH_MAX * 2)
        .with_tokens_with_locations(tokens)
}

/// The expression of a text, as a default is stored.
pub(crate) fn parse_expression(sql: &str) -> Result<ast::Expr> {
    let dialect = PostgreSqlDialect {};
    let wrong = || SqlError::syntax_error(format!("no expression: {sql}"));
    let tokens = Tokenizer::new(&dialect, sql).tokenize_with_location().map_err(|_| wrong())?;
    let lines = Lines::new(sql);
    let nesting = check_depth(&tokens, &lines)?;
    with_room_to_prepare(nesting.is_deep(), || {
        let mut parser = parser(tokens);
        let parsed = parser.parse_expr().map_err(|_| wrong())?;
        if parser.peek_token().token == Token::EOF { Ok(parsed) } else { Err(wrong()) }
    })
}

/// What the parser says, as PostgreSQL says it.
pub(crate) fn syntax_error(error: &ParserError) -> Unexpected {
    let text = match error {
        ParserError::RecursionLimitExceeded => {
            return Unexpected { error: Box::new(too_deep()), location: None };
        }
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
    };
    let (what, location) = match text.rsplit_once(" at Line: ") {
        Some((what, place)) => {
            let numbers = place.split_once(", Column: ");
            let location = numbers.and_then(|(line, column)| {
                Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
            });
            (what, location)
        }
        None => (text.as_str(), None),
    };
    let message = match what.rsplit_once("found: ") {
        Some((_, "EOF")) => "syntax error at end of input".to_owned(),
        Some((_, found)) => format!("syntax error at or near \"{found}\""),
        None => format!("syntax error: {what}"),
    };
    let location = location.filter(|it| it.line > 0);
    let error = Box::new(SqlError::syntax_error(message).with_detail(what));
    Unexpected { error, location }
}

#[cold]
pub(crate) fn too_deep() -> SqlError {
    SqlError::statement_too_complex("stack depth limit exceeded")
        .with_detail("The statement is nested too deep.")
}

/// What stands between two parentheses, as far as it was looked at.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators since the last comma.
    operators: usize,
    /// The deepest tree of what stands in parentheses since.
    inner: usize,
    /// The deepest tree before that comma.
    before: usize,
}

impl Level {
    /// How deep its tree is at most, whichever operators bind tighter.
    fn depth(self) -> usize {
        (self.operators + self.inner).max(self.before)
    }
}

/// Refuses what would make a tree that is too deep for the stack.
fn check_depth(tokens: &[TokenWithSpan], lines: &Lines) -> Result<Nesting> {
    let mut nesting = Nesting::default();
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket => outer.push(std::mem::take(&mut level)),
            Token::RParen | Token::RBracket => {
                if let Some(around) = outer.pop() {
                    // A subscript is a level itself, as an operator is.
                    let operators = around.operators + usize::from(token.token == Token::RBracket);
                    let inner = around.inner.max(level.depth() + 1);
                    level = Level { inner, operators, ..around };
                }
            }
            Token::Comma => level = Level { before: level.depth(), ..Level::default() },
            other => level.operators += usize::from(is_operator(other)),
        }
        if outer.len() >= DEPTH_MAX || level.depth() > OPERATORS_MAX {
            return Err(too_deep().at(lines.position(token.span.start)));
        }
        nesting.parentheses = nesting.parentheses.max(outer.len());
        nesting.operators = nesting.operators.max(level.depth());
    }
    Ok(nesting)
}

/// Whether a token may make the tree one level deeper.
fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::BETWEEN
                | Keyword::CASE
                | Keyword::UNION
                | Keyword::INTERSECT
                | Keyword::EXCEPT
                | Keyword::JOIN
                | Keyword::EXPLAIN
                | Keyword::COLLATE
                | Keyword::AT
        ),
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::Period
        | Token::RParen
        | Token::RBracket
        | Token::EOF
        | Token::Whitespace(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_statements() {
        let sql = "select 1; ;\n-- nothing\n  update t set a = ';' ;";
        let statements = parse(sql).expect("statements");
        let texts: Vec<_> = statements.iter().map(|it| &sql[it.range.clone()]).collect();
        assert_eq!(texts, ["select 1", "update t set a = ';'"]);
        assert!(parse(" -- nothing").expect("none").is_empty());
    }

    #[test]
    fn errors_have_positions() {
        let error = |sql: &str| {
            let error = parse(sql).expect_err(sql);
            (error.sqlstate, error.position, error.message.clone())
        };
        let (state, position, message) = error("select 1;\nselect ü frm t where");
        assert_eq!((state, position), ("42601", Some(24)), "{message}");
        let (state, _, message) = error("select (1");
        assert_eq!((state, &*message), ("42601", "syntax error at end of input"));
        assert_eq!(error("select 'abc").0, "42601");
    }

    #[test]
    fn deep_texts_are_refused() {
        for (open, inner, close) in [
            ("(", "1", ")"),
            ("not ", "true", ""),
            ("- ", "1", ""),
            ("1 + ", "1", ""),
            ("case when true then ", "1", " end"),
            ("(select ", "1", ")"),
            ("coalesce(", "1", ")"),
            ("array[", "1", "]"),
            ("1::", "int", ""),
            ("1 union select ", "1", ""),
        ] {
            let sql = format!("select {}{inner}{}", open.repeat(10_000), close.repeat(10_000));
            assert_eq!(parse(&sql).expect_err(open).sqlstate, "54001", "{open}");
        }
        // Each pair of parentheses has few operators, and all together they are one tree.
        let inner = format!("{})", " + 1".repeat(300));
        let sql = format!("select {}1{}", "(".repeat(30), inner.repeat(30));
        assert_eq!(parse(&sql).expect_err("in parentheses").sqlstate, "54001");
        let sql = "explain ".repeat(10_000) + "select 1";
        assert_eq!(parse(&sql).expect_err("explain").sqlstate, "54001");
    }
}
