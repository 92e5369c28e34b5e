//! The database itself: whose the file is, and what happens when it is something else, or not there.

use std::fs;

use cardproof::audit::store::{Store, StoreError, StoreLocation};

use super::stage::{agent, scope, settings, Stage};

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::sqlite().await;
    stage.run(vec![agent(0).matching()], &settings()).await;
    let path = stage.location.path().unwrap();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", entry.path().display());
    }
}

#[tokio::test]
async fn what_is_no_database_is_left_alone_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    fs::write(&path, "certainly no database, but rather long for a text".repeat(100)).unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::open(&StoreLocation::file(&path)).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("audit.db is damaged or is no SQLite database"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_database_is_named_when_it_is_read() {
    let stage = Stage::sqlite().await;
    let path = stage.location.path().unwrap().to_owned();
    stage.run((0..2000).map(|id| agent(id).matching()).collect(), &settings()).await;
    stage.store.close().await;
    let mut bytes = fs::read(&path).unwrap();
    // All pages but those that name the tables.
    let start = 4096 * 24;
    bytes[start..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let outcome = match Store::open(&stage.location).await {
        Ok(store) => store.agents(&scope()).await.map(|_| ()),
        Err(error) => Err(error),
    };
    assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{outcome:?}");
}

#[tokio::test]
async fn a_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut other: sqlx::SqliteConnection = sqlx::Connection::connect_with(&options).await.unwrap();
    sqlx::query("CREATE TABLE bookmarks (url TEXT)").execute(&mut other).await.unwrap();
    sqlx::Connection::close(other).await.unwrap();
    let error = Store::open(&StoreLocation::file(&path)).await.unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[tokio::test]
async fn a_newer_layout_is_left_alone() {
    let stage = Stage::sqlite().await;
    stage.store.close().await;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(stage.location.path().unwrap());
    let mut raw: sqlx::SqliteConnection = sqlx::Connection::connect_with(&options).await.unwrap();
    sqlx::query("UPDATE layout SET version = 999").execute(&mut raw).await.unwrap();
    let error = Store::open(&stage.location).await.unwrap_err();
    assert!(error.to_string().contains("was written by a newer cardproof"), "{error}");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named() {
    let error = Store::open(&StoreLocation::file("/nonexistent/folder/audit.db")).await.unwrap_err();
    assert!(error.to_string().contains("/nonexistent/folder/audit.db cannot be opened"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_at_once_and_without_its_password() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let location: StoreLocation = format!("postgres://auditor:geheim@127.0.0.1:{port}/cards").parse().unwrap();
    let begun = std::time::Instant::now();
    let error = Store::open(&location).await.unwrap_err();
    assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    let text = format!("{error} {error:?}");
    assert!(text.contains("the PostgreSQL database failed while connecting"), "{text}");
    assert!(!text.contains("geheim"), "{text}");
}
