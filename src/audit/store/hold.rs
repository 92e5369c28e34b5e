use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::Connection;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::database::{foreign, unforeign, Database, Pool, Transaction};
use super::lock::{self, FileLock, Lock};
use super::runs::{insert_run, make_scope, runs_where};
use super::{NewRun, Store, StoreError};
use crate::audit::{RunInfo, RunScope};
use crate::registry::Timestamp;

/// How long it takes PostgreSQL at most to notice that the machine of an owner is gone. A process that ends it notices at once.
const GONE: Duration = Duration::from_secs(30);
/// How often an owner looks whether its connection is still there.
const BEAT: Duration = Duration::from_secs(2);
/// How many milliseconds to wait, again and again, for a killed process to be gone altogether.
const LAST_BREATH: [u64; 4] = [50, 150, 300, 500];

/// Who has a run in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOwner {
    /// Which process it is, and on which machine, in words. Foreign text in it is not escaped.
    pub name: String,
    /// Since when.
    pub since: Timestamp,
    /// How long it takes at most until it is noticed that the owner is gone without a word; nothing when that shows at once.
    pub gone_after: Duration,
}

impl RunOwner {
    fn this_process() -> Self {
        let machine = whoami::fallible::hostname().map(|name| format!(" on {name}")).unwrap_or_default();
        Self { name: format!("process {}{machine}", std::process::id()), since: super::record::now(), gone_after: Duration::ZERO }
    }
}

/// What became of the attempt to have a run in hand.
#[derive(Debug)]
pub enum Taken {
    /// It is this process's.
    Mine(RunInfo, RunHold),
    /// It is another's.
    Other(RunInfo, RunOwner),
    /// It has ended meanwhile.
    Ended,
}

/// A run that this process has in hand: no other goes on with it as long as this lives. Workers may share it all the same.
///
/// It ends with the process, however that ends. Over SQLite it is a locked file beside the database (`<database>-run-<number>`),
/// over PostgreSQL a lock of a connection of its own, which is made again when it is cut.
#[derive(Debug)]
pub struct RunHold(Keeper);

#[derive(Debug)]
enum Keeper {
    File(#[allow(dead_code, reason = "it is its life that counts")] FileLock),
    Session { lost: watch::Receiver<bool>, end: oneshot::Sender<()>, task: JoinHandle<()> },
}

impl RunHold {
    fn of(lock: Lock, database: &Database, run: i64, owner: RunOwner) -> Self {
        match lock {
            Lock::File(file) => Self(Keeper::File(file)),
            Lock::Session(session, pool) => {
                let ((loser, lost), (end, ended)) = (watch::channel(false), oneshot::channel());
                let kept = Kept { database: database.clone(), pool, run, owner };
                Self(Keeper::Session { lost, end, task: tokio::spawn(kept.keep(session, loser, ended)) })
            }
        }
    }

