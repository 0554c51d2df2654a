import type { JsonObject } from '../base/json.ts';

export interface Hit {
  readonly key: string;
  /** Larger is better; comparable within one answer only. */
  readonly score: number;
  /** A passage, plain text, matches between U+0002 and U+0003. */
  readonly snippet: string;
  /** The line of the text on which the passage begins. */
  readonly line: number;
  readonly fields: JsonObject;
}

/**
 * The key of one section of a text that is too long for one document: `key` for the first section, `key#1` for the second. An answer
 * has as many passages of all sections together as of a text that is one document.
 */
export function sectionKey(key: string, section: number): string {
  return section === 0 ? key : `${key}#${section}`;
}

/** The key of the text that a document is a section of. */
export function textKey(document: string): string {
  return document.replace(/#\d+$/, '');
}

/** Full-text search. Derived: it can be thrown away and built again from what the other ports hold. */
export interface SearchIndex {
  /** Replaces what was there under the key. */
  put(key: string, text: string, fields: JsonObject): Promise<void>;
  remove(...keys: string[]): Promise<void>;
  /**
   * `scope` is a key prefix that holds the whole first segment. What is asked for may be a question: the passages that hold
   * most of its words come first, rare words counting more (`rankPassages`). A text may be found by several passages. The work is
   * bounded. A server searches in a thread, and rejects with `too_costly` after a deadline.
   */
  search(scope: string, query: string, o?: { limit?: number }): Promise<Hit[]>;
}
