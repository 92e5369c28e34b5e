use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::ListError;

/// How an agent is reached when not over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transport {
    /// Which way.
    #[serde(rename = "type")]
    pub kind: TransportKind,
    /// Its settings; every value is a text, numbers too.
    pub config: BTreeMap<String, String>,
}

/// The ways to reach an agent beside HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// Through a tunnel to another machine.
    Ssh,
    /// In a container.
    Docker,
    /// A program of this machine, over its standard streams.
    Stdio,
}

impl TransportKind {
    /// `ssh`, `docker` or `stdio`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Docker => "docker",
            Self::Stdio => "stdio",
        }
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for TransportKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for TransportKind {
    type Err = ListError;

    fn from_str(text: &str) -> Result<Self, ListError> {
        match text {
            "ssh" => Ok(Self::Ssh),
            "docker" => Ok(Self::Docker),
            "stdio" => Ok(Self::Stdio),
            other => Err(ListError::Invalid(format!("a transport is ssh, docker or stdio, and {other} is none of them"))),
        }
    }
}

impl Transport {
    /// A transport with these settings.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when a setting has no name, a port is no port, or `ssh` has no `host`.
    pub fn new(kind: TransportKind, config: BTreeMap<String, String>) -> Result<Self, ListError> {
        let invalid = |why: String| Err(ListError::Invalid(why));
        if config.keys().any(String::is_empty) {
            return invalid(format!("a setting of the transport {kind} has no name"));
        }
        for (key, value) in config.iter().filter(|(key, _)| *key == "port" || key.ends_with("_port")) {
            if !matches!(value.parse::<u16>(), Ok(1..)) {
                return invalid(format!(
                    "the setting {key} of the transport {kind} is a port from 1 to 65535, and {value} is none"
                ));
            }
        }
        if kind == TransportKind::Ssh && config.get("host").is_none_or(|host| host.trim().is_empty()) {
            return invalid("the transport ssh needs the setting host".into());
        }
        Ok(Self { kind, config })
    }

    /// Reads the `transport` of an entry; `null` is HTTP, which is `None`.
    ///
    /// # Errors
    /// [`ListError::Invalid`] when it has another form than `{"type", "config"}`.
    pub fn from_value(value: &Value) -> Result<Option<Self>, ListError> {
        let invalid = |why: &str| ListError::Invalid(format!("its transport {why}"));
        let object = match value {
            Value::Null => return Ok(None),
            Value::Object(object) => object,
            _ => return Err(invalid("is neither null nor an object")),
        };
        let kind = object.get("type").and_then(Value::as_str).ok_or_else(|| invalid("has no type (ssh, docker or stdio)"))?;
        let config = match object.get("config") {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(config)) => config
                .iter()
                .map(|(key, value)| match value {
                    Value::String(text) => Ok((key.clone(), text.clone())),
                    _ => Err(invalid(&format!("has a setting {key} that is not a text"))),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(invalid("has a config that is not an object")),
        };
        Self::new(kind.parse()?, config).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_transport_is_checked() {
        let read = |value: Value| Transport::from_value(&value);
        assert_eq!(read(Value::Null).unwrap(), None);
        let ssh = json!({ "type": "ssh", "config": { "host": "server", "port": "22", "forward_port": "8003" } });
        assert_eq!(serde_json::to_value(read(ssh.clone()).unwrap()).unwrap(), ssh);
        assert_eq!(read(json!({ "type": "stdio" })).unwrap().unwrap().kind, TransportKind::Stdio);
        for wrong in [
            json!("ssh"),
            json!({}),
            json!({ "type": "carrier-pigeon", "config": {} }),
            json!({ "type": "ssh", "config": {} }),
            json!({ "type": "ssh", "config": { "host": "a", "port": 22 } }),
            json!({ "type": "ssh", "config": { "host": "a", "port": "0" } }),
            json!({ "type": "docker", "config": { "forward_port": "65536" } }),
            json!({ "type": "docker", "config": { "": "x" } }),
            json!({ "type": "docker", "config": [] }),
        ] {
            assert!(matches!(read(wrong.clone()), Err(ListError::Invalid(_))), "{wrong}");
        }
    }
}
