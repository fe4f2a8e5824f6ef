//! Which faults a shared log has, and what it counts.

/// The faults that are switched on. The default has none. Odds are one in so many, on average; zero: never.
///
/// Whatever they are, a record whose append was acknowledged stays: see [`super::FaultyLog::roll_back`] and its
/// neighbours for what a log may not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogFaults {
    /// One record in so many is appended, and its call fails.
    pub acks_lost_one_in: u64,
    /// The call of one record in so many fails, and the record is appended later.
    pub late_one_in: u64,
    /// How many calls of the log later, on average.
    pub late_calls_mean: u64,
    /// The call of one record in so many fails, and the record is never appended.
    pub dropped_one_in: u64,
    /// One record in so many is stored twice: the second time at once, or later.
    pub doubled_one_in: u64,
    /// The records of one call in so many are appended in any order, with others between them.
    pub scattered_one_in: u64,
    /// How long an append takes on average, in simulated ticks, when a simulated core calls it.
    pub append_ticks_mean: u64,
    /// One append in so many takes 32 times as long, and others overtake it.
    pub slow_one_in: u64,
    /// At one append in so many the log loses its leader: of each append under way a suffix is lost, and appends are
    /// refused for a while.
    pub leader_lost_one_in: u64,
    /// For how many calls of the log, on average.
    pub leaderless_calls_mean: u64,
    /// One read in so many fails.
    pub read_errors_one_in: u64,
    /// One read in so many hands over less than is there, or nothing.
    pub short_reads_one_in: u64,
    /// One look at the bounds in so many sees an end that was true before.
    pub stale_bounds_one_in: u64,
    /// Bytes that all records together may have; more is refused as a full log does.
    pub full_after_bytes: Option<u64>,
    /// The most bytes that a record may have.
    pub record_bytes_max: usize,
}

impl Default for LogFaults {
    fn default() -> Self {
        Self {
            acks_lost_one_in: 0,
            late_one_in: 0,
            late_calls_mean: 50,
            dropped_one_in: 0,
            doubled_one_in: 0,
            scattered_one_in: 0,
            append_ticks_mean: 64,
            slow_one_in: 0,
            leader_lost_one_in: 0,
            leaderless_calls_mean: 50,
            read_errors_one_in: 0,
            short_reads_one_in: 0,
            stale_bounds_one_in: 0,
            full_after_bytes: None,
            record_bytes_max: 1 << 20,
        }
    }
}

impl LogFaults {
    /// Everything at once that a log may do and go on, each at odds of one in `one_in`.
    #[must_use]
    pub fn all(one_in: u64) -> Self {
        Self {
            acks_lost_one_in: one_in,
            late_one_in: one_in,
            dropped_one_in: one_in,
            doubled_one_in: one_in,
            scattered_one_in: one_in,
            slow_one_in: one_in,
            leader_lost_one_in: one_in.saturating_mul(4),
            read_errors_one_in: one_in,
            short_reads_one_in: one_in,
            stale_bounds_one_in: one_in,
            ..Self::default()
        }
    }
}

/// Events of a shared log since it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogCounters {
    /// Calls of all servers.
    pub calls: u64,
    /// Records appended, those stored a second time included.
    pub appended: u64,
    /// Records whose call was acknowledged.
    pub acknowledged: u64,
    /// Records appended whose call failed, but for those that came late.
    pub acks_lost: u64,
    /// Records whose call failed and that are appended later.
    pub late: u64,
    /// Records whose call failed and that are never appended.
    pub dropped: u64,
    /// Records stored a second time, or that will be.
    pub doubled: u64,
    /// Calls whose records were scattered.
    pub scattered: u64,
    /// Appends that took long.
    pub slow: u64,
    /// Leaders lost.
    pub leaders_lost: u64,
    /// Appends that were under way when the log lost its leader.
    pub interrupted: u64,
    /// Calls refused because the log had no leader.
    pub leaderless: u64,
    /// Calls of servers that were cut off.
    pub cut_off: u64,
    /// Calls of servers that had crashed, and appends under way when they did.
    pub crashed: u64,
    /// Appends refused because the log was full.
    pub full: u64,
    /// Appends refused because a record was too large.
    pub too_large: u64,
    /// Reads that failed by the odds.
    pub read_errors: u64,
    /// Reads that handed over less than was there.
    pub short_reads: u64,
    /// Reads of records that had been trimmed.
    pub trimmed_reads: u64,
    /// Bounds whose end was old.
    pub stale_bounds: u64,
}
