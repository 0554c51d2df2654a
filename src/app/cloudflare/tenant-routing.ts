import type { DurableObjectId } from '@cloudflare/workers-types';
import { sha256Hex } from '../../base/hash.ts';
import { markIn } from '../../base/ids.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import { isApiKey, isShareToken } from '../../domain/keys/secrets.ts';
import type { FormerRow, FormerTable } from '../../engines/cloudflare/former-store.ts';
import type { Engine } from '../../kernel/engine.ts';

/** Ports of an engine that one object calls in another. */
export type RemotePort = 'blobs' | 'records' | 'logs' | 'index';

/** Interface of a remote tenant object. */
export interface TenantStub {
  fetch(request: Request): Promise<Response>;
  /** Calls a method of a port of the object's own store. */
  call(port: RemotePort, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Writes rows of an earlier version. */
  importRows(table: FormerTable, rows: readonly FormerRow[]): Promise<void>;
}

/** Namespace of the tenant objects. */
export interface TenantObjects {
  idFromName(name: string): DurableObjectId;
  get(id: DurableObjectId): TenantStub;
}

/**
 * Returns the mark of a tenant, four hexadecimal digits. It is the name of the tenant's object, and the ids of the
 * tenant's pointers contain it. Two tenants with the same mark share an object and its limits, but not their data.
 */
export function markOf(tenant: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < tenant.length; i++) hash = Math.imul(hash ^ tenant.charCodeAt(i), 0x01000193);
  const mixed = (hash ^ (hash >>> 16)) & 0xffff;
  return mixed.toString(16).padStart(4, '0');
}

/** Name of the object that knows to which object a secret belongs, and a pointer of an earlier version. */
const DIRECTORY = 'directory';

/** Keys that are named after the hash of a secret. Their records name the tenant. */
const OF_SECRET = /^(?:key|shr|ask|tkt)\./;
/** Keys of pointers. */
const OF_POINTER = /^ptr\.([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f-]{17})/;
/** Keys that contain the name of a tenant. A thread of the relay's own tenant has a key without a tenant. */
const OF_TENANT = /^(?:(?:ten|chn|grp|fil|act)\.|thr\.(?=[^./]+\.))([^./]+)/;

/** Returns the tenant that a key names, or null. */
export function tenantIn(key: string): string | null {
  return OF_TENANT.exec(key)?.[1] ?? null;
}

/** The object of the relay's own tenant. Its pointers have unmarked ids. */
export const FIRST_OBJECT = markOf(RELAY_TENANT);

/** Finds the objects of a relay with API keys. */
export class TenantRouting {
  readonly #objects: TenantObjects;

  constructor(objects: TenantObjects) {
    this.#objects = objects;
  }

  stub(object: string): TenantStub {
    return this.#objects.get(this.#objects.idFromName(object));
  }

  /** Returns the object of a secret or of an unmarked pointer. Returns null if the directory does not know it. */
  async find(key: string): Promise<string | null> {
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const found = (await this.stub(DIRECTORY).call('records', 'get', [key])) as { value: string } | null;
    if (found) remember(key, found.value);
    return found?.value ?? null;
  }

  /** Adds a secret or an unmarked pointer to the directory. An API key also makes its object known. */
  async note(key: string, object: string, expiresAt: number | undefined): Promise<void> {
    const directory = this.stub(DIRECTORY);
    await directory.call('records', 'put', [key, object, { expiresAt }]);
    remember(key, object);
    const known = knownKey(object);
    if (!key.startsWith('key.') || remembered.has(known)) return;
    await directory.call('records', 'put', [known, object]);
    remember(known, object);
  }

  /** Returns whether the object has a tenant. Without this check, anybody could create objects with made-up ids. */
  async isKnown(object: string): Promise<boolean> {
    return object === FIRST_OBJECT || (await this.find(knownKey(object))) !== null;
  }

  /** Returns the name under which the directory lists the item of a record: a secret or an unmarked pointer. */
  directoryKey(key: string): string | null {
    if (OF_SECRET.test(key)) return key;
    return key.endsWith('/meta') && OF_POINTER.test(key) ? key.slice(0, -'/meta'.length) : null;
  }

  /** Returns the object of a pointer. A pointer that was moved from an earlier version has an unmarked id. */
  async objectOfPointer(id: string): Promise<string> {
    const mark = markIn(id);
    if (mark !== null) return mark;
    return (await this.find(`ptr.${id}`)) ?? FIRST_OBJECT;
  }

