import { isUuid, REF } from '../../base/ids.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads.ts';
import { READ_KINDS, type ReadKind } from '../../contract/threads.ts';
import { fromJson } from '../records.ts';
import { extensionOf } from './artifact-kind.ts';
import type { StoredEvent } from './event.ts';

/**
 * Name under which a thread is stored: all keys of the thread begin with `thr.<root>`. A root is `<tenant>.<id>`, so
 * that two tenants can use the same thread id. Some roots are the id alone (ADR 45, `bareRoot`). The meta record at a
 * root names the tenant. Data without a meta record belongs to no tenant. Only the functions below make roots.
 */
export type ThreadRoot = string & { readonly [ROOT]: true };
declare const ROOT: unique symbol;

/**
 * Returns the root that is the id alone. The relay's own threads use it. Older versions of the relay used it
 * for threads of all tenants.
 */
export const bareRoot = (id: string) => id as ThreadRoot;

/**
 * Returns the two possible roots of a tenant's thread. A new thread uses the first root, unless a thread of
 * another tenant is stored there.
 */
export function rootsFor(tenant: string, id: string): readonly [ThreadRoot, ThreadRoot] {
  const [bare, own] = [bareRoot(id), `${tenant}.${id}` as ThreadRoot];
  return tenant === RELAY_TENANT ? [bare, own] : [own, bare];
}

/** Returns the thread id of a root. */
export const idOf = (root: ThreadRoot) => root.slice(root.lastIndexOf('.') + 1);

/** Parses a root. Returns undefined if the text is not a root. */
export function parseRoot(text: string): ThreadRoot | undefined {
  const id = /^(?:[a-z0-9_-]+\.)?([0-9a-f-]{36})$/.exec(text)?.[1];
  return id !== undefined && isUuid(id) ? (text as ThreadRoot) : undefined;
}

/** Name of the log of a thread. */
export const logOf = (root: ThreadRoot) => `thr.${root}`;
/** Key of the record that names the tenant of a thread (ThreadMeta). */
export const metaKey = (root: ThreadRoot) => `thr.${root}/meta`;
/** Key of the record with the lease of the thread. */
export const holdKey = (root: ThreadRoot) => `thr.${root}/hold`;
type Counter = 'hops' | `${ReadKind}_${'tokens' | 'times'}`;
/**
 * Names of the counters: the hops, and the reads that are not part of a prompt. Earlier versions of the relay used
 * other names and counted prompts too. Their counters are neither read nor deleted.
 */
export const COUNTERS: readonly Counter[] = [
  'hops',
  ...READ_KINDS.flatMap((kind) => [`${kind}_tokens`, `${kind}_times`] as const),
];
export type Counters = { readonly [what in Counter]: number };
export const counterKey = (root: ThreadRoot, what: Counter) =>
  what === 'hops' ? `thr.${root}/hops` : `thr.${root}/ledger/${what}`;
/** Key of the record that lists the snapshots. The snapshots themselves are blobs. */
export const snapshotsKey = (root: ThreadRoot) => `thr.${root}/snapshots`;
export const snapshotBlob = (root: ThreadRoot, version: number) => `thr.${root}/snapshots/v${version}`;
/** Key of a blob with operations that are too large for a log entry. */
export const opsBlob = (root: ThreadRoot, name: string) => `thr.${root}/ops/${name}`;
/** Key of the record of an artifact. */
export const artifactKey = (root: ThreadRoot, ref: string) => `thr.${root}/artifacts/${ref}`;
/** Key of the blob with the content of an artifact. */
export const artifactBlob = (root: ThreadRoot, about: Pick<Artifact, 'ref' | 'type' | 'name' | 'mime'>) =>
  `thr.${root}/artifacts/${about.ref}.${extensionOf(about)}`;
/** Key of the content blob of an artifact.created event; null for other events. */
export const contentKey = (root: ThreadRoot, { type, payload }: StoredEvent) =>
  type === 'artifact.created' ? artifactBlob(root, fromJson<Artifact>(payload)) : null;
/** Key of the lock of a root. An import into the root and a deletion of the root hold this lock. */
export const lockKey = (root: ThreadRoot) => `thr.${root}/turn`;
/** Prefix of all blobs and records of a thread. */
export const threadPrefix = (root: ThreadRoot) => `thr.${root}/`;

/** Prefix of the search index keys of one thread, or of all threads of a tenant. */
export const indexScope = (tenant: string, id?: string) =>
  id === undefined ? `ten.${tenant}/artifacts/` : `ten.${tenant}/artifacts/${id}/`;
export const indexKey = (tenant: string, id: string, ref: string) => `${indexScope(tenant, id)}${ref}`;

/** Prefix of the list of threads of a tenant. */
export const listPrefix = (tenant: string) => `ten.${tenant}/threads/`;

export const listKey = (tenant: string, id: string, created: number) =>
  newestFirstKey(listPrefix(tenant), id, created);

/**
 * Returns the key of an entry in a list. Listings are in ascending order, so the key contains a number that decreases
 * with the creation time. The newest entry then comes first.
 */
export function newestFirstKey(prefix: string, id: string, created: number): string {
  return `${prefix}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;
}

const ARTIFACT_BLOB = new RegExp(`^thr\\.([^/]+)/artifacts/(${REF}\\.[a-z0-9]{1,8})$`);

/** Paths of the files with artifact contents, below the home folder. */
export const ARTIFACT_FILES = {
  prefix: 'thr.',
  path(key: string): string | undefined {
    const match = ARTIFACT_BLOB.exec(key);
    const root = match && parseRoot(match[1]!);
    return root ? `threads/${root}/artifacts/${match[2]}` : undefined;
  },
};
