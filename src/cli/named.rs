//! Agents as users name them: on the command line, in a text with one a line, in an agent list.

use std::io::{BufRead, ErrorKind};
use std::path::Path;

use cardproof::agent_list::{targets, ListFile};
use cardproof::identity::{AgentName, ContractAddress, TokenId};

use super::agents;
use super::exit::CliError;
use super::settings::NetworkSettings;
use super::shell::Shell;

/// The token that one name means.
pub(crate) fn target(name: &str, network: &NetworkSettings) -> Result<(ContractAddress, TokenId), CliError> {
    let agent: AgentName = name.parse().map_err(|error| CliError::usage(format!("{name}: {error}")))?;
    network.locate(&agent)
}

/// The tokens of a text with a name a line; empty lines and those that begin with # are passed over. `source` is what an
/// error calls the text.
pub(crate) fn of_lines(
    text: impl BufRead,
    source: &str,
    network: &NetworkSettings,
) -> Result<Vec<(ContractAddress, TokenId)>, CliError> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.map_err(|error| match error.kind() {
            ErrorKind::InvalidData => CliError::usage(format!("{source}, line {}: this is not text in UTF-8", at + 1)),
            _ => CliError::internal(format!("{source} cannot be read: {error}")),
        })?;
        let name = line.trim();
        if !name.is_empty() && !name.starts_with('#') {
            found.push(target(name, network).map_err(|mut error| {
                error.message = format!("{source}, line {}: {}", at + 1, error.message);
                error
            })?);
        }
    }
    Ok(found)
}

/// The tokens that an agent list names. Entries that remember no token are said to be left out.
pub(crate) fn of_list(
    path: &Path,
    network: &NetworkSettings,
    shell: &Shell,
) -> Result<Vec<(ContractAddress, TokenId)>, CliError> {
    let list = ListFile::at(path).and_then(|file| file.read()).map_err(agents::failed)?;
    let found = targets(&list).map_err(agents::failed)?;
    if !found.without.is_empty() {
        let (count, names) = (found.without.len(), found.without.join(", "));
        shell.warning(&format!("{count} of the list's agents remember no token and are left out: {names}"));
    }
    let locate = |target: &cardproof::agent_list::Target| {
        network.locate(&AgentName::Caip19(target.token)).map_err(|mut error| {
            error.message = format!("{} in {}: {}", target.name, path.display(), error.message);
            error
        })
    };
    found.agents.iter().map(locate).collect()
}
