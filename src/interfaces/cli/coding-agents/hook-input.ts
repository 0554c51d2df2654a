import { isJsonObject } from '../../../base/json.ts';
import type { Input } from '../io.ts';

/** What a client tells its hook on stdin. Fields differ between clients and versions: anything may be missing. */
export interface HookInput {
  readonly cwd: string | null;
  readonly session: string | null;
  /** Of a session start: startup, resume, clear, compact. */
  readonly source: string | null;
  /** Of a compaction: manual or auto. */
  readonly trigger: string | null;
  /** The agent is going on because a stop hook asked it to. */
  readonly continuing: boolean;
}

/** Far more than any client sends; what is longer is not read to its end. */
const INPUT_BYTES = 4 * 1024 * 1024;
/** A client that says nothing and keeps the pipe open gets its answer all the same. */
const INPUT_MS = 1_000;

/** `late` tells that stdin is still being waited for, which would keep the program from ending. */
export async function readHookInput(stdin: Input): Promise<{ input: HookInput; late: boolean }> {
  const { value, late } = stdin.isTTY ? { value: null, late: false } : await readJson(stdin);
  const text = (name: string) => {
    const field = isJsonObject(value) ? value[name] : null;
    return typeof field === 'string' && field !== '' ? field : null;
  };
  const input = {
    cwd: text('cwd'),
    session: text('session_id'),
    source: text('source'),
    trigger: text('trigger'),
    continuing: isJsonObject(value) && value.stop_hook_active === true,
  };
  return { input, late };
}

/** Up to the end of the object; not every client closes its end of the pipe. */
async function readJson(stdin: Input): Promise<{ value: unknown; late: boolean }> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), INPUT_MS);
  });
  const chunks: Uint8Array[] = [];
  try {
    for (let bytes = 0; bytes < INPUT_BYTES; ) {
      const chunk = await Promise.race([stdin.take(), timeUp]);
      if (chunk === 'late') return { value: null, late: true };
      if (chunk !== null) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      if (chunk === null) return { value: parsed(text), late: false };
      bytes += chunk.byteLength;
      const value = text.trimEnd().endsWith('}') ? parsed(text) : null;
      if (value !== null) return { value, late: false };
    }
    return { value: null, late: false };
  } finally {
    clearTimeout(timer);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
