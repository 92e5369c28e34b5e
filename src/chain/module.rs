use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use concordium_rust_sdk::v2::generated::{self as api, versioned_module_source::Module as Source};
use tokio::sync::OnceCell;
use tonic::Code;

use super::cache::ModuleCache;
use super::foreign::shortened;
use super::node::{locked, Node};
use super::{Block, ChainError, ChainErrorKind, ModuleRef};
use crate::digest::Sha256Digest;
use crate::registry::schema::{ModuleSchema, Type};

/// A contract module, as far as reading goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// The SHA-256 of its source, which was compared.
    pub reference: ModuleRef,
    /// The size of its source in bytes, with the 8 bytes of version and length in front.
    pub bytes: usize,
    /// The schema embedded in it, if there is one that can be read.
    pub schema: Option<ModuleSchema>,
    /// Why the schema embedded in it cannot be read.
    pub schema_problem: Option<String>,
}

impl Module {
    fn new(reference: ModuleRef, source: &[u8]) -> Self {
        let (schema, schema_problem) = match ModuleSchema::from_module_source(source) {
            Ok(schema) => (schema, None),
            Err(error) => (None, Some(shortened(&error.to_string()))),
        };
        Self { reference, bytes: source.len(), schema, schema_problem }
    }

    /// The type that an entry point returns, if the schema says so.
    pub fn return_type(&self, contract_name: &str, entry_point: &str) -> Option<&Type> {
        self.schema.as_ref()?.receive(contract_name, entry_point)?.return_value.as_ref()
    }
}

impl Node {
    /// The source of a module as the chain hashes it: version and length, 4 bytes big-endian each, then the code. Its
    /// SHA-256 is its reference, or it is not returned. A node that sent something else once is asked no more.
    pub(crate) async fn module_source(&self, block: &Block, reference: ModuleRef) -> Result<Vec<u8>, ChainError> {
        let another = || {
            let what = format_args!("answered with another module than {reference}: its SHA-256 differs");
            self.error(ChainErrorKind::NodeError, what)
        };
        if self.sent_another(reference) {
            return Err(another());
        }
        let request = api::ModuleSourceRequest {
            block_hash: Some(block.hash.into()),
            module_ref: Some(api::ModuleRef { value: reference.0.to_vec() }),
        };
        let answer =
            self.call("GetModuleSource", request, |mut node, request| async move { node.get_module_source(request).await }).await;
        let module = match answer {
            Err(failure) if failure.code == Code::NotFound => {
                return Err(self.error(ChainErrorKind::NodeError, format_args!("does not know module {reference}")));
            }
            answer => answer?.module,
        };
        let (version, code) = match module.ok_or_else(|| self.lacks("GetModuleSource", "a kind of module it knows"))? {
            Source::V0(source) => (0_u32, source.value),
            Source::V1(source) => (1, source.value),
        };
        let length = u32::try_from(code.len()).unwrap_or(u32::MAX);
        let source = [&version.to_be_bytes()[..], &length.to_be_bytes(), &code].concat();
        if Sha256Digest::of(&source).0 != reference.0 {
            self.remember_another(reference);
            return Err(another());
        }
        Ok(source)
    }
}

type ModuleCell = Arc<OnceCell<Result<Arc<Module>, ChainError>>>;

/// The modules seen so far: in memory, in the cache folder, or from a node, in this order.
pub(super) struct ModuleStore {
    cache: Option<ModuleCache>,
    known: Mutex<HashMap<ModuleRef, ModuleCell>>,
    warnings: Mutex<BTreeSet<String>>,
}

impl ModuleStore {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { cache: folder.map(ModuleCache::new), known: Mutex::default(), warnings: Mutex::default() }
    }

    /// The module with this reference, downloaded once for all who ask at the same time.
    pub(super) async fn get<Fut>(&self, reference: ModuleRef, download: Fut) -> Result<Arc<Module>, ChainError>
    where
        Fut: Future<Output = Result<Vec<u8>, ChainError>>,
    {
        let cell = locked(&self.known).entry(reference).or_default().clone();
        let module = cell.get_or_init(|| self.find(reference, download)).await.clone();
        if module.is_err() {
            locked(&self.known).retain(|_, known| !Arc::ptr_eq(known, &cell));
        }
        module
    }

    /// The cache folder, and why no file can be made there.
    pub(super) fn folder(&self) -> Option<(&Path, std::io::Result<()>)> {
        self.cache.as_ref().map(|cache| (cache.folder(), cache.probe()))
    }

    /// Adds a sentence about something that went wrong and changes no result. Each is kept once.
    pub(super) fn warn(&self, sentence: String) {
        locked(&self.warnings).insert(sentence);
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.warnings)).into_iter().collect()
    }

    async fn find<Fut>(&self, reference: ModuleRef, download: Fut) -> Result<Arc<Module>, ChainError>
    where
        Fut: Future<Output = Result<Vec<u8>, ChainError>>,
    {
        if let Some(source) = self.cached(reference).await {
            return Ok(Arc::new(Module::new(reference, &source)));
        }
        let source = download.await?;
        let module = Arc::new(Module::new(reference, &source));
        self.keep(reference, source).await;
        Ok(module)
    }

    async fn cached(&self, reference: ModuleRef) -> Option<Vec<u8>> {
        let cache = self.cache.clone()?;
        let folder = cache.folder().display().to_string();
        match tokio::task::spawn_blocking(move || cache.load(reference)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                self.warn(format!("the module cache in {folder} cannot be read and is not used: {error}"));
                None
            }
            Err(_) => None,
        }
    }

    async fn keep(&self, reference: ModuleRef, source: Vec<u8>) {
        let Some(cache) = self.cache.clone() else { return };
        let folder = cache.folder().display().to_string();
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || cache.store(reference, &source)).await {
            self.warn(format!("a module could not be kept in {folder} and will be downloaded again: {error}"));
        }
    }
}
