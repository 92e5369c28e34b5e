//! Adding agents to the list, asking about names that are taken, and saying what was done.

use std::collections::HashMap;

use cardproof::agent_list::{Entry, Imported, ListError, ListFile, OnConflict};
use serde::Serialize;

use super::failed;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// What to do about names that are taken.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ConflictOptions {
    /// What to do with an agent whose name is taken: overwrite, skip or rename [default: ask on a terminal, refuse elsewhere]
    #[arg(long, value_name = "CHOICE")]
    pub(super) on_conflict: Option<OnConflict>,
}

/// Adds entries under the lock. Questions are asked without it, on the list as it was; if another program takes a further name
/// meanwhile, there is a further question.
pub(super) fn add(
    entries: Vec<Entry>,
    conflicts: &ConflictOptions,
    file: &ListFile,
    shell: &Shell,
) -> Result<Imported, CliError> {
    let mut decided: HashMap<String, OnConflict> = HashMap::new();
    let mut all = conflicts.on_conflict;
    loop {
        let outcome = file.update(|list| list.import(entries.clone(), |name| decided.get(name).copied().or(all)));
        match outcome {
            Err(ListError::Conflicts(names)) if all.is_none() && shell.can_ask() => {
                for name in names {
                    match all {
                        Some(choice) => drop(decided.insert(name, choice)),
                        None => match ask(&name, shell)? {
                            (choice, true) => all = Some(choice),
                            (choice, false) => drop(decided.insert(name, choice)),
                        },
                    }
                }
            }
            other => return other.map_err(failed),
        }
    }
}

/// Asks about one name; a capital letter is the answer for all that follow.
fn ask(name: &str, shell: &Shell) -> Result<(OnConflict, bool), CliError> {
    let question = format!("There is an agent named {name} already: (o)verwrite it, (s)kip the new one, or (r)ename the new one? A capital letter decides for all");
    loop {
        let answer = shell.answer(&question)?;
        let all = answer.starts_with(|c: char| c.is_ascii_uppercase());
        match answer.to_ascii_lowercase().as_str() {
            "o" | "overwrite" => return Ok((OnConflict::Overwrite, all)),
            "s" | "skip" => return Ok((OnConflict::Skip, all)),
            "r" | "rename" => return Ok((OnConflict::Rename, all)),
            _ => {}
        }
    }
}

/// `cardproof.agents-change/1`: what a command did to the list.
#[derive(Debug, Serialize)]
pub(super) struct ChangeDocument {
    schema: &'static str,
    registry: String,
    added: Vec<String>,
    overwritten: Vec<String>,
    skipped: Vec<String>,
    renamed: Vec<RenamedDocument>,
    unchanged: Vec<String>,
    removed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct RenamedDocument {
    from: String,
    to: String,
}

impl ChangeDocument {
    pub(super) fn of(imported: Imported, removed: Vec<String>, file: &ListFile) -> Self {
        Self {
            schema: "cardproof.agents-change/1",
            registry: file.path().display().to_string(),
            added: imported.added,
            overwritten: imported.overwritten,
            skipped: imported.skipped,
            renamed: imported.renamed.into_iter().map(|(from, to)| RenamedDocument { from, to }).collect(),
            unchanged: imported.unchanged,
            removed,
        }
    }

    /// Tells it, by name for a few agents and by number for many.
    pub(super) fn report(&self, shell: &Shell, output: &OutputOptions) -> Exit {
        const NAMED: usize = 20;
        if output.json {
            shell.document(self);
            return Exit::Ok;
        }
        let renamed: Vec<String> = self.renamed.iter().map(|names| format!("{} as {}", names.from, names.to)).collect();
        let done = [
            ("added", &self.added),
            ("overwritten", &self.overwritten),
            ("renamed", &renamed),
            ("skipped", &self.skipped),
            ("unchanged", &self.unchanged),
            ("removed", &self.removed),
        ];
        for (what, names) in done.iter().filter(|(_, names)| !names.is_empty()) {
            if names.len() > NAMED {
                shell.line(&format!("{what:<12}{} agents", names.len()));
            } else {
                names.iter().for_each(|name| shell.line(&format!("{what:<12}{name}")));
            }
        }
        if done.iter().all(|(_, names)| names.is_empty()) {
            shell.line("nothing to do");
        }
        Exit::Ok
    }
}
