//! Lists of samples, epochs and attempts, one entry per row.

use crate::data::points::is_counting;
use hashbrown::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// One number per row. Tables with one attempt per sample share a single list instead of several equal ones, and write it down only if
/// something looks at its numbers one by one.
#[derive(Clone, Debug)]
pub(crate) enum CowIndices {
    Own(Vec<u32>),
    Shared(Arc<Vec<u32>>),
    Regular(Arc<RegularIndices>),
}

/// Numbers of which each is larger than the one before it by the same step, 0 or 1. There may be millions.
#[derive(Debug)]
pub(crate) struct RegularIndices {
    first: u32,
    step: u32,
    count: usize,
    written: OnceLock<Vec<u32>>,
}

impl RegularIndices {
    /// The number at a place.
    fn at(&self, place: usize) -> u32 {
        self.first + self.step * place as u32
    }

    fn written(&self) -> &[u32] {
        self.written.get_or_init(|| self.list())
    }

    fn list(&self) -> Vec<u32> {
        (0..self.count).map(|place| self.at(place)).collect()
    }

    /// These numbers with those of another list behind them, each so much larger; nothing if they do not go on.
    fn joined(&self, other: &Self, shift: u32) -> Option<Self> {
        let end = u64::from(self.first) + u64::from(self.step) * self.count as u64;
        let goes_on = other.step == self.step && u64::from(other.first) + u64::from(shift) == end;
        let count = self.count + other.count;
        goes_on.then(|| Self { first: self.first, step: self.step, count, written: OnceLock::new() })
    }
}

impl CowIndices {
    /// A list that is shared when it is cloned.
    pub(crate) fn shared(list: Vec<u32>) -> Self {
        Self::Shared(Arc::new(list))
    }

    /// The numbers 0, 1, 2 and so on.
    pub(crate) fn counting(count: usize) -> Self {
        Self::Regular(Arc::new(RegularIndices { first: 0, step: 1, count, written: OnceLock::new() }))
    }

    /// One number again and again.
    pub(crate) fn repeated(number: u32, count: usize) -> Self {
        Self::Regular(Arc::new(RegularIndices { first: number, step: 0, count, written: OnceLock::new() }))
    }

    /// How many numbers there are. None of them is written down for this.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Own(list) => list.len(),
            Self::Shared(list) => list.len(),
            Self::Regular(list) => list.count,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of the list.
    pub(crate) fn to_vec(&self) -> Vec<u32> {
        match self {
            Self::Regular(list) => list.list(),
            _ => self[..].to_vec(),
        }
    }

    /// True for 0, 1, 2 and so on: one row per sample, none left out.
    pub(crate) fn is_counting(&self) -> bool {
        match self {
            Self::Regular(list) if list.step == 1 => list.first == 0 || list.count == 0,
            _ => is_counting(self),
        }
    }

    /// A list that is the same one wherever this is.
    fn identity(&self) -> Option<*const ()> {
        match self {
            Self::Own(_) => None,
            Self::Shared(list) => Some(Arc::as_ptr(list).cast()),
            Self::Regular(list) => Some(Arc::as_ptr(list).cast()),
        }
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
                Self::Regular(list) => *self = Self::Own(list.list()),
            }
        }
    }

    /// Adds to each list the numbers of another one, each so much larger. Lists that are one, and get the same, stay one.
    pub(crate) fn append_each(lists: Vec<(Self, &Self, u32)>) -> Vec<Self> {
        let mut places: HashMap<(*const (), *const (), u32), usize> = HashMap::new();
        let mut distinct: Vec<(Self, &Self, u32)> = Vec::new();
        let mut order = Vec::with_capacity(lists.len());
        for (mine, theirs, shift) in lists {
            let next = distinct.len();
            let place = match (mine.identity(), theirs.identity()) {
                (Some(one), Some(other)) => *places.entry((one, other, shift)).or_insert(next),
                _ => next,
            };
            if place == next {
                distinct.push((mine, theirs, shift));
            }
            order.push(place);
        }
        let appended = distinct.into_iter().map(|(mut mine, theirs, shift)| {
            if let (Self::Regular(one), Self::Regular(other)) = (&mine, theirs)
                && let Some(joined) = one.joined(other, shift)
            {
                return Self::Regular(Arc::new(joined));
            }
            let is_shared = mine.identity().is_some();
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
            Self::Regular(list) => Self::Regular(list.clone()),
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
                // What is not written down takes no room.
                Self::Regular(_) => {}
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
            Self::Regular(list) => list.written(),
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
    fn regular_lists_are_those_that_were_written_down() {
        let lists: Vec<(CowIndices, Vec<u32>)> = vec![
            (CowIndices::counting(3), vec![0, 1, 2]),
            (CowIndices::counting(0), vec![]),
            (CowIndices::repeated(1, 2), vec![1, 1]),
            (CowIndices::repeated(0, 1), vec![0]),
            (CowIndices::shared(vec![0, 1]), vec![0, 1]),
            (CowIndices::from(vec![5]), vec![5]),
        ];
        for (mine, mine_written) in &lists {
            assert_eq!((mine.len(), mine.is_empty()), (mine_written.len(), mine_written.is_empty()));
            assert_eq!(mine.is_counting(), is_counting(mine_written), "{mine_written:?}");
            for (theirs, their_numbers) in &lists {
                for shift in [0, mine.len() as u32, 7] {
                    let want: Vec<u32> =
                        mine_written.iter().copied().chain(their_numbers.iter().map(|place| place + shift)).collect();
                    let both =
                        CowIndices::append_each(vec![(mine.clone(), theirs, shift), (mine.clone(), theirs, shift)]);
                    for mut joined in both {
                        assert_eq!(joined.len(), want.len());
                        assert_eq!(joined.is_counting(), is_counting(&want), "{want:?}");
                        assert_eq!(joined[..], want);
                        joined.push(9);
                        assert_eq!(joined[..want.len()], want);
                        assert_eq!(joined.last(), Some(&9));
                    }
                }
            }
            assert_eq!(mine[..], *mine_written);
        }
        // Millions of samples that go on one after the other stay unwritten.
        let both = CowIndices::append_each(vec![(CowIndices::counting(2), &CowIndices::counting(2), 2)]);
        assert!(matches!(&both[..], [CowIndices::Regular(list)] if list.written.get().is_none()));
    }

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
