//! A procedure that is declared in SQL, as data.

use crate::types::Type;

/// A procedure, as `CREATE PROCEDURE` declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Its parameters: `$1` in the body is the first one.
    pub parameters: Vec<ProcedureParameter>,
    /// The statements, as text.
    pub body: String,
}

/// A parameter of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcedureParameter {
    /// Its name, by which the body may call it where no column has that name.
    pub name: Option<String>,
    /// Its type.
    pub of: Type,
}

impl Procedure {
    /// The statement that declares it: what its owner keeps.
    #[must_use]
    pub fn to_text(&self) -> String {
        let parameter = |it: &ProcedureParameter| match &it.name {
            Some(name) => format!("{} {}", quoted(name), it.of),
            None => it.of.to_string(),
        };
        let parameters: Vec<String> = self.parameters.iter().map(parameter).collect();
        let body = self.body.replace('\'', "''");
        let name = quoted(&self.name);
        format!("CREATE PROCEDURE {name}({}) LANGUAGE sql AS '{body}'", parameters.join(", "))
    }

    /// Its name with the types of its parameters, as errors have it.
    #[must_use]
    pub fn signature(&self) -> String {
        let types: Vec<String> = self.parameters.iter().map(|it| it.of.to_string()).collect();
        format!("{}({})", self.name, types.join(", "))
    }

    /// The types of its parameters.
    pub fn types(&self) -> impl ExactSizeIterator<Item = Type> {
        self.parameters.iter().map(|it| it.of)
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
