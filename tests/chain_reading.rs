//! Reading agents from one node: what its answers mean, how few calls it takes, and what becomes of an answer that is none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/mock_node.rs"]
mod mock_node;

use cardproof::chain::{AgentReader, AtBlock, ChainClient, ChainErrorKind, ChainSettings, DecodedWith, ModuleRef};
use cardproof::identity::{ContractAddress, TokenId};
use cardproof::registry::schema::{Fields, Type};
use cardproof::registry::{encode_agent_of, AgentRecord};
use concordium_rust_sdk::v2::generated as api;
use mock_node::{record, rejected, rejected_with, returned, settings, Answer, MockNode, World};
use prost::Message;
use tonic::Code;

async fn client(world: World) -> (MockNode, ChainClient) {
    let node = MockNode::start(world).await;
    let client = ChainClient::new(settings(&[&node])).unwrap();
    (node, client)
}

/// Reads agent 287 from a node on which one method answers differently.
async fn read_with(method: &str, answer: fn() -> Answer) -> Result<cardproof::chain::Reading, (ChainErrorKind, String)> {
    let (node, client) = client(World::default()).await;
    node.on(method, move |_, _| Some(answer()));
    let read = async {
        let block = client.pin(AtBlock::LastFinalized).await?;
        client.read(&block, TokenId(287)).await
    };
    read.await.map_err(|error| (error.kind, error.message))
}

/// A module without code whose custom section holds `schema`.
fn module_with(schema: &[u8]) -> Vec<u8> {
    let name = b"concordium-schema";
    let body = [&[u8::try_from(name.len()).unwrap()][..], name, schema].concat();
    let mut length = Vec::new();
    let mut rest = body.len();
    while rest >= 0x80 {
        length.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
        rest >>= 7;
    }
    length.push(u8::try_from(rest).unwrap());
    [b"\0asm\x01\0\0\0\0", &length[..], &body].concat()
}

/// A schema of version 3 in which `agentOf` returns `returns`.
fn schema_returning(returns: &Type) -> Vec<u8> {
    let text = |text: &str| [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat();
    let one = 1_u32.to_le_bytes();
    [&[0xff, 0xff, 3][..], &one, &text("CIS-8004"), &[0], &one, &text("agentOf"), &[1], &returns.to_bytes(), &[0]].concat()
}

/// The record's own type with a field in front that this program does not know.
fn type_with_a_new_field() -> Type {
    let Type::Struct(Fields::Named(mut fields)) = AgentRecord::schema() else { panic!("a record is a struct") };
    fields.insert(0, ("trust_score".into(), Type::U16));
    Type::Struct(Fields::Named(fields))
}

#[tokio::test]
async fn an_agent_is_read_at_the_pinned_block() {
    let (node, client) = client(World::default()).await;
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!((block.height, block.hash), (100, World::default().block_hash(100)));
    // The chain goes on, and the read stays where it was pinned: the mock answers no read without a block.
    node.change(|world| world.height = 101);
    let reading = client.read(&block, TokenId(287)).await.unwrap();
    assert_eq!(reading.record, Some(record(287)));
    assert_eq!(reading.decoded_with, Some(DecodedWith::Layout));
    assert_eq!(reading.module_ref, ModuleRef(World::default().module_ref()));
}

#[tokio::test]
async fn a_missing_agent_is_none_in_each_form_that_contracts_use() {
    let (node, client) = client(World::default()).await;
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, TokenId(9999)).await.unwrap().record, None);
    for code in [-7200, -42_000_001] {
        node.on("InvokeInstance", move |_, _| Some(rejected_with(code)));
        let reading = client.read(&block, TokenId(287)).await.unwrap();
        assert_eq!((reading.record, reading.decoded_with, reading.schema_problem), (None, None, None), "{code}");
    }
}

#[tokio::test]
async fn a_plain_record_without_the_option_is_understood() {
    let (node, client) = client(World::default()).await;
    node.change(|world| {
        world.agents.insert(287, record(287).to_bytes());
    });
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, TokenId(287)).await.unwrap().record, Some(record(287)));
}

