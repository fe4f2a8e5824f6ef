//! The demands of both macros on their struct.

use syn::{Attribute, Data, DeriveInput, Field, Fields, LitStr, Path, Result};

/// The named fields of a struct without generic parameters.
pub(crate) fn named_fields<'a>(input: &'a DeriveInput, what: &str) -> Result<Vec<&'a Field>> {
    if !input.generics.params.is_empty() {
        let message = format!("a {what} cannot have generic parameters: its layout is fixed");
        return Err(syn::Error::new_spanned(&input.generics, message));
    }
    let refuse = |what_it_is: &str| {
        let message = format!("a {what} is a struct with named fields, not {what_it_is}");
        Err(syn::Error::new_spanned(&input.ident, message))
    };
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unnamed(_) => refuse("a tuple struct"),
            Fields::Unit => refuse("a unit struct"),
        },
        Data::Enum(_) => refuse("an enum"),
        Data::Union(_) => refuse("a union"),
    }
}

/// The options of a struct: the path of the facade crate, `::chiliad` or what `#[row(crate = path)]` says; and for a row
/// the name of the field of `#[row(expires = "field")]`.
pub(crate) fn options(attributes: &[Attribute], name: &str) -> Result<(Path, Option<LitStr>)> {
    let mut expires = None;
    let mut path: Path = syn::parse_quote!(::chiliad);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                path = meta.value()?.parse()?;
                Ok(())
            } else if name == "row" && meta.path.is_ident("expires") {
                if expires.replace(meta.value()?.parse()?).is_some() {
                    return Err(meta.error("a field that says when is named already"));
                }
                Ok(())
            } else if name == "row" {
                Err(meta.error("the only options are `crate = path` and `expires = \"field\"`"))
            } else {
                Err(meta.error("the only option is `crate = path`"))
            }
        })?;
    }
    Ok((path, expires))
}

/// The path of the facade crate.
pub(crate) fn crate_path(attributes: &[Attribute], name: &str) -> Result<Path> {
    options(attributes, name).map(|(path, _)| path)
}
