/**
 * The baseline for the Worker: the least work that a Worker can do for the same bytes. `POST /push` stores a small body
 * as a row of a Durable Object, a large one in the bucket, and notifies every socket. `GET /bytes/<n>` returns n stored
 * bytes. `/ws/…` opens a socket.
 */
import { DurableObject } from 'cloudflare:workers';
import type { DurableObjectId, DurableObjectState, R2Bucket } from '@cloudflare/workers-types';

interface Bindings {
  readonly TENANTS: {
    idFromName(name: string): DurableObjectId;
    get(id: DurableObjectId): {
      put(id: string, bytes: ArrayBuffer): Promise<void>;
      bytes(id: string): Promise<ArrayBuffer | undefined>;
      fetch(request: Request): Promise<Response>;
    };
  };
  readonly BODIES: R2Bucket;
}

/** Maximum size of a body that is stored as a row, as in the relay. */
const ROW_BYTES = 1024 * 1024;

export class TenantObject extends DurableObject<Bindings> {
  constructor(state: DurableObjectState, bindings: Bindings) {
    super(state, bindings);
    state.storage.sql.exec('CREATE TABLE IF NOT EXISTS bodies (id TEXT PRIMARY KEY, bytes BLOB)');
  }

  put(id: string, bytes: ArrayBuffer): void {
    this.ctx.storage.sql.exec('INSERT OR REPLACE INTO bodies VALUES (?, ?)', id, bytes);
    for (const socket of this.ctx.getWebSockets()) socket.send(JSON.stringify({ url: id, ts: Date.now() }));
  }

  bytes(id: string): ArrayBuffer | undefined {
    const sql = 'SELECT bytes FROM bodies WHERE id = ?';
    return this.ctx.storage.sql.exec<{ bytes: ArrayBuffer }>(sql, id).toArray()[0]?.bytes;
  }

  async fetch(_: Request): Promise<Response> {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }
}

export default {
  async fetch(request: Request, { TENANTS, BODIES }: Bindings): Promise<Response> {
    const object = TENANTS.get(TENANTS.idFromName('all'));
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/ws/')) return object.fetch(request);
    if (request.method === 'POST') {
      const id = crypto.randomUUID();
      if (Number(request.headers.get('content-length')) > ROW_BYTES)
        await BODIES.put(id, request.body as never);
      else await object.put(id, await request.arrayBuffer());
      return Response.json({ id });
    }
    const size = Number(pathname.split('/').at(-1));
    const id = `bytes-${size}`;
    if (size > ROW_BYTES) {
      const stored = await BODIES.get(id);
      if (stored) return new Response(stored.body as never);
      await BODIES.put(id, new Uint8Array(size));
    } else {
      const stored = await object.bytes(id);
      if (stored) return new Response(stored);
      await object.put(id, new ArrayBuffer(size));
    }
    return new Response(new Uint8Array(size));
  },
};
