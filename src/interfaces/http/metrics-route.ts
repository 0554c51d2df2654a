import type { Context } from 'hono';
import { RelayError } from '../../base/errors.ts';
import { isAnonymous, runsTheRelay } from '../../contract/caller.ts';
import { isLoopbackHost } from './browser-guard.ts';
import type { HttpDeps } from './deps.ts';
import type { Gauge, Metrics } from './metrics.ts';
import { notesOf } from './request-notes.ts';
import { textResponse } from './responses.ts';

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** For an admin of the relay, and for whoever asks on the machine itself and not through a proxy on it. */
export async function metricsResponse(c: Context, deps: HttpDeps, metrics: Metrics): Promise<Response> {
  const client = notesOf(c)?.client;
  const host = c.req.header('host') ?? null;
  const here = client && !client.proxied && isLoopback(client.address) && isLoopbackHost(host);
  if (!here) {
    const caller = await deps.authenticate(c.req.raw);
    if (isAnonymous(caller)) throw new RelayError('unauthorized');
    if (!runsTheRelay(caller)) {
      throw new RelayError('forbidden', { what: 'Metrics are for admins of the relay itself.' });
    }
  }
  const { blobs, records, entries, diskBytes } = await deps.house.ground.engine.usage();
  const gauges: Gauge[] = [
    { name: 'relay_store_payloads', help: 'Payloads in the store.', value: blobs.count },
    { name: 'relay_store_payload_bytes', help: 'Bytes of all payloads.', value: blobs.bytes },
    { name: 'relay_store_records', help: 'Records in the store.', value: records },
    { name: 'relay_store_entries', help: 'Entries in all logs.', value: entries },
    { name: 'relay_store_disk_bytes', help: 'What the store takes on disk.', value: diskBytes },
    ...(deps.gauges?.() ?? []),
  ];
  return textResponse(metrics.render(gauges), { 'Content-Type': TYPE });
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address);
}
