use serde::Serialize;
use serde_json::Value;

use crate::card::{edit, hidden, Document, Node};
use crate::identity::{AgentName, Badge, Caip19, Network};

use super::{ListError, Transport};

/// One agent of the list.
///
/// It keeps the text it was read from; changing a field changes that field and no other byte.
#[derive(Debug, Clone)]
pub struct Entry {
    name: String,
    url: String,
    json: String,
}

/// Refuses a name that is not shown as it is.
pub(super) fn require_plain(name: &str) -> Result<(), ListError> {
    let Some(c) = name.chars().find(|c| is_deceiving(*c)).or_else(|| hidden(name)) else { return Ok(()) };
    let why = format!("the name has the character U+{:04X}, which hides or turns round what is shown of it", u32::from(c));
    Err(ListError::Invalid(why))
}

/// Where an agent stands on chain, as an entry remembers it under [`Entry::ON_CHAIN`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnChain {
    /// The agent's token and its chain.
    pub token: Caip19,
    /// Where the card was that named it.
    pub card_url: Option<String>,
}

impl Entry {
    /// The key under which an entry remembers where its agent stands on chain.
    pub const ON_CHAIN: &'static str = "x-cardproof";

    /// The fields that every program knows.
    const KNOWN: [&str; 7] = ["name", "url", "description", "version", "skills", "capabilities", "transport"];

    /// An entry with a name and a URL, reached over HTTP. Blanks around either are no part of it.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when either is empty, or the name has characters that hide or turn round what is shown of it.
    pub fn new(name: &str, url: &str) -> Result<Self, ListError> {
        require_plain(name)?;
        let text = |value: &str| Value::from(value.trim()).to_string();
        Self::parse(&format!("{{\n  \"name\": {},\n  \"url\": {}\n}}", text(name), text(url)))
    }

    /// Reads an entry from JSON text.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when it is not an object with a `name` and a `url`.
    pub fn parse(json: &str) -> Result<Self, ListError> {
        let value: Value = serde_json::from_str(json).map_err(|error| ListError::Invalid(format!("it is not JSON: {error}")))?;
        Self::of(json, &value)
    }

    /// The entry whose text is `json` and whose value is `value`.
    pub(super) fn of(json: &str, value: &Value) -> Result<Self, ListError> {
        let invalid = |why: &str| ListError::Invalid(why.to_owned());
        let object = value.as_object().ok_or_else(|| invalid("it is not an object"))?;
        let field = |key: &str| {
            let text = object.get(key).ok_or_else(|| invalid(&format!("it has no {key}")))?;
            let text = text.as_str().ok_or_else(|| invalid(&format!("its {key} is not a text")))?;
            if text.trim().is_empty() {
                Err(invalid(&format!("its {key} is empty")))
            } else {
                Ok(text.to_owned())
            }
        };
        Ok(Self { name: field("name")?, url: field("url")?, json: json.to_owned() })
    }

    /// Its name, unique in the list.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is reached, or what is shown for it when another transport is used.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its JSON text.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Its JSON text laid out for people, two spaces a level.
    pub fn pretty(&self) -> String {
        crate::card::Layout::default().write(&self.json, "")
    }

    /// Its JSON value.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }

    /// The text of a field, when it has that field and it is a text.
    pub fn text(&self, field: &str) -> Option<String> {
        self.value().get(field)?.as_str().map(str::to_owned)
    }

    /// How it is reached when not over HTTP.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when the field has another form.
    pub fn transport(&self) -> Result<Option<Transport>, ListError> {
        Transport::from_value(self.value().get("transport").unwrap_or(&Value::Null))
    }

    /// Requires that a request can be sent to its URL, unless another transport than HTTP reaches it.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when the URL is not an absolute one of http, https or ws-agent.
    pub fn require_reachable(&self) -> Result<(), ListError> {
        if self.transport()?.is_some() || is_reachable(&self.url) {
            return Ok(());
        }
        Err(ListError::Invalid(format!(
            "{} is not an absolute URL such as https://agents.example.com/a2a (http, https or ws-agent)",
            self.url
        )))
    }

    /// This entry in the place of `old`: what this program does not know of the old one stays. Where the old one's agent stands on
    /// chain goes with it: it was said of another URL or card, and would pass for this one's identity.
    ///
    /// # Errors
    /// See [`Entry::set`].
    pub fn in_place_of(mut self, old: &Self) -> Result<Self, ListError> {
        let document = Document::parse_large(old.json.as_bytes());
        for member in document.root().and_then(Node::as_object).unwrap_or_default() {
            let is_replaced = Self::KNOWN.contains(&&*member.key) || member.key == Self::ON_CHAIN;
            if !is_replaced && self.value().get(&*member.key).is_none() {
                self.set_json(&member.key, old.json.get(member.value.span.clone()).unwrap_or("null"))?;
            }
        }
        Ok(self)
    }

