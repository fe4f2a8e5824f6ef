//! A list with a bound, without memory of the host: bodies of tasks may have none.

/// Up to `N` values.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<V, const N: usize> {
    items: [V; N],
    count: usize,
}

impl<V: Copy + Default, const N: usize> List<V, N> {
    pub fn new() -> Self {
        Self { items: [V::default(); N], count: 0 }
    }

    /// Appends a value, where there is room: in a state that never was there may be more of everything.
    pub fn push(&mut self, value: V) {
        if let Some(item) = self.items.get_mut(self.count) {
            *item = value;
            self.count += 1;
        }
    }

    /// Changes the value at `index`, if there is one.
    pub fn change(&mut self, index: usize, change: impl FnOnce(V) -> V) {
        if let Some(item) = self.items[..self.count].get_mut(index) {
            *item = change(*item);
        }
    }

    pub fn as_slice(&self) -> &[V] {
        &self.items[..self.count]
    }
}
