//! `#[derive(Row)]`.

use crate::index::{self, Index, constant_name};
use crate::shape;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DeriveInput, Expr, Field, Ident, Path, Result};

/// A struct taken apart.
struct Layout<'a> {
    krate: Path,
    input: &'a DeriveInput,
    fields: Vec<&'a Field>,
    /// The defaults of fields that have one.
    defaults: Vec<(usize, TokenStream)>,
    indexes: Vec<Index>,
    /// The field that says when a row expires.
    expires: Option<usize>,
}

/// The implementation of `Row` and the constants for fields and indexes.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let layout = Layout::of(input)?;
    let implementation = layout.implementation();
    let constants = layout.constants();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        impl #name {
            #constants
        }
        #implementation
    })
}

/// The default of a field: `#[row(default)]`, `#[row(default = expression)]`.
fn default_of(field: &Field) -> Result<Option<TokenStream>> {
    let mut default = None;
    let ty = &field.ty;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("row")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("default") {
                return Err(meta.error(
                    "the only options of a field are `default` and `default = expression`",
                ));
            }
            let value = match meta.value() {
                Ok(value) => {
                    let expression: Expr = value.parse()?;
                    quote!({ let value: #ty = #expression; value })
                }
                Err(_) => quote!(<#ty as ::core::default::Default>::default()),
            };
            if default.replace(value).is_some() {
                return Err(meta.error("there is a default already"));
            }
            Ok(())
        })?;
    }
    Ok(default)
}

