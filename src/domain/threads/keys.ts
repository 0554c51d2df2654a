import { isUuid, REF } from '../../base/ids.ts';
import { READ_KINDS, type ReadKind } from '../../contract/threads/tokens.ts';

/** Where things of a thread are kept. */

export const logOf = (id: string) => `thr.${id}`;
export const metaKey = (id: string) => `thr.${id}/meta`;
/** The newest header that anyone has worked out. The number counts how headers are made: those of before are not read. */
export const headerKey = (id: string) => `thr.${id}/header.3`;
/** Who holds it. */
export const holdKey = (id: string) => `thr.${id}/hold`;
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
export const counterKey = (id: string, what: Counter) =>
  what === 'hops' ? `thr.${id}/hops` : `thr.${id}/ledger/${what}`;
/** Names the snapshots; they themselves are blobs. */
export const snapshotsKey = (id: string) => `thr.${id}/snapshots`;
export const snapshotBlob = (id: string, version: number) => `thr.${id}/snapshots/v${version}`;
/** Operations that one log entry cannot hold. */
export const opsBlob = (id: string, name: string) => `thr.${id}/ops/${name}`;
export const artifactKey = (id: string, ref: string) => `thr.${id}/artifacts/${ref}`;
export const artifactBlob = (id: string, ref: string, ext: string) => `thr.${id}/artifacts/${ref}.${ext}`;
/** A content whose kind is not yet known. */
export const incomingBlob = (id: string, ref: string) => `thr.${id}/incoming/${ref}`;
/** Everything of a thread that is a blob or a record. */
export const threadPrefix = (id: string) => `thr.${id}/`;

export const indexScope = (tenant: string, id?: string) =>
  id === undefined ? `ten.${tenant}/artifacts/` : `ten.${tenant}/artifacts/${id}/`;
export const indexKey = (tenant: string, id: string, ref: string) => `${indexScope(tenant, id)}${ref}`;

export const listPrefix = (tenant: string) => `ten.${tenant}/threads/`;

/** Sorts the newest first: listings run upwards, so the time is counted down. */
export function listKey(tenant: string, id: string, created: number): string {
  return `${listPrefix(tenant)}${(2 ** 48 - created).toString(16).padStart(12, '0')}.${id}`;
}

const ARTIFACT_BLOB = new RegExp(`^thr\\.([0-9a-f-]{36})/artifacts/(${REF}\\.[a-z0-9]{1,8})$`);

/** Where the files of artifacts lie below the home folder. */
export const ARTIFACT_FILES = {
  prefix: 'thr.',
  path(key: string): string | undefined {
    const match = ARTIFACT_BLOB.exec(key);
    return match && isUuid(match[1]!) ? `threads/${match[1]}/artifacts/${match[2]}` : undefined;
  },
};
