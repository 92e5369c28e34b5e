//! The real binary, as a user would run it.

use std::process::Stdio;

use cardproof::devnet::Devnet;
use serde_json::Value;

/// The command with its environment.
pub struct Tool {
    environment: Vec<(&'static str, String)>,
    folder: tempfile::TempDir,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// What stdout carries, which must be one JSON document and nothing else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

impl Tool {
    /// The command without any setting, with a home of its own.
    pub fn plain() -> Self {
        Self { environment: Vec::new(), folder: tempfile::tempdir().unwrap() }
    }

    /// The command set up for a local chain.
    pub fn on(net: &Devnet) -> Self {
        let environment = vec![
            ("CARDPROOF_NETWORK", "devnet".to_owned()),
            ("CARDPROOF_NODE", net.node_url().to_owned()),
            ("CARDPROOF_CONTRACT", format!("{},{}", net.registry().index, net.registry().subindex)),
            ("CARDPROOF_GENESIS_HASH", net.genesis_hash().to_string()),
        ];
        Self { environment, ..Self::plain() }
    }

    /// A folder of its own, which is also its home.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// The process, not started yet.
    pub fn command(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_cardproof"));
        command.args(args).env_clear().env("HOME", self.folder.path()).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Runs it to its end.
    pub async fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().await.unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Requires that a document fits its JSON Schema in `schemas/`.
pub fn assert_valid(schema: &str, document: &Value) {
    let text = std::fs::read_to_string(format!("schemas/{schema}.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
}