    /// Ready when another process has the run: the connection was cut, and it was quicker.
    pub async fn lost(&mut self) {
        if let Keeper::Session { lost, .. } = &mut self.0 {
            if lost.wait_for(|lost| *lost).await.is_ok() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Lets go of the run, and returns when others can have it. Dropping it does the same a little later.
    pub async fn release(self) {
        if let Keeper::Session { end, task, .. } = self.0 {
            let _ = end.send(());
            let _ = task.await;
        }
    }
}

/// A run of this process over PostgreSQL.
struct Kept {
    database: Database,
    pool: PgPool,
    run: i64,
    owner: RunOwner,
}

impl Kept {
    async fn keep(self, mut session: PgConnection, lost: watch::Sender<bool>, mut end: oneshot::Receiver<()>) {
        loop {
            tokio::select! {
                _ = &mut end => break,
                () = sleep(BEAT) => {}
            }
            if matches!(timeout(GONE, session.ping()).await, Ok(Ok(()))) {
                continue;
            }
            tokio::select! {
                _ = &mut end => return,
                again = self.again() => match again {
                    Some(again) => session = again,
                    None => {
                        let _ = lost.send(true);
                        return;
                    }
                },
            }
        }
        Lock::Session(session, self.pool).free(self.run).await;
    }

    /// Locks the run once more; `None` when it is another's now. The database may be away for a while, and may take a while to notice
    /// that the old connection is gone.
    async fn again(&self) -> Option<PgConnection> {
        loop {
            if let Ok(false) = self.is_mine().await {
                return None;
            }
            if let Ok(Some(session)) = lock::session(&self.pool, self.run).await {
                match self.is_mine().await {
                    Ok(true) => return Some(session),
                    Ok(false) => return None,
                    Err(_) => {}
                }
            }
            sleep(BEAT).await;
        }
    }

    async fn is_mine(&self) -> Result<bool, StoreError> {
        let mut open = self.database.read("reading who has a run").await?;
        let (name, since) = noted(&mut open, self.run).await?;
        Ok(name.as_ref() == Some(&self.owner.name) && since == Some(self.owner.since))
    }
}

impl Store {
    /// Begins a run that this process has in hand. A daemon that would begin one while another daemon has one over the same agents
    /// is told so instead, and of those that begin at the same moment one does.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn begin_held(&self, scope: &RunScope, new: NewRun<'_>) -> Result<Taken, StoreError> {
        let mut open = self.database.write("beginning a run").await?;
        let scope_id = make_scope(&mut open, scope).await?;
        if let (true, Some(covers)) = (new.daemon, new.covers) {
            let others = " AND runs.finished_at IS NULL AND runs.daemon = 1 AND runs.covers = ?";
            for other in runs_where(&mut open, scope, others, "DESC", vec![foreign(covers).into()]).await? {
                if lock::is_locked(&mut open, &self.database, other.id).await? {
                    let owner = owner(&mut open, &self.database, &other).await?;
                    return Ok(Taken::Other(other, owner));
                }
            }
        }
        let run = insert_run(&mut open, (scope_id, scope), new).await?;
        // Its number is new, so nobody has it but who works on a database that was here before under the same name.
        let lock =
            lock::lock(&self.database, run.id).await?.ok_or_else(|| StoreError::Busy { name: self.database.name.clone() })?;
        let owner = RunOwner::this_process();
        note(&mut open, run.id, &owner).await?;
        open.commit().await?;
        lock::sweep(&self.database);
        let hold = RunHold::of(lock, &self.database, run.id, owner);
        Ok(Taken::Mine(run, hold))
    }

    /// Takes an unfinished run in hand, unless another process has it or workers are at it. If it was shared, it is not any more: this
    /// process goes on with it alone.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn take_run(&self, run: &RunInfo) -> Result<Taken, StoreError> {
        let mut pauses = LAST_BREATH.into_iter();
        let lock = loop {
            if let Some(lock) = lock::lock(&self.database, run.id).await? {
                break lock;
            }
            let Some(pause) = pauses.next() else {
                let mut open = self.database.read("reading who has a run").await?;
                let owner = owner(&mut open, &self.database, run).await?;
                return Ok(Taken::Other(run.clone(), owner));
            };
            sleep(Duration::from_millis(pause)).await;
        };
        let mut open = self.database.write("taking up a run").await?;
        if let Some(workers) = workers(&mut open, run).await? {
            lock.free(run.id).await;
            return Ok(Taken::Other(run.clone(), workers));
        }
        let me = RunOwner::this_process();
        if note(&mut open, run.id, &me).await? == 0 {
            lock.free(run.id).await;
            return Ok(Taken::Ended);
        }
        open.execute("DELETE FROM chunks WHERE run_id = ?", vec![run.id.into()]).await?;
        open.commit().await?;
        Ok(Taken::Mine(run.clone(), RunHold::of(lock, &self.database, run.id, me)))
    }

    /// Who has an unfinished run in hand; `None` when nobody has.
    ///
    /// # Errors
    /// [`StoreError`] when the database refuses.
    pub async fn run_owner(&self, run: &RunInfo) -> Result<Option<RunOwner>, StoreError> {
        let mut open = self.database.read("reading who has a run").await?;
        if lock::is_locked(&mut open, &self.database, run.id).await? {
            return owner(&mut open, &self.database, run).await.map(Some);
        }
        workers(&mut open, run).await
    }
}

/// Who has noted itself as the owner of a run, and when.
async fn noted(open: &mut Transaction, run: i64) -> Result<(Option<String>, Option<Timestamp>), StoreError> {
    let row = open.row("SELECT owner, owned_since FROM runs WHERE id = ?", vec![run.into()]).await?;
    let Some(row) = row else { return Ok((None, None)) };
    let name = open.explained(row.maybe_text(0))?.map(unforeign);
    Ok((name, open.explained(row.maybe_number(1))?.map(Timestamp)))
}

async fn note(open: &mut Transaction, run: i64, owner: &RunOwner) -> Result<u64, StoreError> {
    let values = vec![foreign(&owner.name).into(), owner.since.0.into(), run.into()];
    open.execute("UPDATE runs SET owner = ?, owned_since = ? WHERE id = ? AND finished_at IS NULL", values).await
}

/// The owner of a run that is locked.
async fn owner(open: &mut Transaction, database: &Database, run: &RunInfo) -> Result<RunOwner, StoreError> {
    let (name, since) = noted(open, run.id).await?;
    let gone_after = match database.pool {
        Pool::Sqlite(_) => Duration::ZERO,
        Pool::Postgres(_) => GONE,
    };
    Ok(RunOwner { name: name.unwrap_or_else(|| "another process".into()), since: since.unwrap_or(run.started_at), gone_after })
}

/// The workers of a shared run, whose owner may be gone.
async fn workers(open: &mut Transaction, run: &RunInfo) -> Result<Option<RunOwner>, StoreError> {
    let Some(longest) = super::lease::longest(open, run.id).await? else { return Ok(None) };
    Ok(Some(RunOwner { name: "cardproof audit worker".into(), since: run.started_at, gone_after: longest }))
}
