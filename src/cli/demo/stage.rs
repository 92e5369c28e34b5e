use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

use cardproof::devnet::Devnet;
use tempfile::TempDir;

use super::host::Host;
use super::StepDocument;
use crate::cli::exit::CliError;
use crate::cli::shell::{Shell, Style};

/// The port of a devnet that nothing else is said of.
const USUAL_PORT: u16 = 20_100;

/// A chain, two card hosts, and a folder with what the commands need.
pub(super) struct Stage<'a> {
    shell: &'a Shell,
    quiet: bool,
    net: Devnet,
    folder: TempDir,
    program: PathBuf,
    pub(super) first: Host,
    pub(super) second: Host,
    pub(super) steps: Vec<StepDocument>,
}

impl<'a> Stage<'a> {
    /// Starts everything and says how to follow from another terminal. `quiet` leaves stdout to a document.
    pub(super) async fn set(shell: &'a Shell, quiet: bool) -> Result<Self, CliError> {
        let usual = SocketAddr::from(([127, 0, 0, 1], USUAL_PORT));
        let net = match Devnet::builder().listen(usual).start().await {
            Ok(net) => net,
            // Somebody is there already: any other port does.
            Err(_) => Devnet::start().await.map_err(|error| CliError::internal(error.to_string()))?,
        };
        let failed = |error: io::Error| CliError::internal(format!("the demo could not be set up: {error}"));
        let folder = TempDir::with_prefix("cardproof-demo-").map_err(failed)?;
        shell.remove_in_any_case(folder.path());
        let program = std::env::current_exe().map_err(failed)?;
        let (first, second) = (Host::start().await.map_err(failed)?, Host::start().await.map_err(failed)?);
        let stage = Self { shell, quiet, net, folder, program, first, second, steps: Vec::new() };
        let state = stage.folder.path().join("state");
        let configuration = format!(
            "network = \"devnet\"\nnode = [\"{}\"]\nstate_dir = {state:?}\n\n[fetch]\nallow_http = true\nallow_private = true\n",
            stage.net.node_url()
        );
        stage.write("cardproof.toml", &configuration)?;
        let operator = stage.net.account(1).ok_or_else(|| CliError::internal("the local chain has no account"))?;
        operator
            .write_wallet_export(&stage.folder.path().join(stage.keys()))
            .map_err(|error| CliError::internal(error.to_string()))?;
        stage.say(&format!(
            "A local chain with the CIS-8004 registry {} runs at {},",
            stage.net.registry(),
            stage.net.node_url()
        ));
        stage.say("and two card hosts beside it. Every command below is run as it stands, in the folder");
        stage.say(&format!("{} with CARDPROOF_CONFIG=cardproof.toml.", stage.folder.path().display()));
        Ok(stage)
    }

    pub(super) fn node_url(&self) -> String {
        self.net.node_url().to_owned()
    }

    /// The operator's key file, seen from the folder.
    pub(super) fn keys(&self) -> String {
        "operator.export.json".to_owned()
    }

    /// Writes a file into the folder.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        std::fs::write(self.folder.path().join(name), text)
            .map_err(|error| CliError::internal(format!("{name} could not be written: {error}")))
    }

    /// Runs a command and shows it. It must end with `code` and print `expected`: a demo that shows something else is a fault.
    pub(super) async fn step(&mut self, title: &'static str, command: &str, code: i32, expected: &str) -> Result<(), CliError> {
        if !self.quiet {
            self.shell.line("");
            self.shell.styled(&[(Style::Bold, &format!("{}. {title}", self.steps.len() + 1))]);
            self.shell.styled(&[(Style::Dim, "$ "), (Style::Bold, command)]);
        }
        let mut run = tokio::process::Command::new(&self.program);
        // What the user has set for other networks must not lead a step there.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARDPROOF_")) {
            run.env_remove(name);
        }
        let run = run
            .args(command.split(' ').skip(1))
            .current_dir(self.folder.path())
            .env("CARDPROOF_CONFIG", "cardproof.toml")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = run.await.map_err(|error| CliError::internal(format!("{command} could not be run: {error}")))?;
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let exit_code = output.status.code().unwrap_or(-1);
        if !self.quiet {
            stderr.lines().for_each(|line| self.shell.styled(&[(Style::Dim, line)]));
            stdout.lines().for_each(|line| self.shell.line(line));
            self.shell.styled(&[(Style::Dim, &format!("(exit code {exit_code})"))]);
        }
        if exit_code != code || !stdout.contains(expected) {
            return Err(CliError::internal(format!(
                "{command} should have ended with exit code {code}, not {exit_code}: {stderr}"
            )));
        }
        let (stdout, stderr) = (stdout.into_owned(), stderr.into_owned());
        self.steps.push(StepDocument { title, command: command.to_owned(), exit_code, stdout, stderr });
        Ok(())
    }

    /// Takes everything down.
    pub(super) async fn strike(self) {
        self.net.shutdown().await;
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            self.shell.line(text);
        }
    }
}
