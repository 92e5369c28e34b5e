//! The person at the terminal: sees each step of a transaction, and says yes before anything is signed.

use cardproof::amount::MicroCcd;
use cardproof::anchor::flow::{Attendant, Review, Step};
use cardproof::anchor::State;
use cardproof::registry::Timestamp;

use super::exit::CliError;
use super::interrupt::{self, Watch};
use super::misgiving;
use super::shell::Shell;

/// Shows steps on stderr and asks there.
pub(crate) struct Terminal<'a> {
    shell: &'a Shell,
    yes: bool,
    watch: Option<Watch>,
    has_looked: bool,
    /// The command that goes on with what takes more than one transaction.
    resume: Option<String>,
}

impl<'a> Terminal<'a> {
    /// Refuses at once where nobody could be asked: nothing is planned or signed for nothing.
    pub(crate) fn new(shell: &'a Shell, yes: bool) -> Result<Self, CliError> {
        if !yes && !shell.can_ask() {
            return Err(CliError::refused("confirmation_needed", "there is no terminal to confirm the transaction in")
                .hint("confirm it with --yes, or look at it first with --dry-run"));
        }
        Ok(Self { shell, yes, watch: None, has_looked: false, resume: None })
    }
}

impl Terminal<'_> {
    /// Two steps: what an interruption leaves half done goes on with this command.
    pub(crate) fn going_on_with(self, resume: String) -> Self {
        Self { resume: Some(resume), ..self }
    }

    /// From now on an interruption is told of, until something is sent as one that leaves nothing behind. Call it on the runtime.
    pub(crate) fn begin(&mut self) {
        self.watch = Some(interrupt::watch_unsent(self.shell));
    }

    /// What an interruption at this step leaves behind, and how to go on; `None` when nothing changes about that.
    fn left_by(&self, step: &Step) -> Option<String> {
        let Some(resume) = &self.resume else { return None };
        match step {
            Step::Signed(hash) | Step::State(hash, _) => {
                Some(format!("interrupted; the transaction {hash} is on its way: go on with {resume}"))
            }
            Step::WaitingForHost { uri, file, .. } => {
                Some(format!("interrupted; host {} at {uri}, and go on with {resume}", file.display()))
            }
            _ => None,
        }
    }
}

impl Attendant for Terminal<'_> {
    fn step(&mut self, step: &Step) {
        if let Some(message) = self.left_by(step) {
            self.watch = Some(interrupt::watch_saying(message, self.shell));
        }
        match step {
            // The hash must not be lost, however quiet the user wants it: it is how to find the transaction again.
            Step::Signed(hash) => {
                if self.resume.is_none() {
                    self.watch = Some(interrupt::watch(*hash, self.shell));
                }
                self.shell.always(&step.to_string());
            }
            // The filled card of two steps is looked at before the first and comes again in the second.
            Step::Card(card) => {
                if !std::mem::replace(&mut self.has_looked, true) {
                    misgiving::warn(card, self.shell);
                }
            }
            Step::State(_, State::Received | State::Committed | State::Unknown) | Step::Fetching(_) | Step::Searching { .. } => {
                self.shell.detail(&step.to_string());
            }
            _ => self.shell.note(&step.to_string()),
        }
    }

    fn confirm(&mut self, review: &Review) -> bool {
        for line in lines(review) {
            // Nobody can say yes to what was not shown.
            if self.yes {
                self.shell.note(&line);
            } else {
                self.shell.always(&line);
            }
        }
        self.yes || self.shell.ask("sign and send it? [y/N] ").is_some_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// Network, contract, sender, change, energy and cost.
pub(crate) fn lines(review: &Review) -> Vec<String> {
    let transaction = &review.transaction;
    let call = transaction.call();
    let mut lines = vec![
        format!("network    {}", review.network),
        format!("contract   {} {}", call.contract, call.receive_name),
        format!("sender     {} (nonce {})", review.sender, transaction.nonce()),
    ];
    for change in &review.changes {
        lines.push(match (change.what, &change.old, &change.new) {
            ("agent", _, Some(agent)) => format!("agent      {agent}"),
            (what, Some(old), Some(new)) if old == new => format!("keeps      {what} {new}"),
            (what, Some(old), Some(new)) => format!("changes    {what} from {old} to {new}"),
            (what, None, Some(new)) => format!("sets       {what} to {new}"),
            (what, Some(old), None) => format!("erases     {what}, which was {old}"),
            (what, None, None) => format!("leaves     {what} unset"),
        });
    }
    lines.push(format!("energy     {} NRG expected, {} at most", review.energy, transaction.energy()));
    lines.push(format!("cost       {} expected, {} at most", ccd(review.microccd), ccd(review.most_microccd)));
    lines.push(format!("expires    {}", Timestamp(transaction.expiry().saturating_mul(1000))));
    lines
}

/// An amount in CCD with all six decimals.
pub(crate) fn ccd(microccd: u64) -> String {
    MicroCcd(microccd).to_string()
}
