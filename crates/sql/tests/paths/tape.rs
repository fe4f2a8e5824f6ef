//! Choices that a test makes, of numbers that it was given: when they are used up, the first of what there is to choose.

pub struct Tape {
    choices: std::vec::IntoIter<u16>,
}

impl Tape {
    pub fn new(choices: Vec<u16>) -> Self {
        Self { choices: choices.into_iter() }
    }

    /// A number from 0 to below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.choices.next().unwrap_or_default()) % end
    }

    /// From `least` to `most` of these, in an order of their own.
    pub fn some(&mut self, of: &[usize], least: usize, most: usize) -> Vec<usize> {
        let mut rest = of.to_vec();
        let count = (least + self.below(most - least + 1)).min(rest.len());
        (0..count).map(|_| rest.remove(self.below(rest.len()))).collect()
    }
}