    /// Sets a field and leaves every other byte as it was.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when the field stands twice, or the entry would no longer be one.
    pub fn set(&mut self, field: &str, value: &(impl Serialize + ?Sized)) -> Result<(), ListError> {
        let value = serde_json::to_string(value).map_err(|error| ListError::Invalid(error.to_string()))?;
        self.set_json(field, &value)
    }

    fn set_json(&mut self, field: &str, value: &str) -> Result<(), ListError> {
        let pointer = format!("/{}", field.replace('~', "~0").replace('/', "~1"));
        let changed = edit::set(self.json.as_bytes(), &pointer, value).map_err(|error| ListError::Invalid(error.to_string()))?;
        let json = String::from_utf8(changed).map_err(|_| ListError::Invalid("it is not UTF-8".into()))?;
        *self = Self::parse(&json)?;
        Ok(())
    }

    /// Where its agent stands on chain; `None` when it does not say.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when it says it in a way that cannot be read.
    pub fn on_chain(&self) -> Result<Option<OnChain>, ListError> {
        let value = self.value();
        let Some(remembered) = value.get(Self::ON_CHAIN).filter(|value| !value.is_null()) else { return Ok(None) };
        let text = |key: &str| remembered.get(key).and_then(Value::as_str);
        let unreadable = |why: String| ListError::Invalid(format!("{} of the agent {} {why}", Self::ON_CHAIN, self.name));
        let token = match (text("caip19"), text("badge"), text("network").and_then(Network::built_in)) {
            (Some(caip19), _, _) => caip19.parse::<Caip19>().map_err(|error| unreadable(format!("has no CAIP-19: {error}")))?,
            (None, Some(badge), Some(network)) => {
                let badge: Badge = badge.parse().map_err(|error| unreadable(format!("has no badge: {error}")))?;
                Caip19 { chain: network.caip2(), badge }
            }
            _ => return Err(unreadable("names no token: it needs caip19, or badge and network".into())),
        };
        Ok(Some(OnChain { token, card_url: text("card_url").map(str::to_owned) }))
    }

    /// Remembers where its agent stands on chain.
    ///
    /// # Errors
    /// See [`Entry::set`].
    pub fn set_on_chain(&mut self, on_chain: &OnChain) -> Result<(), ListError> {
        let token = on_chain.token;
        let network = Network::built_in_names().filter_map(Network::built_in).find(|row| row.caip2() == token.chain);
        self.set(
            Self::ON_CHAIN,
            &Remembered {
                network: network.map(|network| network.name.into_owned()),
                badge: token.badge.to_string(),
                caip19: token.to_string(),
                card_url: on_chain.card_url.as_deref(),
            },
        )
    }

    /// The same agent under another name, without blanks around it.
    ///
    /// # Errors
    /// See [`Entry::set`], and [`ListError::Invalid`] when the name has characters that hide or turn round what is shown of it.
    pub fn renamed(mut self, name: &str) -> Result<Self, ListError> {
        require_plain(name)?;
        self.set("name", name.trim())?;
        Ok(self)
    }

    /// This entry fit for a list it comes new to: its name is shown as it is, and has no blanks around it, which nobody sees and which
    /// would make two agents of one name.
    pub(super) fn admitted(self) -> Result<Self, ListError> {
        require_plain(&self.name)?;
        let name = self.name.trim().to_owned();
        if name == self.name {
            Ok(self)
        } else {
            self.renamed(&name)
        }
    }

    /// Whether another entry says the same, however it is written.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.json == other.json || self.value() == other.value()
    }

    pub(super) fn laid_out(mut self, layout: &crate::card::Layout, base: &str) -> Self {
        self.json = layout.write(&self.json, base);
        self
    }
}

/// Whether requests can be sent to a URL: it is absolute, and of http, https or the hub's own scheme.
pub(super) fn is_reachable(url: &str) -> bool {
    url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https" | "ws-agent") && url.has_host())
}

/// Control characters, and those that end a line or change the direction of writing.
fn is_deceiving(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What stands under [`Entry::ON_CHAIN`].
#[derive(Serialize)]
struct Remembered<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    badge: String,
    caip19: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    card_url: Option<&'a str>,
}

