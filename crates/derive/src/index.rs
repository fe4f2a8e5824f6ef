//! `#[index(name(part, part desc), unique)]`: a secondary index, declared on the row.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Field, Ident, Path, Result, Token, Visibility, parenthesized};

/// A declared index.
#[derive(Debug)]
pub(crate) struct Index {
    pub name: Ident,
    parts: Vec<Part>,
    unique: bool,
}

#[derive(Debug)]
struct Part {
    field: Ident,
    descending: bool,
}

impl Parse for Part {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let field = input.call(Ident::parse_any)?;
        let mut descending = false;
        if input.peek(Ident) {
            let order: Ident = input.parse()?;
            descending = match order.to_string().as_str() {
                "desc" => true,
                "asc" => false,
                _ => return Err(syn::Error::new(order.span(), "expected `asc` or `desc`")),
            };
        }
        Ok(Self { field, descending })
    }
}

impl Parse for Index {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let usage = "expected `#[index(name(field, field desc))]` or `#[index(.., unique)]`";
        let name: Ident = input.parse().map_err(|error| syn::Error::new(error.span(), usage))?;
        if !input.peek(syn::token::Paren) {
            return Err(syn::Error::new(name.span(), usage));
        }
        let list;
        parenthesized!(list in input);
        let parts = Punctuated::<Part, Token![,]>::parse_terminated(&list)?;
        if parts.is_empty() {
            return Err(syn::Error::new(name.span(), "an index needs at least one field"));
        }
        let mut unique = false;
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let option: Ident = input.parse()?;
            if option != "unique" {
                return Err(syn::Error::new(option.span(), "the only option is `unique`"));
            }
            unique = true;
        }
        Ok(Self { name, parts: parts.into_iter().collect(), unique })
    }
}

/// All indexes declared on a struct of these fields.
pub(crate) fn declared(attributes: &[Attribute], fields: &[&Field]) -> Result<Vec<Index>> {
    let mut indexes: Vec<Index> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("index")) {
        let index: Index = attribute.parse_args()?;
        if indexes.iter().any(|other| other.name == index.name) {
            let message = format!("there is an index `{}` already", index.name);
            return Err(syn::Error::new(index.name.span(), message));
        }
        for part in &index.parts {
            if !fields.iter().any(|field| field.ident.as_ref() == Some(&part.field)) {
                let message = format!("no field `{}` to index", part.field);
                return Err(syn::Error::new(part.field.span(), message));
            }
        }
        indexes.push(index);
    }
    Ok(indexes)
}

/// The name of the constant that stands for a field or an index.
pub(crate) fn constant_name(name: &Ident) -> Ident {
    format_ident!("{}", name.unraw().to_string().to_uppercase(), span = name.span())
}

impl Index {
    /// The expression that declares the index to the engine. A field that has no order in a key does not compile.
    pub fn spec(&self, krate: &Path, fields: &[&Field]) -> TokenStream {
        let Self { name, parts, unique } = self;
        let name = name.unraw().to_string();
        let place =
            |part: &Part| fields.iter().position(|field| field.ident.as_ref() == Some(&part.field));
        let parts = parts.iter().filter_map(|part| {
            let at = place(part)?;
            let number = u32::try_from(at).ok()?;
            let (ty, descending) = (&fields[at].ty, part.descending);
            Some(quote!(#krate::raw::ColumnPart {
                number: #krate::key::in_keys::<#ty>(#number),
                descending: #descending,
            }))
        });
        quote! {
            #krate::raw::SecondarySpec {
                name: ::std::string::String::from(#name),
                parts: #krate::raw::IndexParts::Columns(::std::vec![#(#parts),*]),
                unique: #unique,
            }
        }
    }

    /// The constant by which look-ups name the index, with the type of its key.
    pub fn constant(
        &self,
        krate: &Path,
        visibility: &Visibility,
        position: usize,
        fields: &[&Field],
    ) -> TokenStream {
        let constant = constant_name(&self.name);
        let name = self.name.unraw().to_string();
        let doc = format!("The secondary index `{name}`.");
        let types = self.parts.iter().map(|part| {
            let field = fields.iter().find(|field| field.ident.as_ref() == Some(&part.field));
            let ty = field.map(|field| &field.ty);
            if part.descending { quote!(#krate::Desc<#ty>) } else { quote!(#ty) }
        });
        quote! {
            #[doc = #doc]
            #[allow(dead_code, reason = "not every program uses all of them")]
            #visibility const #constant: #krate::Index<Self, (#(#types,)*)> =
                #krate::Index::at(#position, #name);
        }
    }
}
