//! `#[derive(Row)]`.

use crate::index::{self, Index, constant_name};
use crate::shape;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{DeriveInput, Field, Ident, Path, Result};

/// A struct taken apart.
struct Layout<'a> {
    krate: Path,
    input: &'a DeriveInput,
    fixed: Vec<&'a Field>,
    tail: Option<&'a Field>,
    indexes: Vec<Index>,
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

impl<'a> Layout<'a> {
    fn of(input: &'a DeriveInput) -> Result<Self> {
        let krate = shape::crate_path(&input.attrs, "row")?;
        let mut fixed = shape::named_fields(input, "row")?;
        let tail = fixed.pop_if(|last| shape::is_variable(&last.ty));
        if let Some(early) = fixed.iter().find(|field| shape::is_variable(&field.ty)) {
            let message = "a field of variable length must be the last one, and there can be one \
                           only: use `Text<N>` or `[u8; N]` here";
            return Err(syn::Error::new_spanned(&early.ty, message));
        }
        let indexes = index::declared(&input.attrs, &fixed)?;
        let layout = Self { krate, input, fixed, tail, indexes };
        layout.check_names()?;
        Ok(layout)
    }

    /// Two constants of one name would give an error far from its cause.
    fn check_names(&self) -> Result<()> {
        let mut seen: Vec<Ident> = Vec::new();
        let fields = self.fixed.iter().filter_map(|field| field.ident.as_ref());
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
        let mut offset = quote!(0);
        let fields = self.fixed.iter().filter_map(|field| {
            let Field { ident, ty, vis, .. } = field;
            let name = ident.as_ref()?;
            let constant = constant_name(name);
            let doc = format!("Where the field `{}` lies in an encoded row.", name.unraw());
            let place = core::mem::replace(&mut offset, quote!(Self::#constant.end()));
            Some(quote! {
                #[doc = #doc]
                #[allow(dead_code, reason = "not every program uses all of them")]
                #vis const #constant: #krate::Field<Self, #ty> = #krate::Field::at(#place);
            })
        });
        let fields: TokenStream = fields.collect();
        let indexes =
            self.indexes.iter().enumerate().map(|(position, index)| {
                index.constant(krate, &self.input.vis, position, &self.fixed)
            });
        quote! { #fields #(#indexes)* }
    }

    fn implementation(&self) -> TokenStream {
        let krate = &self.krate;
        let name = &self.input.ident;
        let types = self.fixed.iter().map(|field| &field.ty);
        let (encode, decode) = (self.encode(), self.decode());
        let variable = self.tail.is_some();
        let specs = self.indexes.iter().map(|index| index.spec(krate));
        let columns = self.fixed.iter().chain(&self.tail).filter_map(|field| {
            let (name, ty) = (field.ident.as_ref()?.unraw().to_string(), &field.ty);
            Some(quote!(#krate::Column::new(#name, <#ty as #krate::Typed>::column_type())))
        });
        quote! {
            #[automatically_derived]
            impl #krate::Row for #name {
                const BYTES_FIXED: usize = 0 #(+ <#types as #krate::Fixed>::BYTES)*;
                const VARIABLE: bool = #variable;

                fn columns() -> ::std::vec::Vec<#krate::Column> {
                    ::std::vec![#(#columns),*]
                }

                fn indexes() -> ::std::vec::Vec<#krate::raw::SecondarySpec> {
                    ::std::vec![#(#specs),*]
                }

                fn encode(&self, row: &mut ::std::vec::Vec<u8>) {
                    #encode
                }

                fn decode(row: &[u8]) -> #krate::Result<Self> {
                    #decode
                }
            }
        }
    }

    fn encode(&self) -> TokenStream {
        let krate = &self.krate;
        let fixed = self.fixed.iter().filter_map(|field| {
            let name = field.ident.as_ref()?;
            let constant = constant_name(name);
            Some(quote!(Self::#constant.set(&mut row[start..], &self.#name);))
        });
        let tail = self.tail.and_then(|field| {
            let name = field.ident.as_ref()?;
            Some(quote!(row.extend_from_slice(#krate::Tail::bytes(&self.#name));))
        });
        quote! {
            let start = row.len();
            row.resize(start + <Self as #krate::Row>::BYTES_FIXED, 0);
            #(#fixed)*
            #tail
        }
    }

    fn decode(&self) -> TokenStream {
        let krate = &self.krate;
        let fixed = self.fixed.iter().filter_map(|field| {
            let name = field.ident.as_ref()?;
            let constant = constant_name(name);
            Some(quote!(#name: Self::#constant.get(row)?,))
        });
        let tail = self.tail.and_then(|field| {
            let name = field.ident.as_ref()?;
            let start = quote!(<Self as #krate::Row>::BYTES_FIXED);
            Some(quote!(#name: #krate::Tail::from_bytes(&row[#start..])?,))
        });
        quote! {
            <Self as #krate::Row>::check_length(row)?;
            ::core::result::Result::Ok(Self { #(#fixed)* #tail })
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
    fn offsets_follow_one_another() {
        let code = text(parse_quote! {
            struct Account { owner: Text<16>, pub balance: i64 }
        });
        assert!(code.contains("constOWNER:::chiliad::Field<Self,Text<16>>"), "{code}");
        assert!(code.contains("pubconstBALANCE"), "{code}");
        assert!(code.contains("::chiliad::Field::at(Self::OWNER.end())"), "{code}");
        assert!(code.contains("constVARIABLE:bool=false"), "{code}");
    }

    #[test]
    fn columns_have_the_names_and_types_of_the_fields() {
        let code = text(parse_quote! {
            struct Account { r#type: Text<16>, note: String }
        });
        let fixed = "Column::new(\"type\",<Text<16>as::chiliad::Typed>::column_type())";
        let tail = "Column::new(\"note\",<Stringas::chiliad::Typed>::column_type())";
        assert!(code.contains(&format!("{fixed},::chiliad::{tail}")), "{code}");
    }

    #[test]
    fn a_tail_is_last() {
        let code = text(parse_quote! {
            struct Note { id: u64, body: std::string::String }
        });
        assert!(code.contains("constVARIABLE:bool=true"), "{code}");
        let message = refusal(parse_quote! { struct Note { body: String, id: u64 } });
        assert!(message.contains("must be the last one"), "{message}");
        let message = refusal(parse_quote! { struct Note { body: Vec<u8>, more: Vec<u8> } });
        assert!(message.contains("must be the last one"), "{message}");
    }

    #[test]
    fn indexes_become_data_and_constants() {
        let code = text(parse_quote! {
            #[index(by_city(city, name desc))]
            #[index(by_name(name), unique)]
            pub struct Person { city: Text<8>, name: Text<8> }
        });
        assert!(code.contains("Self::CITY.key_part(false),Self::NAME.key_part(true)"), "{code}");
        assert!(code.contains("Index<Self,(Text<8>,::chiliad::Desc<Text<8>>,)>"), "{code}");
        assert!(code.contains("::chiliad::Index::at(1usize,\"by_name\")"), "{code}");
        assert!(code.contains("unique:true"), "{code}");
    }

    #[test]
    fn wrong_indexes_are_refused() {
        let unknown = refusal(parse_quote! { #[index(by_x(x))] struct A { y: u8 } });
        assert!(unknown.contains("no field `x`"), "{unknown}");
        let tail = refusal(parse_quote! { #[index(by_x(x))] struct A { x: String } });
        assert!(tail.contains("of fixed size"), "{tail}");
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
}
