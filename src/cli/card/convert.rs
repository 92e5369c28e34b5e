use std::ffi::OsString;
use std::path::PathBuf;

use cardproof::card::build::Format;
use cardproof::card::convert::{convert, read_bytes};

use super::build::{failed, Content};
use super::identity::{self, IdentityOptions};
use super::source::{load, SourceOptions};
use super::write::{self, LostDocument, Made};
use crate::cli::exit::{CliError, Exit};
use crate::cli::options::OutputOptions;
use crate::cli::shell::Shell;

/// Convert a card to another dialect, and tell what could not be carried
///
/// Options give what the old card does not say, or should say differently.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file, a URL, an agent, or - for standard input
    #[arg(value_name = "CARD")]
    card: OsString,
    /// The new form: combined, erc8004, a2a, a2a-0.x, concordium-legacy, society-ai or uumit
    #[arg(long, value_name = "FORMAT")]
    to: Format,
    /// Write the new card to this file
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit with 1 when something could not be carried
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    identity: IdentityOptions,
    #[command(flatten)]
    source: SourceOptions,
}

pub(super) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    let source = load(&args.card, &args.source, output)?;
    let mut reading = read_bytes(&source.bytes).map_err(|error| source.is_no_card(&error))?;
    args.content.apply(&mut reading.profile)?;
    // A card's own claim is kept unless the user names an agent; a card without one takes the network of the options.
    if args.identity.agent.is_some() || reading.identity.is_none() {
        let known = identity::resolve(&args.identity, &args.source.node, &args.source.tls, output)?;
        reading.profile.card_url = reading.profile.card_url.take().or(known.agent_uri);
        reading.identity = Some(known.identity);
    }
    let conversion = convert(&reading, args.to).map_err(failed)?;
    let lost: Vec<LostDocument> = conversion.lost.into_iter().map(LostDocument::from).collect();
    let is_lossy = !lost.is_empty();
    let made = Made {
        schema: "cardproof.card-convert/1",
        format: args.to,
        built: &conversion.built,
        lost,
        card_url: reading.profile.card_url.as_deref(),
        out: args.out.as_deref(),
    };
    write::card(made, shell, output)?;
    Ok(if args.strict && is_lossy { Exit::Negative } else { Exit::Ok })
}
