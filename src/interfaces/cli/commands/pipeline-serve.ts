import { createServer, type IncomingMessage, type Server } from 'node:http';
import { systemEnv } from '../../../base/env.ts';
import { isRelayError, RelayError } from '../../../base/errors.ts';
import { equalInConstantTime, hmacSha256 } from '../../../base/hash.ts';
import type { Json } from '../../../base/json.ts';
import { WEBHOOK_AGE_MS, WEBHOOK_BYTES } from '../../../base/limits.ts';
import { orElse } from '../../../base/or-else.ts';
import { pause } from '../../../base/pause.ts';
import type { PipelineFile, Trigger } from '../../../client/pipelines/definition.ts';
import type { Pipelines } from '../../../client/pipelines/pipelines.ts';
import { TriggerServer } from '../../../client/pipelines/triggers.ts';
import { bodyText } from '../../body-text.ts';
import { badUsage } from '../command.ts';
import type { Host } from '../host.ts';
import { type Io, interruption } from '../io.ts';

/** Serves the triggers of pipelines until Ctrl-C. */
export async function servePipelines(
  io: Io,
  host: Host,
  files: readonly PipelineFile[],
  o: { readonly port: number; readonly host: string },
): Promise<void> {
  await using work = await host.agents.openWork(io.cwd);
  using stop = interruption(() => io.note('Stopping. Runs continue when a server starts again.'));
  const log = (line: string) => io.print(`${new Date().toISOString()} ${line}`);
  const { pipelines, relay } = work;
  const options = { signal: stop.signal, pipelines, relay, log, pause, now: systemEnv.now };
  const servers = files
    .map((file) => new TriggerServer(file, options))
    .filter(({ pipeline }) => pipeline.triggers.length > 0);
  if (servers.length === 0)
    throw badUsage('None of these files has "triggers".', 'See: relay help pipelines');
  const hooks = hooksOf(servers, pipelines);
  const listening = hooks.size > 0 ? await listen(hooks, o) : null;
  if (listening)
    log(`webhooks: POST http://${o.host}:${listening.port}/hooks/${[...hooks.keys()].join(', ')}`);
  try {
    await Promise.all(servers.map((server) => server.serve()));
  } finally {
    listening?.server.closeAllConnections();
    listening?.server.close();
  }
}

type Hook = {
  readonly server: TriggerServer;
  readonly trigger: Extract<Trigger, { on: 'webhook' }>;
  secret(): Promise<string>;
};

/** Time in ms for which the secret of a webhook is kept in memory. */
const SECRET_KEPT_MS = 60_000;

/**
 * Caches a secret for a short time. Reading it may run a command, and without the cache anyone could run this
 * command by sending invalid requests.
 */
function keptSecret(read: () => Promise<string>): () => Promise<string> {
  let cached: { readonly value: Promise<string>; readonly at: number } | null = null;
  return () => {
    if (cached === null || Date.now() - cached.at > SECRET_KEPT_MS)
      cached = { value: read(), at: Date.now() };
    return cached.value;
  };
}

function hooksOf(servers: readonly TriggerServer[], pipelines: Pipelines): Map<string, Hook> {
  const hooks = new Map<string, Hook>();
  for (const server of servers)
    for (const trigger of server.pipeline.triggers) {
      if (trigger.on !== 'webhook') continue;
      if (hooks.has(trigger.path))
        throw badUsage(`Two pipelines have the webhook "${trigger.path}".`, 'Rename one of them.');
      const secret = keptSecret(() => pipelines.secret(server.pipeline, trigger.secret));
      hooks.set(trigger.path, { server, trigger, secret });
    }
  return hooks;
}

async function listen(
  hooks: ReadonlyMap<string, Hook>,
  o: { readonly port: number; readonly host: string },
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((request, response) => {
    const answer = (status: number, value: object) => {
      const retry = status === 503 ? { 'Retry-After': '1' } : {};
      response.writeHead(status, { 'Content-Type': 'application/json', ...retry }).end(JSON.stringify(value));
    };
    receive(request, hooks).then(
      (run) => answer(202, { run }),
      (error: unknown) =>
        isRelayError(error) ? answer(error.status, error.toJSON()) : answer(500, { error: 'internal' }),
    );
  });
  server.requestTimeout = WEBHOOK_AGE_MS / 10;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(o.port, o.host, resolve));
  return { server, port: (server.address() as { port: number }).port };
}

/**
 * Checks a request as the Standard Webhooks specification requires, and starts a run. The id of the request
 * is the key of the run, so a repeated request starts nothing.
 */
async function receive(request: IncomingMessage, hooks: ReadonlyMap<string, Hook>): Promise<string | null> {
  const path = /^\/hooks\/([^/?]+)$/.exec(request.url ?? '')?.[1];
  const hook = path === undefined ? undefined : hooks.get(decodeURIComponent(path));
  if (!hook || request.method !== 'POST') throw new RelayError('not_found', { what: 'this webhook' });
  const header = (name: string) => String(request.headers[`webhook-${name}`] ?? '');
  const [id, timestamp, signatures] = [header('id'), header('timestamp'), header('signature')];
  const body = await bodyText({ body: request }, { bytes: WEBHOOK_BYTES, what: 'a webhook' });
  const age = Math.abs(Date.now() - Number(timestamp) * 1000);
  if (!/^[\x21-\x7e]{1,200}$/.test(id) || !(age <= WEBHOOK_AGE_MS))
    throw new RelayError('unauthorized', {
      message: 'The headers of the webhook are missing, invalid or too old.',
      hint: 'Send the headers webhook-id, webhook-timestamp (now) and webhook-signature. The timestamp may be at most 5 minutes old.',
    });
  const { server, trigger } = hook;
  const secret = await hook.secret();
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const expected = await hmacSha256(new Uint8Array(key), `${id}.${timestamp}.${body}`);
  const signature = Buffer.from(expected).toString('base64');
  const isSigned = signatures
    .split(' ')
    .some((each) => equalInConstantTime(each.replace(/^v1,/, ''), signature));
  if (!isSigned)
    throw new RelayError('unauthorized', {
      message: 'The signature in webhook-signature does not match.',
      hint: 'Sign the request with the secret of this webhook.',
    });
  const payload: Json = orElse(() => JSON.parse(body), body);
  return server.fire(
    `${trigger.path}:${id}`,
    { webhook: trigger.path, id, at: new Date().toISOString(), payload },
    trigger,
  );
}
