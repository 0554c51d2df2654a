import type { JsonObject } from '../base/json.ts';

/** A passage that a search found. */
export interface Hit {
  readonly key: string;
  /** Score of the passage. A larger score is better. Scores of different searches are not comparable. */
  readonly score: number;
  /** Passage as plain text. Each matching word is between U+0002 and U+0003. */
  readonly snippet: string;
  /** Number of the line on which the passage starts. */
  readonly line: number;
  readonly fields: JsonObject;
}

/**
 * Returns the index key of one section of a long text: `key` for the first section, `key#1` for the second.
 */
export function sectionKey(key: string, section: number): string {
  return section === 0 ? key : `${key}#${section}`;
}

/** Returns the key of the text that a section belongs to. */
export function textKey(document: string): string {
  return document.replace(/#\d+$/, '');
}

/**
 * Port for full-text search. The index is derived data: it can be deleted and rebuilt from the other ports.
 */
export interface SearchIndex {
  /** Indexes a text under the key and replaces the previous text. */
  put(key: string, text: string, fields: JsonObject): Promise<void>;
  /** Removes texts from the index. Ignores keys that do not exist. */
  remove(...keys: string[]): Promise<void>;
  /**
   * Searches the texts whose keys start with `scope`, which must contain the first segment and its slash. The query
   * may be a question: passages with most of its words come first, and rare words have more weight (`rankPassages`).
   * One text may have several hits. The amount of work is limited. A server searches in a worker thread and throws
   * `too_costly` after a deadline.
   */
  search(scope: string, query: string, o?: { limit?: number }): Promise<Hit[]>;
}
