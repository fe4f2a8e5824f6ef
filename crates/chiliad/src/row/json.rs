//! Any type that serde knows, as one column of JSON.

use super::stored::{Stored, put_blob};
use crate::{ColumnType, Error, Typed};
use chiliad_api::row::{BadValue, ValueSource};
use core::fmt;
use core::ops::Deref;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value of a type with serde's derives, as a column of the type `json`: its JSON as text, which other programs and
/// [`inspect`](crate::directory) read without the type. With the feature `serde`.
///
/// ```
/// use chiliad::{Database, Json, Row, Table};
/// use std::collections::BTreeMap;
///
/// #[derive(serde::Serialize, serde::Deserialize, Default)]
/// struct Settings {
///     theme: String,
///     limits: BTreeMap<String, u32>,
/// }
///
/// #[derive(Row)]
/// struct Account {
///     owner: String,
///     settings: Json<Settings>,
/// }
///
/// let db = Database::in_memory()?;
/// let accounts: Table<u64, Account> = db.create_table("accounts")?;
/// db.run(|tx| {
///     // That a value has no JSON is told here: to write a row cannot fail for it.
///     let settings = Json::new(Settings { theme: "light".into(), ..Default::default() })?;
///     tx.insert(&accounts, &1, &Account { owner: "ann".into(), settings })
/// })?;
/// let account = db.run(|tx| tx.get(&accounts, &1))?.expect("it was inserted");
/// assert_eq!(account.settings.theme, "light");
/// assert_eq!(account.settings.text(), r#"{"theme":"light","limits":{}}"#);
/// # Ok::<(), chiliad::Error>(())
/// ```
///
/// - The catalog keeps that the column is JSON, and not which type `T` is: a later release may read it with another one, as
///   serde allows. Where `T` does not accept what is there, reading the row is [`Error::BadRow`].
/// - A row that was read and is written again has the text that it had, members that `T` does not know included, until the
///   value is [set](Json::set).
/// - It has no order, so it is neither a key nor a part of an index.
#[derive(Clone)]
pub struct Json<T> {
    value: T,
    /// The JSON of which `value` was read, or that was written of it.
    text: String,
}

impl<T> Json<T> {
    /// The JSON.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value, without its JSON.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: DeserializeOwned> Json<T> {
    /// The value of a JSON text.
    ///
    /// # Errors
    /// [`Error::BadValue`] when it is no JSON, or none of a `T`.
    pub fn from_text(text: impl Into<String>) -> Result<Self, Error> {
        Ok(Self::read(text.into())?)
    }

    fn read(text: String) -> Result<Self, BadValue> {
        let value = serde_json::from_str(&text)
            .map_err(|error| BadValue::new(format!("JSON of another type: {error}")))?;
        Ok(Self { value, text })
    }
}

impl<T: Serialize + DeserializeOwned> Json<T> {
    /// The value with its JSON.
    ///
    /// # Errors
    /// [`Error::BadValue`] when the value has no JSON (a map whose keys are no texts), or its JSON
    /// is none of which a `T` can be read (a number that is not finite): it is tried here, so that what is stored can be read.
    pub fn new(value: T) -> Result<Self, Error> {
        let no_json = |error| BadValue::new(format!("a value without JSON: {error}"));
        let text = serde_json::to_string(&value).map_err(no_json)?;
        let Self { text, .. } = Self::read(text)?;
        Ok(Self { value, text })
    }

    /// Puts another value in place of this one. After an error it is as it was.
    ///
    /// # Errors
    /// Those of [`Json::new`].
    pub fn set(&mut self, value: T) -> Result<(), Error> {
        *self = Self::new(value)?;
        Ok(())
    }
}

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Json<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Json<T> {}

impl<T: fmt::Debug> fmt::Debug for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Typed for Json<T> {
    fn column_type() -> ColumnType {
        ColumnType::Json
    }
}

impl<T: DeserializeOwned> Stored for Json<T> {
    const VALUE_BYTES: Option<usize> = None;

    fn write_value(&self, out: &mut Vec<u8>) {
        put_blob(self.text.as_bytes(), out);
    }

    fn read_value(source: &mut ValueSource<'_>) -> Result<Self, BadValue> {
        Self::read_cell(source.blob()?)
    }

    fn write_cell(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text.as_bytes());
    }

    fn read_cell(cell: &[u8]) -> Result<Self, BadValue> {
        let text = core::str::from_utf8(cell).map_err(|_| BadValue::new("text is not UTF-8"))?;
        Self::read(text.into())
    }
}
