use serde::Serialize;

use crate::audit::store::Delivery;
use crate::identity::{Badge, Caip19, Caip2};
use crate::report::ContractDocument;

/// `cardproof.transition/1`: what has changed about one agent.
///
/// Every u64 of the chain is a decimal string, times are RFC 3339 in UTC with milliseconds.
#[derive(Debug, Clone, Serialize)]
#[allow(missing_docs, reason = "the fields are described in schemas/transition.schema.json")]
pub struct TransitionDocument {
    pub schema: &'static str,
    pub idempotency_key: String,
    pub kind: &'static str,
    pub network: String,
    pub contract: ContractDocument,
    pub token_id: String,
    pub caip19: String,
    pub before: Option<String>,
    pub after: Option<String>,
    pub at: String,
    pub run: i64,
}

impl From<&Delivery> for TransitionDocument {
    fn from(delivery: &Delivery) -> Self {
        let (transition, scope) = (&delivery.transition, &delivery.scope);
        let badge = Badge { contract: scope.contract, token_id: transition.token_id };
        Self {
            schema: "cardproof.transition/1",
            idempotency_key: transition.idempotency_key.clone(),
            kind: transition.kind.as_str(),
            network: scope.network.clone(),
            contract: scope.contract.into(),
            token_id: transition.token_id.to_string(),
            caip19: Caip19 { chain: Caip2::of(&scope.genesis), badge }.to_string(),
            before: transition.before.clone(),
            after: transition.after.clone(),
            at: transition.at.to_rfc3339(),
            run: delivery.run,
        }
    }
}

/// The body of a webhook (Standard Webhooks, "Payload structure").
#[derive(Debug, Clone, Serialize)]
pub(super) struct EventDocument {
    r#type: String,
    timestamp: String,
    data: TransitionDocument,
}

impl From<&Delivery> for EventDocument {
    fn from(delivery: &Delivery) -> Self {
        let data = TransitionDocument::from(delivery);
        Self { r#type: format!("agent.{}", data.kind), timestamp: data.at.clone(), data }
    }
}
