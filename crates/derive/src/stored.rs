//! `#[derive(Stored)]`.

use crate::shape;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Expr, ExprLit, Fields, Ident, Lit, Path, Result, Type};

/// The implementations of `Typed` and `Stored`, and of what keys take where all parts have an order.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let krate = shape::crate_path(&input.attrs, "stored")?;
    let parts = match &input.data {
        Data::Struct(data) => of_struct(&krate, &data.fields),
        Data::Enum(data) => of_enum(&krate, input, data)?,
        Data::Union(_) => {
            let message = "a column is a struct or an enum, not a union";
            return Err(syn::Error::new_spanned(&input.ident, message));
        }
    };
    Ok(parts.implementations(&krate, input))
}

/// What the implementations are made of.
struct Parts<'a> {
    /// The types of all fields.
    types: Vec<&'a Type>,
    column_type: TokenStream,
    value_bytes: TokenStream,
    write: TokenStream,
    read: TokenStream,
    /// The longest key, its writing and its reading.
    key_bytes: TokenStream,
    write_key: TokenStream,
    read_key: TokenStream,
}

impl Parts<'_> {
    fn implementations(&self, krate: &Path, input: &DeriveInput) -> TokenStream {
        let Self { types, column_type, value_bytes, write, read, .. } = self;
        let Self { key_bytes, write_key, read_key, .. } = self;
        let name = &input.ident;
        let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
        let bounds = where_clause.map(|clause| {
            let predicates = clause.predicates.iter();
            quote!(#(#predicates,)*)
        });
        let parameters: Vec<&Ident> = input.generics.type_params().map(|it| &it.ident).collect();
        // Whether the fields have an order is looked at where a key needs it: a bound that names a lifetime of its own
        // is no error of the type.
        let ordered = quote!(#(for<'part> #types: #krate::key::KeyPart<Decoded = #types>,)*);
        quote! {
            #[automatically_derived]
            impl #impl_generics #krate::Typed for #name #type_generics
            where #bounds #(#parameters: #krate::Stored,)*
            {
                fn column_type() -> #krate::ColumnType {
                    #column_type
                }
            }

            #[automatically_derived]
            impl #impl_generics #krate::Stored for #name #type_generics
            where #bounds #(#parameters: #krate::Stored,)*
            {
                const VALUE_BYTES: ::core::option::Option<usize> = #value_bytes;

                #[allow(unused_variables, reason = "there may be no field")]
                fn write_value(&self, out: &mut ::std::vec::Vec<u8>) {
                    #write
                }

                #[allow(unused_variables, reason = "there may be no field")]
                fn read_value(
                    source: &mut #krate::row::ValueSource<'_>,
                ) -> ::core::result::Result<Self, #krate::row::BadValue> {
                    #read
                }
            }

            #[automatically_derived]
            impl #impl_generics #krate::key::KeyPart for #name #type_generics
            where #bounds #ordered
            {
                const BYTES_MAX: usize = #key_bytes;
                type Decoded = Self;

                #[allow(unused_variables, reason = "there may be no field")]
                fn write<KeySink: #krate::key::Sink>(&self, sink: &mut KeySink) {
                    #write_key
                }

                #[allow(unused_variables, reason = "there may be no field")]
                fn read(
                    source: &mut #krate::key::Source<'_>,
                ) -> ::core::result::Result<Self, #krate::key::BadKey> {
                    #read_key
                }
            }

            #[automatically_derived]
            impl #impl_generics #krate::PartOf<#name #type_generics> for #name #type_generics
            where #bounds #ordered
            {}

            #[automatically_derived]
            impl #impl_generics #krate::Part for #name #type_generics
            where #bounds #(#parameters: #krate::Stored,)* #(for<'part> #types: #krate::Part,)*
            {}
        }
    }
}

/// The names by which fields are bound: their own, or `field_0` and so on.
fn bindings(fields: &Fields) -> Vec<Ident> {
    let name = |(at, field): (usize, &syn::Field)| {
        field.ident.clone().unwrap_or_else(|| format_ident!("field_{at}"))
    };
    fields.iter().enumerate().map(name).collect()
}

