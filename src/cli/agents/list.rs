use cardproof::agent_list::{Entry, ListFile};
use serde::Serialize;
use serde_json::Value;

use super::failed;
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::{Shell, Style};

/// Print the agents of the list
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// `cardproof.agents/1`: the list, its entries as they stand in the file.
#[derive(Serialize)]
struct ListDocument {
    schema: &'static str,
    registry: String,
    agents: Vec<Value>,
}

pub(super) fn run(_: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let list = file.read_or_create().map_err(failed)?;
    if output.json {
        shell.document(&ListDocument {
            schema: "cardproof.agents/1",
            registry: file.path().display().to_string(),
            agents: list.entries().iter().map(Entry::value).collect(),
        });
        return Ok(Exit::Ok);
    }
    let width = list.entries().iter().map(|entry| entry.name().chars().count()).max().unwrap_or(0).min(40);
    for entry in list.entries() {
        let value = entry.value();
        let transport = value.pointer("/transport/type").and_then(Value::as_str).unwrap_or("http");
        let chain = value.get(Entry::ON_CHAIN).and_then(|chain| chain.get("badge")).and_then(Value::as_str);
        let chain = chain.map(|badge| format!("  {badge}")).unwrap_or_default();
        let name = format!("{:<width$}", entry.name());
        let reached = format!("  {transport:<6}  {}", entry.url());
        let pieces = [(Style::Bold, name.as_str()), (Style::Plain, reached.as_str()), (Style::Dim, chain.as_str())];
        shell.styled(if chain.is_empty() { pieces.get(..2).unwrap_or(&pieces) } else { &pieces });
    }
    if list.entries().is_empty() {
        shell.note(&format!("{} has no agents yet", file.path().display()));
    }
    Ok(Exit::Ok)
}
