use std::path::Path;
use std::time::Duration;

use crate::anchor::{
    check_environment, check_sendable, check_signatures, follow_sent, plan, AnchorError, Call, Choices, Plan, Session,
    SignedTransaction, Signer, Status, ToSign,
};
use crate::chain::ChainClient;

use super::register::Duplicates;
use super::{Attendant, Change, Review, Step};

/// What every flow works with.
pub struct Context<'a, F> {
    /// The chain; its settings name the network and the registry.
    pub chain: &'a ChainClient,
    /// What fetches cards.
    pub fetcher: &'a F,
    /// The folder with the journals.
    pub state_folder: &'a Path,
    /// The network that the wallet's keys are for, when its file says one.
    pub environment: Option<&'a str>,
    /// What the user has decided.
    pub choices: Choices,
    /// How long to wait for the transaction to be finalized; `None` returns when a node has taken it.
    pub wait: Option<Duration>,
}

/// Called with the signed transaction before it is written down and sent. An error ends it there: nothing is on its way.
pub type BeforeSending<'a> = &'a mut (dyn FnMut(&SignedTransaction) -> Result<(), AnchorError> + Send);

/// A transaction that was sent.
#[derive(Debug, Clone)]
pub struct Executed {
    /// What became of it so far.
    pub status: Status,
    /// How it was planned.
    pub plan: Plan,
}

/// Plans a call, shows it, signs it, writes it down, sends it once, and follows it.
///
/// # Errors
/// [`AnchorError`]. Only [`AnchorError::SendUnclear`] leaves open whether something is on its way.
pub async fn execute<F, S: Signer>(
    context: &Context<'_, F>,
    call: Call,
    changes: Vec<Change>,
    signer: &S,
    attendant: &mut dyn Attendant,
    before_sending: BeforeSending<'_>,
) -> Result<Executed, AnchorError> {
    guarded(context, call, changes, signer, attendant, before_sending, None).await
}

/// As [`execute`]. What `repeated` looks for is looked for once more when the account is held and its earlier transactions are
/// finalized: another run may have done the same since.
pub(super) async fn guarded<F, S: Signer>(
    context: &Context<'_, F>,
    call: Call,
    changes: Vec<Change>,
    signer: &S,
    attendant: &mut dyn Attendant,
    before_sending: BeforeSending<'_>,
    repeated: Option<Duplicates<'_>>,
) -> Result<Executed, AnchorError> {
    let chain = context.chain;
    let network = &chain.settings().network;
    check_environment(context.environment, network)?;
    let keys = signer.public_keys();
    let sender = signer.address();
    let plan = plan(chain, call.clone(), sender, Some(&keys), &context.choices).await?;
    // A signer that names no keys is for looking, or names them only when it signs: what it gives is checked then.
    if !plan.can_be_signed && !keys.is_empty() {
        let needed = plan.signature_count;
        return Err(AnchorError::NotEnoughSignatures { given: signer.signature_count(), needed });
    }
    check_sendable(plan.transaction.expiry(), (chain.settings().clock)())?;
    let review = Review {
        network: network.name.to_string(),
        sender,
        transaction: plan.transaction.clone(),
        changes,
        signature_count: plan.signature_count,
        energy: plan.estimate.energy,
        microccd: plan.estimate.microccd,
        most_microccd: plan.most_microccd,
    };
    if !attendant.confirm(&review) {
        return Err(AnchorError::NotConfirmed);
    }
    let session = Session::open(chain, context.state_folder, sender).await?;
    session.refuse_repeated_call(&call, None)?;
    let nonce = session.nonce(context.choices.nonce).await?;
    if let Some(duplicates) = repeated {
        duplicates.refuse(chain, attendant).await?;
    }
    let transaction = plan.transaction.clone().with_nonce(nonce)?;
    let signatures = signer.sign(ToSign::Transaction(&transaction)).await?;
    if !check_signatures(&plan.account, &transaction.hash_to_sign(), &signatures)? {
        return Err(AnchorError::NotEnoughSignatures { given: signatures.count(), needed: plan.signature_count });
    }
    let signed = SignedTransaction { transaction, signatures };
    before_sending(&signed)?;
    session.record(&signed)?;
    let hash = signed.hash();
    attendant.step(&Step::Signed(hash));
    session.send(&signed).await?;
    // Others may use the account while this transaction makes its way.
    drop(session);
    attendant.step(&Step::Sent(hash));
    let expiry = Some(signed.transaction.expiry());
    let status = follow_sent(chain, context.state_folder, hash, expiry, context.wait, attendant).await?;
    Ok(Executed { status, plan })
}
