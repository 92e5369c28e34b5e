use std::path::{Path, PathBuf};

use cardproof::card::build::{build, Aspect, BuildError, Format, Interface, Profile, Provider, Service, Skill, Verification};
use cardproof::card::convert::left_out;

use super::identity::{self, IdentityOptions};
use super::write::{self, LostDocument, Made};
use crate::cli::exit::{CliError, Exit};
use crate::cli::input;
use crate::cli::options::{NodeOptions, OutputOptions, TlsOptions};
use crate::cli::shell::Shell;

/// Build a card: the same bytes on every machine
///
/// What the card says comes from a file (--input), from options, which win over the file, or, on a terminal, from questions about
/// what is missing. The bytes go to stdout and their SHA-256 to stderr, or with --out to a file and stdout.
///
/// Exit codes: 0 the card is built; 1 it is, and a lint finds errors in it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The form of the card: combined, erc8004, a2a, a2a-0.x, concordium-legacy, society-ai or uumit
    #[arg(long, value_name = "FORMAT", default_value = "combined")]
    format: Format,
    /// Write the card to this file
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What the card says, as TOML or JSON (docs/cards.md has the keys); - is standard input
    #[arg(long, short, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Exit with 0 even when a lint finds errors in the card
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    identity: IdentityOptions,
    #[command(flatten)]
    node: NodeOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// What the card says.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Content")]
pub(super) struct Content {
    /// The agent's display name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What it does
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Its version, such as 1.0.0
    #[arg(long, value_name = "VERSION")]
    agent_version: Option<String>,
    /// Where the agent is reached, with binding and A2A version if they are not HTTP+JSON and 1.0 (repeatable)
    #[arg(long, value_name = "URL[,BINDING[,VERSION]]")]
    url: Vec<String>,
    /// Where the card itself will be hosted: the agent's agent_uri
    #[arg(long, value_name = "URL")]
    card_url: Option<String>,
    /// A picture of the agent
    #[arg(long, value_name = "URL")]
    image: Option<String>,
    /// Where its documentation is
    #[arg(long, value_name = "URL")]
    documentation_url: Option<String>,
    /// Who operates it
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    /// The operator's site
    #[arg(long, value_name = "URL", requires = "organization")]
    organization_url: Option<String>,
    /// A skill: id, name, description and tags (repeatable)
    #[arg(long, value_name = "ID|NAME|DESCRIPTION|TAG,TAG")]
    skill: Vec<String>,
    /// A named endpoint beside the interfaces (repeatable)
    #[arg(long, value_name = "NAME=URL[,VERSION]")]
    service: Vec<String>,
    /// A media type the agent takes (repeatable) [default: text/plain]
    #[arg(long, value_name = "TYPE")]
    input_mode: Vec<String>,
    /// A media type the agent answers with (repeatable) [default: text/plain]
    #[arg(long, value_name = "TYPE")]
    output_mode: Vec<String>,
    /// The agent streams
    #[arg(long)]
    streaming: bool,
    /// The agent sends push notifications
    #[arg(long)]
    push_notifications: bool,
    /// The agent supports x402 proof of payment
    #[arg(long)]
    x402: bool,
    /// The agent is not in operation
    #[arg(long)]
    inactive: bool,
    /// A trust model of ERC-8004 (repeatable)
    #[arg(long, value_name = "MODEL")]
    trust: Vec<String>,
    /// Do not tell readers where they may have the badge checked
    #[arg(long)]
    no_verification: bool,
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let mut profile = args.input.as_deref().map_or(Ok(Profile::default()), read_input)?;
    args.content.apply(&mut profile)?;
    let known = identity::resolve(&args.identity, &args.node, &args.tls, output)?;
    let is_url_of_chain = profile.card_url.is_none() && known.agent_uri.is_some();
    profile.card_url = profile.card_url.or(known.agent_uri);
    if shell.can_ask() && args.input.as_deref() != Some(Path::new("-")) {
        ask_missing(&mut profile, args.format, &mut |question| shell.answer(question))?;
    }
    let mut lost = left_out(&profile, Some(&known.identity), args.format);
    // Nobody misses what nobody wrote.
    lost.retain(|lost| !is_url_of_chain || lost.pointer != "/card_url");
    let mut built = build(&profile, Some(&known.identity), args.format).map_err(failed)?;
    if args.identity.agent.is_some() && !args.format.carries(Aspect::Identity) {
        built.notes.push(format!("{} has no place for the agent's token, so the card carries no badge", args.format));
    }
    let made = Made {
        schema: "cardproof.card-build/1",
        format: args.format,
        built: &built,
        lost: lost.into_iter().map(LostDocument::from).collect(),
        card_url: profile.card_url.as_deref(),
        out: args.out.as_deref(),
    };
    let is_sound = write::card(made, shell, output)?;
    Ok(if is_sound || args.force { Exit::Ok } else { Exit::Negative })
}

