//! Sockets, and the loops that serve them.

mod channel;
mod connection;
mod event_loop;
mod listener;
mod mailbox;
mod nearness;
#[cfg(test)]
mod overdue;
mod stream;
mod tls;

pub(crate) use event_loop::EventLoop;
pub(crate) use listener::Listener;
pub(crate) use mailbox::{Mail, Mailbox};
pub(crate) use tls::server_config;