/// The pattern that binds all fields, which is also the expression that is made of them.
fn pattern(path: &TokenStream, fields: &Fields) -> TokenStream {
    let names = bindings(fields);
    match fields {
        Fields::Named(_) => quote!(#path { #(#names),* }),
        Fields::Unnamed(_) => quote!(#path(#(#names),*)),
        Fields::Unit => quote!(#path),
    }
}

fn member_list(krate: &Path, fields: &Fields) -> TokenStream {
    let members = fields.iter().filter_map(|field| {
        let (name, ty) = (field.ident.as_ref()?.unraw().to_string(), &field.ty);
        Some(quote!(#krate::row::Member {
            name: ::std::string::String::from(#name),
            column_type: (#krate::row::calls::<#ty>().column_type)(),
        }))
    });
    quote!(::std::vec![#(#members),*])
}

fn of_struct<'a>(krate: &Path, fields: &'a Fields) -> Parts<'a> {
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    let names = bindings(fields);
    let column_type = match (fields, &types[..]) {
        // Another name for the type.
        (Fields::Unnamed(_), [of]) => quote!((#krate::row::calls::<#of>().column_type)()),
        (_, []) => quote!(#krate::ColumnType::Unit),
        (Fields::Named(_), _) => {
            let members = member_list(krate, fields);
            quote!(#krate::ColumnType::Struct(#members))
        }
        (_, types) => {
            quote!(#krate::ColumnType::Tuple(::std::vec![#((#krate::row::calls::<#types>().column_type)()),*]))
        }
    };
    let all = pattern(&quote!(Self), fields);
    Parts {
        column_type,
        value_bytes: quote!(#krate::row::sum_bytes(&[#(#krate::row::calls::<#types>().value_bytes),*])),
        write: quote!(let #all = self; #((#krate::row::calls::<#types>().write)(#names, out);)*),
        read: quote! {
            #(let #names = (#krate::row::calls::<#types>().read)(source)?;)*
            ::core::result::Result::Ok(#all)
        },
        key_bytes: quote!(0_usize #(.saturating_add(<#types as #krate::key::KeyPart>::BYTES_MAX))*),
        write_key: quote!(let #all = self; #(#krate::key::KeyPart::write(#names, sink);)*),
        read_key: quote! {
            #(let #names = <#types as #krate::key::KeyPart>::read(source)?;)*
            ::core::result::Result::Ok(#all)
        },
        types,
    }
}

/// The numbers of an enum's variants: those that it states, and from them on.
fn numbers(data: &syn::DataEnum) -> Result<Vec<u16>> {
    let mut next = Some(0_u16);
    let mut numbers = Vec::new();
    for variant in &data.variants {
        let number = match &variant.discriminant {
            Some((_, Expr::Lit(ExprLit { lit: Lit::Int(number), .. }))) => {
                Some(number.base10_parse::<u16>()?)
            }
            Some((_, other)) => {
                let message = "the number of a variant is a whole number from 0 to 65535";
                return Err(syn::Error::new_spanned(other, message));
            }
            None => next,
        };
        let message = "an enum has 65536 variants at most";
        let number = number.ok_or_else(|| syn::Error::new_spanned(variant, message))?;
        next = number.checked_add(1);
        numbers.push(number);
    }
    Ok(numbers)
}

fn of_enum<'a>(krate: &Path, input: &DeriveInput, data: &'a syn::DataEnum) -> Result<Parts<'a>> {
    if data.variants.is_empty() {
        let message = "an enum without variants has no values";
        return Err(syn::Error::new_spanned(&input.ident, message));
    }
    let numbers = numbers(data)?;
    let variants = || data.variants.iter().zip(&numbers);
    let types = |fields: &'a Fields| fields.iter().map(|field| &field.ty).collect::<Vec<&Type>>();
    let list = variants().map(|(variant, number)| {
        let name = variant.ident.unraw().to_string();
        let carried = types(&variant.fields);
        let fields = match (&variant.fields, &carried[..]) {
            (_, []) => quote!(#krate::row::Fields::None),
            (Fields::Named(_), _) => {
                let members = member_list(krate, &variant.fields);
                quote!(#krate::row::Fields::Struct(#members))
            }
            (_, types) => quote!(#krate::row::Fields::Tuple(
                ::std::vec![#((#krate::row::calls::<#types>().column_type)()),*]
            )),
        };
        quote!(#krate::row::Variant {
            number: #number,
            name: ::std::string::String::from(#name),
            fields: #fields,
        })
    });
    let plain = data.variants.iter().all(|variant| variant.fields.is_empty());
    let write = variants().map(|(variant, number)| {
        let (pattern, names) =
            (pattern(&path(variant), &variant.fields), bindings(&variant.fields));
        let types = types(&variant.fields);
        quote!(#pattern => {
            out.extend_from_slice(&<u16>::to_le_bytes(#number));
            #((#krate::row::calls::<#types>().write)(#names, out);)*
        })
    });
    let read = variants().map(|(variant, number)| {
        let (value, names) = (pattern(&path(variant), &variant.fields), bindings(&variant.fields));
        let types = types(&variant.fields);
        quote!(#number => {
            #(let #names = (#krate::row::calls::<#types>().read)(source)?;)*
            ::core::result::Result::Ok(#value)
        })
    });
    let (key_bytes, write_key, read_key) = keys_of_enum(krate, data, &numbers);
    Ok(Parts {
        column_type: quote!(#krate::ColumnType::Enum(::std::vec![#(#list),*])),
        value_bytes: if plain {
            quote!(::core::option::Option::Some(2))
        } else {
            quote!(::core::option::Option::None)
        },
        write: quote!(match self { #(#write)* }),
        read: quote! {
            match <u16>::from_le_bytes(source.take()?) {
                #(#read)*
                number => ::core::result::Result::Err(#krate::row::BadValue::new(
                    ::std::format!("the number {number}, which no variant has"),
                )),
            }
        },
        key_bytes,
        write_key,
        read_key,
        types: data.variants.iter().flat_map(|variant| types(&variant.fields)).collect(),
    })
}

/// The longest key of an enum, its writing and its reading.
fn keys_of_enum(
    krate: &Path,
    data: &syn::DataEnum,
    numbers: &[u16],
) -> (TokenStream, TokenStream, TokenStream) {
    let types =
        |fields: &Fields| fields.iter().map(|field| field.ty.clone()).collect::<Vec<Type>>();
    let lengths = data.variants.iter().map(|variant| {
        let types = types(&variant.fields);
        quote!(0_usize #(.saturating_add(<#types as #krate::key::KeyPart>::BYTES_MAX))*)
    });
    let write = data.variants.iter().zip(numbers).map(|(variant, number)| {
        let (pattern, names) =
            (pattern(&path(variant), &variant.fields), bindings(&variant.fields));
        quote!(#pattern => {
            #krate::key::KeyPart::write(&#number, sink);
            #(#krate::key::KeyPart::write(#names, sink);)*
        })
    });
    let read = data.variants.iter().zip(numbers).map(|(variant, number)| {
        let (value, names) = (pattern(&path(variant), &variant.fields), bindings(&variant.fields));
        let types = types(&variant.fields);
        quote!(#number => {
            #(let #names = <#types as #krate::key::KeyPart>::read(source)?;)*
            ::core::result::Result::Ok(#value)
        })
    });
    let longest = quote!({
        let lengths = [#(#lengths),*];
        let (mut longest, mut at) = (0, 0);
        while at < lengths.len() {
            if lengths[at] > longest {
                longest = lengths[at];
            }
            at += 1;
        }
        longest.saturating_add(2)
    });
    let read = quote! {
        match <u16 as #krate::key::KeyPart>::read(source)? {
            #(#read)*
            _ => ::core::result::Result::Err(#krate::key::BadKey),
        }
    };
    (longest, quote!(match self { #(#write)* }), read)
}

/// A variant, by its path.
fn path(variant: &syn::Variant) -> TokenStream {
    let name = &variant.ident;
    quote!(Self::#name)
}

#[cfg(test)]
mod tests {
    use super::expand;
    use syn::{DeriveInput, parse_quote};

    fn refusal(input: DeriveInput) -> String {
        expand(&input).expect_err("refused").to_string()
    }

    #[test]
    fn variants_have_the_numbers_that_they_state() {
        let input = parse_quote! { enum Color { Red, Blue = 7, Green(u8) } };
        let code = expand(&input).expect("accepted").to_string().replace(' ', "");
        for number in ["number:0u16", "number:7u16", "number:8u16"] {
            assert!(code.contains(number), "{number}: {code}");
        }
        assert!(code.contains("for<'part>u8:::chiliad::key::KeyPart<Decoded=u8>"), "{code}");
    }

    #[test]
    fn what_has_no_values_is_refused() {
        assert!(refusal(parse_quote! { enum Never {} }).contains("no values"));
        assert!(refusal(parse_quote! { union Both { a: u8, b: u8 } }).contains("not a union"));
        let number = refusal(parse_quote! { enum Low { A = -1 } });
        assert!(number.contains("from 0 to 65535"), "{number}");
        assert!(expand(&parse_quote! { enum High { A = 65536 } }).is_err());
        let most = refusal(parse_quote! { enum Most { A = 65535, B } });
        assert!(most.contains("65536 variants"), "{most}");
    }
}