/// What a failure to build means for the process.
pub(super) fn failed(error: BuildError) -> CliError {
    match error {
        BuildError::Missing { .. } => CliError::usage(error.to_string()),
        _ => CliError::internal(error.to_string()),
    }
}

fn read_input(path: &Path) -> Result<Profile, CliError> {
    let shown = path.display();
    let text = input::text(path)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // A TOML document never starts with a brace.
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| CliError::usage(format!("{shown}: {error}")))
    } else {
        toml::from_str(text).map_err(|error| CliError::usage(format!("{shown}: {}", in_one_line(&error, text))))
    }
}

/// A fault of a TOML document and its place. What the parser itself writes is a drawing of several lines.
fn in_one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let before = error.span().and_then(|span| text.get(..span.start));
    before.map_or(message.clone(), |before| format!("line {}: {message}", before.matches('\n').count() + 1))
}

impl Content {
    pub(super) fn apply(&self, profile: &mut Profile) -> Result<(), CliError> {
        let set = |field: &mut Option<String>, given: &Option<String>| {
            if given.is_some() {
                field.clone_from(given);
            }
        };
        if let Some(name) = &self.name {
            profile.name.clone_from(name);
        }
        if let Some(description) = &self.description {
            profile.description.clone_from(description);
        }
        set(&mut profile.version, &self.agent_version);
        set(&mut profile.card_url, &self.card_url);
        set(&mut profile.image, &self.image);
        set(&mut profile.documentation_url, &self.documentation_url);
        if let Some(organization) = &self.organization {
            profile.provider = Some(Provider { organization: organization.clone(), url: self.organization_url.clone() });
        }
        if !self.url.is_empty() {
            profile.interfaces = self.url.iter().map(|text| interface(text)).collect();
        }
        if !self.skill.is_empty() {
            profile.skills = self.skill.iter().map(|text| skill(text)).collect::<Result<_, _>>()?;
        }
        if !self.service.is_empty() {
            profile.services = self.service.iter().map(|text| service(text)).collect::<Result<_, _>>()?;
        }
        let lists = [
            (&mut profile.input_modes, &self.input_mode),
            (&mut profile.output_modes, &self.output_mode),
            (&mut profile.supported_trust, &self.trust),
        ];
        for (list, given) in lists.into_iter().filter(|(_, given)| !given.is_empty()) {
            list.clone_from(given);
        }
        let flags = [
            (&mut profile.capabilities.streaming, self.streaming, true),
            (&mut profile.capabilities.push_notifications, self.push_notifications, true),
            (&mut profile.x402_support, self.x402, true),
            (&mut profile.active, self.inactive, false),
        ];
        for (flag, _, value) in flags.into_iter().filter(|(_, given, _)| *given) {
            *flag = Some(value);
        }
        if self.no_verification {
            // An empty one is a wish for none; `None` leaves the choice to the registry.
            profile.verification = Some(Verification::default());
        }
        Ok(())
    }
}

/// `URL`, `URL,BINDING` or `URL,BINDING,VERSION`. A comma of the URL itself is written `%2C`.
fn interface(text: &str) -> Interface {
    let mut parts = text.splitn(3, ',');
    let mut interface = Interface::http_json(parts.next().unwrap_or_default());
    if let Some(binding) = parts.next() {
        interface.binding = binding.to_owned();
    }
    if let Some(version) = parts.next() {
        interface.version = version.to_owned();
    }
    interface
}

fn skill(text: &str) -> Result<Skill, CliError> {
    let mut parts = text.splitn(4, '|').map(str::trim);
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let (id, name, description, tags) = (next(), next(), next(), next());
    if id.is_empty() {
        return Err(CliError::usage(format!("a skill is written id|name|description|tag,tag, and {text} has no id")));
    }
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    Ok(Skill { id, name, description, tags, ..Skill::default() })
}

