// Transactions between the official JavaScript SDK and the cardproof command, both ways: what cardproof signs, the SDK reads back
// and the node takes from it; what the SDK signs, `cardproof tx inspect` understands and `cardproof tx send` sends.
// Usage: node transactions.mjs <cardproof> <node URL> <configuration file> <registry index,subindex> <wallet export file>
// Ends with code 1 at the first thing that is not as it should be.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import {
    AccountAddress, AccountTransactionV0, CcdAmount, ContractAddress, Energy, Parameter, ReceiveName, Transaction,
    TransactionExpiry, buildAccountSigner, parseWallet,
} from '@concordium/web-sdk';
import { ConcordiumGRPCNodeClient, credentials } from '@concordium/web-sdk/nodejs';

const [command, url, config, registry, walletFile] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const [index, subindex] = registry.split(',').map(BigInt);
const step = (text) => console.log(`ok: ${text}`);
const hex = (bytes) => Buffer.from(bytes).toString('hex');
const cardproof = (...args) =>
    JSON.parse(execFileSync(command, [...args, '--json', '--quiet', '--config', config], { encoding: 'utf8' }));

const node = new ConcordiumGRPCNodeClient(hostname, Number(port), credentials.createInsecure(), { timeout: 15000 });
const wallet = parseWallet(await readFile(walletFile, 'utf8'));
const signer = buildAccountSigner(wallet);
const sender = AccountAddress.fromBase58(wallet.value.address);

// Ours, read by the SDK, and sent by it.
const ours = cardproof('tx', 'register', '--uri', 'https://agents.example/ours.json', '--keys', walletFile, '--sign-only');
const bytes = Buffer.from(ours.block_item_hex, 'hex');
assert.deepEqual([bytes[0], bytes[1]], [0, 0], 'version byte, then the kind of an account transaction');
const read = AccountTransactionV0.deserialize(new Uint8Array(bytes.subarray(2)).buffer);
assert.equal(read.header.sender.address, ours.header.sender);
assert.equal(read.header.nonce.value.toString(), ours.header.nonce);
assert.equal(read.header.energyAmount.value.toString(), ours.header.energy);
assert.equal(Number(read.header.expiry.expiryEpochSeconds), ours.header.expiry);
assert.equal(hex(Parameter.toBuffer(read.payload.message)), ours.parameter_hex);
assert.equal(read.payload.receiveName.toString(), 'CIS-8004.register');
assert.equal(hex(AccountTransactionV0.serialize(read)), hex(bytes.subarray(2)), 'written again, it is the same');
step(`the SDK reads what cardproof signed: ${ours.transaction_hash}`);
const sent = await node.sendTransaction(read);
assert.equal(sent.toString(), ours.transaction_hash);
const outcome = await node.waitForTransactionFinalization(sent, 15000);
assert.equal(outcome.summary.energyCost.value <= BigInt(ours.header.energy), true);
step('the node takes it from the SDK');
const token = cardproof('tx', 'status', ours.transaction_hash).token_id;
step(`cardproof follows it: agent ${token}`);

// Theirs, inspected by us, and sent by us.
const id = Buffer.alloc(9);
id[0] = 8;
id.writeBigUInt64LE(BigInt(token), 1);
const built = Transaction.updateContract({
    amount: CcdAmount.zero(), address: ContractAddress.create(index, subindex),
    receiveName: ReceiveName.fromString('CIS-8004.revoke'), message: Parameter.fromBuffer(Buffer.concat([id, Buffer.from([0])])),
}, Energy.create(20000)).addMetadata({
    sender, nonce: (await node.getNextAccountNonce(sender)).nonce, expiry: TransactionExpiry.futureMinutes(10),
}).build();
const theirs = await Transaction.signAndFinalize(built, signer);
const kind = theirs.version;
assert.equal(kind, 0, 'without a sponsor the SDK signs the first version');
const item = hex(Transaction.serializeBlockItem(theirs));
const inspected = cardproof('tx', 'inspect', item);
// Not the SDK's Transaction.getAccountTransactionHash, which leaves out the kind byte that the node hashes.
assert.equal(inspected.transaction_hash, createHash('sha256').update(Buffer.from(item, 'hex')).digest('hex'));
assert.equal(inspected.schema_json.token_id, hex(id.subarray(1)));
assert.equal(inspected.execution_energy, '20000');
step('cardproof understands what the SDK signed');
const status = cardproof('tx', 'send', item, '--yes');
assert.deepEqual([status.state, status.outcome, status.events.at(-1).name], ['finalized', 'success', 'Revoked']);
step('and sends it');
process.exit(0);
