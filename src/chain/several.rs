use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::OnceCell;
use tokio::time::{timeout, Instant};

use super::node::{locked, Node};
use super::{AtBlock, Block, ChainError, ChainErrorKind, ChainSettings};

/// How long a quorum that is complete waits for the nodes that have not answered: they might disagree.
const GRACE: Duration = Duration::from_secs(2);
/// How long the first use waits to learn that a node held in reserve is of another network.
const RESERVE_CHECK: Duration = Duration::from_secs(2);

/// Several nodes: asked in order until one answers, or together until enough agree.
pub(super) struct Nodes {
    all: Vec<Arc<Node>>,
    quorum: Option<NonZeroUsize>,
    /// The node that answered last, which is asked first.
    preferred: AtomicUsize,
    reserve_checked: OnceCell<()>,
    /// The nodes that took part in choosing the block of a quorum. The others are not waited for again.
    taking_part: Mutex<Vec<Arc<Node>>>,
}

impl Nodes {
    pub(super) fn new(settings: &ChainSettings) -> Result<Self, ChainError> {
        let configuration = |message: String| ChainError::new(ChainErrorKind::Configuration, message);
        let all = settings.nodes.iter().map(|url| Node::new(url, &settings.node, &settings.network).map(Arc::new));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(configuration(format!("no node is configured for {}: name one by its URL", settings.network.name)));
        }
        let twice = all.iter().enumerate().find(|(index, node)| all.iter().take(*index).any(|other| other.url() == node.url()));
        if let Some((_, node)) = twice {
            // It would agree with itself.
            return Err(configuration(format!("the node at {} is named twice", node.url())));
        }
        // One after the other it may have several names; of several that shall agree, none may be there twice.
        if settings.quorum.is_some() {
            let mut pairs =
                all.iter().enumerate().flat_map(|(index, node)| all.iter().take(index).map(move |other| (other, node)));
            if let Some((one, other)) = pairs.find(|(one, other)| one.target().is_same_place(other.target())) {
                let (one, other) = (one.url(), other.url());
                return Err(configuration(format!(
                    "the nodes at {one} and {other} are one and the same, which agrees with itself"
                )));
            }
        }
        if let Some(quorum) = settings.quorum.filter(|quorum| quorum.get() > all.len()) {
            return Err(configuration(format!("{quorum} nodes shall agree, and only {} are configured", all.len())));
        }
        let taking_part = Mutex::new(all.clone());
        let (preferred, reserve_checked) = (AtomicUsize::new(0), OnceCell::new());
        Ok(Self { all, quorum: settings.quorum, preferred, reserve_checked, taking_part })
    }

    pub(super) fn all(&self) -> &[Arc<Node>] {
        &self.all
    }

    pub(super) fn quorum(&self) -> Option<usize> {
        self.quorum.map(NonZeroUsize::get)
    }

    /// The answer of the nodes: of the first that gives one, or the one that a quorum agrees on. `describe` words an answer
    /// for the sentence that says they do not.
    pub(super) async fn ask<T, F, Fut>(&self, describe: impl Fn(&T) -> String, ask: F) -> Result<T, ChainError>
    where
        T: PartialEq,
        F: Fn(Arc<Node>) -> Fut,
        Fut: Future<Output = Result<T, ChainError>>,
    {
        let checked = |node: Arc<Node>| {
            let ask = &ask;
            async move {
                node.ensure_network().await?;
                ask(node).await
            }
        };
        match self.quorum() {
            None => self.first(checked).await,
            Some(quorum) => agreed(self.together(quorum, checked).await?, describe),
        }
    }

    /// The answer of the first node that gives one, beginning with the one that did so last.
    pub(super) async fn first<T, F, Fut>(&self, ask: F) -> Result<T, ChainError>
    where
        F: Fn(Arc<Node>) -> Fut,
        Fut: Future<Output = Result<T, ChainError>>,
    {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let in_order = std::iter::once(preferred).chain((0..self.all.len()).filter(|index| *index != preferred));
        let mut failures = Vec::new();
        for (index, node) in in_order.filter_map(|index| Some((index, self.all.get(index)?))) {
            match ask(node.clone()).await {
                Ok(answer) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) if another_may_do_better(error.kind) => failures.push(error),
                Err(error) => return Err(error),
            }
        }
        Err(summed_up(failures))
    }

    /// The answers of all nodes that take part, at least `quorum` of them.
    async fn together<T, F, Fut>(&self, quorum: usize, ask: F) -> Result<Vec<(Arc<Node>, T)>, ChainError>
    where
        F: Fn(Arc<Node>) -> Fut,
        Fut: Future<Output = Result<T, ChainError>>,
    {
        let nodes = locked(&self.taking_part).clone();
        let mut waiting: FuturesUnordered<_> = nodes
            .into_iter()
            .map(|node| {
                let answer = ask(node.clone());
                async move { (node, answer.await) }
            })
            .collect();
        let (mut answers, mut failures) = (Vec::new(), Vec::new());
        let mut complete_since = None;
        loop {
            let next = match complete_since {
                None => waiting.next().await,
                Some(since) => tokio::time::timeout_at(since + GRACE, waiting.next()).await.unwrap_or_default(),
            };
            match next {
                None => break,
                Some((node, Ok(answer))) => answers.push((node, answer)),
                Some((_, Err(error))) if is_our_mistake(error.kind) => return Err(error),
                Some((_, Err(error))) => failures.push(error),
            }
            if answers.len() >= quorum {
                complete_since.get_or_insert_with(Instant::now);
            }
        }
        enough(quorum, answers, failures)
    }

    /// Chooses a block: of the first node that passes `accept`, or the newest that a quorum has finalized.
    pub(super) async fn pin(&self, at: AtBlock, accept: impl Fn(&Block) -> Result<(), String>) -> Result<Block, ChainError> {
        let accept = |node: &Node, block: Block| match accept(&block) {
            Ok(()) => Ok(block),
            Err(why) => Err(node.error(ChainErrorKind::NodeBehind, why)),
        };
        let Some(quorum) = self.quorum() else {
            let accept = &accept;
            let first = self.first(|node| async move { node.pin(at).await.and_then(|block| accept(&node, block)) });
            let (reserve, block) = tokio::join!(self.reserve_checked.get_or_try_init(|| self.check_reserve()), first);
            return reserve.and(block);
        };
        *locked(&self.taking_part) = self.all.clone();
        let at = match at {
            AtBlock::LastFinalized => AtBlock::Height(self.newest_of(quorum).await?),
            named => named,
        };
        let answers = self.together(quorum, |node| async move { node.pin(at).await }).await?;
        *locked(&self.taking_part) = answers.iter().map(|(node, _)| node.clone()).collect();
        let witness = answers.first().map(|(node, _)| node.clone());
        let block = agreed(answers, |block| {
            format!("block {} stands at height {} and was made at {}", block.hash, block.height, block.time)
        })?;
        match witness {
            Some(node) => accept(&node, block),
            None => Ok(block),
        }
    }

    /// The height up to which `quorum` nodes have finalized blocks. Those that lag behind it no longer take part.
    async fn newest_of(&self, quorum: usize) -> Result<u64, ChainError> {
        let answers = self.together(quorum, |node| async move { node.consensus().await }).await?;
        let mut heights: Vec<u64> = answers.iter().map(|(_, consensus)| consensus.finalized_height).collect();
        heights.sort_unstable_by(|a, b| b.cmp(a));
        let height = heights.get(quorum - 1).copied().unwrap_or_default();
        let level = answers.into_iter().filter(|(_, consensus)| consensus.finalized_height >= height);
        *locked(&self.taking_part) = level.map(|(node, _)| node).collect();
        Ok(height)
    }

    /// Refuses a node of another network before it is needed. One that does not answer is checked when it is.
    async fn check_reserve(&self) -> Result<(), ChainError> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let reserve = self.all.iter().enumerate().filter(|(index, _)| *index != preferred);
        let checks = join_all(reserve.map(|(_, node)| timeout(RESERVE_CHECK, node.ensure_network()))).await;
        match checks.into_iter().flatten().find_map(|check| check.err().filter(|error| is_our_mistake(error.kind))) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Failures that no other node cures: the user has to.
