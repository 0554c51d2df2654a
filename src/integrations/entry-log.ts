import { systemEnv } from '../base/env.ts';
import { isRelayError } from '../base/errors.ts';
import { toHex } from '../base/ids.ts';
import type { FileSpace, FileWriteOptions } from '../sdk/files.ts';
import { filesBelow } from './file-names.ts';
import type { KeptPointers } from './kept-pointers.ts';

/**
 * Time in the newest file name, in µs. The next name gets a later time even if the clock was set back, so that the
 * names of this process always increase.
 */
let last = 0;

/**
 * A list of JSON entries. Only the last entry or all entries can be removed. Each append writes a new file below a
 * prefix and reads nothing. The name of the file is the time of the append, so that appends of several processes are in
 * order.
 */
export class EntryLog<E> {
  readonly #files: FileSpace;
  readonly #prefix: string;
  readonly #options: FileWriteOptions;
  readonly #pointers: KeptPointers;

  /**
   * `prefix` ends with a slash. Each file has the metadata `metadata` and expires after `ttl` seconds. `pointers`
   * renews the pointers that occur in entries, so that they do not expire before the entries.
   */
  constructor(
    files: FileSpace,
    prefix: string,
    { ttl, metadata, pointers }: Pick<FileWriteOptions, 'ttl' | 'metadata'> & { pointers: KeptPointers },
  ) {
    this.#files = files;
    this.#prefix = prefix;
    this.#pointers = pointers;
    this.#options = { contentType: 'application/jsonl', keep: 0, ttl, metadata };
  }

  async append(entries: readonly E[]): Promise<void> {
    if (entries.length === 0) return;
    last = Math.max(last + 1, systemEnv.now() * 1000);
    const name = `${String(last).padStart(17, '0')}-${toHex(systemEnv.randomBytes(4))}.jsonl`;
    const text = lines(entries);
    await this.#files.put(this.#prefix + name, text, this.#options);
    await this.#pointers.keep(text);
  }

  /** Returns all entries, or the last `limit` entries. Returns null if there is no entry. */
  async read(limit?: number): Promise<E[] | null> {
    const paths = (await filesBelow(this.#files, this.#prefix)).map(({ path }) => path);
    if (paths.length === 0) return null;
    const found = await this.#files.read(limit === undefined ? paths : paths.slice(-limit));
    const entries = paths.flatMap((path) => {
      const file = found.get(path);
      return file ? parsed<E>(file.text()) : [];
    });
    return limit === undefined ? entries : entries.slice(Math.max(0, entries.length - limit));
  }

  /** Removes and returns the last entry. Two concurrent calls get different entries. */
  async pop(): Promise<E | undefined> {
    for (;;) {
      const end = (await filesBelow(this.#files, this.#prefix)).at(-1);
      if (!end) return undefined;
      try {
        const entries = parsed<E>(await this.#files.text(end.path));
        const entry = entries.pop();
        if (entries.length === 0) await this.#files.delete(end.path, { ifMatch: end.etag });
        else {
          const text = lines(entries);
          await this.#files.put(end.path, text, { ...this.#options, ifMatch: end.etag });
          await this.#pointers.keep(text);
        }
        if (entry !== undefined) return entry;
      } catch (error) {
        if (!isRelayError(error, 'file_changed') && !isRelayError(error, 'not_found')) throw error;
      }
    }
  }

  async clear(): Promise<void> {
    await this.#files.remove({ prefix: this.#prefix });
  }
}

function lines(entries: readonly unknown[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

function parsed<E>(text: string): E[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}
