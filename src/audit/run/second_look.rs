use std::collections::VecDeque;
use std::sync::Arc;

use super::running::{Done, Running, Unanswered};
use crate::chain::{AgentReader, AtBlock, Block, ChainError, ChainErrorKind};
use crate::fetch::CardFetcher;
use crate::verify::{Reason, Verdict};

/// How many mismatches are kept for the second look at the chain. More are looked at in batches of so many.
const HELD: usize = 4096;

/// The mismatches of a run that await their second look at the chain, together at one newer block.
#[derive(Default)]
#[allow(clippy::vec_box, reason = "a verdict goes from queue to queue, and its pointer is what moves")]
pub(super) struct SecondLook {
    held: Vec<Box<Verdict>>,
    /// Those that it is the turn of, once the newer block is known.
    turn: Option<(Option<Block>, Vec<Box<Verdict>>)>,
    /// How many are being looked at.
    pub(super) under_way: usize,
    /// Those that will not be looked at, because the run was stopped and the node does not answer.
    left: u64,
    /// Those that nobody was told of yet.
    news: VecDeque<Box<Verdict>>,
}

impl SecondLook {
    /// Of mismatches that an earlier part of the run has found.
    pub(super) fn of(held: Vec<Verdict>) -> Self {
        Self { held: held.into_iter().map(Box::new).collect(), ..Self::default() }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        let turn = self.turn.as_ref().map_or(0, |(_, rest)| rest.len());
        (self.held.len() + turn + self.under_way) as u64 + self.left
    }

    /// Whether what is new can wait.
    pub(super) fn is_full(&self) -> bool {
        self.held.len() >= HELD
    }

    /// Whether there will be a verdict.
    pub(super) fn is_under_way(&self) -> bool {
        self.turn.is_some() || self.under_way > 0 || !self.held.is_empty()
    }

    /// One that was found since the last was asked for.
    pub(super) fn news(&mut self) -> Option<Box<Verdict>> {
        self.news.pop_front()
    }

    /// Has a mismatch looked at again.
    pub(super) fn look_at(&mut self, verdict: Box<Verdict>) {
        self.held.push(verdict);
    }

    /// The next one to look at.
    pub(super) fn next(&mut self) -> Option<(Box<Verdict>, Block)> {
        let (Some(newest), rest) = self.turn.as_mut()? else { return None };
        let next = rest.pop().map(|verdict| (verdict, *newest));
        if rest.is_empty() {
            self.turn = None;
        }
        next
    }
}

impl<R: AgentReader + 'static, F: CardFetcher + 'static> Running<R, F> {
    /// Takes a verdict that has been reached.
    pub(super) fn conclude(&mut self, verdict: Box<Verdict>) {
        if verdict.reason == Reason::HashMismatch && self.checker.looks_again() {
            self.mismatches.news.push_back(verdict.clone());
            self.mismatches.look_at(verdict);
        } else {
            self.finished.push_back(verdict);
        }
    }

    /// Finds the newer block when there are mismatches and their time has come: there are many, or it is `now`.
    pub(super) fn begin_second_look(&mut self, now: bool) -> Result<(), ChainError> {
        let due = self.mismatches.is_full() || (now && !self.mismatches.held.is_empty());
        if self.mismatches.turn.is_some() || !due {
            return Ok(());
        }
        let held = std::mem::take(&mut self.mismatches.held);
        if let Some(error) = self.given_up.clone() {
            return self.fail(held, &error);
        }
        self.mismatches.turn = Some((None, held));
        let checker = Arc::clone(&self.checker);
        self.tasks.spawn(async move { Done::Newest(checker.reader.pin(AtBlock::LastFinalized).await) });
        Ok(())
    }

    /// The newer block is known: mismatches at no older one stand as they are.
    pub(super) fn newest(&mut self, newest: Result<Block, ChainError>) -> Result<(), ChainError> {
        let Some((_, held)) = self.mismatches.turn.take() else { return Ok(()) };
        match newest {
            Ok(newest) => {
                let (older, standing): (Vec<_>, Vec<_>) =
                    held.into_iter().partition(|verdict| verdict.block.is_none_or(|block| block.height < newest.height));
                self.finished.extend(standing);
                if !older.is_empty() {
                    self.mismatches.turn = Some((Some(newest), older));
                }
                Ok(())
            }
            Err(error) if error.kind == ChainErrorKind::NodeUnavailable && self.given_up.is_none() => {
                held.into_iter().try_for_each(|verdict| self.unanswered(verdict, &error))
            }
            Err(error) => self.fail(held, &error),
        }
    }

    /// Looks at a mismatch again in a task; `false` when there is no node to ask any more.
    pub(super) fn look_again(&mut self, mut verdict: Box<Verdict>, newest: Block) -> Result<bool, ChainError> {
        if let Some(error) = self.given_up.clone() {
            self.fail(vec![verdict], &error)?;
            return Ok(false);
        }
        self.reading += 1;
        self.mismatches.under_way += 1;
        let checker = Arc::clone(&self.checker);
        self.tasks.spawn(async move {
            let looked = checker.look_again(&mut verdict, newest).await;
            Done::LookedAgain(verdict, looked)
        });
        Ok(true)
    }

    pub(super) fn looked_again(&mut self, mut verdict: Box<Verdict>, looked: Result<(), ChainError>) -> Result<(), ChainError> {
        self.mismatches.under_way -= 1;
        match looked {
            Err(error) if error.kind == ChainErrorKind::NodeUnavailable && self.given_up.is_none() => {
                return self.unanswered(verdict, &error);
            }
            Err(error) => {
                self.outage.answered();
                verdict.failed(error)?;
            }
            Ok(()) => self.outage.answered(),
        }
        self.finished.push_back(verdict);
        Ok(())
    }

    /// The node gave no answer: it may have one later, when there is a later.
    fn unanswered(&mut self, verdict: Box<Verdict>, error: &ChainError) -> Result<(), ChainError> {
        if self.stopped {
            self.mismatches.left += 1;
            return Ok(());
        }
        self.postpone(Unanswered::SecondLook(verdict), error.clone())
    }

    #[allow(clippy::vec_box, reason = "a verdict goes from queue to queue, and its pointer is what moves")]
    fn fail(&mut self, held: Vec<Box<Verdict>>, error: &ChainError) -> Result<(), ChainError> {
        for mut verdict in held {
            verdict.failed(error.clone())?;
            self.finished.push_back(verdict);
        }
        Ok(())
    }
}
