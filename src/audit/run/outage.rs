use std::time::Duration;

use tokio::time::Instant;

/// How long a node that gives no answer is left alone before it is asked again, each time longer.
const PAUSES: [Duration; 5] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8), Duration::from_secs(15)];

/// How long a node may give no answer before the run goes on without it. The last question may take its own time besides.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to do after a node gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask it something else: others may have an answer.
    GoOn,
    /// Ask it nothing for so long.
    Pause(Duration),
    /// It is gone.
    GiveUp,
}

/// What waits for a node that gives no answer, such as one that is being restarted, or one that takes connections and is silent: a
/// question is only answered with “there is no node” when it is still gone after half a minute (C-83).
///
/// Between the pauses one question alone finds out whether it is back: a silent node lets each of them wait for as long as a call may
/// take.
pub(super) struct Outage<T> {
    waiting: Vec<T>,
    /// How many answers in a row make an outage that has lasted for no pause yet.
    limit: usize,
    /// How many answers in a row have not come.
    failures: usize,
    /// Since when.
    since: Option<Instant>,
    /// How many pauses there have been since an answer came.
    pauses: usize,
    pausing: bool,
}

impl<T> Outage<T> {
    /// For a node that answers. `limit` failures in a row make an outage.
    pub(super) fn new(limit: usize) -> Self {
        Self { waiting: Vec::new(), limit, failures: 0, since: None, pauses: 0, pausing: false }
    }

    /// How many questions the node may be asked at once, of `most`.
    pub(super) fn at_once(&self, most: usize) -> usize {
        match (self.pausing, self.pauses) {
            (true, _) => 0,
            (false, 0) => most,
            (false, _) => 1,
        }
    }

    /// How much waits.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// An answer came.
    pub(super) fn answered(&mut self) {
        (self.failures, self.pauses, self.since) = (0, 0, None);
    }

    /// No answer came to `question`, which waits from now on.
    pub(super) fn failed(&mut self, question: T) -> Next {
        self.waiting.push(question);
        self.failures += 1;
        self.since.get_or_insert_with(Instant::now);
        // After a pause, one more failure says that it was not long enough.
        let limit = if self.pauses > 0 { 1 } else { self.limit };
        if self.pausing || self.failures < limit {
            return Next::GoOn;
        }
        self.pause()
    }

    /// There is nothing else to do than what waits.
    pub(super) fn pause(&mut self) -> Next {
        let since = *self.since.get_or_insert_with(Instant::now);
        if self.pauses > 0 && since.elapsed() >= PATIENCE {
            return Next::GiveUp;
        }
        let pause = PAUSES.get(self.pauses).copied().unwrap_or(PATIENCE);
        self.pauses += 1;
        self.pausing = true;
        Next::Pause(pause)
    }

    /// The pause is over, or there will be no other: what waits is to be asked now.
    pub(super) fn ask_again(&mut self) -> Vec<T> {
        (self.pausing, self.failures) = (false, 0);
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_failures_wait_for_the_end_and_many_in_a_row_are_an_outage() {
        let mut outage = Outage::new(3);
        assert_eq!([outage.failed(1), outage.failed(2)], [Next::GoOn; 2]);
        outage.answered();
        assert_eq!([outage.failed(3), outage.failed(4)], [Next::GoOn; 2]);
        assert_eq!(outage.at_once(24), 24);
        assert_eq!(outage.failed(5), Next::Pause(PAUSES[0]));
        assert_eq!(outage.failed(6), Next::GoOn, "answers that were on their way");
        assert_eq!(outage.at_once(24), 0);
        assert_eq!(outage.ask_again(), [1, 2, 3, 4, 5, 6]);
        assert_eq!((outage.at_once(24), outage.waiting()), (1, 0), "one finds out whether it is back");
        outage.answered();
        assert_eq!(outage.at_once(24), 24);
    }

    #[tokio::test(start_paused = true)]
    async fn each_pause_is_longer_until_the_node_is_given_up() {
        let mut outage = Outage::new(1);
        for pause in PAUSES {
            assert_eq!(outage.failed(0), Next::Pause(pause));
            tokio::time::sleep(pause).await;
            outage.ask_again();
        }
        assert_eq!(outage.failed(0), Next::GiveUp);
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_is_silent_is_given_up_after_as_long_though_it_was_asked_less_often() {
        let mut outage = Outage::new(1);
        let (begun, mut asked) = (Instant::now(), 0);
        while let Next::Pause(pause) = outage.failed(0) {
            tokio::time::sleep(pause).await;
            outage.ask_again();
            tokio::time::sleep(Duration::from_secs(20)).await;
            asked += 1;
        }
        assert_eq!((asked, begun.elapsed()), (2, Duration::from_secs(43)));
    }

    #[test]
    fn an_answer_ends_the_outage() {
        let mut outage = Outage::new(2);
        assert_eq!([outage.failed(1), outage.failed(2)], [Next::GoOn, Next::Pause(PAUSES[0])]);
        outage.ask_again();
        outage.answered();
        assert_eq!([outage.failed(1), outage.failed(2)], [Next::GoOn, Next::Pause(PAUSES[0])]);
    }
}
