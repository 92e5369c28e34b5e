use std::collections::BTreeMap;

use cardproof::agent_list::{Entry, ListError, ListFile, Transport, TransportKind};

use super::change::{self, ChangeDocument, ConflictOptions};
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Add an agent by answering questions
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    conflicts: ConflictOptions,
}

pub(super) fn run(args: &Args, file: &ListFile, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    if !shell.can_ask() {
        return Err(CliError::usage("onboard asks questions, and this is not a terminal")
            .hint("cardproof agents add <name> <url>, or cardproof agents discover <url>"));
    }
    let entry = converse(&mut |question| shell.answer(question), &mut |problem| shell.warning(problem))?;
    entry.require_reachable().map_err(super::failed)?;
    let done = change::add(vec![entry], &args.conflicts, file, shell)?;
    Ok(ChangeDocument::of(done, Vec::new(), file).report(shell, output))
}

type Ask<'a> = &'a mut dyn FnMut(&str) -> Result<String, CliError>;

/// The questions; one that got no usable answer is asked again.
fn converse(ask: Ask<'_>, problem: &mut dyn FnMut(&str)) -> Result<Entry, CliError> {
    let mut entry = loop {
        let name = ask("What is the agent's name?")?;
        let url = ask("At which URL is it reached?")?;
        match Entry::new(&name, &url) {
            Ok(entry) => break entry,
            Err(error) => problem(&error.to_string()),
        }
    };
    for (question, field) in
        [("What does it do? (may stay empty)", "description"), ("Which version is it? (may stay empty)", "version")]
    {
        let answer = ask(question)?;
        if !answer.is_empty() {
            entry.set(field, &answer).map_err(super::failed)?;
        }
    }
    let transport = loop {
        match transport(ask)? {
            Ok(transport) => break transport,
            Err(error) => problem(&error.to_string()),
        }
    };
    entry.set("transport", &transport).map_err(super::failed)?;
    Ok(entry)
}

fn transport(ask: Ask<'_>) -> Result<Result<Option<Transport>, ListError>, CliError> {
    let kind = ask("Over which transport? http, ssh, docker or stdio (empty: http)")?;
    if kind.is_empty() || kind == "http" {
        return Ok(Ok(None));
    }
    let kind: TransportKind = match kind.parse() {
        Ok(kind) => kind,
        Err(error) => return Ok(Err(error)),
    };
    let mut config = BTreeMap::new();
    loop {
        let pair = ask("A setting of the transport, as key=value (empty: no more)")?;
        match pair.split_once('=') {
            Some((key, value)) => drop(config.insert(key.trim().to_owned(), value.trim().to_owned())),
            None if pair.is_empty() => return Ok(Transport::new(kind, config).map(Some)),
            None => return Ok(Err(ListError::Invalid(format!("a setting is written key=value, and {pair} is not")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(list: &[&str]) -> (Entry, Vec<String>) {
        let mut answers = list.iter();
        let mut problems = Vec::new();
        let mut ask = |_: &str| Ok(answers.next().expect("a question too many").to_string());
        let entry = converse(&mut ask, &mut |problem| problems.push(problem.to_owned())).unwrap();
        assert_eq!(answers.next(), None, "a question too few");
        (entry, problems)
    }

    #[test]
    fn the_answers_make_an_entry() {
        let (entry, problems) = answers(&["echo", "http://localhost:8001", "Echoes", "", ""]);
        let expected =
            serde_json::json!({ "name": "echo", "url": "http://localhost:8001", "description": "Echoes", "transport": null });
        assert_eq!(entry.value(), expected);
        assert!(problems.is_empty());
    }

    #[test]
    fn an_unusable_answer_is_asked_for_again() {
        let (entry, problems) =
            answers(&["", "u", "a", "u", "", "", "pigeon", "ssh", "", "ssh", "nonsense", "ssh", "host=server", "port = 22", ""]);
        assert_eq!(
            entry.value()["transport"],
            serde_json::json!({ "type": "ssh", "config": { "host": "server", "port": "22" } })
        );
        assert_eq!(problems.len(), 4, "{problems:?}");
    }
}
