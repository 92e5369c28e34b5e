use std::collections::HashSet;
use std::str::FromStr;

use super::{AgentList, Entry, ListError};

/// What to do with an agent whose name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnConflict {
    /// The new one takes its place; fields that this program does not know stay (see [`Entry::in_place_of`]).
    Overwrite,
    /// The old one stays.
    Skip,
    /// The new one gets the first free name of `name-2`, `name-3`, ….
    Rename,
}

impl OnConflict {
    /// `overwrite`, `skip` or `rename`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overwrite => "overwrite",
            Self::Skip => "skip",
            Self::Rename => "rename",
        }
    }
}

impl FromStr for OnConflict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Overwrite, Self::Skip, Self::Rename]
            .into_iter()
            .find(|choice| choice.as_str() == text)
            .ok_or_else(|| "overwrite, skip or rename".into())
    }
}

/// What became of the agents that were imported, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// New in the list.
    pub added: Vec<String>,
    /// In the place of an old one.
    pub overwritten: Vec<String>,
    /// Left out, because the name was taken.
    pub skipped: Vec<String>,
    /// Under another name: the one it had, and the one it got.
    pub renamed: Vec<(String, String)>,
    /// Already there, saying the same.
    pub unchanged: Vec<String>,
}

impl AgentList {
    /// Adds entries; `decide` says what to do with one whose name is taken, or `None` when that is not known yet.
    ///
    /// # Errors
    /// [`ListError::Conflicts`] with every name that is taken and undecided; the list may have changed in memory then and is
    /// not to be kept.
    pub fn import(&mut self, entries: Vec<Entry>, decide: impl Fn(&str) -> Option<OnConflict>) -> Result<Imported, ListError> {
        let mut imported = Imported::default();
        let mut undecided = Vec::new();
        let mut told = HashSet::new();
        for entry in entries {
            let name = entry.name().to_owned();
            let Some(old) = self.get(&name) else {
                self.add(entry)?;
                imported.added.push(name);
                continue;
            };
            if old.says_the_same(&entry) {
                imported.unchanged.push(name);
                continue;
            }
            match decide(&name) {
                Some(OnConflict::Overwrite) => {
                    let entry = entry.in_place_of(old)?;
                    self.replace(entry);
                    imported.overwritten.push(name);
                }
                Some(OnConflict::Skip) => imported.skipped.push(name),
                Some(OnConflict::Rename) => {
                    let free = self.free_name(&name);
                    self.add(entry.renamed(&free)?)?;
                    imported.renamed.push((name, free));
                }
                None if told.insert(name.clone()) => undecided.push(name),
                None => {}
            }
        }
        if undecided.is_empty() {
            Ok(imported)
        } else {
            Err(ListError::Conflicts(undecided))
        }
    }

    /// The first of `name-2`, `name-3`, … that no agent has.
    fn free_name(&self, name: &str) -> String {
        let mut n = 2u64;
        loop {
            let candidate = format!("{name}-{n}");
            if self.get(&candidate).is_none() {
                return candidate;
            }
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> AgentList {
        AgentList::parse(r#"{"agents":[{"name":"a","url":"1"},{"name":"a-2","url":"2"}]}"#).unwrap()
    }

    fn urls(list: &AgentList) -> Vec<(&str, &str)> {
        list.entries().iter().map(|entry| (entry.name(), entry.url())).collect()
    }

    fn new() -> Vec<Entry> {
        AgentList::parse_import(r#"[{"name":"a","url":"new"},{"name":"b","url":"3"}]"#).unwrap()
    }

    #[test]
    fn a_conflict_is_decided_one_of_three_ways() {
        let mut overwritten = list();
        overwritten.import(new(), |_| Some(OnConflict::Overwrite)).unwrap();
        assert_eq!(urls(&overwritten), [("a", "new"), ("a-2", "2"), ("b", "3")]);
        let mut skipped = list();
        let done = skipped.import(new(), |_| Some(OnConflict::Skip)).unwrap();
        assert_eq!(urls(&skipped), [("a", "1"), ("a-2", "2"), ("b", "3")]);
        assert_eq!((done.skipped, done.added), (vec!["a".to_owned()], vec!["b".to_owned()]));
        let mut renamed = list();
        let done = renamed.import(new(), |_| Some(OnConflict::Rename)).unwrap();
        assert_eq!(urls(&renamed), [("a", "1"), ("a-2", "2"), ("a-3", "new"), ("b", "3")]);
        assert_eq!(done.renamed, [("a".to_owned(), "a-3".to_owned())]);
    }

    #[test]
    fn an_undecided_conflict_names_its_agents() {
        let Err(ListError::Conflicts(names)) = list().import(new(), |_| None) else { panic!("no conflict") };
        assert_eq!(names, ["a"]);
    }

    #[test]
    fn an_agent_that_says_the_same_is_no_conflict() {
        let same = AgentList::parse_import(r#"{"agents": [{"url": "1", "name": "a"}]}"#).unwrap();
        let mut list = list();
        assert_eq!(list.import(same, |_| None).unwrap().unchanged, ["a"]);
        assert!(list.is_unchanged());
    }

    #[test]
    fn a_name_twice_in_the_file_to_import_is_a_conflict_too() {
        let twice = AgentList::parse_import(r#"[{"name":"x","url":"1"},{"name":"x","url":"2"}]"#).unwrap();
        assert!(matches!(list().import(twice, |_| None), Err(ListError::Conflicts(_))));
    }
}
