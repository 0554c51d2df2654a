import { BaseStore } from '@langchain/core/stores';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileSpace } from '../../sdk/files.ts';
import { segment } from '../file-names.ts';
import { writeFiles } from '../write-files.ts';

export interface ContextRelayByteStoreOptions {
  /** The space of files that the values are in; `langchain` by default. */
  readonly space?: string;
  /** Seconds that a value stays after it was set; until it is deleted by default. */
  readonly ttl?: number;
}

/** Bytes by key as files of a relay, for what takes a `ByteStore`: caches of embeddings, parents of documents. */
export class ContextRelayByteStore extends BaseStore<string, Uint8Array> {
  lc_namespace: string[] = ['contextrelay', 'stores'];
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;

  constructor(relay: ContextRelay, { space = 'langchain', ttl }: ContextRelayByteStoreOptions = {}) {
    super({});
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
  }

  override async mget(keys: string[]): Promise<(Uint8Array | undefined)[]> {
    const paths = await Promise.all(keys.map(segment));
    const found = await this.#files.read([...new Set(paths)]);
    return paths.map((path) => found.get(path)?.bytes);
  }

  override async mset(pairs: [string, Uint8Array][]): Promise<void> {
    const last = new Map(pairs);
    const files = [...last].map(async ([key, content]) => {
      const path = await segment(key);
      return {
        path,
        content,
        metadata: { key },
        contentType: 'application/octet-stream',
        ttl: this.#ttl,
        keep: 0,
      };
    });
    await writeFiles(this.#files, await Promise.all(files));
  }

  override async mdelete(keys: string[]): Promise<void> {
    await this.#files.remove({ paths: await Promise.all(keys.map(segment)) });
  }

  override async *yieldKeys(prefix = ''): AsyncGenerator<string> {
    for await (const { metadata } of this.#files.all())
      if (String(metadata.key).startsWith(prefix)) yield String(metadata.key);
  }
}