fn is_our_mistake(kind: ChainErrorKind) -> bool {
    matches!(kind, ChainErrorKind::WrongNetwork | ChainErrorKind::Configuration)
}

fn another_may_do_better(kind: ChainErrorKind) -> bool {
    use ChainErrorKind as Kind;
    matches!(kind, Kind::NodeUnavailable | Kind::NodeError | Kind::NodeBehind | Kind::BlockNotFound)
}

/// One error for the failures of all nodes that were asked in turn.
fn summed_up(failures: Vec<ChainError>) -> ChainError {
    use ChainErrorKind as Kind;
    let mut kinds = failures.iter().map(|failure| failure.kind);
    let first = kinds.next().unwrap_or(Kind::NodeUnavailable);
    let kind = match first {
        same if kinds.all(|kind| kind == same) => same,
        _ if failures.iter().any(|failure| failure.kind == Kind::NodeBehind) => Kind::NodeBehind,
        _ => Kind::NodeUnavailable,
    };
    ChainError::new(kind, sentences(&failures))
}

fn sentences(failures: &[ChainError]) -> String {
    failures.iter().map(|failure| failure.message.as_str()).collect::<Vec<_>>().join("; ")
}

fn enough<T>(quorum: usize, answers: Vec<(Arc<Node>, T)>, failures: Vec<ChainError>) -> Result<Vec<(Arc<Node>, T)>, ChainError> {
    use ChainErrorKind as Kind;
    // That there is no registry is an answer too, and so is that a block is not known when nobody knows it.
    let denials: Vec<ChainError> = failures.iter().filter(|failure| failure.kind == Kind::RegistryNotFound).cloned().collect();
    if !denials.is_empty() && !answers.is_empty() {
        return Err(ChainError::new(Kind::NodesDisagree, format!("the nodes disagree: {}; others have it", sentences(&denials))));
    }
    if answers.len() >= quorum {
        return Ok(answers);
    }
    if denials.len() >= quorum {
        return Err(summed_up(denials));
    }
    if answers.is_empty() && failures.iter().all(|failure| failure.kind == Kind::BlockNotFound) {
        return Err(summed_up(failures));
    }
    let message = format!("{} of the {quorum} nodes that must agree answered: {}", answers.len(), sentences(&failures));
    Err(ChainError::new(Kind::NodeUnavailable, message))
}

fn agreed<T: PartialEq>(answers: Vec<(Arc<Node>, T)>, describe: impl Fn(&T) -> String) -> Result<T, ChainError> {
    let differ = answers.windows(2).any(|pair| matches!(pair, [(_, one), (_, other)] if one != other));
    if differ {
        let words: Vec<String> = answers.iter().map(|(_, answer)| describe(answer)).collect();
        let said = answers.iter().zip(&words).map(|((node, _), words)| format!("the one at {} says that {words}", node.url()));
        let mut message = format!("the nodes disagree: {}", said.collect::<Vec<_>>().join("; "));
        if words.windows(2).all(|pair| matches!(pair, [one, other] if one == other)) {
            message.push_str("; what differs is in the details of their answers");
        }
        return Err(ChainError::new(ChainErrorKind::NodesDisagree, message));
    }
    let agreed = answers.into_iter().next().map(|(_, answer)| answer);
    agreed.ok_or_else(|| ChainError::new(ChainErrorKind::NodeUnavailable, "no node answered"))
}