impl<'a> Layout<'a> {
    fn of(input: &'a DeriveInput) -> Result<Self> {
        let (krate, expires) = shape::options(&input.attrs, "row")?;
        let fields = shape::named_fields(input, "row")?;
        let mut defaults = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            defaults.extend(default_of(field)?.map(|default| (at, default)));
        }
        let indexes = index::declared(&input.attrs, &fields)?;
        let place = |name: syn::LitStr| {
            let is_it =
                |field: &&Field| field.ident.as_ref().is_some_and(|it| it.unraw() == name.value());
            let found = fields.iter().position(is_it);
            let message = format!("no field `{}`", name.value());
            found.ok_or_else(|| syn::Error::new(name.span(), message))
        };
        let expires = expires.map(place).transpose()?;
        let layout = Self { krate, input, fields, defaults, indexes, expires };
        layout.check_names()?;
        Ok(layout)
    }

    /// Two constants of one name would give an error far from its cause.
    fn check_names(&self) -> Result<()> {
        let mut seen: Vec<Ident> = Vec::new();
        let fields = self.fields.iter().filter_map(|field| field.ident.as_ref());
        for name in fields.chain(self.indexes.iter().map(|index| &index.name)) {
            let constant = constant_name(name);
            if seen.contains(&constant) {
                let message = format!("`{name}` needs the constant `{constant}`, which is taken");
                return Err(syn::Error::new(name.span(), message));
            }
            seen.push(constant);
        }
        Ok(())
    }

    fn constants(&self) -> TokenStream {
        let krate = &self.krate;
        let types = self.fields.iter().map(|field| &field.ty);
        let count = self.fields.len();
        let fields = self.fields.iter().enumerate().filter_map(|(at, field)| {
            let Field { ident, ty, vis, .. } = field;
            let name = ident.as_ref()?;
            let constant = constant_name(name);
            let text = name.unraw().to_string();
            let doc = format!("The column of the field `{text}`.");
            Some(quote! {
                #[doc = #doc]
                #[allow(dead_code, reason = "not every program uses all of them")]
                #vis const #constant: #krate::Field<Self, #ty> =
                    #krate::Field::of(&Self::__CHILIAD_PLACES, #at, #text);
            })
        });
        let indexes = self.indexes.iter().enumerate().map(|(position, index)| {
            index.constant(krate, &self.input.vis, position, &self.fields)
        });
        quote! {
            #[doc(hidden)]
            const __CHILIAD_PLACES: #krate::row::Places<#count> =
                #krate::row::Places::of([#(#krate::row::calls::<#types>().shape),*]);
            #(#fields)*
            #(#indexes)*
        }
    }

    /// The method that names the column by which rows expire.
    fn expiry(&self) -> TokenStream {
        let krate = &self.krate;
        let Some(at) = self.expires else { return TokenStream::new() };
        let field = self.fields[at];
        let constant = field.ident.as_ref().map(constant_name);
        // At the field, so that a type that says no instant is told there.
        let instant = quote::quote_spanned!(syn::spanned::Spanned::span(&field.ty)=>
            #krate::row::Expires::instant(&column));
        quote! {
            fn expiry() -> ::core::option::Option<#krate::row::Expiry> {
                ::core::option::Option::Some(#krate::row::Expiry::of(#at, |body| {
                    let column = Self::#constant.get(body)?;
                    ::core::result::Result::Ok(#instant)
                }))
            }
        }
    }

    fn implementation(&self) -> TokenStream {
        let krate = &self.krate;
        let name = &self.input.ident;
        let specs = self.indexes.iter().map(|index| index.spec(krate, &self.fields));
        let names = self.fields.iter().filter_map(|field| field.ident.as_ref());
        let texts = names.clone().map(|name| name.unraw().to_string());
        let types = self.fields.iter().map(|field| &field.ty);
        let columns = texts.clone().zip(types.clone()).map(
            |(text, ty)| quote!(#krate::Column::new(#text, (#krate::row::calls::<#ty>().column_type)())),
        );
        let defaults = self.defaults.iter().map(|(at, default)| {
            quote!((#at, {
                let mut bytes = ::std::vec::Vec::new();
                #krate::Stored::write_value(&#default, &mut bytes);
                bytes
            }))
        });
        let expiry = self.expiry();
        let places = 0..self.fields.len();
        let put = names.clone().zip(types.clone()).zip(places.clone()).map(|((name, ty), at)| {
            let place = quote!(Self::__CHILIAD_PLACES.place(#at));
            quote!((#krate::row::calls::<#ty>().put)(&mut body, #place, &self.#name);)
        });
        let get = names.zip(texts).zip(types).zip(places).map(|(((name, text), ty), at)| {
            let place = quote!(Self::__CHILIAD_PLACES.place(#at));
            quote!(#name: (#krate::row::calls::<#ty>().get)(&body, #place, #text)?,)
        });
        quote! {
            #[automatically_derived]
            impl #krate::Row for #name {
                fn columns() -> ::std::vec::Vec<#krate::Column> {
                    ::std::vec![#(#columns),*]
                }

                fn defaults() -> ::std::vec::Vec<(usize, ::std::vec::Vec<u8>)> {
                    ::std::vec![#(#defaults),*]
                }

                fn indexes() -> ::std::vec::Vec<#krate::raw::SecondarySpec> {
                    ::std::vec![#(#specs),*]
                }

                #expiry

                #[allow(unused_mut, unused_variables, reason = "there may be no field")]
                fn encode(&self, body: &mut ::std::vec::Vec<u8>) {
                    let mut body = Self::__CHILIAD_PLACES.begin(body);
                    #(#put)*
                }

                #[allow(unused_variables, reason = "there may be no field")]
                fn decode(body: &[u8]) -> #krate::Result<Self> {
                    let body = Self::__CHILIAD_PLACES.read(body)?;
                    ::core::result::Result::Ok(Self { #(#get)* })
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::expand;
    use syn::{DeriveInput, parse_quote};

    fn refusal(input: DeriveInput) -> String {
        expand(&input).expect_err("refused").to_string()
    }

    fn text(input: DeriveInput) -> String {
        expand(&input).expect("accepted").to_string().replace(' ', "")
    }

    #[test]
    fn each_field_has_a_column_and_a_constant() {
        let code = text(parse_quote! {
            struct Account { owner: Text<16>, pub balance: i64 }
        });
        assert!(code.contains("Places::of([::chiliad::row::calls::<Text<16>>().shape,"), "{code}");
        assert!(code.contains("constOWNER:::chiliad::Field<Self,Text<16>>"), "{code}");
        assert!(code.contains("pubconstBALANCE"), "{code}");
        assert!(code.contains("Field::of(&Self::__CHILIAD_PLACES,1usize,\"balance\")"), "{code}");
    }

    #[test]
    fn columns_have_the_names_and_types_of_the_fields() {
        let code = text(parse_quote! {
            struct Account { r#type: Text<16>, note: String }
        });
        let fixed = "Column::new(\"type\",(::chiliad::row::calls::<Text<16>>().column_type)())";
        let tail = "Column::new(\"note\",(::chiliad::row::calls::<String>().column_type)())";
        assert!(code.contains(&format!("{fixed},::chiliad::{tail}")), "{code}");
    }

    #[test]
    fn defaults_are_values_of_their_types() {
        let code = text(parse_quote! {
            struct Account { #[row(default)] age: u8, owner: u64, #[row(default = 7)] level: u16 }
        });
        assert!(code.contains("(0usize,"), "{code}");
        assert!(code.contains("<u8as::core::default::Default>::default()"), "{code}");
        assert!(code.contains("letvalue:u16=7;value"), "{code}");
        assert!(!code.contains("(1usize,{"), "{code}");
        let twice = refusal(parse_quote! { struct A { #[row(default, default = 1)] x: u8 } });
        assert!(twice.contains("already"), "{twice}");
        let other = refusal(parse_quote! { struct A { #[row(size = 1)] x: u8 } });
        assert!(other.contains("only options of a field"), "{other}");
    }

    #[test]
    fn indexes_become_data_and_constants() {
        let code = text(parse_quote! {
            #[index(by_city(city, name desc))]
            #[index(by_name(name), unique)]
            pub struct Person { city: Text<8>, name: Text<8> }
        });
        assert!(code.contains("in_keys::<Text<8>>(0u32),descending:false"), "{code}");
        assert!(code.contains("in_keys::<Text<8>>(1u32),descending:true"), "{code}");
        assert!(code.contains("Index<Self,(Text<8>,::chiliad::Desc<Text<8>>,)>"), "{code}");
        assert!(code.contains("::chiliad::Index::at(1usize,\"by_name\")"), "{code}");
        assert!(code.contains("unique:true"), "{code}");
    }

    #[test]
    fn wrong_indexes_are_refused() {
        let unknown = refusal(parse_quote! { #[index(by_x(x))] struct A { y: u8 } });
        assert!(unknown.contains("no field `x`"), "{unknown}");
        let empty = refusal(parse_quote! { #[index(by_x())] struct A { x: u8 } });
        assert!(empty.contains("at least one field"), "{empty}");
        let order = refusal(parse_quote! { #[index(by_x(x down))] struct A { x: u8 } });
        assert!(order.contains("`asc` or `desc`"), "{order}");
        let option = refusal(parse_quote! { #[index(by_x(x), sparse)] struct A { x: u8 } });
        assert!(option.contains("only option is `unique`"), "{option}");
        let usage = refusal(parse_quote! { #[index(name = "by_x")] struct A { x: u8 } });
        assert!(usage.contains("expected `#[index(name(field"), "{usage}");
        let twice =
            refusal(parse_quote! { #[index(by_x(x))] #[index(by_x(x))] struct A { x: u8 } });
        assert!(twice.contains("already"), "{twice}");
        let taken = refusal(parse_quote! { #[index(x(x))] struct A { x: u8 } });
        assert!(taken.contains("which is taken"), "{taken}");
    }

    #[test]
    fn only_plain_structs_are_rows() {
        let message = refusal(parse_quote! { enum A { B } });
        assert!(message.contains("not an enum"), "{message}");
        let message = refusal(parse_quote! { struct A(u8); });
        assert!(message.contains("not a tuple struct"), "{message}");
        let message = refusal(parse_quote! { struct A<T> { t: T } });
        assert!(message.contains("generic"), "{message}");
    }

    #[test]
    fn the_crate_can_be_elsewhere() {
        let code = text(parse_quote! { #[row(crate = other::path)] struct A { x: u8 } });
        assert!(code.contains("implother::path::RowforA"), "{code}");
        let message = refusal(parse_quote! { #[row(size = 3)] struct A { x: u8 } });
        assert!(message.contains("crate = path"), "{message}");
    }

    #[test]
    fn a_column_says_when_rows_expire() {
        let code = text(parse_quote! {
            #[row(expires = "until")] struct A { x: u8, until: SystemTime }
        });
        assert!(code.contains("Expiry::of(1usize,|body|"), "{code}");
        assert!(code.contains("Self::UNTIL.get(body)?"), "{code}");
        let unknown = refusal(parse_quote! { #[row(expires = "y")] struct A { x: u8 } });
        assert!(unknown.contains("no field `y`"), "{unknown}");
        let twice =
            refusal(parse_quote! { #[row(expires = "x", expires = "x")] struct A { x: u8 } });
        assert!(twice.contains("already"), "{twice}");
    }
}
