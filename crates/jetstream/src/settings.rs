//! The settings of a stream that is a shared log: how one is made, and what one that is there must have.

use crate::error::OpenError;
use crate::options::Options;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType,
};
use std::collections::HashMap;
use std::fmt::Debug;

/// The keys of the stream's metadata.
const FORMAT: &str = "chiliad-format";
const IDENTITY: &str = "chiliad-identity";
/// The format of what is written here and of the ids of records.
const FORMAT_NOW: &str = "1";

/// The stream to make: `drawn` is a random number that tells it from all others.
pub fn new(stream: &str, drawn: u128, options: &Options) -> Config {
    let drawn = format!("{drawn:032x}");
    Config {
        name: stream.into(),
        description: Some("a shared log of Chiliad".into()),
        subjects: vec![subject(stream, &drawn)],
        num_replicas: options.replicas,
        storage: StorageType::File,
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::New,
        max_bytes: options.bytes_max.map_or(-1, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
        max_messages: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        deny_delete: true,
        metadata: HashMap::from([
            (FORMAT.to_owned(), FORMAT_NOW.to_owned()),
            (IDENTITY.to_owned(), drawn),
        ]),
        ..Config::default()
    }
}

/// The subject of the records of a stream.
fn subject(stream: &str, drawn: &str) -> String {
    format!("chiliad.{stream}.{drawn}")
}

/// The subject of the records of a stream that [`check`] accepts.
pub fn subject_of(info: &Info) -> String {
    info.config.subjects.first().cloned().unwrap_or_default()
}

/// The number that tells the stream from all others, also from one that somebody makes with the same settings: what
/// was drawn, and when it was made. Nothing for a stream that is no log.
pub fn identity(info: &Info) -> Option<u128> {
    let drawn = u128::from_str_radix(info.config.metadata.get(IDENTITY)?, 16).ok()?;
    // The time is below 2^64 nanoseconds; shifted, it stays visible beside any drawn number.
    Some(drawn ^ (info.created.unix_timestamp_nanos().unsigned_abs() << 32))
}

/// One setting: its name, what it is, what it has to be, whether it is that.
type Setting = (&'static str, String, String, bool);

/// Refuses a stream that would lose records, doubles them, or holds those of somebody else.
///
/// # Errors
/// [`OpenError::Refused`] with the first setting that is not as needed.
pub fn check(info: &Info, options: &Options) -> Result<(), OpenError> {
    let config = &info.config;
    let mut settings = ownership(config);
    settings.extend(durability(config, options));
    settings.extend(integrity(config));
    match settings.into_iter().find(|setting| !setting.3) {
        None => Ok(()),
        Some((setting, is, needed, _)) => {
            Err(OpenError::Refused { of: format!("stream {}", config.name), setting, is, needed })
        }
    }
}

/// Whether it is one of ours at all.
fn ownership(config: &Config) -> Vec<Setting> {
    let entry = |key| config.metadata.get(key).cloned().unwrap_or_default();
    let drawn = entry(IDENTITY);
    let subject = subject(&config.name, &drawn);
    vec![
        same("metadata chiliad-format", &entry(FORMAT), &FORMAT_NOW.to_owned()),
        (
            "metadata chiliad-identity",
            format!("{drawn:?}"),
            "32 hexadecimal digits".into(),
            drawn.len() == 32 && u128::from_str_radix(&drawn, 16).is_ok(),
        ),
        same("subjects", &config.subjects, &vec![subject]),
        same("mirror", &config.mirror.is_some(), &false),
        same("sources", &config.sources.as_ref().is_some_and(|it| !it.is_empty()), &false),
        same("subject_transform", &config.subject_transform.is_some(), &false),
    ]
}

/// Whether it keeps what it has acknowledged.
fn durability(config: &Config, options: &Options) -> Vec<Setting> {
    let replicas = config.num_replicas;
    vec![
        (
            "num_replicas",
            replicas.to_string(),
            format!("{} or more", options.replicas),
            replicas >= options.replicas,
        ),
        same("storage", &config.storage, &StorageType::File),
        same("retention", &config.retention, &RetentionPolicy::Limits),
        same("discard", &config.discard, &DiscardPolicy::New),
        same("max_age", &config.max_age.as_secs(), &0),
        same("no_ack", &config.no_ack, &false),
        same("persist_mode", &config.persist_mode.unwrap_or_default(), &PersistenceMode::Default),
        same("allow_msg_ttl", &config.allow_message_ttl, &false),
        same("allow_rollup_hdrs", &config.allow_rollup, &false),
        unlimited("max_msgs", config.max_messages),
        unlimited("max_msgs_per_subject", config.max_messages_per_subject),
    ]
}

/// Whether appends, reads and trims do what they should.
fn integrity(config: &Config) -> Vec<Setting> {
    vec![
        same("deny_delete", &config.deny_delete, &true),
        same("deny_purge", &config.deny_purge, &false),
        same("sealed", &config.sealed, &false),
        unlimited("max_consumers", config.max_consumers.into()),
        same("allow_msg_counter", &config.allow_message_counter, &false),
        same("first_seq", &config.first_sequence.unwrap_or(0).max(1), &1),
    ]
}

fn same<T: PartialEq + Debug>(name: &'static str, is: &T, needed: &T) -> Setting {
    (name, format!("{is:?}"), format!("{needed:?}"), is == needed)
}

/// A limit beyond which records would be dropped, or nobody could read. Servers take 0 and -1 for none.
fn unlimited(name: &'static str, is: i64) -> Setting {
    (name, is.to_string(), "no limit (-1)".into(), is <= 0)
}
