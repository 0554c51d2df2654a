import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isJsonObject, type JsonObject, jsonObjectIn } from '../../base/json.ts';
import type { FileUse, SessionTodo, ToolUse } from '../../client/sessions/transcript.ts';
import { namesIn, transcriptsIn } from './claude.ts';
import {
  argumentsText,
  contentText,
  fieldIn,
  headOf,
  isInside,
  jsonLines,
  listIn,
  type RawTurn,
  type Reader,
  startOf,
  textIn,
  userWords,
} from './reader.ts';

/** Codex stores `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`. Only the first line names the folder. */
export const codexReader: Reader = {
  client: 'codex',
  candidates({ home, env }) {
    const root = join(env.CODEX_HOME || join(home, '.codex'), 'sessions');
    return daysIn(root, 3).flatMap(transcriptsIn);
  },
  async describe({ file }, folder) {
    // Read only the first bytes to skip transcripts of other folders: there may be thousands.
    const [, cwd] = /"cwd":("(?:[^"\\]|\\.)*")/.exec(await startOf(file, START_BYTES)) ?? [];
    if (cwd !== undefined && !isInside(JSON.parse(cwd), folder)) return null;
    const head = await headOf(file);
    const meta = fieldIn(head[0], 'payload');
    if (head[0]?.type !== 'session_meta' || fieldIn(meta, 'source', 'subagent') !== undefined) return null;
    const task = head.map((line) => promptIn(line)).find(Boolean) ?? null;
    return { id: textIn(meta, 'id'), folder: textIn(meta, 'cwd'), task };
  },
  async *turns({ file }, tally) {
    const head = await headOf(file);
    // Newer versions of Codex record items, older ones only the messages to and from the model.
    const hasItems = head.some((line) => textIn(line, 'payload', 'type') === 'item_completed');
    const calls = new Map<string, RawTurn>();
    let model = '';
    for await (const { timestamp, type, payload } of jsonLines(file, tally)) {
      const at = typeof timestamp === 'string' ? timestamp : null;
      const kind = textIn(payload, 'type');
      if (type === 'turn_context') model = textIn(payload, 'model') || model;
      else if (type === 'compacted') yield { at, who: 'compaction', text: textIn(payload, 'message') };
      else if (type === 'event_msg' && kind === 'item_completed') {
        const turn = itemTurn(fieldIn(payload, 'item'), model);
        if (turn === null) tally.skipped++;
        else if (turn !== 'nothing') yield { at, ...turn };
      } else if (
        type === 'response_item' &&
        kind === 'function_call' &&
        textIn(payload, 'name') === 'update_plan'
      )
        yield { at, ...planTurn(textIn(payload, 'arguments')), model };
      else if (type === 'response_item' && !hasItems) {
        const turn = sentTurn(payload, calls, model);
        if (turn !== null) yield { at, ...turn };
      } else if (typeof type !== 'string' || !KNOWN.has(type)) tally.skipped++;
    }
    for (const turn of calls.values()) yield turn;
  },
};

/** Number of bytes to read from the start of a transcript to find its folder. */
const START_BYTES = 4_096;

const KNOWN = new Set(['session_meta', 'event_msg', 'response_item', 'world_state', 'token_usage_record']);

/** Lists the folders below `folder`, one for each day, newest first. */
function daysIn(folder: string, depth: number): string[] {
  if (depth === 0) return [folder];
  return namesIn(folder)
    .filter((name) => /^\d{2,4}$/.test(name))
    .sort()
    .reverse()
    .flatMap((name) => daysIn(join(folder, name), depth - 1));
}

function promptIn({ type, payload }: JsonObject): string {
  const item = fieldIn(payload, 'item');
  if (textIn(item, 'type') === 'UserMessage') return userWords(messageText(item));
  const sent = type === 'response_item' && textIn(payload, 'role') === 'user';
  return sent ? userWords(messageText(payload)) : '';
}

const messageText = (message: unknown) => contentText(fieldIn(message, 'content')).trim();

type TurnPart = Omit<RawTurn, 'at'>;

/**
 * Converts an item of the transcript to a turn. Returns `nothing` for a known item without a turn, and null for an
 * unknown item.
 */