#[tokio::test]
async fn other_rejections_are_errors_and_say_which() {
    let unauthorized = read_with("InvokeInstance", || rejected_with(-7201)).await.unwrap_err();
    assert_eq!(unauthorized.0, ChainErrorKind::NodeError);
    assert!(unauthorized.1.contains("-7201"), "{}", unauthorized.1);
    use api::reject_reason::Reason;
    let no_energy = read_with("InvokeInstance", || rejected(Reason::OutOfEnergy(api::Empty {}))).await.unwrap_err();
    assert_eq!(no_energy.0, ChainErrorKind::NodeError);
    assert!(no_energy.1.contains("another node may allow more"), "{}", no_energy.1);
    let trap = read_with("InvokeInstance", || rejected(Reason::RuntimeFailure(api::Empty {}))).await.unwrap_err();
    assert!(trap.1.contains("failed while running"), "{}", trap.1);
    // A reason newer than this program has no variant: the message is empty.
    let unknown = read_with("InvokeInstance", || {
        let failure = api::invoke_instance_response::Failure {
            return_value: None,
            used_energy: Some(api::Energy { value: 1 }),
            reason: Some(api::RejectReason { reason: None }),
        };
        Answer::of(&api::InvokeInstanceResponse { result: Some(api::invoke_instance_response::Result::Failure(failure)) })
    });
    assert!(unknown.await.unwrap_err().1.contains("does not know"));
}

#[tokio::test]
async fn a_view_that_needs_more_energy_gets_what_the_node_allows() {
    let (node, client) = client(World::default()).await;
    node.on("InvokeInstance", |request, _| {
        let request = api::InvokeInstanceRequest::decode(request).unwrap();
        request.energy.is_some().then(|| rejected(api::reject_reason::Reason::OutOfEnergy(api::Empty {})))
    });
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, TokenId(287)).await.unwrap().record, Some(record(287)));
}

