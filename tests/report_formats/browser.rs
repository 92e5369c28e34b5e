//! A real browser, driven over the WebDriver protocol by `chromedriver` (Debian: `chromium-driver`).

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};

/// A browser with one open window. It ends with the test.
pub struct Browser {
    driver: Child,
    client: reqwest::Client,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; `None`, with a sentence on the test's output, where there is none to start.
    pub async fn start() -> Option<Self> {
        Self::start_with(json!({})).await
    }

    /// Starts a browser whose pages run no script.
    pub async fn without_javascript() -> Option<Self> {
        Self::start_with(json!({"profile.managed_default_content_settings.javascript": 2})).await
    }

    #[allow(clippy::print_stdout, reason = "who runs the tests must see that this one did not run")]
    async fn start_with(preferences: Value) -> Option<Self> {
        let spawned = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = spawned else {
            println!("SKIPPED: there is no chromedriver here, so the HTML report was not opened in a browser.");
            return None;
        };
        // It says the port when it is ready; its first line names the one that was asked for, 0.
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port =
            lines.find_map(|line| Some(line.split("successfully on port ").nth(1)?.trim_end_matches('.').to_owned())).unwrap();
        let profile = tempfile::tempdir().unwrap();
        let args = json!([
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--window-size=1360,1500",
            format!("--user-data-dir={}", profile.path().display()),
        ]);
        let options = json!({"args": args, "prefs": preferences});
        let capabilities =
            json!({"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options});
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut browser = Self { driver, client, session: format!("http://127.0.0.1:{port}"), _profile: profile };
        let opened = browser.post("/session", json!({"capabilities": {"alwaysMatch": capabilities}})).await;
        browser.session = format!("http://127.0.0.1:{port}/session/{}", opened["sessionId"].as_str().unwrap());
        Some(browser)
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let request = self.client.post(format!("{}{path}", self.session)).body(body.to_string());
        self.answer(request).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Value {
        let text = request.send().await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["value"]["error"].is_null(), "{text}");
        answer["value"].clone()
    }

    /// Opens a file.
    pub async fn open(&self, file: &Path) {
        self.post("/url", json!({"url": format!("file://{}", file.display())})).await;
    }

    /// What the body of a function evaluates to in the page.
    pub async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    async fn element(&self, selector: &str) -> String {
        let found = self.post("/element", json!({"using": "css selector", "value": selector})).await;
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    /// Clicks on an element as a user would: it must be visible and enabled.
    pub async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    /// The text of an element that a user can read, and nothing of one that is not shown.
    pub async fn text(&self, selector: &str) -> String {
        let path = format!("{}/element/{}/text", self.session, self.element(selector).await);
        self.answer(self.client.get(path)).await.as_str().unwrap().to_owned()
    }

    /// Types into an element.
    pub async fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        self.post(&format!("/element/{element}/clear"), json!({})).await;
        self.post(&format!("/element/{element}/value"), json!({"text": text})).await;
    }

    /// What the page and its security policy complained about.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({"type": "browser"})).await;
        log.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// Keeps a picture of the window under the build's folder.
    pub async fn picture(&self, name: &str) {
        let answer = self.answer(self.client.get(format!("{}/screenshot", self.session))).await;
        let picture = BASE64_STANDARD.decode(answer.as_str().unwrap()).unwrap();
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), picture).unwrap();
    }

    /// Closes the window and the browser.
    pub async fn close(self) {
        self.answer(self.client.delete(&self.session)).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
