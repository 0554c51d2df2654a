import type {
  FileInfo as AgentFile,
  BackendProtocolV2,
  DeleteResult,
  EditResult,
  FileDownloadResponse,
  FileUploadResponse,
  GlobResult,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  WriteResult,
} from 'deepagents';
import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { decodeUtf8 } from '../../base/utf8.ts';
import type { FileInfo } from '../../contract/files.ts';
import type { ContextRelay } from '../../sdk/context-relay.ts';
import type { FileRead, FileSpace } from '../../sdk/files.ts';
import { KeptPointers } from '../kept-pointers.ts';
import { globMatcher } from './glob.ts';

/** Entry point `contextrelay/deepagents`. Every export here is public API. */

export interface ContextRelayBackendOptions {
  /** Space of the agent's files; `deepagents` by default. Agents with the same space share the files. */
  readonly space?: string;
  /** Seconds until a file expires; by default it never does. */
  readonly ttl?: number;
}

/** Default number of lines that a read returns. */
const READ_LINES = 500;

/**
 * The file system of a deep agent, stored as files of a relay. The files outlive the process and keep earlier
 * versions, and other agents can read and write them. `/notes/plan.md` is `notes/plan.md` in the space.
 */
export class ContextRelayBackend implements BackendProtocolV2 {
  readonly #files: FileSpace;
  readonly #ttl: number | undefined;
  readonly #pointers: KeptPointers;

  constructor(relay: ContextRelay, { space = 'deepagents', ttl }: ContextRelayBackendOptions = {}) {
    this.#files = relay.files.space(space);
    this.#ttl = ttl;
    this.#pointers = new KeptPointers(relay, ttl);
  }

  ls(path: string): Promise<LsResult> {
    return returnErrors(path, async () => {
      const [files, prefix] = [[] as AgentFile[], folder(path)];
      let after: string | undefined;
      do {
        const page = await this.#files.list({ prefix, delimiter: '/', after });
        files.push(
          ...(page.prefixes ?? []).map((each) => ({ path: `/${each}`, is_dir: true })),
          ...page.files.map(toAgentFile),
        );
        after = page.next;
      } while (after !== undefined);
      return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
    });
  }

