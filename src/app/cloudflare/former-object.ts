import { DurableObject } from 'cloudflare:workers';
import type { SqlStorage } from '@cloudflare/workers-types';
import { badRequest, RelayError } from '../../base/errors.ts';
import { equalInConstantTime } from '../../base/hash.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import {
  FORMER_TABLES,
  type FormerPage,
  type FormerPosition,
  type FormerRow,
  type FormerTable,
  readFormerRows,
} from '../../engines/cloudflare/former-store.ts';
import { FIRST_OBJECT, markOf, type TenantRouting, tenantIn } from './tenant-routing.ts';
import { type RelayBindings, workerConfig } from './worker-config.ts';

/** Object of earlier versions that lists all others. */
const DIRECTORY = 'directory';
/** Record in the object of the relay's own tenant that says that the former store was moved or was empty. */
const MOVED_KEY = 'sys/moved';
/** Records that are not moved: leases, and the mark itself. */
const LEFT_BEHIND = /^sys\/(?:tidying|arriving|moved)$/;

/**
 * Durable Object of versions before 0.3, in which a tenant's data was spread over many objects. It only reads, so that
 * its data can be moved. Remove this file when nobody needs to move any more.
 */
export class RelayObject extends DurableObject<unknown> {
  listObjects(after: string, limit: number): string[] {
    const { sql } = this.ctx.storage;
    if (!hasTable(sql, 'objects')) return [];
    const names = 'SELECT name FROM objects WHERE name > ? ORDER BY name LIMIT ?';
    return [...sql.exec<{ name: string }>(names, after, limit)].map(({ name }) => name);
  }

  rows(table: FormerTable, after?: FormerPosition): FormerPage {
    const { sql } = this.ctx.storage;
    return hasTable(sql, table) ? readFormerRows(sql, table, after, Date.now()) : { rows: [], next: null };
  }
}

function hasTable(sql: SqlStorage, name: string): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).toArray().length > 0;
}

/** Progress of a move. The client sends it back to continue. */
interface Progress {
  readonly object: string;
  readonly table: FormerTable;
  readonly after?: FormerPosition;
}

/** True once this isolate knows that nothing is left to move. */
let isMoved = false;

/** Throws if an earlier version of the relay has stored data that was not moved yet. */
export async function checkMoved({ STORE }: RelayBindings, routing: TenantRouting): Promise<void> {
  if (isMoved || STORE === undefined) return;
  if (!(await wasMoved(routing))) {
    const [found] = await STORE.get(STORE.idFromName(DIRECTORY)).listObjects('', 1);
    if (found !== undefined) throw new RelayError('store_not_moved');
    await finish(routing);
  }
  isMoved = true;
}

async function wasMoved(routing: TenantRouting): Promise<boolean> {
  return (await routing.stub(FIRST_OBJECT).call('records', 'get', [MOVED_KEY])) !== null;
}

/**
 * Moves one page of rows. The request contains the progress of the last answer, and the answer contains the next
 * progress, or null at the end. Only the admin key may do this.
 */
export async function moveSome(
  request: Request,
  bindings: RelayBindings,
  routing: TenantRouting,
): Promise<Response> {
  const { STORE, RELAY_ADMIN_KEY: admin } = bindings;
  const authorization = request.headers.get('authorization') ?? '';
  if (!admin || !equalInConstantTime(authorization, `Bearer ${admin}`)) throw new RelayError('unauthorized');
  if (STORE === undefined)
    throw badRequest('This Worker has no binding STORE, so it cannot read the former store.');
  // A second move would restore what was deleted since the first one, such as revoked keys.
  if (await wasMoved(routing)) return Response.json({ progress: null });
  const named = (name: string) => STORE.get(STORE.idFromName(name));
  const { progress } = (await request.json()) as { progress: Progress | null };
  const object = progress?.object ?? (await named(DIRECTORY).listObjects('', 1))[0];
  if (object === undefined) return finish(routing);
  const table = progress?.table ?? FORMER_TABLES[0];
  const { rows, next } = await named(object).rows(table, progress?.after);
  await writeRows(rows, table, bindings, routing);
  const moved = { object, table, rows: rows.length };
  if (next) return Response.json({ moved, progress: { object, table, after: next } });
  const following = FORMER_TABLES[FORMER_TABLES.indexOf(table) + 1];
  if (following) return Response.json({ moved, progress: { object, table: following } });
  const [another] = await named(DIRECTORY).listObjects(object, 1);
  if (another !== undefined)
    return Response.json({ moved, progress: { object: another, table: FORMER_TABLES[0] } });
  return finish(routing);
}

async function finish(routing: TenantRouting): Promise<Response> {
  await routing.stub(FIRST_OBJECT).call('records', 'put', [MOVED_KEY, true]);
  return Response.json({ progress: null });
}

/** Writes rows into the objects of their tenants. An open relay has one tenant. */
async function writeRows(
  rows: readonly FormerRow[],
  table: FormerTable,
  bindings: RelayBindings,
  routing: TenantRouting,
): Promise<void> {
  const isOpen = workerConfig(bindings).auth === 'open';
  const wanted = rows.filter(({ key }) => !LEFT_BEHIND.test(String(key)));
  const tenantOf = (row: FormerRow) => tenantIn(String(row.key)) ?? row.tenant ?? RELAY_TENANT;
  const groups = Map.groupBy(wanted, (row) => (isOpen ? FIRST_OBJECT : markOf(tenantOf(row))));
  for (const [object, some] of groups) {
    await routing.stub(object).importRows(table, some);
    if (isOpen || table !== 'records') continue;
    for (const { key, expires } of some) {
      const known = routing.directoryKey(String(key));
      // The entry of a pointer has no expiry, because the pointer may be renewed.
      const expiresAt = expires === null || known?.startsWith('ptr.') ? undefined : Number(expires);
      if (known !== null) await routing.note(known, object, expiresAt);
    }
  }
}
