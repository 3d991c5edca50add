//! Lists of samples, epochs and attempts, one entry per row.

use std::ops::Deref;
use std::sync::Arc;

/// One number per row. Tables with one attempt per sample share a single list instead of several equal ones.
#[derive(Clone, Debug)]
pub(crate) enum CowIndices {
    Own(Vec<u32>),
    Shared(Arc<Vec<u32>>),
}

impl CowIndices {
    /// A list that is shared when it is cloned.
    pub(crate) fn shared(list: Vec<u32>) -> Self {
        Self::Shared(Arc::new(list))
    }

    /// Shares the list from now on when it is cloned.
    pub(crate) fn share(&mut self) {
        if let Self::Own(list) = self {
            *self = Self::shared(std::mem::take(list));
        }
    }

    /// The list, to be changed; other owners do not see the change.
    pub(crate) fn own(&mut self) -> &mut Vec<u32> {
        loop {
            match self {
                Self::Own(list) => return list,
                Self::Shared(list) => *self = Self::Own(list.to_vec()),
            }
        }
    }

    pub(crate) fn push(&mut self, place: u32) {
        self.own().push(place);
    }
}

impl Default for CowIndices {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Deref for CowIndices {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Own(list) => list,
            Self::Shared(list) => list,
        }
    }
}

impl From<Vec<u32>> for CowIndices {
    fn from(list: Vec<u32>) -> Self {
        Self::Own(list)
    }
}

impl FromIterator<u32> for CowIndices {
    fn from_iter<I: IntoIterator<Item = u32>>(places: I) -> Self {
        Self::Own(places.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_shared_list_is_not_seen_by_others() {
        let mut first = CowIndices::from(vec![1, 2]);
        first.share();
        let mut second = first.clone();
        second.push(3);
        assert_eq!((&first[..], &second[..]), (&[1, 2][..], &[1, 2, 3][..]));
        assert!(matches!((&first, &second), (CowIndices::Shared(_), CowIndices::Own(_))));
    }
}
