//! A resolver that knows what a test tells it.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cardproof::fetch::{Lookup, Resolve};

/// Names and their addresses; any other name does not exist.
#[derive(Default)]
pub struct Names {
    known: HashMap<String, Vec<IpAddr>>,
    hangs: bool,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Each name with its addresses, separated by blanks.
    pub fn new(known: &[(&str, &str)]) -> Arc<Self> {
        let parse = |ips: &str| ips.split_whitespace().map(|ip| ip.parse().unwrap()).collect();
        let known = known.iter().map(|(name, ips)| ((*name).to_owned(), parse(ips))).collect();
        Arc::new(Self { known, ..Self::default() })
    }

    /// A resolver that never answers.
    pub fn hanging() -> Arc<Self> {
        Arc::new(Self { hangs: true, ..Self::default() })
    }

    /// The names that were looked up, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn lookup(&self, name: &str) -> Lookup {
        self.asked.lock().unwrap().push(name.to_owned());
        let found = self.known.get(name).cloned();
        let hangs = self.hangs;
        Box::pin(async move {
            if hangs {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name"))
        })
    }
}
