//! A PostgreSQL for the tests: a cluster in a folder of its own that ends with the process that started it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use sqlx::{Connection, Executor, PgConnection};

/// A server that is there already; `scripts/test-postgres` sets it. Its user must be allowed to make databases.
const GIVEN: &str = "CARDPROOF_TEST_POSTGRES";

/// The URL of a new, empty database; `None`, with a sentence on stderr, where there is no PostgreSQL.
pub async fn new_database() -> Option<String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let server = server().as_ref()?;
    let name = format!("cardproof_test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut admin = connect(&format!("{server}/postgres")).await;
    admin.execute(format!("CREATE DATABASE {name}").as_str()).await.unwrap();
    admin.close().await.unwrap();
    Some(format!("{server}/{name}"))
}

/// A server needs a moment to start.
async fn connect(url: &str) -> PgConnection {
    let start = Instant::now();
    loop {
        match PgConnection::connect(url).await {
            Ok(connection) => return connection,
            Err(error) if start.elapsed() > Duration::from_secs(30) => panic!("the test's PostgreSQL does not answer: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

fn server() -> &'static Option<String> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    static KEPT: OnceLock<Child> = OnceLock::new();
    SERVER.get_or_init(|| {
        if let Ok(url) = std::env::var(GIVEN) {
            return Some(url.trim_end_matches('/').to_owned());
        }
        let Some(programs) = programs() else {
            // Not by a macro: the test runner would swallow it.
            let _ = std::io::stderr().write_all(
                b"PostgreSQL is not tested: neither initdb and postgres were found, nor does CARDPROOF_TEST_POSTGRES name a server\n",
            );
            return None;
        };
        let (url, child) = start(&programs);
        let _ = KEPT.set(child);
        Some(url)
    })
}

/// The folder with initdb and postgres: from the search path, or where distributions put them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<_> = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().collect();
    versions.sort_by_key(|version| std::cmp::Reverse(version.file_name()));
    folders.extend(versions.into_iter().map(|version| version.path().join("bin")));
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// PostgreSQL refuses to run as root; then it runs as another user.
fn as_user(script: &str) -> Command {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !root {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        return command;
    }
    let known = |name: &str| Command::new("id").arg(name).output().is_ok_and(|output| output.status.success());
    let user = if known("postgres") { "postgres" } else { "nobody" };
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--clear-groups", "--regid"]);
    let group = Command::new("id").args(["-g", user]).output().unwrap().stdout;
    command.arg(String::from_utf8(group).unwrap().trim()).args(["sh", "-c", script]);
    command
}

fn start(programs: &Path) -> (String, Child) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // The shell waits until its standard input ends, which it does with this process however that ends.
    let script = format!(
        r#"set -eu
        folder=$(mktemp -d)
        trap 'rm -rf "$folder"' EXIT
        cd "$folder"
        "{bin}/initdb" --no-sync --auth=trust --username=tester --encoding=UTF8 --locale=C -D "$folder/data" >initdb.log 2>&1 || {{ cat initdb.log >&2; exit 1; }}
        "{bin}/postgres" -D "$folder/data" -p {port} -k "$folder" -c listen_addresses=127.0.0.1 -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200 >server.log 2>&1 &
        server=$!
        cat >/dev/null
        kill -QUIT $server
        wait $server || true"#,
        bin = programs.display()
    );
    let child = as_user(&script).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    (format!("postgres://tester@127.0.0.1:{port}"), child)
}
