//! How verdicts become an exit code, for `verify` and `audit` alike.

use std::collections::HashSet;

use cardproof::registry::AgentStatus;
use cardproof::verify::{Class, Summary, Verdict};
use clap::{Args, ValueEnum};

use super::exit::{CliError, Exit};

/// What counts for the exit code.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExitOptions {
    /// Count a revoked agent as a mismatch for the exit code
    #[arg(long)]
    require_active: bool,
    /// Which classes make the exit code non-zero: mismatch, undecided, absent, or none [default: all three]
    #[arg(long, value_name = "CLASSES", value_delimiter = ',')]
    fail_on: Vec<FailOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
enum FailOn {
    Mismatch,
    Undecided,
    Absent,
    None,
}

impl ExitOptions {
    /// Whether a revoked agent counts as a mismatch.
    pub(crate) fn requires_active(&self) -> bool {
        self.require_active
    }

    /// An empty tally that counts as the options say.
    pub(crate) fn tally(&self) -> Result<Tally, CliError> {
        let classes = &self.fail_on;
        if classes.contains(&FailOn::None) && classes.len() > 1 {
            return Err(CliError::usage("--fail-on none cannot be combined with a class"));
        }
        let named = classes.iter().filter_map(|class| match class {
            FailOn::Mismatch => Some(Class::Mismatch),
            FailOn::Undecided => Some(Class::Undecided),
            FailOn::Absent => Some(Class::Absent),
            FailOn::None => None,
        });
        let all = [Class::Mismatch, Class::Undecided, Class::Absent];
        let fail_on = if classes.is_empty() { all.into() } else { named.collect() };
        Ok(Tally { require_active: self.require_active, fail_on, found: HashSet::new() })
    }
}

/// Which classes were found.
pub(crate) struct Tally {
    require_active: bool,
    fail_on: Vec<Class>,
    found: HashSet<Class>,
}

impl Tally {
    /// Counts a verdict; says whether it counts as a mismatch only because the agent is revoked.
    pub(crate) fn add(&mut self, verdict: &Verdict) -> bool {
        let revoked = verdict.anchor.as_ref().is_some_and(|anchor| anchor.status == AgentStatus::Revoked);
        let demanded = self.require_active && revoked;
        self.found.insert(if demanded { Class::Mismatch } else { verdict.class() });
        demanded && verdict.class() != Class::Mismatch
    }

    /// Adds the classes that were counted elsewhere.
    pub(crate) fn add_counts(&mut self, counts: &Summary) {
        let Summary { matches, mismatches, absent, undecided, .. } = *counts;
        let classes =
            [(Class::Match, matches), (Class::Mismatch, mismatches), (Class::Absent, absent), (Class::Undecided, undecided)];
        self.found.extend(classes.into_iter().filter(|(_, count)| *count > 0).map(|(class, _)| class));
    }

    pub(crate) fn exit(&self) -> Exit {
        let counts = |class| self.found.contains(&class) && self.fail_on.contains(&class);
        if counts(Class::Mismatch) {
            Exit::Negative
        } else if counts(Class::Undecided) {
            Exit::CannotTell
        } else if counts(Class::Absent) {
            Exit::Absent
        } else {
            Exit::Ok
        }
    }
}
