use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::identity::TokenId;

/// Token ids to audit, each once. Ranges take no more memory than their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    ranges: Vec<RangeInclusive<u64>>,
}

impl Targets {
    /// These agents, each once, in the order given.
    pub fn of(agents: impl IntoIterator<Item = TokenId>) -> Self {
        let mut seen = HashSet::new();
        let mut targets = Self::default();
        agents.into_iter().filter(|id| seen.insert(*id)).for_each(|id| targets.push(id));
        targets
    }

    /// Puts an agent, which must not be among them yet, behind the others.
    pub(in crate::audit) fn push(&mut self, TokenId(id): TokenId) {
        match self.ranges.last_mut() {
            Some(last) if last.end().checked_add(1) == Some(id) => *last = *last.start()..=id,
            _ => self.ranges.push(id..=id),
        }
    }

    /// The same agents in the order of their token ids.
    pub fn ascending(self) -> Self {
        Self { ranges: merged(self.ranges) }
    }

    /// These agents and `others`, each once, in the order of their token ids.
    pub fn and(&self, others: &Self) -> Self {
        Self { ranges: merged([self.ranges.as_slice(), &others.ranges].concat()) }
    }

    /// Whether the agent is among them. They must be in the order of their token ids.
    pub fn contains(&self, TokenId(id): TokenId) -> bool {
        let next = self.ranges.partition_point(|range| *range.end() < id);
        self.ranges.get(next).is_some_and(|range| range.contains(&id))
    }

    /// Whether all of `others` are among them. Both must be in the order of their token ids.
    pub fn includes(&self, others: &Self) -> bool {
        others.ranges.iter().all(|other| {
            let next = self.ranges.partition_point(|range| range.end() < other.start());
            self.ranges.get(next).is_some_and(|range| range.start() <= other.start() && other.end() <= range.end())
        })
    }

    /// The agents from 0 to the one before `end`.
    pub fn below(end: u64) -> Self {
        Self { ranges: end.checked_sub(1).map(|last| 0..=last).into_iter().collect() }
    }

    /// Those whose token ids are below `end`, and the others.
    pub fn split(&self, end: u64) -> (Self, Self) {
        let (mut below, mut others) = (Self::default(), Self::default());
        for range in &self.ranges {
            let (first, last) = (*range.start(), *range.end());
            match end.checked_sub(1) {
                Some(before) if last <= before => below.ranges.push(first..=last),
                Some(before) if first <= before => {
                    below.ranges.push(first..=before);
                    others.ranges.push(end..=last);
                }
                _ => others.ranges.push(first..=last),
            }
        }
        (below, others)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add((range.end() - range.start()).saturating_add(1)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The agents, in order.
    pub fn iter(&self) -> impl Iterator<Item = TokenId> + Send + 'static {
        self.ranges.clone().into_iter().flatten().map(TokenId)
    }

    /// The same agents in random order, to take a sample from: always in the same one with the same `seed`. Each order is as likely as
    /// any other. Memory is taken for those that are drawn and not for all that there are.
    pub fn shuffled(&self, seed: u64) -> impl Iterator<Item = TokenId> + Send + 'static {
        let mut places = Vec::with_capacity(self.ranges.len());
        let mut count = 0_u128;
        for range in &self.ranges {
            places.push((count, *range.start()));
            count += u128::from(range.end() - range.start()) + 1;
        }
        // The shuffle of Fisher and Yates over positions, of which only those that have been moved are written down.
        let (mut left, mut moved, mut random) = (count, HashMap::new(), fastrand::Rng::with_seed(seed));
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let drawn = random.u128(0..=left);
            let last = moved.remove(&left).unwrap_or(left);
            let position = if drawn == left { last } else { moved.insert(drawn, last).unwrap_or(drawn) };
            let range = places.partition_point(|(before, _)| *before <= position).checked_sub(1)?;
            let (before, first) = places.get(range)?;
            u64::try_from(position - before).ok().map(|offset| TokenId(first + offset))
        })
    }
}

/// A list of token ids that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdListError {
    /// A part of it is neither a token id nor a range.
    #[error("“{0}” is neither a token id such as 700 nor a range such as 1-500")]
    Part(String),
    /// A range ends before it begins.
    #[error("the range {0} ends before it begins")]
    Backwards(String),
}

impl fmt::Display for Targets {
    /// A list that can be read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, range) in self.ranges.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Targets {
    type Err = IdListError;

    /// Reads a list such as `1-500,700`; both ends of a range belong to it, and an id that is named twice counts once.
    fn from_str(text: &str) -> Result<Self, IdListError> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().ok()).flatten()
        };
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim) {
            let wrong = || IdListError::Part(part.to_owned());
            let range = match part.split_once('-') {
                None => number(part).map(|id| id..=id).ok_or_else(wrong)?,
                Some((first, last)) => {
                    let first = number(first.trim()).ok_or_else(wrong)?;
                    let last = number(last.trim()).ok_or_else(wrong)?;
                    first..=last
                }
            };
            if range.is_empty() {
                return Err(IdListError::Backwards(part.to_owned()));
            }
            ranges.push(range);
        }
        Ok(Self { ranges: merged(ranges) })
    }
}

