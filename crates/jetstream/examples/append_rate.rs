//! How fast [`JetStream`] appends, beside bare loops of the client's own publish. All keep the same number of records of
//! the same size under way. One thread of ours and the first loop wait for all of these and begin anew; four
//! threads of ours and the second loop send more as soon as some are acknowledged. They take turns, because machines
//! drift.
//!
//! `cargo run --release --example append_rate -- URL [BYTES [DEPTH [ROUNDS]]]`

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use chiliad_jetstream::{JetStream, Options};
use chiliad_machine::shared_log::SharedLog;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesUnordered;
use std::error::Error;
use std::time::{Duration, Instant};

/// How long each appends in one round.
const TURN: Duration = Duration::from_secs(2);
/// Threads that append beside the loop which sends more as soon as some are acknowledged.
const THREADS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let url = words.next().ok_or("give the URL of a log, nats://HOST:PORT,.../NAME")?;
    let mut number = |default: usize| words.next().map_or(Ok(default), |word| word.parse());
    let (bytes, depth, rounds) = (number(1024)?, number(64)?, number(5)?);
    let log = JetStream::open(&url, Options::default())?;
    let bare = Bare::open(&url)?;
    let record = vec![7; bytes];
    let mut ratios = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        let one = ours(&log, &record, 1, depth)?;
        let plain = rate(depth, || bare.publish(&record, depth))?;
        bare.purge()?;
        let by_four = match depth % THREADS {
            0 => ours(&log, &record, THREADS, depth / THREADS)?,
            _ => one,
        };
        let sliding = bare.slide(&record, depth)?;
        bare.purge()?;
        for (ratios, ratio) in ratios.iter_mut().zip([one / plain, by_four / sliding]) {
            ratios.push(ratio);
        }
        println!(
            "append {one:.0} records/s, bare {plain:.0}; by four {by_four:.0}, bare sliding {sliding:.0}"
        );
    }
    let [plain, sliding] = ratios.map(median);
    println!("{bytes} bytes, {depth} under way: {plain:.2} of bare; sliding {sliding:.2}");
    Ok(())
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_unstable_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// Records per second of so many threads with so many records in each call.
fn ours(
    log: &JetStream,
    record: &[u8],
    threads: usize,
    of_each: usize,
) -> Result<f64, Box<dyn Error>> {
    let records = vec![record; of_each];
    let append = || rate(of_each, || Ok(log.append(&records)?)).map_err(|error| error.to_string());
    let rates = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(append)).collect();
        threads.into_iter().map(|it| it.join().expect("it appends")).collect::<Result<Vec<_>, _>>()
    });
    log.trim(u64::MAX)?;
    Ok(rates?.iter().sum())
}

/// Records per second.
fn rate(
    depth: usize,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < TURN {
        call()?;
        count += depth;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

/// The client without anything around it, on a stream of its own with the same settings.
struct Bare {
    runtime: tokio::runtime::Runtime,
    context: async_nats::jetstream::Context,
    stream: String,
}

impl Bare {
    /// Connects to the leader of its stream, as the log does.
    fn open(url: &str) -> Result<Self, Box<dyn Error>> {
        let (servers, name) =
            url.trim_start_matches("nats://").split_once('/').ok_or("no name in the URL")?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let stream = format!("{name}-bare");
        let context = runtime.block_on(async {
            let context = |client| ContextBuilder::new().build(client);
            let any =
                context(async_nats::connect(servers.split(',').next().unwrap_or_default()).await?);
            let mut config = any.get_stream(name).await?.cached_info().config.clone();
            config.name.clone_from(&stream);
            config.subjects = vec![stream.clone()];
            config.metadata.clear();
            any.get_or_create_stream(config).await?;
            let info = any.get_stream(&stream).await?.cached_info().clone();
            let leader = info.cluster.and_then(|cluster| cluster.leader).ok_or("no leader")?;
            for address in servers.split(',') {
                let client = async_nats::connect(address).await?;
                if client.server_info().server_name == leader {
                    return Ok::<_, Box<dyn Error>>(context(client));
                }
            }
            Err(format!("{leader} is none of the servers").into())
        })?;
        Ok(Self { runtime, context, stream })
    }

    /// Sends so many records, and waits for all of them.
    fn publish(&self, record: &[u8], depth: usize) -> Result<(), Box<dyn Error>> {
        self.runtime.block_on(async {
            let mut acknowledgements = Vec::with_capacity(depth);
            for _ in 0..depth {
                let message = PublishMessage::build().payload(Bytes::copy_from_slice(record));
                let sent = self.context.send_publish(self.stream.clone(), message).await?;
                acknowledgements.push(sent.into_future());
            }
            try_join_all(acknowledgements).await?;
            Ok(())
        })
    }

    /// Records per second where each acknowledged one is followed by another at once.
    fn slide(&self, record: &[u8], depth: usize) -> Result<f64, Box<dyn Error>> {
        self.runtime.block_on(async {
            let start = Instant::now();
            let mut acknowledged = 0_u64;
            let mut under_way = FuturesUnordered::new();
            while start.elapsed() < TURN || !under_way.is_empty() {
                while under_way.len() < depth && start.elapsed() < TURN {
                    let message = PublishMessage::build().payload(Bytes::copy_from_slice(record));
                    let sent = self.context.send_publish(self.stream.clone(), message).await?;
                    under_way.push(sent.into_future());
                }
                if let Some(answer) = under_way.next().await {
                    answer?;
                    acknowledged += 1;
                }
            }
            Ok(acknowledged as f64 / start.elapsed().as_secs_f64())
        })
    }

    fn purge(&self) -> Result<(), Box<dyn Error>> {
        self.runtime.block_on(async {
            self.context.get_stream(&self.stream).await?.purge().await?;
            Ok(())
        })
    }
}