#[tokio::test]
async fn a_record_is_read_by_the_modules_schema_where_it_has_one() {
    let plain = type_with_a_new_field();
    for (returns, prefix) in [(plain.clone(), vec![]), (Type::option(plain), vec![1])] {
        let mut world = World { module: module_with(&schema_returning(&returns)), ..World::default() };
        world.agents.insert(287, [prefix, vec![0x39, 5], record(287).to_bytes()].concat());
        let (_node, client) = client(world).await;
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        let reading = client.read(&block, TokenId(287)).await.unwrap();
        assert_eq!((reading.record, reading.decoded_with), (Some(record(287)), Some(DecodedWith::Schema)));
        assert_eq!(client.take_warnings(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn bytes_that_the_schema_does_not_fit_are_undecodable_and_not_tried_otherwise() {
    let returns = Type::option(type_with_a_new_field());
    let world = World { module: module_with(&schema_returning(&returns)), ..World::default() };
    let (_node, client) = client(world).await;
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    let error = client.read(&block, TokenId(287)).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::RecordUndecodable);
}

#[tokio::test]
async fn without_a_usable_schema_the_fixed_layout_is_used() {
    let other_contract = schema_returning(&Type::U8).iter().map(|b| if *b == b'C' { b'K' } else { *b }).collect::<Vec<_>>();
    let start = schema_returning(&Type::Unit);
    let deep = [&start[..start.len() - 2], &[16, 2].repeat(50_000)].concat();
    for (module, has_problem) in [
        (b"\0asm\x01\0\0\0".to_vec(), false),
        (b"not wasm".to_vec(), true),
        (module_with(b"garbage"), true),
        (module_with(&other_contract), false),
        (module_with(&deep), true),
    ] {
        let (_node, client) = client(World { module, ..World::default() }).await;
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        let reading = client.read(&block, TokenId(287)).await.unwrap();
        assert_eq!((reading.record, reading.decoded_with), (Some(record(287)), Some(DecodedWith::Layout)));
        // A module that simply has no schema for this is no problem; one whose schema cannot be read is.
        assert_eq!(reading.schema_problem.is_some(), has_problem, "{:?}", reading.schema_problem);
    }
}

#[tokio::test]
async fn a_module_that_cannot_be_had_or_is_another_one_leaves_the_fixed_layout_and_a_warning() {
    let unavailable: fn() -> Answer = || Answer::Status(Code::NotFound, "no such module");
    let another: fn() -> Answer = || {
        let source = api::versioned_module_source::ModuleSourceV1 { value: module_with(&schema_returning(&Type::U8)) };
        Answer::of(&api::VersionedModuleSource { module: Some(api::versioned_module_source::Module::V1(source)) })
    };
    let empty: fn() -> Answer = || {
        let source = api::versioned_module_source::ModuleSourceV1 { value: vec![] };
        Answer::of(&api::VersionedModuleSource { module: Some(api::versioned_module_source::Module::V1(source)) })
    };
    for (answer, why) in [
        (unavailable, "does not know module"),
        (another, "another module than"),
        (empty, "another module than"),
        (|| Answer::of(&api::VersionedModuleSource { module: None }), "without a kind of module"),
        (|| Answer::Status(Code::Unimplemented, ""), "status 12"),
        (|| Answer::Status(Code::Unavailable, "later"), "later"),
        (|| Answer::Hang, "no answer to GetModuleSource"),
    ] {
        let node = MockNode::start(World::default()).await;
        let mut short = settings(&[&node]);
        short.node.call_deadline = std::time::Duration::from_millis(100);
        short.node.retries = 1;
        let client = ChainClient::new(short).unwrap();
        node.on("GetModuleSource", move |_, _| Some(answer()));
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        let reading = client.read(&block, TokenId(287)).await.unwrap();
        assert_eq!((reading.record, reading.decoded_with), (Some(record(287)), Some(DecodedWith::Layout)));
        let problem = reading.schema_problem.unwrap();
        assert!(problem.contains(why) && problem.contains(&node.url), "{problem}");
        assert_eq!(client.take_warnings().len(), 1);
    }
}

#[tokio::test]
async fn a_node_that_sends_another_module_is_asked_for_it_no_more_and_the_next_one_is() {
    let world = World { module: module_with(&schema_returning(&Type::option(AgentRecord::schema()))), ..World::default() };
    let (first, second) = (MockNode::start(world.clone()).await, MockNode::start(world.clone()).await);
    first.on("GetModuleSource", |_, _| {
        let source = api::versioned_module_source::ModuleSourceV1 { value: module_with(&schema_returning(&Type::U8)) };
        Some(Answer::of(&api::VersionedModuleSource { module: Some(api::versioned_module_source::Module::V1(source)) }))
    });
    let alone = ChainClient::new(settings(&[&first])).unwrap();
    let block = alone.pin(AtBlock::LastFinalized).await.unwrap();
    for _ in 0..3 {
        let reading = alone.read(&block, TokenId(287)).await.unwrap();
        assert_eq!((reading.record, reading.decoded_with), (Some(record(287)), Some(DecodedWith::Layout)));
        assert!(reading.schema_problem.unwrap().contains("its SHA-256 differs"));
    }
    assert_eq!(first.calls().iter().filter(|call| *call == "GetModuleSource").count(), 1);

    let both = ChainClient::new(settings(&[&first, &second])).unwrap();
    let block = both.pin(AtBlock::LastFinalized).await.unwrap();
    let reading = both.read(&block, TokenId(287)).await.unwrap();
    assert_eq!((reading.decoded_with, reading.schema_problem), (Some(DecodedWith::Schema), None));
}

/// The record of the registry with 2-byte lengths, as some published copies of the proposal have it.
#[tokio::test]
async fn the_older_layout_is_named() {
    let (node, client) = client(World::default()).await;
    let older = [
        &[1, 8][..],
        &287_u64.to_le_bytes(),
        &[7; 32],
        &[1, 9, 0],
        b"https://a",
        &[0, 0, 0, 0],
        &1_785_771_369_045_u64.to_le_bytes(),
        &[0, 0],
        &[0, 0],
    ];
    let older = older.concat();
    node.on("InvokeInstance", move |_, _| Some(returned(older.clone())));
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    let error = client.read(&block, TokenId(287)).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::RecordUndecodable);
    assert!(error.message.contains("older layout"), "{}", error.message);
}

#[tokio::test]
async fn cut_garbage_and_foreign_records_are_undecodable() {
    let whole = encode_agent_of(Some(&record(287)));
    let mut cases: Vec<Vec<u8>> = (0..whole.len()).step_by(7).map(|cut| whole[..cut].to_vec()).collect();
    cases.extend([[&whole[..], &[0]].concat(), vec![0xff; 4000], encode_agent_of(Some(&record(288)))]);
    let (node, client) = client(World::default()).await;
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    for case in cases {
        node.change(|world| {
            world.agents.insert(287, case.clone());
        });
        let error = client.read(&block, TokenId(287)).await.unwrap_err();
        assert_eq!(error.kind, ChainErrorKind::RecordUndecodable, "{}", hex::encode(&case));
    }
}

#[tokio::test]
async fn a_warm_verdict_takes_four_calls_and_each_further_agent_one() {
    let (node, client) = client(World::default()).await;
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    client.read(&block, TokenId(287)).await.unwrap();
    let mut cold = node.calls();
    cold.sort();
    assert_eq!(cold, ["GetBlockInfo", "GetConsensusInfo", "GetInstanceInfo", "GetModuleSource", "InvokeInstance"]);

    node.change(|world| world.height += 1);
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    client.read(&block, TokenId(287)).await.unwrap();
    let mut warm = node.calls();
    warm.sort();
    assert_eq!(warm, ["GetBlockInfo", "GetConsensusInfo", "GetInstanceInfo", "InvokeInstance"]);

    let many = futures_util::future::join_all((1000..1100).map(|id| client.read(&block, TokenId(id)))).await;
    assert!(many.iter().all(Result::is_ok));
    let calls = node.calls();
    assert_eq!((calls.len(), calls.iter().all(|call| call == "InvokeInstance")), (100, true));
    assert_eq!(node.connections(), 1);
}

/// With the module in the cache folder, a program that starts anew needs four calls as well.
#[tokio::test]
async fn a_new_program_with_a_filled_cache_takes_four_calls() {
    let folder = tempfile::tempdir().unwrap();
    let world = World { module: module_with(&schema_returning(&Type::option(AgentRecord::schema()))), ..World::default() };
    let node = MockNode::start(world).await;
    for calls in [5, 4] {
        let client = ChainClient::new(cached_in(&node, folder.path())).unwrap();
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        assert_eq!(client.read(&block, TokenId(287)).await.unwrap().decoded_with, Some(DecodedWith::Schema));
        assert_eq!(node.calls().len(), calls);
    }
    // A corrupted file is dropped, and the module downloaded again.
    let file = folder.path().join(format!("{}.module", hex::encode(world_of(&node).module_ref())));
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    for calls in [5, 4] {
        let client = ChainClient::new(cached_in(&node, folder.path())).unwrap();
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        assert_eq!(client.read(&block, TokenId(287)).await.unwrap().decoded_with, Some(DecodedWith::Schema));
        assert_eq!(node.calls().len(), calls);
    }
}

fn world_of(node: &MockNode) -> World {
    let mut copy = World::default();
    node.change(|world| copy = world.clone());
    copy
}

fn cached_in(node: &MockNode, folder: &std::path::Path) -> ChainSettings {
    ChainSettings { module_cache: Some(folder.to_owned()), ..settings(&[node]) }
}

#[tokio::test]
async fn a_cache_folder_that_cannot_be_used_is_a_warning() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let node = MockNode::start(World::default()).await;
    // A file where the folder should be.
    let client = ChainClient::new(cached_in(&node, &file.path().join("modules"))).unwrap();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, TokenId(287)).await.is_ok());
    let warnings = client.take_warnings();
    assert!(!warnings.is_empty() && warnings.iter().all(|warning| warning.contains("modules")), "{warnings:?}");
    assert!(client.take_warnings().is_empty());
}

