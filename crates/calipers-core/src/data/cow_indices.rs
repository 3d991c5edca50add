//! Lists of samples, epochs and attempts, one entry per row.

use hashbrown::HashMap;
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
                Self::Shared(list) => *self = Self::Own(Arc::unwrap_or_clone(std::mem::take(list))),
            }
        }
    }

    /// Adds to each list the numbers of another one, each so much larger. Lists that are one, and get the same, stay one.
    pub(crate) fn append_each(lists: Vec<(Self, &Self, u32)>) -> Vec<Self> {
        let mut places: HashMap<(*const Vec<u32>, *const Vec<u32>, u32), usize> = HashMap::new();
        let mut distinct: Vec<(Self, &Self, u32)> = Vec::new();
        let mut order = Vec::with_capacity(lists.len());
        for (mine, theirs, shift) in lists {
            let next = distinct.len();
            let place = match (&mine, theirs) {
                (Self::Shared(one), Self::Shared(other)) => {
                    *places.entry((Arc::as_ptr(one), Arc::as_ptr(other), shift)).or_insert(next)
                }
                _ => next,
            };
            if place == next {
                distinct.push((mine, theirs, shift));
            }
            order.push(place);
        }
        let appended = distinct.into_iter().map(|(mut mine, theirs, shift)| {
            let is_shared = matches!(mine, Self::Shared(_));
            mine.own().extend(theirs.iter().map(|place| place + shift));
            if is_shared {
                mine.share();
            }
            mine
        });
        let mut appended: Vec<Self> = appended.collect();
        let list = |place: usize| match &mut appended[place] {
            Self::Own(list) => Self::Own(std::mem::take(list)),
            Self::Shared(list) => Self::Shared(list.clone()),
        };
        order.into_iter().map(list).collect()
    }

    /// Makes room for more numbers in each list. Lists that are one stay one.
    pub(crate) fn reserve_each(lists: Vec<&mut Self>, more: usize) {
        let mut own: Vec<&mut Vec<u32>> = Vec::new();
        let mut shared: HashMap<*const Vec<u32>, Vec<&mut Arc<Vec<u32>>>> = HashMap::new();
        for list in lists {
            match list {
                Self::Own(list) => own.push(list),
                Self::Shared(list) => shared.entry(Arc::as_ptr(list)).or_default().push(list),
            }
        }
        own.into_iter().for_each(|list| list.reserve(more));
        for mut owners in shared.into_values() {
            // The list is taken from all but one owner, which then has it alone.
            let taken: Vec<Arc<Vec<u32>>> = owners.iter_mut().map(|owner| std::mem::take(*owner)).collect();
            let Some(list) = taken.into_iter().reduce(|one, _| one) else { continue };
            let mut list = Arc::unwrap_or_clone(list);
            list.reserve(more);
            let list = Arc::new(list);
            owners.into_iter().for_each(|owner| *owner = list.clone());
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
    fn lists_that_are_one_stay_one_if_they_get_the_same() {
        let (one, two) = (CowIndices::shared(vec![0, 1]), CowIndices::shared(vec![0]));
        let own = CowIndices::from(vec![7]);
        let lists = vec![
            (one.clone(), &two, 2),
            (one.clone(), &two, 2),
            (one.clone(), &two, 0),
            (own, &two, 2),
            (two.clone(), &one, 1),
        ];
        let appended = CowIndices::append_each(lists);
        let want: [&[u32]; 5] = [&[0, 1, 2], &[0, 1, 2], &[0, 1, 0], &[7, 2], &[0, 1, 2]];
        assert_eq!(appended.iter().map(|list| &list[..]).collect::<Vec<_>>(), want);
        let CowIndices::Shared(first) = &appended[0] else { panic!("it was shared") };
        assert!(matches!(&appended[1], CowIndices::Shared(second) if Arc::ptr_eq(first, second)));
        assert_eq!(one[..], [0, 1]);
    }

    #[test]
    fn lists_that_are_one_stay_one_where_room_is_made() {
        let mut one = CowIndices::shared(vec![0, 1]);
        let (mut two, mut own) = (one.clone(), CowIndices::from(vec![7]));
        CowIndices::reserve_each(vec![&mut one, &mut own, &mut two], 100);
        assert_eq!([&one[..], &two[..], &own[..]], [&[0, 1][..], &[0, 1], &[7]]);
        let (CowIndices::Shared(one), CowIndices::Shared(two)) = (&one, &two) else { panic!("they were shared") };
        assert!(Arc::ptr_eq(one, two) && one.capacity() >= 102);
    }

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
