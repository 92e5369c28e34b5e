//! What a schema cannot say: one rule per file, each of the same shape, none with settings.
//!
//! A rule looks at the whole [`Subject`] and adds findings; it decides by itself whether a dialect concerns it. Rules about
//! values of one kind, wherever they stand, go through the [`Site`]s, which know where each dialect keeps them.

mod account;
mod agent_uri;
mod agreement;
mod caip;
mod chain_contracts;
mod chain_network;
mod chain_owner;
mod chain_registration;
mod chain_status;
mod chain_token;
mod colour;
mod contract;
mod ethereum_address;
mod expected_fields;
mod name;
mod placeholder;
mod price;
mod public_url;
mod shown_text;
mod site;
mod skill_ids;
mod tagline;
mod token_address;
mod uri;
mod uri_scheme;
mod version;
mod wallet;
mod ws_agent;

pub(super) use name::is_url_safe;
use site::{Claim, Role, Site};

use super::findings::Findings;
use super::lint::ChainFacts;
use super::{Dialect, LintContext, Node};

/// A rule that a schema cannot say.
pub(super) trait Rule: Sync {
    /// Adds what the subject does wrong.
    fn check(&self, subject: &Subject<'_, '_>, findings: &mut Findings);
}

/// Every rule.
pub(super) const RULES: &[&dyn Rule] = &[
    &expected_fields::ExpectedFields,
    &placeholder::Placeholder,
    &version::Version,
    &name::Name,
    &shown_text::ShownText,
    &tagline::Tagline,
    &colour::Colour,
    &skill_ids::SkillIds,
    &price::Price,
    &wallet::Wallet,
    &ethereum_address::EthereumAddress,
    &uri::Uri,
    &uri_scheme::UriScheme,
    &public_url::PublicUrl,
    &ws_agent::WsAgent,
    &caip::Caip,
    &token_address::TokenAddress,
    &account::Account,
    &contract::Contract,
    &agreement::Agreement,
    &agent_uri::AgentUri,
    &chain_token::ChainToken,
    &chain_contracts::ChainContracts,
    &chain_network::ChainNetwork,
    &chain_owner::ChainOwner,
    &chain_registration::ChainRegistration,
    &chain_status::ChainStatus,
];

/// What a rule judges: a card that is a JSON object of at least one dialect.
pub(super) struct Subject<'d, 'a> {
    /// The card.
    root: &'d Node<'a>,
    dialects: &'d [Dialect],
    context: &'d LintContext,
    /// The values that mean something, placeholders left out.
    sites: Vec<Site<'d, 'a>>,
    /// Where an example's placeholder was left in.
    placeholders: Vec<Site<'d, 'a>>,
}

impl<'d, 'a> Subject<'d, 'a> {
    pub(super) fn new(root: &'d Node<'a>, dialects: &'d [Dialect], context: &'d LintContext) -> Self {
        let (placeholders, sites) = site::find(root, dialects).into_iter().partition(placeholder::is_placeholder);
        Self { root, dialects, context, sites, placeholders }
    }

    fn is(&self, dialect: Dialect) -> bool {
        self.dialects.contains(&dialect)
    }

    fn chain(&self) -> Option<&'d ChainFacts> {
        self.context.chain.as_ref()
    }

    /// The strings that play a role, with where they start.
    fn texts<'s>(&'s self, plays: impl Fn(Role) -> bool + 's) -> impl Iterator<Item = (usize, &'d str)> + 's {
        self.sites
            .iter()
            .filter(move |site| plays(site.role))
            .filter_map(|site| Some((site.node.span.start, site.node.as_str()?)))
    }

    /// What the card claims about its place on chain, with where it says so.
    fn claims(&self) -> impl Iterator<Item = (usize, Claim)> + use<'_, 'd, 'a> {
        self.sites.iter().flat_map(|site| site.claims().into_iter().map(|claim| (site.node.span.start, claim)))
    }

    /// The skills, in every dialect that has them.
    fn skills(&self) -> &'d [Node<'a>] {
        self.root.get("skills").and_then(Node::as_array).unwrap_or_default()
    }
}