impl OnChain {
    /// The token that a name means on a network; a token id is one of the network's registry.
    pub fn of_name(name: &AgentName, network: &Network) -> Self {
        let token = match name {
            AgentName::Caip19(token) => *token,
            AgentName::Badge(badge) => Caip19 { chain: network.caip2(), badge: *badge },
            AgentName::TokenId(token_id) => {
                Caip19 { chain: network.caip2(), badge: Badge { contract: network.registry, token_id: *token_id } }
            }
        };
        Self { token, card_url: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_set_and_the_rest_stays_as_it_was() {
        let text = "{ \"x\": 1.50,\n  \"name\":\"a\", \"url\" : \"http://a\" }";
        let entry = Entry::parse(text).unwrap().renamed("b").unwrap();
        assert_eq!(entry.json(), text.replace("\"a\"", "\"b\""));
        assert_eq!(entry.name(), "b");
    }

    #[test]
    fn an_entry_without_name_or_url_is_none() {
        for text in ["[]", "{}", r#"{"name":"a"}"#, r#"{"name":1,"url":"u"}"#, r#"{"name":" ","url":"u"}"#, "{"] {
            assert!(Entry::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_that_deceives_and_a_url_that_leads_nowhere_are_refused() {
        for name in ["a\u{1b}[2J", "a\nb", "a\u{202e}b", "\u{2066}a", "a\u{7f}", "a\u{200b}", "a\u{3164}"] {
            assert!(Entry::new(name, "http://a").unwrap_err().to_string().contains("U+"), "{name:?}");
        }
        assert!(Entry::new("Bücher 本 \u{1f468}\u{200d}\u{1f4bb}", "http://a").is_ok());
        for url in ["y", "/a", "ftp://a", "javascript:alert(1)", "file:///etc/passwd", "https:"] {
            assert!(Entry::new("a", url).unwrap().require_reachable().is_err(), "{url}");
        }
        for url in ["http://localhost:8001", "https://a.example/x", "ws-agent://a"] {
            assert!(Entry::new("a", url).unwrap().require_reachable().is_ok(), "{url}");
        }
        let mut ssh = Entry::new("a", "anything").unwrap();
        ssh.set("transport", &json!({ "type": "ssh", "config": { "host": "h" } })).unwrap();
        assert!(ssh.require_reachable().is_ok());
    }

    #[test]
    fn an_overwritten_entry_keeps_what_nobody_replaced() {
        let old = r#"{"name":"a","url":"http://old","description":"old","q":1.50,"x-cardproof":{"caip19":"old"},"n":[1e2]}"#;
        let old = Entry::parse(old).unwrap();
        let new = Entry::new("a", "http://new").unwrap().in_place_of(&old).unwrap();
        let value = new.value();
        assert_eq!(value["url"], "http://new");
        assert!(value["description"].is_null() && value["n"][0].as_f64() == Some(100.0), "{value}");
        assert!(new.json().contains("1.50"), "{}", new.json());
    }

    #[test]
    fn the_identity_on_chain_goes_with_the_entry_that_it_was_said_of() {
        let old = r#"{"name":"a","url":"http://old","x-cardproof":{"caip19":"old","card_url":"http://old/card.json"}}"#;
        let old = Entry::parse(old).unwrap();
        let new = Entry::new("a", "http://new").unwrap().in_place_of(&old).unwrap();
        assert_eq!(new.value(), json!({ "name": "a", "url": "http://new" }));
        let named = Entry::parse(r#"{"name":"a","url":"http://new","x-cardproof":{"caip19":"new"}}"#).unwrap();
        assert_eq!(named.in_place_of(&old).unwrap().value()["x-cardproof"]["caip19"], "new");
    }

    #[test]
    fn where_an_agent_stands_on_chain_is_remembered() {
        let mut entry = Entry::new("a", "http://a").unwrap();
        assert_eq!(entry.on_chain().unwrap(), None);
        let testnet = Network::built_in("testnet").unwrap();
        let on_chain = OnChain::of_name(&"287".parse().unwrap(), &testnet);
        entry.set_on_chain(&on_chain).unwrap();
        assert_eq!(entry.on_chain().unwrap(), Some(on_chain.clone()));
        assert_eq!(entry.value()["x-cardproof"]["network"], "testnet");
        entry.set(Entry::ON_CHAIN, &json!({ "badge": on_chain.token.badge.to_string(), "network": "testnet" })).unwrap();
        assert_eq!(entry.on_chain().unwrap(), Some(on_chain));
        entry.set(Entry::ON_CHAIN, &json!({ "badge": "nonsense" })).unwrap();
        assert!(entry.on_chain().is_err());
    }
}
