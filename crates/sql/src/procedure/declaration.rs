//! The declaration of a procedure, from its text.

use crate::bind::of_data_type;
use crate::error::{Result, SqlError};
use crate::routine::{Procedure, ProcedureParameter};
use crate::statement::{Ast, parse, parser, syntax_error};
use crate::types::Type;
use crate::utility::{Parsed, Utility, Words};
use sqlparser::tokenizer::Token;

/// Parameters at most, as PostgreSQL has it.
const PARAMETERS_MAX: usize = 100;

impl Procedure {
    /// The procedure of a text that [`Procedure::to_text`] has made.
    ///
    /// # Errors
    /// 42601 for any other text.
    pub fn parse(text: &str) -> Result<Self> {
        let statements = parse(text)?;
        let [statement] = statements.as_slice() else { return Err(no_declaration(text)) };
        match &*statement.ast {
            Ast::Utility(utility) => match &**utility {
                Utility::CreateProcedure { procedure, .. } => Ok(procedure.clone()),
                _ => Err(no_declaration(text)),
            },
            Ast::Parsed(_) => Err(no_declaration(text)),
        }
    }
}

#[cold]
fn no_declaration(text: &str) -> SqlError {
    SqlError::syntax_error(format!("no declaration of a procedure: {text}"))
}

impl Words<'_> {
    /// `CREATE [OR REPLACE] PROCEDURE name ([[IN] [name] type] ..) LANGUAGE sql AS 'body'`, from the name on.
    pub fn create_procedure(&mut self, replaces: bool) -> Parsed<Utility> {
        let name = self.schema_name()?;
        let parameters = self.parameters()?;
        let mut body = None;
        let mut language = None;
        while self.peek().is_some() {
            if self.takes("language") {
                let word = match self.peek() {
                    Some(Token::SingleQuotedString(word)) => Some(word.to_lowercase()),
                    _ => None,
                };
                self.at += usize::from(word.is_some());
                language = Some(match word {
                    Some(word) => word,
                    None => self.name()?,
                });
            } else if self.takes("as") {
                body = Some(self.body()?);
            } else if self.takes("begin") {
                return Err(self.refused("a body of BEGIN ATOMIC"));
            } else {
                return Err(self.unexpected());
            }
        }
        match language.as_deref() {
            Some("sql") => {}
            None => return Err(self.unexpected()),
            Some(other) => {
                return Err(self.refused(&format!("the language {other} of a procedure")));
            }
        }
        let Some(body) = body else { return Err(self.unexpected()) };
        let procedure = Procedure { name, parameters, body };
        Ok(Utility::CreateProcedure { procedure, replaces })
    }

    /// `DROP PROCEDURE [IF EXISTS] name [(types)]`, from `IF` on. A name has one procedure, so the types do not matter.
    pub fn drop_procedure(&mut self) -> Parsed<Utility> {
        let if_exists = self.takes("if");
        if if_exists {
            self.expect("exists")?;
        }
        let name = self.schema_name()?;
        if self.peek() == Some(&Token::LParen) {
            self.parameters()?;
        }
        let _ = self.takes("cascade") || self.takes("restrict");
        Ok(Utility::DropProcedure { name, if_exists })
    }

    fn schema_name(&mut self) -> Parsed<String> {
        let name = self.name()?;
        if name == "public" && self.takes_token(&Token::Period) { self.name() } else { Ok(name) }
    }

    fn parameters(&mut self) -> Parsed<Vec<ProcedureParameter>> {
        let mut parameters = Vec::new();
        if !self.takes_token(&Token::LParen) {
            return Err(self.unexpected());
        }
        if self.takes_token(&Token::RParen) {
            return Ok(parameters);
        }
        loop {
            parameters.push(self.procedure_parameter()?);
            if parameters.len() > PARAMETERS_MAX {
                return Err(self.refused(&format!("more than {PARAMETERS_MAX} parameters")));
            }
            if self.takes_token(&Token::RParen) {
                return Ok(parameters);
            }
            if !self.takes_token(&Token::Comma) {
                return Err(self.unexpected());
            }
        }
    }

    fn procedure_parameter(&mut self) -> Parsed<ProcedureParameter> {
        for mode in ["out", "inout", "variadic"] {
            if self.takes(mode) {
                return Err(self.refused(&format!("{} parameters", mode.to_uppercase())));
            }
        }
        self.takes("in");
        let start = self.at;
        // What has a name in front of it is no type as it stands.
        if let Ok(of) = self.data_type()
            && matches!(self.peek(), Some(Token::Comma | Token::RParen))
        {
            return Ok(ProcedureParameter { name: None, of });
        }
        self.at = start;
        let name = Some(self.name()?);
        let of = self.data_type()?;
        Ok(ProcedureParameter { name, of })
    }

    fn data_type(&mut self) -> Parsed<Type> {
        let start = self.at;
        let mut types = parser(self.tokens[start..].to_vec());
        let parsed = types.parse_data_type().map_err(|error| syntax_error(&error))?;
        let next = types.peek_token();
        let passed = self.tokens[start..].iter().take_while(|it| it.span.start != next.span.start);
        self.at += passed.count();
        let (of, _) = of_data_type(&parsed).map_err(|error| {
            let location = self.tokens.get(start).map(|it| it.span.start);
            crate::statement::Unexpected { error: Box::new(error), location }
        })?;
        Ok(of)
    }

    fn body(&mut self) -> Parsed<String> {
        let body = match self.peek() {
            Some(Token::SingleQuotedString(body) | Token::EscapedStringLiteral(body)) => {
                body.clone()
            }
            Some(Token::DollarQuotedString(body)) => body.value.clone(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Result<Procedure> {
        Procedure::parse(text)
    }

    #[test]
    fn a_declaration_survives_its_text() {
        for text in [
            "create procedure f() language sql as ''",
            "create or replace procedure public.f(a int, in b double precision, numeric(5,2)) as $$select a; select $3$$ language SQL",
            "CREATE PROCEDURE \"F \"\"x\"(\"select\" text, timestamp with time zone) LANGUAGE 'sql' AS 'it''s; '",
        ] {
            let procedure = declared(text).expect(text);
            assert_eq!(Procedure::parse(&procedure.to_text()), Ok(procedure), "{text}");
        }
        let procedure =
            declared("create procedure f(a int, varchar) language sql as 'x'").expect("declared");
        assert_eq!(procedure.signature(), "f(integer, character varying)");
        assert_eq!(procedure.parameters[0].name.as_deref(), Some("a"));
        assert_eq!(procedure.parameters[1].name, None);
    }

    #[test]
    fn what_is_no_declaration_is_refused() {
        for (text, state) in [
            ("create procedure f() language plpgsql as ''", "0A000"),
            ("create procedure f(out a int) language sql as ''", "0A000"),
            ("create procedure f() language sql begin atomic select 1", "0A000"),
            ("create procedure f() language sql", "42601"),
            ("create procedure f() as ''", "42601"),
            ("create procedure f(a nosuch) language sql as ''", "42704"),
            ("create procedure f(a int language sql as ''", "42601"),
            ("create procedure f language sql as ''", "42601"),
            ("select 1", "42601"),
        ] {
            assert_eq!(declared(text).expect_err(text).sqlstate, state, "{text}");
        }
    }
}
