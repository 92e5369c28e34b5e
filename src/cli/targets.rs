//! Which agents a command is about: names, a list on standard input, a local agent list.

use std::collections::HashSet;
use std::io::{BufRead, ErrorKind};
use std::path::Path;

use cardproof::agent_list::{self, ListFile};
use cardproof::identity::{AgentName, ContractAddress, TokenId};

use super::exit::CliError;
use super::input;
use super::settings::NetworkSettings;
use super::shell::Shell;

/// An agent of a list that is left out.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Skipped {
    /// What the list calls it.
    pub(crate) name: String,
    /// Why, the end of a sentence.
    pub(crate) why: String,
}

/// Which agents a command is about.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Each once, in the order they were named; those of a list come last.
    pub(crate) targets: Vec<(ContractAddress, TokenId)>,
    /// Those of the list that cannot be verified.
    pub(crate) skipped: Vec<Skipped>,
}

/// The agents that were named, and those of `list`.
pub(crate) fn select(
    names: &[String],
    list: Option<&Path>,
    network: &NetworkSettings,
    shell: &Shell,
) -> Result<Selection, CliError> {
    let Selection { mut targets, mut skipped } = Selection::default();
    for name in names {
        if name == "-" {
            targets.extend(of_lines(
                input::stdin().map_err(|error| input::unreadable(Path::new(name), &error))?,
                "standard input",
                network,
            )?);
        } else {
            targets.push(target(name, network)?);
        }
    }
    if let Some(path) = list {
        let listed = read_list(path, network, shell)?;
        targets.extend(listed.targets);
        skipped = listed.skipped;
    }
    if targets.is_empty() {
        return Err(CliError::refused("empty_selection", "no agent was named, so nothing was verified"));
    }
    let mut seen = HashSet::new();
    targets.retain(|target| seen.insert(*target));
    Ok(Selection { targets, skipped })
}

/// The token that one name means.
pub(crate) fn target(name: &str, network: &NetworkSettings) -> Result<(ContractAddress, TokenId), CliError> {
    let agent: AgentName = name.parse().map_err(|error| CliError::usage(format!("{}: {error}", shortened(name))))?;
    network.locate(&agent)
}

/// What is too long to be a name, as far as it can be recognised.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// How many characters of what is no name are shown.
const LONGEST: usize = 120;

/// One agent a line; empty lines and lines that start with # are left out. `source` is what an error calls the text.
pub(crate) fn of_lines(
    text: impl BufRead,
    source: &str,
    network: &NetworkSettings,
) -> Result<Vec<(ContractAddress, TokenId)>, CliError> {
    let mut targets = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => CliError::usage(format!("{source}, line {}: this is not text in UTF-8", at + 1)),
            ErrorKind::IsADirectory => {
                CliError::usage(format!("{source} is a folder, and a file with an agent a line is needed"))
            }
            _ => CliError::usage(format!("{source} cannot be read: {error}")),
        })?;
        // Some editors begin a file with a mark that nobody sees.
        let line = if at == 0 { line.trim_start_matches('\u{feff}') } else { &line };
        let name = line.trim();
        if !name.is_empty() && !name.starts_with('#') {
            targets.push(target(name, network).map_err(|mut error| {
                error.message = format!("{source}, line {}: {}", at + 1, error.message);
                error
            })?);
        }
    }
    Ok(targets)
}

/// The agents of a local list that are registered on this network. Those left out are named, so that none is thought verified.
pub(crate) fn of_list(
    path: &Path,
    network: &NetworkSettings,
    shell: &Shell,
) -> Result<Vec<(ContractAddress, TokenId)>, CliError> {
    Ok(read_list(path, network, shell)?.targets)
}

fn read_list(path: &Path, network: &NetworkSettings, shell: &Shell) -> Result<Selection, CliError> {
    let unusable = |error: agent_list::ListError| CliError::usage(error.to_string());
    if !path.exists() {
        return Err(CliError::usage(format!("there is no agent list at {}", path.display())));
    }
    let found = ListFile::at(path).and_then(|file| file.read()).and_then(|list| agent_list::targets(&list)).map_err(unusable)?;
    let Selection { mut targets, mut skipped } = Selection::default();
    let mut skip = |name: &str, why: String| {
        shell.warning(&format!("{name} is not verified: {why}"));
        skipped.push(Skipped { name: name.to_owned(), why });
    };
    for name in &found.without {
        skip(name, "the list names no token of it on chain".into());
    }
    for agent in &found.agents {
        if agent.token.chain == network.network.caip2() {
            shell.detail(&format!("{} is agent {}", agent.name, agent.token.badge));
            targets.push(network.locate(&AgentName::Caip19(agent.token))?);
        } else {
            skip(&agent.name, format!("it is on another network than {}", network.network.name));
        }
    }
    Ok(Selection { targets, skipped })
}