#[tokio::test]
async fn a_missing_contract_and_one_of_another_name_are_no_registry() {
    let (_node, missing) = client(World { contract: ContractAddress::new(1, 0), ..World::default() }).await;
    let block = missing.pin(AtBlock::LastFinalized).await.unwrap();
    let error = missing.read(&block, TokenId(287)).await.unwrap_err();
    assert_eq!(error.kind, ChainErrorKind::RegistryNotFound);
    assert!(error.message.contains("<10082,0>"), "{}", error.message);

    let hostile = format!("init_{}", "x".repeat(100_000));
    for name in ["init_CIS-8", "CIS-8004", "", hostile.as_str()] {
        let (_node, other) = client(World { init_name: name.into(), ..World::default() }).await;
        let block = other.pin(AtBlock::LastFinalized).await.unwrap();
        let error = other.read(&block, TokenId(287)).await.unwrap_err();
        assert_eq!(error.kind, ChainErrorKind::RegistryNotFound, "{name}");
        assert!(error.message.len() < 500, "foreign text is cut");
    }
}

#[tokio::test]
async fn a_contract_can_be_named_instead_of_the_networks() {
    let elsewhere = ContractAddress::new(12, 3);
    let node = MockNode::start(World { contract: elsewhere, ..World::default() }).await;
    let client = ChainClient::new(ChainSettings { registry: elsewhere, ..settings(&[&node]) }).unwrap();
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert!(client.read(&block, TokenId(287)).await.unwrap().record.is_some());
}

