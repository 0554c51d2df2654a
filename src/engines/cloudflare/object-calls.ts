import type { BodyRow } from './body-rows.ts';

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
}
