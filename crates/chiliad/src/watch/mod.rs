//! Instrumentation: a database emits spans and events with the feature `tracing`, counts and times with the feature
//! `metrics`. Without them there is no code.

#[cfg(feature = "metrics")]
mod measurer;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "metrics")]
mod publish;

#[cfg(feature = "metrics")]
pub(crate) use measurer::Measurer;
#[cfg(feature = "metrics")]
pub(crate) use metrics::{LatencyOf, Publisher};

/// Opens a span until the end of the block.
#[cfg(feature = "tracing")]
macro_rules! span {
    ($($span:tt)*) => {
        let _span = ::tracing::info_span!($($span)*).entered();
    };
}

/// Opens no span.
#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($($span:tt)*) => {};
}

/// Tells an event: `event!(WARN, ..)`.
#[cfg(feature = "tracing")]
macro_rules! event {
    ($level:ident, $($event:tt)*) => {
        ::tracing::event!(::tracing::Level::$level, $($event)*)
    };
}

/// Tells nothing.
#[cfg(not(feature = "tracing"))]
macro_rules! event {
    ($level:ident, $($event:tt)*) => {};
}

pub(crate) use {event, span};
