use std::collections::HashSet;

use super::{Findings, Rule, Subject};
use crate::card::findings::quote;
use crate::card::{Code, Node};

/// A skill is asked for by its id, so no two have the same.
pub(super) struct SkillIds;

impl Rule for SkillIds {
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings) {
        let mut seen = HashSet::new();
        for node in subject.skills().iter().filter_map(|skill| skill.get("id")) {
            if let Some(id) = Node::as_str(node).filter(|id| !seen.insert(*id)) {
                findings
                    .add(Code::DuplicateSkillId, node.span.start, || format!("Another skill has the id {} already.", quote(id)));
            }
        }
    }
}