  /** Reads lines of a text file, or a whole binary file. Only the requested lines are transferred. */
  read(filePath: string, offset = 0, limit = READ_LINES): Promise<ReadResult> {
    return returnErrors(filePath, async () => {
      const path = inSpace(filePath);
      const { text, content_type, size } = await this.#files.info(path);
      const mimeType = content_type ?? (text ? 'text/plain' : 'application/octet-stream');
      if (!text) return { content: await this.#files.bytes(path), mimeType };
      if (size === 0) return { content: '', mimeType, totalLines: 0 };
      const content = await this.#files.text(path, { lines: `${offset + 1}-${offset + limit}` });
      return { content, mimeType, startLine: offset + 1 };
    });
  }

  readRaw(filePath: string): Promise<ReadRawResult> {
    return returnErrors(filePath, async () => {
      const path = inSpace(filePath);
      const { file, bytes } = await this.#read(path);
      const { created_at, modified_at, content_type } = file;
      const content = file.text ? decodeUtf8(bytes)! : bytes;
      const mimeType = content_type ?? (file.text ? 'text/plain' : 'application/octet-stream');
      return { data: { content, mimeType, created_at, modified_at } };
    });
  }

  write(filePath: string, content: string): Promise<WriteResult> {
    return returnErrors(filePath, async () => {
      await this.#files.put(inSpace(filePath), content, { contentType: 'text/plain', ttl: this.#ttl });
      await this.#pointers.keep(content);
      return { path: filePath };
    });
  }

  /** Replaces a text in a file. Repeats the edit if another process wrote the file meanwhile. */
  edit(filePath: string, oldString: string, newString: string, replaceAll = false): Promise<EditResult> {
    return returnErrors(filePath, async () => {
      const path = inSpace(filePath);
      for (;;) {
        const { file, text } = await this.#read(path);
        const pieces = text().split(oldString);
        const occurrences = pieces.length - 1;
        if (oldString === '' || occurrences === 0)
          return { error: `Error: String not found in file: '${oldString}'` };
        const many = `Error: String '${oldString}' appears ${occurrences} times in file; say which, or replace all.`;
        if (occurrences > 1 && !replaceAll) return { error: many };
        try {
          const o = { contentType: file.content_type ?? undefined, ttl: this.#ttl, ifMatch: file.etag };
          await this.#files.put(path, pieces.join(newString), o);
          await this.#pointers.keep(pieces.join(newString));
          return { path: filePath, occurrences };
        } catch (error) {
          if (!isRelayError(error, 'file_changed')) throw error;
        }
      }
    });
  }

  grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<GrepResult> {
    return returnErrors(path ?? '/', async () => {
      const matches = [];
      const most = maxCount ?? Number.POSITIVE_INFINITY;
      for (const page of pages(await this.#below(path ?? '/', glob ?? '**', true))) {
        const found = await this.#files.read(page.filter(({ text }) => text).map((file) => file.path));
        for (const [name, file] of found) {
          for (const [i, text] of file.text().split('\n').entries()) {
            if (!text.includes(pattern)) continue;
            if (matches.length >= most) return { matches, truncated: true };
            matches.push({ path: `/${name}`, line: i + 1, text });
          }
        }
      }
      return { matches };
    });
  }

  glob(pattern: string, path = '/'): Promise<GlobResult> {
    return returnErrors(path, async () => ({
      files: (await this.#below(path, pattern, false)).map(toAgentFile),
    }));
  }

  delete(filePath: string): Promise<DeleteResult> {
    return returnErrors(filePath, async () => {
      const path = inSpace(filePath);
      const deleted =
        (await this.#files.remove({ paths: [path] })) + (await this.#files.remove({ prefix: `${path}/` }));
      return deleted > 0 ? { path: filePath } : { error: `Error: File '${filePath}' not found` };
    });
  }

  uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return Promise.all(
      files.map(async ([path, content]): Promise<FileUploadResponse> => {
        const error = await failure(() => this.#files.put(inSpace(path), content, { ttl: this.#ttl }));
        return { path, error };
      }),
    );
  }

  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return Promise.all(
      paths.map(async (path): Promise<FileDownloadResponse> => {
        let content: Uint8Array | null = null;
        const error = await failure(async () => {
          content = await this.#files.bytes(inSpace(path));
        });
        return { path, content, error };
      }),
    );
  }

  async #read(path: string): Promise<FileRead> {
    const found = (await this.#files.read([path])).get(path);
    if (!found) throw new RelayError('not_found', { what: path });
    return found;
  }

  /**
   * Returns the files in a folder, at any depth, whose path relative to the folder matches the glob. If the
   * path is a file, returns this file. With `anywhere`, a glob without a slash is compared with the last
   * segment only.
   */
  async #below(path: string, glob: string, anywhere: boolean): Promise<FileInfo[]> {
    const prefix = folder(path);
    const isMatch = globMatcher(anywhere && !glob.includes('/') ? `**/${glob}` : glob.replace(/^\//, ''));
    const found: FileInfo[] = [];
    for await (const file of this.#files.all({ prefix }))
      if (isMatch(file.path.slice(prefix.length))) found.push(file);
    if (found.length > 0 || prefix === '') return found;
    const own = inSpace(path);
    return (await this.#files.exists(own)) ? [await this.#files.info(own)] : [];
  }
}

/** Converts the agent's path, such as `/a/b.md`, to the path in the space. */
function inSpace(path: string): string {
  const prefix = folder(path);
  if (prefix === '')
    throw badRequest(
      `${path || 'The path'} is not a file name.`,
      'Pass the name of a file, such as /notes.md',
    );
  return prefix.slice(0, -1);
}

/** Returns the prefix of the paths in a folder. */
function folder(path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `${inner}/`;
}

function toAgentFile({ path, size, modified_at }: FileInfo): AgentFile {
  return { path: `/${path}`, is_dir: false, size, modified_at };
}

/** Maximum number of files that a search reads per request. */
const PAGE = 50;

function* pages<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += PAGE) yield items.slice(at, at + PAGE);
}

/** Returns errors as values, so that the model can read them. */
async function returnErrors<R>(path: string, work: () => Promise<R>): Promise<R | { error: string }> {
  try {
    return await work();
  } catch (error) {
    if (!isRelayError(error)) throw error;
    // The framework recognizes a missing file by exactly this text.
    if (error.code === 'not_found') return { error: `File '${path}' not found` };
    return { error: `Error: ${error.message} ${error.hintFor('mcp')}` };
  }
}

async function failure(work: () => Promise<unknown>): Promise<FileUploadResponse['error']> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isRelayError(error, 'not_found')) return 'file_not_found';
    if (isRelayError(error, 'bad_request')) return 'invalid_path';
    if (isRelayError(error) && (error.status === 401 || error.status === 403)) return 'permission_denied';
    throw error;
  }
}