  /**
   * Wraps the engine of an object so that keys of other tenants are read and written in their objects. `own` is the
   * name of this object.
   */
  route(engine: Engine, own: string): Engine {
    const port = <Port extends RemotePort>(name: Port): Engine[Port] => {
      const local = engine[name] as unknown as { [method: string]: Method };
      const remote: Remote = async (object, method, args) => {
        // A staged write cannot be sent to another object, so the write is made at once.
        if (method === 'stage') return { key: args[0], ...((await remote(object, 'put', args)) as object) };
        return this.stub(object).call(name, method, args);
      };
      return new Proxy({} as Engine[Port], {
        get:
          (_, method: string) =>
          (key: string, ...more: unknown[]) => {
            const args = [key, ...more];
            const here = () => local[method]!(...args);
            if (OF_SECRET.test(key)) return this.#onSecret(here, remote, own, method, args);
            const pointer = OF_POINTER.exec(key)?.[1];
            if (pointer !== undefined) return this.#onPointer(pointer, here, remote, own, method, args);
            const tenant = OF_TENANT.exec(key)?.[1];
            const object = tenant === undefined ? own : markOf(tenant);
            return object === own ? here() : remote(object, method, args);
          },
      });
    };
    return {
      ...engine,
      blobs: port('blobs'),
      records: port('records'),
      logs: port('logs'),
      index: port('index'),
    };
  }

  /**
   * Calls a method on the record of a secret, which is in the object of its tenant. That is nearly always this
   * object, so look here first.
   */
  async #onSecret(
    here: () => unknown,
    remote: Remote,
    own: string,
    method: string,
    args: readonly unknown[],
  ): Promise<unknown> {
    const [key, value, o] = args as [string, { tenant?: string }, { expiresAt?: number } | undefined];
    if (method === 'put') {
      const object = markOf(value.tenant ?? RELAY_TENANT);
      const put = await (object === own ? here() : remote(object, method, args));
      if (put !== null) await this.note(key, object, o?.expiresAt);
      return put;
    }
    const found = await here();
    if (found) return found;
    const object = await this.find(key);
    return object === null || object === own ? found : remote(object, method, args);
  }

  /** Calls an object only if it has a tenant. The own object does not have a pointer with a made-up id. */
  async #onMarked(mark: string, here: () => unknown, there: () => unknown): Promise<unknown> {
    return (await this.isKnown(mark)) ? there() : here();
  }

  /** Calls a method on a key of a pointer. The own object knows its pointers without the directory. */
  #onPointer(
    id: string,
    here: () => unknown,
    remote: Remote,
    own: string,
    method: string,
    args: readonly unknown[],
  ): unknown {
    const mark = markIn(id);
    if (mark === own) return here();
    if (mark !== null) return this.#onMarked(mark, here, () => remote(mark, method, args));
    const elsewhere = async () => {
      const object = await this.objectOfPointer(id);
      return object === own ? here() : remote(object, method, args);
    };
    if (own !== FIRST_OBJECT) return elsewhere();
    if (method !== 'get') return here();
    return Promise.resolve(here()).then((found) => found ?? elsewhere());
  }
}

/** Key of the directory's entry for an object. */
const knownKey = (object: string) => `obj.${object}`;

type Method = (...args: unknown[]) => unknown;
type Remote = (object: string, method: string, args: readonly unknown[]) => Promise<unknown>;

/** Maximum number of secrets whose object an isolate remembers. */
const REMEMBERED = 10_000;
/** The object of each secret that this isolate has seen. The object of a secret never changes. */
const remembered = new Map<string, string>();

function remember(key: string, object: string): void {
  remembered.set(key, object);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value!);
}

const POINTER_PATH = /^(?:\/v1)?\/(?:pull|peek)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/i;
const SOCKET_PATH = /^(?:\/v1)?\/ws\//;
const ANSWER_PATH = /^\/answer\/([^/]+)$/;

/**
 * Returns the name of the object that serves a request. Every object can serve every request, but only the object of
 * the tenant can do it alone. A pull goes to the object of the pointer, because anybody may pull a pointer with the
 * visibility `link`.
 */
export async function objectFor(request: Request, routing: TenantRouting): Promise<string> {
  const { pathname, searchParams } = new URL(request.url);
  const pointer = POINTER_PATH.exec(pathname)?.[1];
  if (pointer !== undefined) {
    const object = await routing.objectOfPointer(pointer.toLowerCase());
    return (await routing.isKnown(object)) ? object : FIRST_OBJECT;
  }
  const authorization = request.headers.get('authorization') ?? '';
  const key = await secretIn(authorization, pathname, searchParams.get('ticket'));
  return (key && (await routing.find(key))) ?? FIRST_OBJECT;
}

/** Returns the key of the record that proves the secret of a request. Null if the request has no secret. */
async function secretIn(
  authorization: string,
  pathname: string,
  ticket: string | null,
): Promise<string | null> {
  if (ticket !== null && SOCKET_PATH.test(pathname)) return `tkt.${await sha256Hex(ticket)}/caller`;
  const answer = ANSWER_PATH.exec(pathname)?.[1];
  if (answer !== undefined) return `ask.${await sha256Hex(answer)}/link`;
  const secret = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (secret === undefined) return null;
  return isShareToken(secret)
    ? `shr.${await sha256Hex(secret)}/share`
    : isApiKey(secret)
      ? `key.${await sha256Hex(secret)}/key`
      : null;
}
