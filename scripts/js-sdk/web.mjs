// The JavaScript SDK's client for browsers against a local chain: gRPC-web with fetch, as a dApp's page uses it.
// Usage: node web.mjs <node URL> <registry index,subindex> <genesis hash> <wallet export file>
// Ends with code 1 at the first thing that is not as it should be.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import {
    AccountAddress, AccountTransactionType, CcdAmount, ConcordiumGRPCWebClient, ContractAddress, ContractName,
    EntrypointName, ReceiveName, TransactionExpiry, buildAccountSigner, parseWallet, serializeUpdateContractParameters,
    signTransaction,
} from '@concordium/web-sdk';
import { TokenId } from '@concordium/web-sdk/plt';

const [url, registry, genesis, walletFile] = process.argv.slice(2);
const { protocol, hostname, port } = new URL(url);
const [index, subindex] = registry.split(',').map(BigInt);
const address = ContractAddress.create(index, subindex);
const contract = ContractName.fromString('CIS-8004');
const step = (text) => console.log(`ok: web: ${text}`);

const node = new ConcordiumGRPCWebClient(`${protocol}//${hostname}`, Number(port), { timeout: 15000 });

const status = await node.getConsensusStatus();
assert.equal(status.genesisBlock.toString(), genesis);
step(`connected over HTTP/1.1, protocol version ${status.protocolVersion}`);

const instance = await node.getInstanceInfo(address);
const schema = await node.getEmbeddedSchema(instance.sourceModule);
const parameter = serializeUpdateContractParameters(contract, EntrypointName.fromString('agentOf'), 'ffffffffffffffff', schema.buffer);
const agent = await node.invokeContract({ contract: address, method: ReceiveName.fromString('CIS-8004.agentOf'), parameter });
assert.equal(agent.tag, 'success');
step('the embedded schema is read and agentOf invoked');

const listed = [];
for await (const account of node.getAccountList()) listed.push(account.address);
const wallet = parseWallet(await readFile(walletFile, 'utf8'));
const sender = AccountAddress.fromBase58(wallet.value.address);
assert.ok(listed.includes(sender.address), 'the account is listed');
step(`a stream of ${listed.length} accounts comes to its end`);

const { nonce } = await node.getNextAccountNonce(sender);
const transaction = {
    header: { sender, nonce, expiry: TransactionExpiry.futureMinutes(10) },
    type: AccountTransactionType.Transfer,
    payload: { amount: CcdAmount.fromMicroCcd(1n), toAddress: AccountAddress.fromBase58(listed[0]) },
};
const hash = await node.sendAccountTransaction(transaction, await signTransaction(transaction, buildAccountSigner(wallet)));
const done = await node.waitForTransactionFinalization(hash, 20000);
assert.equal(done.summary.transactionType, 'transfer');
step('a transfer is sent and waited for, by the stream of finalized blocks');

await assert.rejects(node.getTokenInfo(TokenId.fromString('EURe')), (error) => error.code === 'NOT_FOUND');
step('a token that does not exist is not found');
