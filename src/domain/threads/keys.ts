import { isUuid, REF } from '../../base/ids.ts';
import { RELAY_TENANT } from '../../contract/caller.ts';
import type { Artifact } from '../../contract/threads.ts';
import { READ_KINDS, type ReadKind } from '../../contract/threads.ts';
import { fromJson } from '../records.ts';
import { extensionOf } from './artifact-kind.ts';
import type { StoredEvent } from './event.ts';

/**
 * Where a thread is kept: everything of it is under `thr.<root>`. A root is `<tenant>.<id>`, so that two tenants can hold the same id, or
 * the id alone (ADR 45). The record at a root says whose thread is there; what has no record is nobody's. Only the functions below make a root.
 */
export type ThreadRoot = string & { readonly [ROOT]: true };
declare const ROOT: unique symbol;

/** Where the relay's own tenant keeps its threads, and where older versions kept those of all tenants. */
export const bareRoot = (id: string) => id as ThreadRoot;

/** Every root at which a thread of the tenant can be. New threads go to the first one, unless another tenant's is there. */
export function rootsFor(tenant: string, id: string): readonly [ThreadRoot, ThreadRoot] {
  const [bare, own] = [bareRoot(id), `${tenant}.${id}` as ThreadRoot];
  return tenant === RELAY_TENANT ? [bare, own] : [own, bare];
}

export const idOf = (root: ThreadRoot) => root.slice(root.lastIndexOf('.') + 1);

/** Undefined for a text that is no root. */
export function parseRoot(text: string): ThreadRoot | undefined {
  const id = /^(?:[a-z0-9_-]+\.)?([0-9a-f-]{36})$/.exec(text)?.[1];
  return id !== undefined && isUuid(id) ? (text as ThreadRoot) : undefined;
}

export const logOf = (root: ThreadRoot) => `thr.${root}`;
export const metaKey = (root: ThreadRoot) => `thr.${root}/meta`;
/** The newest header that anyone has worked out. The number counts how headers are made: those of before are not read. */
export const headerKey = (root: ThreadRoot) => `thr.${root}/header.3`;
/** Who holds it. */
export const holdKey = (root: ThreadRoot) => `thr.${root}/hold`;
type Counter = 'hops' | `${ReadKind}_${'tokens' | 'times'}`;
/**
 * Counters of the hops, and of what was read beside prompts. Earlier versions counted reads under other names, those for
 * prompts among them: these are left where they are.
 */
export const COUNTERS: readonly Counter[] = [
  'hops',
  ...READ_KINDS.flatMap((kind) => [`${kind}_tokens`, `${kind}_times`] as const),
];
export type Counters = { readonly [what in Counter]: number };
export const counterKey = (root: ThreadRoot, what: Counter) =>
  what === 'hops' ? `thr.${root}/hops` : `thr.${root}/ledger/${what}`;
/** Names the snapshots; they themselves are blobs. */
export const snapshotsKey = (root: ThreadRoot) => `thr.${root}/snapshots`;
export const snapshotBlob = (root: ThreadRoot, version: number) => `thr.${root}/snapshots/v${version}`;
/** Operations that one log entry cannot hold. */
export const opsBlob = (root: ThreadRoot, name: string) => `thr.${root}/ops/${name}`;
export const artifactKey = (root: ThreadRoot, ref: string) => `thr.${root}/artifacts/${ref}`;
export const artifactBlob = (root: ThreadRoot, about: Pick<Artifact, 'ref' | 'type' | 'name' | 'mime'>) =>
  `thr.${root}/artifacts/${about.ref}.${extensionOf(about)}`;
/** The blob of an artifact of which an event tells that it was made; null for any other event. */
export const contentKey = (root: ThreadRoot, { type, payload }: StoredEvent) =>
  type === 'artifact.created' ? artifactBlob(root, fromJson<Artifact>(payload)) : null;
/** Whoever imports to the root, or clears it, has this record meanwhile. */
export const turnKey = (root: ThreadRoot) => `thr.${root}/turn`;
/** Everything of a thread that is a blob or a record. */
export const threadPrefix = (root: ThreadRoot) => `thr.${root}/`;

export const indexScope = (tenant: string, id?: string) =>
  id === undefined ? `ten.${tenant}/artifacts/` : `ten.${tenant}/artifacts/${id}/`;
export const indexKey = (tenant: string, id: string, ref: string) => `${indexScope(tenant, id)}${ref}`;

export const listPrefix = (tenant: string) => `ten.${tenant}/threads/`;

/** Sorts the newest first: listings run upwards, so the time is counted down. */
export function listKey(tenant: string, id: string, created: number): string {
  return `${listPrefix(tenant)}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;
}

const ARTIFACT_BLOB = new RegExp(`^thr\\.([^/]+)/artifacts/(${REF}\\.[a-z0-9]{1,8})$`);

/** Where the files of artifacts lie below the home folder. */
export const ARTIFACT_FILES = {
  prefix: 'thr.',
  path(key: string): string | undefined {
    const match = ARTIFACT_BLOB.exec(key);
    const root = match && parseRoot(match[1]!);
    return root ? `threads/${root}/artifacts/${match[2]}` : undefined;
  },
};