/// The same ids in ascending ranges that do not overlap.
fn merged(mut ranges: Vec<RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    ranges.sort_unstable_by_key(|range| *range.start());
    let mut merged: Vec<RangeInclusive<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if *range.start() <= last.end().saturating_add(1) => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(text: &str) -> Vec<u64> {
        text.parse::<Targets>().unwrap().iter().map(|id| id.0).collect()
    }

    #[test]
    fn ranges_and_ids_are_merged() {
        assert_eq!(ids("1-3,700"), [1, 2, 3, 700]);
        assert_eq!(ids("5,1-3, 3 - 4,2"), [1, 2, 3, 4, 5]);
        let all: Targets = "0-18446744073709551615".parse().unwrap();
        assert_eq!((all.ranges.len(), all.count()), (1, u64::MAX));
        assert_eq!("1-500,700".parse::<Targets>().unwrap().count(), 501);
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", ",", "1,", "a", "-1", "1-", "1-2-3", "0x10", "18446744073709551616"] {
            assert!(matches!(text.parse::<Targets>(), Err(IdListError::Part(_))), "{text}");
        }
        assert_eq!("5-1".parse::<Targets>(), Err(IdListError::Backwards("5-1".into())));
    }

    #[test]
    fn named_agents_keep_their_order_and_come_once() {
        let targets = Targets::of([7, 3, 4, 7, 5].map(TokenId));
        assert_eq!(targets.iter().map(|id| id.0).collect::<Vec<_>>(), [7, 3, 4, 5]);
        assert_eq!(targets.count(), 4);
        assert!(Targets::below(0).is_empty() && Targets::of([]).is_empty());
        assert_eq!(Targets::below(3).count(), 3);
    }

    #[test]
    fn lists_are_united_asked_and_written() {
        let list: Targets = "9,1-3,5".parse().unwrap();
        let both = list.and(&"4,7,9-10".parse().unwrap());
        assert_eq!(both.to_string(), "1-5,7,9-10");
        assert_eq!(both, both.to_string().parse().unwrap());
        let inside: Vec<u64> = (0..12).filter(|id| both.contains(TokenId(*id))).collect();
        assert_eq!(inside, [1, 2, 3, 4, 5, 7, 9, 10]);
        assert_eq!(Targets::of([7, 3, 4].map(TokenId)).ascending().to_string(), "3-4,7");
        assert!(!Targets::default().contains(TokenId(0)));
    }

    #[test]
    fn a_list_is_split_at_an_end() {
        let list: Targets = "0-3,7,9-18446744073709551615".parse().unwrap();
        for (end, below, others) in [
            (0, "", "0-3,7,9-18446744073709551615"),
            (2, "0-1", "2-3,7,9-18446744073709551615"),
            (4, "0-3", "7,9-18446744073709551615"),
            (8, "0-3,7", "9-18446744073709551615"),
            (u64::MAX, "0-3,7,9-18446744073709551614", "18446744073709551615"),
        ] {
            let (before, after) = list.split(end);
            assert_eq!((before.to_string().as_str(), after.to_string().as_str()), (below, others), "{end}");
        }
    }

    #[test]
    fn a_shuffle_loses_nobody() {
        let mut shuffled: Vec<u64> = Targets::below(1000).shuffled(1).map(|id| id.0).collect();
        assert_ne!(shuffled, (0..1000).collect::<Vec<_>>());
        shuffled.sort_unstable();
        assert_eq!(shuffled, (0..1000).collect::<Vec<_>>());
        let parts: Targets = "7,100-102,18446744073709551614-18446744073709551615".parse().unwrap();
        let mut drawn: Vec<TokenId> = parts.shuffled(2).collect();
        drawn.sort_unstable();
        assert_eq!(drawn, parts.iter().collect::<Vec<_>>());
        assert!(Targets::below(1000).shuffled(1).eq(Targets::below(1000).shuffled(1)), "the same with the same seed");
    }

    #[test]
    fn a_sample_of_all_that_can_be_takes_no_memory_for_the_rest() {
        let all: Targets = "0-18446744073709551615".parse().unwrap();
        let drawn: HashSet<TokenId> = all.shuffled(3).take(5000).collect();
        assert_eq!(drawn.len(), 5000);
        let low = drawn.iter().filter(|id| id.0 < u64::MAX / 2).count();
        assert!((2000..3000).contains(&low), "{low} of 5000 in the lower half");
    }

    #[test]
    fn every_order_of_a_sample_is_as_likely() {
        let targets: Targets = "1,5,8-9".parse().unwrap();
        let mut orders: HashMap<Vec<u64>, u32> = HashMap::new();
        for seed in 0..24_000 {
            *orders.entry(targets.shuffled(seed).map(|id| id.0).collect()).or_default() += 1;
        }
        assert_eq!(orders.len(), 24);
        assert!(orders.values().all(|count| (800..1200).contains(count)), "{orders:?}");
    }
}
