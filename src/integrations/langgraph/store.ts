import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import type { JsonObject } from '../../base/json.ts';
import type { FileInfo } from '../../contract/files.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileRead, FileSpace, FileToWrite } from '../../sdk/files.ts';
import { FileWriter, filesBelow, segments } from '../file-names.ts';
import { KeptPointers } from '../kept-pointers.ts';

export interface ContextRelayStoreOptions {
  /** Space of the items; `langgraph-store` by default. */
  readonly space?: string;
  /** Seconds until an item expires; by default it never does. */
  readonly ttl?: number;
}

/**
 * Stores LangGraph's long-term memory as files of a relay. An item is a JSON file below the folders of its namespace. A
 * search reads the items of its namespace and ranks them by the number of words of `query` that they contain.
 */
export class ContextRelayStore extends BaseStore {
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;
  readonly #pointers: KeptPointers;

  constructor(relay: ContextRelay, { space = 'langgraph-store', ttl }: ContextRelayStoreOptions = {}) {
    super();
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
    this.#pointers = new KeptPointers(relay, ttl);
  }

  /**
   * Runs operations. Reads return the state before the batch. If the batch puts an item several times, the last put
   * counts.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const gets = operations.filter(isGet);
    const paths = await Promise.all(gets.map(({ namespace, key }) => pathOf(namespace, key)));
    const found = await this.#files.read([...new Set(paths)]);
    const results = operations.map(async (operation) => {
      if (isGet(operation)) {
        const file = found.get(paths[gets.indexOf(operation)]!);
        return file ? itemOf(file) : null;
      }
      if ('namespacePrefix' in operation) return this.#search(operation);
      if ('value' in operation) return undefined;
      return this.#namespaces(operation);
    });
    const read = await Promise.all(results);
    await this.#put(operations.filter(isPut));
    return read as OperationResults<Op>;
  }

  async #put(operations: readonly PutOperation[]): Promise<void> {
    const last = new Map<string, PutOperation>();
    for (const operation of operations) last.set(await pathOf(operation.namespace, operation.key), operation);
    const gone = [...last].flatMap(([path, { value }]) => (value === null ? [path] : []));
    if (gone.length > 0) await this.#files.remove({ paths: gone });
    const o = { contentType: 'application/json', ttl: this.#ttl, keep: 0 };
    const files = [...last].flatMap(([path, { namespace, key, value }]): FileToWrite[] => {
      if (value === null) return [];
      const metadata = { namespace, key } as JsonObject;
      return [{ path, content: JSON.stringify(value), metadata, ...o }];
    });
    await new FileWriter(this.#files).write(files);
    await this.#pointers.keep(...files.map(({ content }) => String(content)));
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter, query, limit = 10, offset = 0 } = operation;
    const infos = await this.#below(namespacePrefix);
    // Without a filter and a query, read only the requested page.
    const all = filter || query ? infos : infos.slice(offset, offset + limit);
    const found = await this.#files.read(all.map(({ path }) => path));
    const items = all.flatMap(({ path }) => (found.has(path) ? [itemOf(found.get(path)!)] : []));
    if (!filter && !query) return items;
    const passing = filter ? items.filter(({ value }) => passes(value, filter)) : items;
    return (query ? ranked(passing, query) : passing).slice(offset, offset + limit);
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset } = operation;
    const found = new Map<string, string[]>();
    for (const { metadata } of await this.#below([])) {
      const namespace = metadata.namespace as string[];
      if (!matchConditions.every((condition) => matches(namespace, condition))) continue;
      const prefix = namespace.slice(0, maxDepth);
      found.set(JSON.stringify(prefix), prefix);
    }
    return [...found.values()].slice(offset, offset + limit);
  }

  async #below(namespace: readonly string[]): Promise<FileInfo[]> {
    const prefix = namespace.length === 0 ? '' : `${await segments(namespace)}/`;
    return filesBelow(this.#files, prefix);
  }
}

function isGet(operation: Operation): operation is GetOperation {
  return 'key' in operation && !('value' in operation);
}

function isPut(operation: Operation): operation is PutOperation {
  return 'key' in operation && 'value' in operation;
}

function pathOf(namespace: readonly string[], key: string): Promise<string> {
  return segments([...namespace, key]);
}

function itemOf({ file, text }: FileRead): Item {
  const { namespace, key } = file.metadata as { namespace: string[]; key: string };
  return {
    namespace,
    key,
    value: JSON.parse(text()),
    createdAt: new Date(file.created_at),
    updatedAt: new Date(file.modified_at),
  };
}

/** Matches filters such as `{ status: 'active' }` or `{ score: { $gt: 4 } }`. */
function passes(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([field, condition]) => {
    const operators = Object.entries((condition ?? {}) as object).filter(([name]) => name.startsWith('$'));
    if (typeof condition !== 'object' || operators.length === 0) return isEqual(value[field], condition);
    return operators.every(([name, operand]) => COMPARE[name]?.(value[field], operand) ?? false);
  });
}

const COMPARE: { readonly [operator: string]: (value: unknown, operand: unknown) => boolean } = {
  $eq: isEqual,
  $ne: (value, operand) => !isEqual(value, operand),
  $gt: (value, operand) => Number(value) > Number(operand),
  $gte: (value, operand) => Number(value) >= Number(operand),
  $lt: (value, operand) => Number(value) < Number(operand),
  $lte: (value, operand) => Number(value) <= Number(operand),
};

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** Ranks items by the share of the query's words that they contain, best first. */
function ranked(items: readonly Item[], query: string): SearchItem[] {
  const queryWords = new Set(splitWords(query));
  return items
    .map((item) => {
      const has = new Set(splitWords(JSON.stringify(item.value)));
      const score = [...queryWords].filter((word) => has.has(word)).length / Math.max(1, queryWords.size);
      return { ...item, score };
    })
    .sort((a, b) => b.score - a.score);
}

function splitWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function matches(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > namespace.length) return false;
  const start = matchType === 'prefix' ? 0 : namespace.length - path.length;
  return path.every((label, i) => label === '*' || label === namespace[start + i]);
}
