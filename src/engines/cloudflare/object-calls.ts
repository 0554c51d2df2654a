import type { BodyRow } from './body-rows.ts';
import type { RecordRow } from './record-rows.ts';

/** A call of some object, as it travels. */
export interface ObjectCall {
  readonly object: string;
  readonly method:
    | 'getRecord'
    | 'putRecord'
    | 'addToRecord'
    | 'deleteRecord'
    | 'listRecords'
    | 'append'
    | 'readEntries'
    | 'streamInfo'
    | 'getBody'
    | 'putBody'
    | 'deleteBody'
    | 'putDocument'
    | 'removeDocument';
  readonly given: readonly unknown[];
}

/** What became of one of several calls that travelled together. */
export type CallAnswer = { readonly value: unknown } | { readonly error: unknown };

/** What is written with a record or an entry, where that is written. */
export interface Brought {
  readonly bodies: readonly BodyRow[];
  readonly records: readonly { readonly key: string; readonly value: string }[];
  readonly entry?: { readonly stream: string; readonly data: string; readonly id: string };
}

/** Which body comes along with a record: that which a field of it names, unless it is the one that is there already. */
export interface AskedAhead {
  readonly field: string;
  readonly held?: Pick<BodyRow, 'key' | 'sha256'>;
}

/** A record, and the body that it was asked to bring along. */
export interface RecordAnswer extends RecordRow {
  readonly body?: BodyRow | 'held' | null;
}
