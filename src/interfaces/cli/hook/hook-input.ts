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
const INPUT_CHARS = 4 * 1024 * 1024;
/** A client that keeps the pipe open gets its answer all the same. */
const INPUT_MS = 1_000;

export async function readHookInput(stdin: Input): Promise<HookInput> {
  const value = parsed(stdin.isTTY ? '' : await readAll(stdin.stream));
  const text = (name: string) => {
    const field = isJsonObject(value) ? value[name] : null;
    return typeof field === 'string' && field !== '' ? field : null;
  };
  return {
    cwd: text('cwd'),
    session: text('session_id'),
    source: text('source'),
    trigger: text('trigger'),
    continuing: isJsonObject(value) && value.stop_hook_active === true,
  };
}

function readAll(stream: Input['stream']): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const done = () => {
      clearTimeout(timer);
      stream.removeAllListeners();
      stream.on('error', () => {});
      // An open pipe would keep the program alive.
      stream.destroy();
      resolve(text);
    };
    const timer = setTimeout(done, INPUT_MS);
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > INPUT_CHARS) done();
    });
    stream.once('end', done);
    stream.once('error', done);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