function itemTurn(item: unknown, model: string): TurnPart | 'nothing' | null {
  const kind = textIn(item, 'type');
  if (kind === 'UserMessage') {
    const text = userWords(messageText(item));
    return text === '' ? 'nothing' : { who: 'user', text };
  }
  if (kind === 'AgentMessage' || kind === 'Plan') {
    const text = messageText(item) || textIn(item, 'text');
    return text === '' ? 'nothing' : { who: 'agent', text, model };
  }
  if (kind === 'CommandExecution') {
    const argv = listIn(item, 'command').map(String);
    // Codex runs commands as `bash -lc COMMAND`. Show only COMMAND.
    const command = /^-\w*c$/.test(argv[1] ?? '') ? argv.slice(2).join(' ') : argv.join(' ');
    const exit = Number(fieldIn(item, 'exit_code') ?? 0);
    const where = textIn(item, 'cwd');
    const folder = where.startsWith('file:') ? fileURLToPath(where) : where;
    const reads = listIn(item, 'parsed_cmd').filter((part) => textIn(part, 'type') === 'read');
    const files = reads.map((part): FileUse => ({ path: join(folder, textIn(part, 'path')), how: 'read' }));
    const output = textIn(item, 'aggregated_output');
    const failed = exit !== 0 || textIn(item, 'status') === 'failed';
    const tool = { name: 'exec_command', input: command, output, failed, command, exit, files };
    return { who: 'tool', text: '', tool, model };
  }
  if (kind === 'FileChange') return { who: 'tool', text: '', tool: fileChange(item), model };
  if (kind === 'McpToolCall') {
    const name = `${textIn(item, 'server')}.${textIn(item, 'tool')}`;
    const output = argumentsText(fieldIn(item, 'result') ?? fieldIn(item, 'error'));
    const failed = textIn(item, 'status') === 'failed';
    const tool = { name, input: argumentsText(fieldIn(item, 'arguments')), output, failed, files: [] };
    return { who: 'tool', text: '', tool, model };
  }
  return ['ContextCompaction', 'Reasoning', 'WebSearch', 'ImageView'].includes(kind) ? 'nothing' : null;
}

const HOW: { readonly [kind: string]: FileUse['how'] } = {
  add: 'created',
  update: 'changed',
  delete: 'deleted',
};

function fileChange(item: unknown): ToolUse {
  const changes = fieldIn(item, 'changes');
  const entries = Object.entries(isJsonObject(changes) ? changes : {});
  const failed = textIn(item, 'status') !== 'completed';
  const files = entries.map(
    ([path, change]): FileUse => ({ path, how: HOW[textIn(change, 'type')] ?? 'changed' }),
  );
  const input = entries
    .map(([path, change]) => `${path}\n${textIn(change, 'unified_diff') || textIn(change, 'content')}`)
    .join('\n');
  const output = textIn(item, failed ? 'stderr' : 'stdout');
  return { name: 'apply_patch', input, output, failed, files: failed ? [] : files };
}

function planTurn(text: string): TurnPart {
  const todos = listIn(jsonObjectIn(text), 'plan').map(
    (step): SessionTodo => ({ text: textIn(step, 'step'), status: textIn(step, 'status') }),
  );
  const tool = { name: 'update_plan', input: '', output: '', failed: false, files: [] };
  return { who: 'tool', text: '', tool, todos };
}

/**
 * Converts a message to or from the model to a turn. Keeps a tool call in `calls` until its result follows.
 */
function sentTurn(payload: unknown, calls: Map<string, RawTurn>, model: string): TurnPart | null {
  const kind = textIn(payload, 'type');
  const id = textIn(payload, 'call_id');
  if (kind === 'message') {
    const role = textIn(payload, 'role');
    const text = role === 'user' ? userWords(messageText(payload)) : messageText(payload);
    if (text === '' || (role !== 'user' && role !== 'assistant')) return null;
    return role === 'user' ? { who: 'user', text } : { who: 'agent', text, model };
  }
  if (kind === 'function_call' || kind === 'custom_tool_call') {
    const args = jsonObjectIn(textIn(payload, 'arguments'));
    const argv = fieldIn(args, 'cmd') ?? fieldIn(args, 'command');
    const line = Array.isArray(argv) ? argv.slice(-1).join(' ') : argv;
    const command = typeof line === 'string' ? { command: line, exit: null } : {};
    const input = typeof line === 'string' ? line : textIn(payload, 'input') || textIn(payload, 'arguments');
    const tool = { name: textIn(payload, 'name'), input, output: '', failed: false, files: [], ...command };
    calls.set(id, { at: null, who: 'tool', text: '', tool, model });
  }
  const call = kind.endsWith('_output') ? calls.get(id) : undefined;
  if (call?.tool === undefined) return null;
  calls.delete(id);
  const output = textIn(payload, 'output');
  const code = /(?:exited with code |"exit_code":|Exit code: )(\d+)/.exec(output)?.[1];
  const exit = code === undefined ? null : Number(code);
  const ended = call.tool.command === undefined ? {} : { exit };
  return { ...call, tool: { ...call.tool, output, failed: (exit ?? 0) !== 0, ...ended } };
}
