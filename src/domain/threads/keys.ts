import { isUuid, REF } from '../../base/ids.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads.ts';
import { READ_KINDS, type ReadKind } from '../../contract/threads.ts';
import { fromJson } from '../records.ts';
import { extensionOf } from './artifact-kind.ts';
import type { StoredEvent } from './event.ts';

/**
 * Name under which a thread is stored: all its keys begin with `thr.<root>`. A root is `<tenant>.<id>`, so
 * that two tenants can have the same id, or the id alone (ADR 45). The meta record at a root names the
 * tenant. Without a meta record the data belongs to nobody. Only the functions below make roots.
 */
export type ThreadRoot = string & { readonly [ROOT]: true };
declare const ROOT: unique symbol;

/** Root of the relay's own threads. Older versions used it for threads of all tenants. */
export const bareRoot = (id: string) => id as ThreadRoot;

/**
 * Returns the possible roots of a tenant's thread. New threads use the first, unless another tenant's thread
 * is there.
 */
export function rootsFor(tenant: string, id: string): readonly [ThreadRoot, ThreadRoot] {
  const [bare, own] = [bareRoot(id), `${tenant}.${id}` as ThreadRoot];
  return tenant === RELAY_TENANT ? [bare, own] : [own, bare];
}

/** Returns the thread id of a root. */
export const idOf = (root: ThreadRoot) => root.slice(root.lastIndexOf('.') + 1);

/** Parses a root. Returns undefined if the text is not one. */
export function parseRoot(text: string): ThreadRoot | undefined {
  const id = /^(?:[a-z0-9_-]+\.)?([0-9a-f-]{36})$/.exec(text)?.[1];
  return id !== undefined && isUuid(id) ? (text as ThreadRoot) : undefined;
}

/** Name of the log of a thread. */
export const logOf = (root: ThreadRoot) => `thr.${root}`;
/** Record that names the tenant of a thread (ThreadMeta). */
export const metaKey = (root: ThreadRoot) => `thr.${root}/meta`;
/** Record with the newest computed header. The number is the format version: older headers are not read. */
export const headerKey = (root: ThreadRoot) => `thr.${root}/header.4`;
/** Record with the lease of the thread. */
export const holdKey = (root: ThreadRoot) => `thr.${root}/hold`;
type Counter = 'hops' | `${ReadKind}_${'tokens' | 'times'}`;
/**
 * Counters of hops, and of reads outside prompts. Earlier versions used other names and included prompts;
 * those counters are left alone.
 */
export const COUNTERS: readonly Counter[] = [
  'hops',
  ...READ_KINDS.flatMap((kind) => [`${kind}_tokens`, `${kind}_times`] as const),
];
export type Counters = { readonly [what in Counter]: number };
export const counterKey = (root: ThreadRoot, what: Counter) =>
  what === 'hops' ? `thr.${root}/hops` : `thr.${root}/ledger/${what}`;
/** Record that lists the snapshots. The snapshots themselves are blobs. */
export const snapshotsKey = (root: ThreadRoot) => `thr.${root}/snapshots`;
export const snapshotBlob = (root: ThreadRoot, version: number) => `thr.${root}/snapshots/v${version}`;
/** Blob with operations that are too large for a log entry. */
export const opsBlob = (root: ThreadRoot, name: string) => `thr.${root}/ops/${name}`;
/** Record of an artifact. */
export const artifactKey = (root: ThreadRoot, ref: string) => `thr.${root}/artifacts/${ref}`;
/** Blob with the content of an artifact. */
export const artifactBlob = (root: ThreadRoot, about: Pick<Artifact, 'ref' | 'type' | 'name' | 'mime'>) =>
  `thr.${root}/artifacts/${about.ref}.${extensionOf(about)}`;
/** Key of the content blob of an artifact.created event; null for other events. */
export const contentKey = (root: ThreadRoot, { type, payload }: StoredEvent) =>
  type === 'artifact.created' ? artifactBlob(root, fromJson<Artifact>(payload)) : null;
/** Lock that an import to the root or its deletion holds. */
export const lockKey = (root: ThreadRoot) => `thr.${root}/turn`;
/** Prefix of all blobs and records of a thread. */
export const threadPrefix = (root: ThreadRoot) => `thr.${root}/`;

/** Prefix of the search index keys of one thread, or of all threads of a tenant. */
export const indexScope = (tenant: string, id?: string) =>
  id === undefined ? `ten.${tenant}/artifacts/` : `ten.${tenant}/artifacts/${id}/`;
export const indexKey = (tenant: string, id: string, ref: string) => `${indexScope(tenant, id)}${ref}`;

/** Prefix of the list of threads of a tenant. */
export const listPrefix = (tenant: string) => `ten.${tenant}/threads/`;

/**
 * Key of a list entry. Counts the time down, because listings are ascending and should show the newest first.
 */
export function listKey(tenant: string, id: string, created: number): string {
  return `${listPrefix(tenant)}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;
}

const ARTIFACT_BLOB = new RegExp(`^thr\\.([^/]+)/artifacts/(${REF}\\.[a-z0-9]{1,8})$`);

/** Paths of artifact files below the home folder. */
export const ARTIFACT_FILES = {
  prefix: 'thr.',
  path(key: string): string | undefined {
    const match = ARTIFACT_BLOB.exec(key);
    const root = match && parseRoot(match[1]!);
    return root ? `threads/${root}/artifacts/${match[2]}` : undefined;
  },
};
