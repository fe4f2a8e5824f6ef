//! Orders of the parent process, on standard input.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;

/// Listens on a thread of its own: hands over the lines of standard input, and calls `told` at each and `ended` at the
/// end, which is when nobody wants this process any more.
///
/// # Errors
/// The system gives no thread.
pub fn listen(
    told: impl Fn() + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) -> io::Result<Receiver<String>> {
    let (sender, orders) = channel();
    let listen = move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            told();
            let _ = sender.send(line);
        }
        ended();
    };
    Builder::new().spawn(listen)?;
    Ok(orders)
}
