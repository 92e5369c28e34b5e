// The official JavaScript SDK against a local chain: connect, read, invoke, sign, send, wait, read the event.
// Usage: node check.mjs <node URL> <registry index,subindex> <genesis hash> <wallet export file>
// Ends with code 1 at the first thing that is not as it should be.
import loosely from 'node:assert';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import {
    AccountAddress, AccountTransactionType, CcdAmount, ContractAddress, ContractName, Energy, EntrypointName,
    Parameter, ReceiveName, ReturnValue, Transaction, TransactionExpiry, TransactionHash, TransactionKindString,
    TransactionSummaryType, buildAccountSigner, deserializeReceiveReturnValue, parseWallet,
    serializeUpdateContractParameters, signTransaction,
} from '@concordium/web-sdk';
import { ConcordiumGRPCNodeClient, credentials } from '@concordium/web-sdk/nodejs';

const [url, registry, genesis, walletFile] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const [index, subindex] = registry.split(',').map(BigInt);
const address = ContractAddress.create(index, subindex);
const contract = ContractName.fromString('CIS-8004');
// The SDK's objects have no prototype and its numbers may be BigInts, which a strict comparison would mind.
const same = (found, expected) => loosely.deepEqual(found, expected);
const step = (text) => console.log(`ok: ${text}`);

const node = new ConcordiumGRPCNodeClient(hostname, Number(port), credentials.createInsecure(), { timeout: 15000 });

const status = await node.getConsensusStatus();
assert.equal(status.genesisBlock.toString(), genesis);
assert.ok((await node.healthCheck()).isHealthy, 'the node says that it is healthy');
step(`connected, protocol version ${status.protocolVersion}, healthy`);

const instance = await node.getInstanceInfo(address);
assert.equal(instance.name.toString(), 'init_CIS-8004');
const schema = await node.getEmbeddedSchema(instance.sourceModule);
assert.ok(schema !== undefined, 'the module embeds a schema');
step(`instance of module ${instance.sourceModule} with an embedded schema of ${schema.buffer.byteLength} bytes`);

const invoke = (entry, parameter) => node.invokeContract({
    contract: address, method: ReceiveName.create(contract, EntrypointName.fromString(entry)), parameter,
});
const parameter = (entry, json) =>
    serializeUpdateContractParameters(contract, EntrypointName.fromString(entry), json, schema.buffer);
const returned = (entry, result) =>
    deserializeReceiveReturnValue(ReturnValue.toBuffer(result.returnValue), schema.buffer, contract, EntrypointName.fromString(entry));

const nobody = await invoke('agentOf', parameter('agentOf', 'ffffffffffffffff'));
assert.equal(nobody.tag, 'success');
same(returned('agentOf', nobody), { None: [] });
step('agentOf of a missing agent is None');

const wallet = parseWallet(await readFile(walletFile, 'utf8'));
const signer = buildAccountSigner(wallet);
const sender = AccountAddress.fromBase58(wallet.value.address);
const info = await node.getAccountInfo(sender);
assert.equal(info.accountAddress.address, sender.address);
const next = await node.getNextAccountNonce(sender);

const uri = 'https://agents.example/card.json';
const hash = [...createHash('sha256').update('a card').digest()];
const registration = parameter('register', {
    agent_uri: { Some: [uri] }, metadata_hash: { Some: [hash] }, external_reference: { None: [] }, initial_metadata: [],
});
const context = { contract: address, invoker: sender, parameter: registration,
    method: ReceiveName.fromString('CIS-8004.register') };
const dry = await node.invokeContract(context);
assert.equal(dry.tag, 'success');

const transaction = {
    header: { sender, nonce: next.nonce, expiry: TransactionExpiry.futureMinutes(10) },
    type: AccountTransactionType.Update,
    payload: {
        amount: CcdAmount.zero(), address, receiveName: ReceiveName.fromString('CIS-8004.register'),
        message: registration, maxContractExecutionEnergy: Energy.create(20000),
    },
};
const signature = await signTransaction(transaction, signer);
const sent = await node.sendAccountTransaction(transaction, signature);
step(`sent ${TransactionHash.toHexString(sent)}`);

const outcome = await node.waitForTransactionFinalization(sent, 15000);
assert.equal(outcome.summary.type, TransactionSummaryType.AccountTransaction);
assert.equal(outcome.summary.transactionType, TransactionKindString.Update);
const size = 1n + 8n + 16n + 2n + BigInt('CIS-8004.register'.length) + 2n + BigInt(Parameter.toBuffer(registration).length);
assert.equal(outcome.summary.energyCost.value, dry.usedEnergy.value + 100n + 60n + size);
step(`finalized, ${outcome.summary.energyCost.value} energy as the dry run said`);

const logged = outcome.summary.events[0].events.map((event) => event.buffer);
const registered = logged.find((event) => event[0] === 240);
assert.ok(registered !== undefined, 'there is a Registered event');
assert.equal(registered[1], 8);
const token = Buffer.from(registered.slice(2, 10)).toString('hex');
step(`registered, token ${token}`);

const found = await invoke('agentOf', parameter('agentOf', token));
assert.equal(found.tag, 'success');
const record = returned('agentOf', found).Some[0];
assert.equal(record.token_id, token);
assert.equal(record.owner_account, sender.address);
same(record.agent_uri, { Some: [uri] });
same(record.metadata_hash, { Some: [hash] });
same(record.status, { Active: [] });
step('agentOf gives the record that was registered');

const again = await node.sendAccountTransaction(transaction, signature).then(() => undefined, (error) => error);
assert.ok(again !== undefined, 'the same transaction is not taken twice');
assert.equal((await node.getNextAccountNonce(sender)).nonce.value, next.nonce.value + 1n);
step('a second sending is refused');

// The newer way of the SDK, which sends the block item as the bytes that a node stores.
const revocation = parameter('revoke', { token_id: token, reason: { Some: ['no longer needed'] } });
const built = Transaction.updateContract({
    amount: CcdAmount.zero(), address, receiveName: ReceiveName.fromString('CIS-8004.revoke'), message: revocation,
}, Energy.create(20000)).addMetadata({
    sender, nonce: (await node.getNextAccountNonce(sender)).nonce, expiry: TransactionExpiry.futureMinutes(10),
}).build();
const raw = await node.sendTransaction(await Transaction.signAndFinalize(built, signer));
const revoked = await node.waitForTransactionFinalization(raw, 15000);
assert.equal(revoked.summary.transactionType, TransactionKindString.Update);
same(returned('agentOf', await invoke('agentOf', parameter('agentOf', token))).Some[0].status, { Revoked: [] });
step('a raw block item is taken, and the agent is revoked');
