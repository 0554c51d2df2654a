import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { type JsonObject, jsonObjectIn } from '../../base/json.ts';
import { SESSION_LINE_BYTES } from '../../base/limits.ts';
import type { FileUse } from '../../client/sessions/transcript.ts';
import { loadSqlite } from '../../engines/node-sqlite.ts';
import { type Candidate, fieldIn, type Places, type Reader, textIn, toolTurn, userWords } from './reader.ts';

/**
 * OpenCode stores all sessions in one SQLite file. We open it read-only, also while OpenCode writes to it.
 */
export const opencodeReader: Reader = {
  client: 'opencode',
  candidates(places, folder) {
    const file = databaseOf(places);
    if (!existsSync(file)) return [];
    using db = openDatabase(file);
    const rows = db.prepare(SESSIONS).all(folder) as unknown as SessionRow[];
    return rows.map(({ id, directory, time_updated, bytes, task }): Candidate => {
      const found = { file, id, folder: directory, bytes, updatedAt: time_updated };
      return { ...found, task: userWords(textIn(jsonObjectIn(task ?? ''), 'text')) || null };
    });
  },
  describe: async ({ id, folder, task = null }) =>
    id === undefined || folder === undefined ? null : { id, folder, task },
  async *turns({ id, file }, tally) {
    using db = openDatabase(file);
    for (const row of db.prepare(PARTS).iterate(id) as unknown as Iterable<PartRow>) {
      const part = row.part === null ? null : jsonObjectIn(row.part);
      const message = jsonObjectIn(row.message);
      if (part === null || message === null) {
        tally.skipped++;
        continue;
      }
      const at = new Date(row.time_created).toISOString();
      const model = textIn(message, 'modelID');
      const tokens = Number(fieldIn(message, 'tokens', 'total')) || 0;
      const kind = textIn(part, 'type');
      if (kind === 'text') {
        const user = message.role === 'user';
        // Skip texts that OpenCode and its plugins add to the user's message.
        const text = user
          ? part.synthetic === true
            ? ''
            : userWords(unquoted(textIn(part, 'text')))
          : textIn(part, 'text').trim();
        if (text === '') continue;
        if (message.summary === true) yield { at, who: 'compaction', text };
        else if (user) yield { at, who: 'user', text };
        else yield { at, who: 'agent', text, model, tokens };
      } else if (kind === 'tool') yield { at, ...partTurn(part), model };
      else if (!KNOWN.has(kind)) tally.skipped++;
    }
  },
};

const KNOWN = new Set(
  'step-start step-finish patch compaction reasoning snapshot file agent subtask retry'.split(' '),
);

interface SessionRow {
  readonly id: string;
  readonly directory: string;
  readonly time_updated: number;
  readonly bytes: number;
  readonly task: string | null;
}

interface PartRow {
  readonly time_created: number;
  readonly message: string;
  readonly part: string | null;
}

/** Selects the sessions of the user, without sub-agents, and the first text of each. */
const SESSIONS = `
  select id, directory, time_updated,
    (select coalesce(sum(length(data)), 0) from part where session_id = session.id) as bytes,
    (select part.data from part join message on message.id = part.message_id
      where part.session_id = session.id and json_extract(message.data, '$.role') = 'user'
        and json_extract(part.data, '$.type') = 'text' and json_extract(part.data, '$.synthetic') is null
      order by part.message_id, part.id limit 1) as task
  from session
  where parent_id is null and (?1 is null or directory = ?1 or substr(directory, 1, length(?1) + 1) = ?1 || '/')
  order by time_updated desc`;

const PARTS = `
  select part.time_created, message.data as message,
    case when length(part.data) <= ${SESSION_LINE_BYTES} then part.data end as part
  from part join message on message.id = part.message_id
  where part.session_id = ? order by part.message_id, part.id`;

function databaseOf({ home, env }: Places): string {
  const folder = join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'opencode');
  const named = env.OPENCODE_DB || 'opencode.db';
  return isAbsolute(named) ? named : join(folder, named);
}

function openDatabase(file: string): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  return new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
}

/** Removes the quotation marks that `opencode run` puts around a prompt with spaces. */
function unquoted(text: string): string {
  return /^"[^"]*"\s*$/.test(text) ? text.trim().slice(1, -1) : text;
}

const FILE_TOOLS: { readonly [tool: string]: FileUse['how'] } = {
  read: 'read',
  edit: 'changed',
  write: 'changed',
};

function partTurn(part: JsonObject) {
  const name = textIn(part, 'tool');
  const state = fieldIn(part, 'state');
  const input = fieldIn(state, 'input');
  const output = textIn(state, 'output') || textIn(state, 'error');
  const code = fieldIn(state, 'metadata', 'exit');
  const exit = typeof code === 'number' ? code : null;
  const failed = textIn(state, 'status') === 'error' || (exit ?? 0) !== 0;
  const created = name === 'write' && fieldIn(state, 'metadata', 'exists') === false;
  const how = created ? 'created' : FILE_TOOLS[name];
  const path = textIn(input, 'filePath');
  const command = name === 'bash' ? { command: textIn(input, 'command'), exit } : {};
  return toolTurn({ name, output, failed, ...command }, input, { path, how }, 'content');
}
