use crate::identity::Caip19;

use super::{AgentList, ListError};

/// The agents of a list that can be verified, and those that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Targets {
    /// Those that remember where they stand on chain, in the order of the list.
    pub agents: Vec<Target>,
    /// The names of those that do not.
    pub without: Vec<String>,
}

/// An agent of the list, by its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name in the list.
    pub name: String,
    /// Its token and chain, which the caller must still hold against the network it works on and the registries it trusts.
    pub token: Caip19,
}

/// The tokens that a list names, for `verify` and `audit`.
///
/// # Errors
/// [`ListError::Invalid`] when an entry names a token that cannot be read: leaving it out silently would hide an agent.
pub fn targets(list: &AgentList) -> Result<Targets, ListError> {
    let mut targets = Targets::default();
    for entry in list.entries() {
        match entry.on_chain()? {
            Some(on_chain) => targets.agents.push(Target { name: entry.name().to_owned(), token: on_chain.token }),
            None => targets.without.push(entry.name().to_owned()),
        }
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_with_a_token_are_the_targets() {
        let token = "ccd:9dd9ca4d19e9393877d2c44b70f89acb/cis-2:Mf22soLh1NuZYFgBK8iSs";
        let text =
            format!(r#"{{"agents":[{{"name":"a","url":"u","x-cardproof":{{"caip19":"{token}"}}}},{{"name":"b","url":"u"}}]}}"#);
        let found = targets(&AgentList::parse(&text).unwrap()).unwrap();
        assert_eq!(found.agents, [Target { name: "a".into(), token: token.parse().unwrap() }]);
        assert_eq!(found.without, ["b"]);
        let broken = text.replace("Mf22", "Mf23");
        assert!(targets(&AgentList::parse(&broken).unwrap()).is_err());
    }
}
