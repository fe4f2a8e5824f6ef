//! Things by the names that a client has given them. Most have none, and are found without a look-up; the others are
//! few, and compared sooner than hashed by a hash that a client cannot foresee.

use std::collections::BTreeMap;

/// Things by name; the empty name is one of them.
pub(super) struct Names<T> {
    unnamed: Option<T>,
    named: BTreeMap<String, T>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { unnamed: None, named: BTreeMap::new() }
    }
}

impl<T> Names<T> {
    pub fn get(&self, name: &str) -> Option<&T> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        if name.is_empty() { self.unnamed.as_mut() } else { self.named.get_mut(name) }
    }

    /// Puts a thing in place of the one of that name.
    pub fn insert(&mut self, name: &str, thing: T) {
        if name.is_empty() {
            self.unnamed = Some(thing);
        } else {
            self.named.insert(name.into(), thing);
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<T> {
        if name.is_empty() { self.unnamed.take() } else { self.named.remove(name) }
    }

    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn len(&self) -> usize {
        usize::from(self.unnamed.is_some()) + self.named.len()
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.unnamed.iter().chain(self.named.values())
    }

    /// Removes those of which `stays` says no.
    pub fn retain(&mut self, mut stays: impl FnMut(&mut T) -> bool) {
        if self.unnamed.as_mut().is_some_and(|thing| !stays(thing)) {
            self.unnamed = None;
        }
        self.named.retain(|_, thing| stays(thing));
    }

    pub fn clear(&mut self) {
        self.unnamed = None;
        self.named.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn the_empty_name_is_a_name() {
        let mut names = Names::default();
        for (name, thing) in [("", 1), ("a", 2), ("", 3)] {
            names.insert(name, thing);
        }
        assert_eq!((names.len(), names.get(""), names.get("a")), (2, Some(&3), Some(&2)));
        assert_eq!((names.remove(""), names.contains_key("")), (Some(3), false));
        names.clear();
        assert_eq!((names.len(), names.get_mut("a")), (0, None));
    }
}
