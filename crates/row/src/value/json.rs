//! Values as JSON.

use super::Value;
use crate::{ColumnType, Fields};
use core::fmt::Write;

impl Value {
    /// Appends the value, which is one of `column_type`, as JSON. Numbers beyond 53 bits, decimals, instants, addresses and
    /// bytes (in hexadecimal) are strings; so are numbers that JSON does not have. A variant is its name, or an object of
    /// its name with what it carries.
    pub fn write_json(&self, column_type: &ColumnType, out: &mut String) {
        use ColumnType as T;
        match (column_type, self) {
            (_, Self::Null | Self::Unit) => out.push_str("null"),
            (T::Optional(of) | T::Descending(of), value) => value.write_json(of, out),
            (_, Self::Bool(value)) => push(out, value),
            (_, Self::Unsigned(value)) if *value < 1 << 53 => push(out, value),
            (_, Self::Signed(value)) if value.unsigned_abs() < 1 << 53 => push(out, value),
            (_, Self::Float(value)) if value.is_finite() => push(out, value),
            (T::Json, Self::Text(text)) => out.push_str(text),
            (_, Self::Text(text)) => string(text, out),
            (T::Array(of, _) | T::List(of), Self::List(items)) => {
                list(items.iter().map(|item| (of.as_ref(), item)), out);
            }
            (T::Tuple(types), Self::List(items)) => list(types.iter().zip(items), out),
            (T::Struct(members), Self::List(items)) => {
                let names =
                    members.iter().map(|member| (member.name.as_str(), &member.column_type));
                object(names.zip(items), out);
            }
            (T::Enum(variants), Self::Enum { number, fields }) => {
                let Some(variant) = variants.iter().find(|variant| variant.number == *number)
                else {
                    return push(out, number);
                };
                if variant.fields == Fields::None {
                    return string(&variant.name, out);
                }
                out.push('{');
                string(&variant.name, out);
                out.push(':');
                match &variant.fields {
                    Fields::None => {}
                    Fields::Tuple(types) => list(types.iter().zip(fields), out),
                    Fields::Struct(members) => {
                        let names = members
                            .iter()
                            .map(|member| (member.name.as_str(), &member.column_type));
                        object(names.zip(fields), out);
                    }
                }
                out.push('}');
            }
            (_, value) => string(&value.to_string(), out),
        }
    }
}

fn push(out: &mut String, value: impl core::fmt::Display) {
    let _ = write!(out, "{value}");
}

fn list<'a>(items: impl Iterator<Item = (&'a ColumnType, &'a Value)>, out: &mut String) {
    out.push('[');
    for (at, (of, item)) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        item.write_json(of, out);
    }
    out.push(']');
}

fn object<'a>(
    members: impl Iterator<Item = ((&'a str, &'a ColumnType), &'a Value)>,
    out: &mut String,
) {
    out.push('{');
    for (at, ((name, of), value)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        string(name, out);
        out.push(':');
        value.write_json(of, out);
    }
    out.push('}');
}

/// A JSON string.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