fn service(text: &str) -> Result<Service, CliError> {
    let (name, rest) = text
        .split_once('=')
        .ok_or_else(|| CliError::usage(format!("a service is written name=url or name=url,version, and {text} is not")))?;
    let (endpoint, version) = rest.split_once(',').map_or((rest, None), |(url, version)| (url, Some(version.to_owned())));
    Ok(Service { name: name.to_owned(), endpoint: Some(endpoint.to_owned()), version })
}

/// Asks for what the format cannot do without and nobody has said.
fn ask_missing(
    profile: &mut Profile,
    format: Format,
    ask: &mut dyn FnMut(&str) -> Result<String, CliError>,
) -> Result<(), CliError> {
    let from_scratch = profile.name.is_empty() && profile.description.is_empty() && profile.interfaces.is_empty();
    let mut until_said = |question: &str| loop {
        let answer = ask(question)?;
        if !answer.is_empty() {
            return Ok::<_, CliError>(answer);
        }
    };
    if profile.name.is_empty() {
        profile.name = until_said("What is the agent's name?")?;
    }
    if profile.description.is_empty() {
        profile.description = until_said("What does it do?")?;
    }
    match format {
        Format::ConcordiumLegacy if profile.card_url.is_none() => {
            profile.card_url = Some(until_said("At which URL will the card itself be hosted?")?);
        }
        Format::Combined | Format::A2a | Format::A2a0 | Format::SocietyAi | Format::Uumit if profile.interfaces.is_empty() => {
            profile.interfaces = vec![interface(&until_said("At which URL is the agent reached?")?)];
        }
        _ => {}
    }
    if from_scratch {
        ask_more(profile, ask)?;
    }
    Ok(())
}

/// Asks a user who gave nothing at all for what a card need not say.
fn ask_more(profile: &mut Profile, ask: &mut dyn FnMut(&str) -> Result<String, CliError>) -> Result<(), CliError> {
    let mut maybe = |question: &str| ask(question).map(|answer| Some(answer).filter(|answer| !answer.is_empty()));
    if profile.version.is_none() {
        profile.version = maybe("Which version is it? (empty: 1.0.0)")?;
    }
    if profile.provider.is_none() {
        if let Some(organization) = maybe("Who operates it? (may stay empty)")? {
            profile.provider = Some(Provider { organization, url: maybe("At which site? (may stay empty)")? });
        }
    }
    while let Some(text) = maybe("A skill, as id|name|description|tag,tag (empty: no more)")? {
        profile.skills.push(skill(&text)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_asked() {
        let mut asked = Vec::new();
        let mut profile = Profile { name: "A".into(), ..Profile::default() };
        let mut answers = ["", "Does", "https://a.example,JSONRPC"].into_iter();
        let mut ask = |question: &str| {
            asked.push(question.to_owned());
            Ok(answers.next().unwrap().to_owned())
        };
        ask_missing(&mut profile, Format::Combined, &mut ask).unwrap();
        assert_eq!(asked.len(), 3, "an empty answer is asked for again: {asked:?}");
        assert_eq!(profile.interfaces[0].binding, "JSONRPC");
    }

    #[test]
    fn a_user_who_gave_nothing_is_asked_for_the_rest_too() {
        let mut answers = ["A", "Does", "https://a.example", "2.0.0", "Labs", "", "s|S|Says.|t", ""].into_iter();
        let mut ask = |_: &str| Ok(answers.next().unwrap().to_owned());
        let mut profile = Profile::default();
        ask_missing(&mut profile, Format::Combined, &mut ask).unwrap();
        assert_eq!((profile.version.as_deref(), profile.skills[0].tags.len()), (Some("2.0.0"), 1));
        assert_eq!(profile.provider.unwrap().url, None);
        assert_eq!(answers.next(), None);
    }

    #[test]
    fn skills_and_services_are_written_in_one_word() {
        let read = skill("a| Name |Does x.|t1, t2").unwrap();
        assert_eq!((read.id.as_str(), read.name.as_str(), read.tags.len()), ("a", "Name", 2));
        assert!(skill("|x").is_err() && service("x").is_err());
        assert_eq!(service("MCP=https://a.example/mcp,2025-06-18").unwrap().version.as_deref(), Some("2025-06-18"));
    }
}
