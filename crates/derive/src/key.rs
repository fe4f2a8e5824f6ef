//! `#[derive(Key)]`.

use crate::shape;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, Index, Path, Result};

/// The implementations of `Key`, of `Lookup` of the key by itself, and of `Prefix` of the key by
/// tuples of its leading parts.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let krate = shape::crate_path(&input.attrs, "key")?;
    let fields = shape::named_fields(input, "key")?;
    if fields.is_empty() {
        let message = "a key needs at least one field";
        return Err(syn::Error::new_spanned(&input.ident, message));
    }
    let name = &input.ident;
    let names: Vec<_> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let texts: Vec<_> = names.iter().map(|name| name.unraw().to_string()).collect();
    let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
    let prefixes = (1..=types.len()).map(|length| prefix(&krate, name, &types[..length]));
    Ok(quote! {
        #[automatically_derived]
        impl #krate::Key for #name {
            fn columns() -> ::std::vec::Vec<#krate::Column> {
                ::std::vec![#(
                    #krate::Column::new(#texts, (#krate::key::calls::<#types>().column_type)())
                ),*]
            }

            fn decode(key: &[u8]) -> #krate::Result<Self> {
                let mut source = #krate::key::Source::new(key);
                let key = Self { #(#names: (#krate::key::calls::<#types>().read)(&mut source)?),* };
                #krate::key::end(&source)?;
                ::core::result::Result::Ok(key)
            }
        }

        #[automatically_derived]
        impl #krate::Lookup<#name> for #name {
            fn encode(&self, key: &mut ::std::vec::Vec<u8>) {
                #((#krate::key::calls::<#types>().write)(&self.#names, key);)*
            }
        }

        #(#prefixes)*
    })
}

fn prefix(krate: &Path, name: &syn::Ident, types: &[&syn::Type]) -> TokenStream {
    let parameters: Vec<_> = (0..types.len()).map(|at| format_ident!("P{at}")).collect();
    let places = (0..types.len()).map(Index::from);
    quote! {
        #[automatically_derived]
        impl<#(#parameters: #krate::PartOf<#types>),*> #krate::Prefix<#name>
            for (#(#parameters,)*)
        {
            fn encode_prefix(&self, key: &mut ::std::vec::Vec<u8>) {
                #(#krate::key::KeyPart::write(&self.#places, key);)*
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

    #[test]
    fn every_leading_part_is_a_prefix() {
        let input: DeriveInput = parse_quote! { struct Seat { flight: u32, row: u8 } };
        let code = expand(&input).expect("accepted").to_string().replace(' ', "");
        assert_eq!(code.matches("::chiliad::Prefix<Seat>").count(), 2, "{code}");
        assert!(
            code.contains("impl<P0:::chiliad::PartOf<u32>,P1:::chiliad::PartOf<u8>>"),
            "{code}"
        );
    }

    #[test]
    fn only_structs_with_fields_are_keys() {
        let message = refusal(parse_quote! { struct Seat {} });
        assert!(message.contains("at least one field"), "{message}");
        let message = refusal(parse_quote! { enum Seat { A } });
        assert!(message.contains("not an enum"), "{message}");
        let message = refusal(parse_quote! { struct Seat(u8); });
        assert!(message.contains("not a tuple struct"), "{message}");
    }
}
