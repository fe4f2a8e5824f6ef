//! How transactions become tasks, where a graph could do it differently.

/// The options of graphs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphOptions {
    /// Tasks with several parents are begun by the last of them, which a counter tells (Yan, 2015, 4.2.1); else by one of
    /// them, which runs early as often as not.
    pub joins: bool,
    /// What tasks write is logged, by tasks of their own (Yan, 2015, 4.3).
    pub task_log: Option<TaskLogOptions>,
}

/// The log of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskLogOptions {
    /// Slots for entries; a power of two. `None`: one for each timestamp, so that it is never full.
    pub slots: Option<usize>,
}