#[tokio::test]
async fn garbage_and_missing_fields_are_errors_and_never_a_crash() {
    let answers: [fn() -> Answer; 4] = [
        || Answer::Message(vec![0xff; 64]),
        || Answer::Message(vec![]),
        || Answer::Message(vec![0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
        || Answer::Status(Code::Unimplemented, "no"),
    ];
    for method in ["GetConsensusInfo", "GetBlockInfo", "GetInstanceInfo", "InvokeInstance"] {
        for (case, answer) in answers.into_iter().enumerate() {
            let (kind, message) = read_with(method, answer).await.unwrap_err();
            assert_eq!(kind, ChainErrorKind::NodeError, "{method}, case {case}: {message}");
            assert!(message.contains(method) && message.contains("http://127.0.0.1"), "{message}");
        }
    }
}

/// C-89: values newer than this program are numbers like any others, and the first protocol version is 1.
#[tokio::test]
async fn c_89_unknown_protocol_versions_and_kinds_do_not_stop_a_read() {
    for protocol_version in [0, 8, 9, 99, i32::MAX, -5] {
        let (_node, client) = client(World { protocol_version, ..World::default() }).await;
        let block = client.pin(AtBlock::LastFinalized).await.unwrap();
        assert!(client.read(&block, TokenId(287)).await.unwrap().record.is_some(), "{protocol_version}");
    }
}

/// What a world answers when it is asked properly, with `block` in the metadata.
fn told_at(world: &World, method: &str, request: &[u8], block: &'static [u8]) -> Option<Answer> {
    match world.answer(method, request) {
        Answer::Message(message) => Some(Answer::At(block, message)),
        other => Some(other),
    }
}

/// Of block 100 in the world of the tests, and of none.
const PINNED: &[u8] = b"0000000000000000000000000000000000000000000000000000000000000064";
const OTHER: &[u8] = b"0000000000000000000000000000000000000000000000000000000000000063";

#[tokio::test]
async fn an_answer_made_at_another_block_is_a_nodes_error_and_the_next_one_is_asked() {
    assert_eq!(World::default().block_hash(100).to_string().as_bytes(), PINNED);
    for method in ["GetBlockInfo", "GetInstanceInfo", "InvokeInstance"] {
        for block in [OTHER, b"", b"0x64", b"\xff\xfe", &PINNED[..63]] {
            let (first, second) = (MockNode::start(World::default()).await, MockNode::start(World::default()).await);
            first.on(method, move |request, _| told_at(&World::default(), method, request, block));
            let read = |nodes: Vec<&MockNode>| {
                let client = ChainClient::new(settings(&nodes)).unwrap();
                async move { client.read(&client.pin(AtBlock::LastFinalized).await?, TokenId(287)).await }
            };
            let error = read(vec![&first]).await.unwrap_err();
            assert_eq!(error.kind, ChainErrorKind::NodeError, "{method}: {}", error.message);
            assert!(error.message.contains(method) && error.message.contains("at "), "{}", error.message);
            assert!(block != OTHER || error.message.contains(std::str::from_utf8(OTHER).unwrap()), "{}", error.message);
            assert_eq!(read(vec![&first, &second]).await.unwrap().record, Some(record(287)), "{method}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_names_the_pinned_block_or_none_is_taken() {
    let (node, client) = client(World::default()).await;
    for method in ["GetBlockInfo", "GetInstanceInfo", "InvokeInstance"] {
        node.on(method, move |request, _| told_at(&World::default(), method, request, PINNED));
    }
    let block = client.pin(AtBlock::LastFinalized).await.unwrap();
    assert_eq!(client.read(&block, TokenId(287)).await.unwrap().record, Some(record(287)));
}
