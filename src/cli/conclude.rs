//! The end of `anchor` and `register`: the transaction's status, and the verdict on the card afterwards.

use cardproof::anchor::{State, Status};
use cardproof::chain::ChainClient;
use cardproof::fetch::Fetcher;
use cardproof::identity::TokenId;
use cardproof::report::ReportDocument;
use cardproof::verify::{Class, Verdict, Verifier, VerifySettings};

use super::connect;
use super::exit::{CliError, Exit};
use super::shell::Shell;
use super::tx::status;

/// Judges the card of an agent as everybody else would.
pub(crate) async fn verdict(chain: &ChainClient, fetcher: &Fetcher, agent: TokenId) -> Result<Verdict, CliError> {
    Verifier::new(chain, fetcher, VerifySettings::new(chain.settings())).verify(agent).await.map_err(connect::refused)
}

/// Prints the status of a transaction and, once it did what it should, the verdict on the agent's card.
pub(crate) async fn show(
    status: &Status,
    agent: Option<TokenId>,
    chain: &ChainClient,
    fetcher: &Fetcher,
    waited: bool,
    json: bool,
    shell: &Shell,
) -> Result<Exit, CliError> {
    let agent = agent.or(status.token_id).filter(|_| status.is_success());
    let verdict = match agent {
        Some(agent) => match verdict(chain, fetcher, agent).await {
            Ok(verdict) => Some(verdict),
            // The transaction is finalized, whatever keeps us from looking at its fruit.
            Err(error) => {
                shell.warning(&format!("the card could not be verified afterwards: {}", error.message));
                None
            }
        },
        None => None,
    };
    let report = verdict.as_ref().map(|verdict| serde_json::to_value(ReportDocument::from(verdict)));
    let report = report.transpose().map_err(|error| CliError::internal(error.to_string()))?;
    let exit = status::show(status, chain, report.as_ref(), waited, json, shell);
    if let (false, Some(verdict)) = (json, &verdict) {
        shell.line("");
        shell.verdict(verdict);
    }
    Ok(match verdict.map(|verdict| verdict.class()) {
        Some(Class::Mismatch) if exit == Exit::Ok && status.state == State::Finalized => Exit::Negative,
        _ => exit,
    })
}
