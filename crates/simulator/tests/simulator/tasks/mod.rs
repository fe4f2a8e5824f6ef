//! Task units: programs of tasks whose memory must be the serial runtime's, times computed by hand, and planted bugs.

mod forms;
mod kit;
mod oracle;
mod rules;
