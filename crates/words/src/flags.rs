//! Flags in a table: most differ in their name, their kind and their bounds alone.

/// Declares a group of flags, each a row: its help, its name, and the kind of its value with the bounds. A row that ends
/// in `= "..."` has that default; without it the field is an option, `None` where nothing was typed. What else clap
/// should know of a flag stands in brackets. A row that begins with `..` is another group, one with `pub` a field as
/// clap's derive has it.
///
/// Kinds are `switch`; `count`, `whole` and `small` (numbers: `usize`, `u64`, `u32`); `real`, `percent`, `yes_no`, times,
/// sizes; `one_of` the words of a table; `text` and `sweep`; `file`, `directory`, and `results`,
/// a file or standard output.
/// [`value`](crate::value) has the parsers. The crate that calls it depends on clap.
///
/// ```
/// chiliad_words::flags! {
///     /// What a bank has.
///     BankFlags {
///         /// Accounts, 1 to 100.
///         accounts: whole(1, 100) [conflicts_with = "anew"],
///         /// Transactions that only read, in percent.
///         reads: percent() = "50",
///         /// Begin anew.
///         anew: switch,
///     }
/// }
/// # use clap::Parser;
/// # #[derive(Parser)]
/// # struct Line { #[command(flatten)] bank: BankFlags }
/// let BankFlags { accounts, reads, anew } = Line::parse_from(["bank", "--accounts", "7"]).bank;
/// assert_eq!((accounts, reads, anew), (Some(7), 50.0, false));
/// assert!(Line::try_parse_from(["bank", "--accounts", "0"]).is_err());
/// ```
#[macro_export]
macro_rules! flags {
    (@ [$(#[$meta:meta])* $group:ident] { $($fields:tt)* }) => {
        $(#[$meta])*
        #[derive(clap::Args)]
        pub struct $group { $($fields)* }
    };
    (@ $head:tt { $($fields:tt)* } $(#[$as_is:meta])* pub $flag:ident: $type:ty, $($rows:tt)*) => {
        $crate::flags! { @ $head { $($fields)* $(#[$as_is])* pub $flag: $type, } $($rows)* }
    };
    (@ $head:tt { $($fields:tt)* } $(#[$help:meta])* ..$flag:ident: $group:ty, $($rows:tt)*) => {
        $crate::flags! { @ $head {
            $($fields)*
            $(#[$help])*
            #[command(flatten)]
            pub $flag: $group,
        } $($rows)* }
    };
    (@ $head:tt { $($fields:tt)* } $(#[$help:meta])* $flag:ident: switch $([$($more:tt)+])?, $($rows:tt)*) => {
        $crate::flags! { @ $head {
            $($fields)*
            $(#[$help])*
            #[arg(long, $($($more)+)?)]
            pub $flag: bool,
        } $($rows)* }
    };
    (@ $head:tt { $($fields:tt)* }
        $(#[$help:meta])* $flag:ident: $kind:ident $bounds:tt $([$($more:tt)+])?, $($rows:tt)*
    ) => {
        $crate::flags! { @ $head {
            $($fields)*
            $(#[$help])*
            #[arg(
                long,
                value_name = $crate::kind!(name $kind),
                value_parser = $crate::kind!(parser $kind $bounds),
                $($($more)+)?
            )]
            pub $flag: Option<$crate::kind!(type $kind $bounds)>,
        } $($rows)* }
    };
    (@ $head:tt { $($fields:tt)* }
        $(#[$help:meta])* $flag:ident: $kind:ident $bounds:tt $([$($more:tt)+])? = $default:literal, $($rows:tt)*
    ) => {
        $crate::flags! { @ $head {
            $($fields)*
            $(#[$help])*
            #[arg(
                long,
                value_name = $crate::kind!(name $kind),
                default_value = $default,
                value_parser = $crate::kind!(parser $kind $bounds),
                $($($more)+)?
            )]
            pub $flag: $crate::kind!(type $kind $bounds),
        } $($rows)* }
    };
    ($(#[$meta:meta])* $group:ident { $($rows:tt)* }) => {
        $crate::flags! { @ [$(#[$meta])* $group] {} $($rows)* }
    };
}

/// The kinds of [`flags!`]: what the help calls a value, its type, and what reads it.
#[doc(hidden)]
#[macro_export]
macro_rules! kind {
    (name count) => { "N" };
    (name whole) => { "N" };
    (name small) => { "N" };
    (name real) => { "X" };
    (name percent) => { "PERCENT" };
    (name yes_no) => { "YES|NO" };
    (name time) => { "TIME" };
    (name time_above_zero) => { "TIME" };
    (name time_or_endless) => { "TIME|none" };
    (name time_or_never) => { "TIME|none" };
    (name size) => { "SIZE" };
    (name size_or_none) => { "SIZE" };
    (name one_of) => { "NAME" };
    (name text) => { "NAME" };
    (name sweep) => { "FLAG=A:B:STEP|FLAG=a,b,c" };
    (name file) => { "FILE" };
    (name results) => { "FILE|-" };
    (name directory) => { "DIR" };
    (type count $bounds:tt) => { usize };
    (type whole $bounds:tt) => { u64 };
    (type small $bounds:tt) => { u32 };
    (type real $bounds:tt) => { f64 };
    (type percent $bounds:tt) => { f64 };
    (type yes_no $bounds:tt) => { bool };
    (type size $bounds:tt) => { u64 };
    (type size_or_none $bounds:tt) => { u64 };
    (type one_of ($words:expr, $type:ty)) => { $type };
    (type text $bounds:tt) => { ::std::string::String };
    (type sweep $bounds:tt) => { ::std::string::String };
    (type file $bounds:tt) => { ::std::path::PathBuf };
    (type results $bounds:tt) => { ::std::path::PathBuf };
    (type directory $bounds:tt) => { ::std::path::PathBuf };
    (type $time:ident $bounds:tt) => { ::std::time::Duration };
    (parser text $bounds:tt) => { clap::value_parser!(::std::string::String) };
    (parser sweep $bounds:tt) => { clap::value_parser!(::std::string::String) };
    (parser file $bounds:tt) => { clap::value_parser!(::std::path::PathBuf) };
    (parser results $bounds:tt) => { clap::value_parser!(::std::path::PathBuf) };
    (parser directory $bounds:tt) => { clap::value_parser!(::std::path::PathBuf) };
    (parser yes_no $bounds:tt) => { $crate::value::yes_no() };
    (parser one_of ($words:expr, $type:ty)) => { $crate::value::choice($words) };
    (parser $kind:ident ()) => { $crate::value::$kind };
    (parser $kind:ident ($($bound:expr),+)) => { $crate::value::$kind($($bound),+) };
}

/// Gives the fields of `$options` the values that were typed for the flags of the same names; others stay as they are.
///
/// ```
/// struct Flags { accounts: Option<u64>, cards: Option<u64> }
/// struct Options { accounts: u64, cards: u64 }
/// let flags = Flags { accounts: Some(7), cards: None };
/// let mut options = Options { accounts: 1, cards: 2 };
/// chiliad_words::take!(options, flags: accounts, cards);
/// assert_eq!((options.accounts, options.cards), (7, 2));
/// ```
#[macro_export]
macro_rules! take {
    ($options:expr, $flags:ident: $($name:ident),+ $(,)?) => {
        $(if let Some(typed) = $flags.$name { $options.$name = typed; })+
    };
}
