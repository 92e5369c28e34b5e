//! `cardproof demo`: the whole story on a chain and card hosts of its own, each step by the command that a user would type.

mod host;
mod stage;

use serde::Serialize;

use super::exit::{CliError, Exit};
use super::options::OutputOptions;
use super::shell::Shell;
use super::signals::Ends;
use stage::Stage;

/// See every verdict on a local chain with the real contract; no network, no set-up
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Leave the chain and the card hosts running until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// `cardproof.demo/1`.
#[derive(Serialize)]
struct DemoDocument {
    schema: &'static str,
    node: String,
    steps: Vec<StepDocument>,
}

/// One step: the command, and how it ended.
#[derive(Serialize)]
struct StepDocument {
    title: &'static str,
    command: String,
    exit_code: i32,
    stdout: String,
    stderr: String,
}

const FIRST_CARD: &str = r#"{
  "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
  "name": "Weather Agent",
  "description": "Tells the weather of tomorrow.",
  "image": "https://agents.example/weather.png",
  "services": [],
  "x402Support": false,
  "active": true
}
"#;

const SECOND_CARD: &str = r#"{
  "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
  "name": "Translation Agent",
  "description": "Translates between any two languages.",
  "image": "https://agents.example/translation.png",
  "services": [],
  "x402Support": false,
  "active": true
}
"#;

pub(crate) fn run(args: &Args, shell: &Shell, output: &OutputOptions) -> Result<Exit, CliError> {
    super::block_on(async {
        let mut ends = Ends::listen()?;
        let mut stage = Stage::set(shell, output.json).await?;
        tokio::select! {
            played = play(&mut stage) => played?,
            () = ends.next() => return Ok(Exit::Interrupted),
        }
        if output.json {
            shell.document(&DemoDocument {
                schema: "cardproof.demo/1",
                node: stage.node_url(),
                steps: std::mem::take(&mut stage.steps),
            });
        }
        if args.keep {
            shell.note("The chain and the card hosts keep running. Ctrl-C ends them.");
            ends.next().await;
        }
        stage.strike().await;
        Ok(Exit::Ok)
    })
}

async fn play(stage: &mut Stage<'_>) -> Result<(), CliError> {
    let first = stage.first.serve("/weather.json", FIRST_CARD);
    let second = stage.second.serve("/translation.json", SECOND_CARD);
    stage.write("weather.json", FIRST_CARD)?;
    stage.write("translation.json", SECOND_CARD)?;
    let keys = stage.keys();
    let register = |card: &str, uri: &str| format!("cardproof register --card {card} --uri {uri} --keys {keys} --yes");

    stage
        .step("An operator registers an agent: its card's hash is anchored on chain", &register("weather.json", &first), 0, "0")
        .await?;
    stage.step("A second agent, on another host", &register("translation.json", &second), 0, "1").await?;
    let bare = format!("cardproof tx register --uri {first} --keys {keys} --yes");
    stage.step("A third one, without a hash", &bare, 0, "").await?;

    stage.step("Anybody verifies the first card", "cardproof verify 0", 0, "MATCH").await?;

    stage.first.serve("/weather.json", &format!("{FIRST_CARD}\n"));
    let title = "The host appends one newline to the card; the verdict names the near miss";
    stage.step(title, "cardproof verify 0", 1, "matches_without_final_newline").await?;

    stage.second.stop();
    let title = "The second host goes down: that is no mismatch, it cannot be decided";
    stage.step(title, "cardproof verify 1 --timeout 3s", 3, "UNDECIDED").await?;

    stage.step("The third agent has no hash, so there is nothing to compare", "cardproof verify 2", 4, "ABSENT").await?;

    let new_card = FIRST_CARD.replace("tomorrow", "the whole week");
    stage.write("weather.json", &new_card)?;
    let refused = format!("cardproof anchor 0 --card weather.json --keys {keys} --yes");
    let title = "The operator edits the card, but has not uploaded it yet: anchoring refuses";
    stage.step(title, &refused, 1, "").await?;

    stage.first.serve("/weather.json", &new_card);
    stage.step("Uploaded; now the new hash is anchored", &refused, 0, "").await?;
    stage.step("And the card is the anchored one again", "cardproof verify 0", 0, "MATCH").await
}
