//! What a profile says that a format has no place for.

use crate::card::build::{Aspect, ChainIdentity, Format, Profile, Verification};

use super::Lost;

/// What of a profile a card of `format` will not have, by the JSON pointers of the input file of `card build`, in its order.
///
/// `identity` is the one that the card is built with: without a token and its owner there is no badge, which holds
/// `verification`. A price in a currency of another network is among the notes of the build.
pub fn left_out(profile: &Profile, identity: Option<&ChainIdentity>, format: Format) -> Vec<Lost> {
    let mut found = Found { format, lost: Vec::new() };
    found.texts(profile);
    found.interfaces(profile);
    found.skills(profile);
    found.services(profile);
    found.given(Aspect::Registrations, "/registrations", !profile.registrations.is_empty());
    let is_said = profile.verification.as_ref().is_some_and(|said| *said != Verification::default());
    let has_badge = identity.is_some_and(|known| known.caip19().is_some() && known.owner.is_some());
    if is_said && format.carries(Aspect::Verification) && !has_badge {
        found.push("/verification".into(), "it belongs into the badge, and the card carries none".into());
    } else {
        found.given(Aspect::Verification, "/verification", is_said);
    }
    found.lost
}

struct Found {
    format: Format,
    lost: Vec<Lost>,
}

impl Found {
    fn push(&mut self, pointer: String, message: String) {
        self.lost.push(Lost { pointer, message });
    }

    fn no_place(&mut self, pointer: impl Into<String>) {
        self.push(pointer.into(), format!("{} has no place for it, so it is not in the new card", self.format));
    }

    /// Counts what was given and cannot be said.
    fn given(&mut self, aspect: Aspect, pointer: impl Into<String>, is_given: bool) {
        if is_given && !self.format.carries(aspect) {
            self.no_place(pointer);
        }
    }

    /// Everything that is no list of objects.
    fn texts(&mut self, profile: &Profile) {
        let said = &profile.capabilities;
        // The combined card names its own place as a service, unless the author names another.
        let names_itself = self.format == Format::Combined && !has_a2a_service(profile);
        for (aspect, pointer, is_given) in [
            (Aspect::Version, "/version", profile.version.is_some()),
            (Aspect::CardUrl, "/card_url", profile.card_url.is_some() && !names_itself),
            (Aspect::Image, "/image", profile.image.is_some()),
            (Aspect::DocumentationUrl, "/documentation_url", profile.documentation_url.is_some()),
            (Aspect::Provider, "/provider", profile.provider.is_some()),
            (Aspect::Capabilities, "/capabilities/streaming", said.streaming.is_some()),
            (Aspect::Capabilities, "/capabilities/push_notifications", said.push_notifications.is_some()),
            (Aspect::StateTransitionHistory, "/capabilities/state_transition_history", said.state_transition_history.is_some()),
            (Aspect::Modes, "/input_modes", !profile.input_modes.is_empty()),
            (Aspect::Modes, "/output_modes", !profile.output_modes.is_empty()),
            (Aspect::SupportedTrust, "/supported_trust", !profile.supported_trust.is_empty()),
            (Aspect::X402Support, "/x402_support", profile.x402_support.is_some()),
            (Aspect::Active, "/active", profile.active.is_some()),
            (Aspect::DisplayName, "/display_name", profile.display_name.is_some()),
            (Aspect::Tagline, "/tagline", profile.tagline.is_some()),
            (Aspect::Wallet, "/wallet", profile.wallet.is_some()),
            (Aspect::Visibility, "/visibility", profile.visibility.is_some()),
        ] {
            self.given(aspect, pointer, is_given);
        }
    }

    fn interfaces(&mut self, profile: &Profile) {
        let is_named = |url: &str| profile.services.iter().any(|service| service.endpoint.as_deref() == Some(url));
        for (n, interface) in profile.interfaces.iter().enumerate() {
            let at = format!("/interfaces/{n}");
            let aspect = if n == 0 { Aspect::Interfaces } else { Aspect::FurtherInterfaces };
            if !self.format.carries(aspect) {
                self.no_place(at);
                continue;
            }
            if self.format == Format::Erc8004 && has_a2a_service(profile) && !is_named(&interface.url) {
                self.push(at, "the services name another A2A endpoint, so it is not in the new card".into());
                continue;
            }
            // The usual values are what an author gets who says nothing.
            let is_alone = matches!(self.format, Format::SocietyAi | Format::Uumit);
            if interface.binding != "HTTP+JSON" && (is_alone || self.format == Format::Erc8004) {
                self.no_place(format!("{at}/binding"));
            }
            let is_told = interface.version == "1.0" || (self.format == Format::A2a0 && interface.version.starts_with("0.3"));
            if !is_told && (is_alone || self.format == Format::A2a0) {
                self.no_place(format!("{at}/version"));
            }
        }
    }

    fn skills(&mut self, profile: &Profile) {
        if !self.format.carries(Aspect::Skills) {
            return self.given(Aspect::Skills, "/skills", !profile.skills.is_empty());
        }
        for (n, skill) in profile.skills.iter().enumerate() {
            let at = format!("/skills/{n}");
            self.given(Aspect::SkillDetails, format!("{at}/examples"), !skill.examples.is_empty());
            self.given(Aspect::SkillModes, format!("{at}/input_modes"), !skill.input_modes.is_empty());
            self.given(Aspect::SkillModes, format!("{at}/output_modes"), !skill.output_modes.is_empty());
            self.given(Aspect::Prices, format!("{at}/price"), skill.price.is_some());
        }
    }

    fn services(&mut self, profile: &Profile) {
        if !self.format.carries(Aspect::Services) {
            return self.given(Aspect::Services, "/services", !profile.services.is_empty());
        }
        for (n, service) in profile.services.iter().enumerate() {
            let at = format!("/services/{n}");
            if self.format == Format::ConcordiumLegacy {
                // There they are pairs of name and URL.
                let is_named_again =
                    profile.services.iter().skip(n + 1).any(|other| other.name == service.name && other.endpoint.is_some());
                if service.endpoint.is_none() || is_named_again {
                    self.no_place(at);
                    continue;
                }
            }
            self.given(Aspect::ServiceVersions, format!("{at}/version"), service.version.is_some());
        }
    }
}

fn has_a2a_service(profile: &Profile) -> bool {
    profile.services.iter().any(|service| service.name.eq_ignore_ascii_case("A2A"))
}
