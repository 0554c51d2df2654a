import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import type { FileUse } from '../../client/sessions/transcript.ts';
import { readJsonFile } from '../store/atomic-file.ts';
import { transcriptsIn } from './claude.ts';
import {
  fieldIn,
  headOf,
  isInside,
  jsonLines,
  listIn,
  type Places,
  type RawTurn,
  type Reader,
  textIn,
  toolTurn,
  userWords,
} from './reader.ts';

/** Gemini CLI stores `tmp/<project>/chats/session-*.jsonl`. projects.json names the folder of each project. */
export const geminiReader: Reader = {
  client: 'gemini',
  candidates(places, folder) {
    const root = rootOf(places);
    return Object.entries(projectsIn(root)).flatMap(([path, name]) =>
      isInside(path, folder) && typeof name === 'string' && !name.includes('/')
        ? transcriptsIn(join(root, 'tmp', name, 'chats')).map((found) => ({ ...found, folder: path }))
        : [],
    );
  },
  async describe({ file, folder = '' }) {
    const head = await headOf(file);
    const id = textIn(head[0], 'sessionId');
    if (id === '' || textIn(head[0], 'kind') === 'subagent') return null;
    const task = head.flatMap(messagesIn).map(userText).find(Boolean) ?? null;
    // Gemini CLI writes a file at every start. Skip short files without a prompt: they contain no
    // conversation.
    return task === null && head.length < 8 ? null : { id, folder, task };
  },
  async *turns({ file }, tally) {
    // Gemini CLI writes a message again whenever one of its tool calls ends. Remember the ids, so that each
    // message and call is yielded once.
    const yielded = new Set<string>();
    const waiting = new Map<string, RawTurn>();
    const isNew = (id: string) => !yielded.has(id) && yielded.add(id);
    for await (const line of jsonLines(file, tally)) {
      const messages = messagesIn(line);
      if (messages.length === 0 && line.$set === undefined && line.sessionId === undefined) tally.skipped++;
      if (isCompression(line, yielded)) yield { at: null, who: 'compaction', text: '' };
      for (const message of messages) {
        const id = textIn(message, 'id');
        const at = textIn(message, 'timestamp') || null;
        const model = textIn(message, 'model');
        const tokens = Number(fieldIn(message, 'tokens', 'total')) || 0;
        if (message.type === 'user') {
          const text = userText(message);
          if (text !== '' && isNew(id)) yield { at, who: 'user', text };
          else yielded.add(id);
        } else if (message.type === 'gemini') {
          const text = contentText(message.content).trim();
          if (text !== '' && isNew(id)) yield { at, who: 'agent', text, model, tokens };
          for (const call of listIn(message, 'toolCalls')) {
            const key = textIn(call, 'id');
            const turn = { at: textIn(call, 'timestamp') || at, ...callTurn(call), model };
            if (!ENDED.has(textIn(call, 'status'))) waiting.set(key, turn);
            else if (isNew(key)) yield turn;
          }
        }
      }
    }
    for (const [key, turn] of waiting) if (isNew(key)) yield turn;
  },
};

const ENDED = new Set(['success', 'error', 'cancelled']);

function rootOf({ home, env }: Places): string {
  return join(env.GEMINI_CLI_HOME || home, '.gemini');
}

function projectsIn(root: string): JsonObject {
  const projects = readJsonFile(join(root, 'projects.json'))?.projects;
  return isJsonObject(projects) ? projects : {};
}

/** Returns the messages in a line. A line is one message, or it replaces the list of all messages. */
function messagesIn(line: JsonObject): JsonObject[] {
  if (typeof line.id === 'string' && typeof line.type === 'string') return [line];
  return listIn(line, '$set', 'messages').filter(isJsonObject);
}

/**
 * Returns whether a line replaces the history after a compaction. Such a line begins with a message that no earlier
 * line contains.
 */
function isCompression(line: JsonObject, yielded: ReadonlySet<string>): boolean {
  const messages = listIn(line, '$set', 'messages');
  return messages.length > 0 && yielded.size > 1 && !yielded.has(textIn(messages[0], 'id'));
}

function userText(message: JsonObject): string {
  return message.type === 'user' ? userWords(contentText(message.content)) : '';
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content : [content];
  return parts.map((part) => textIn(part, 'text')).join('');
}

const FILE_TOOLS: { readonly [tool: string]: FileUse['how'] } = {
  read_file: 'read',
  replace: 'changed',
  write_file: 'changed',
};

function callTurn(call: unknown) {
  const name = textIn(call, 'name');
  const args = fieldIn(call, 'args');
  const answers = listIn(call, 'result').map((part) => {
    const response = fieldIn(part, 'functionResponse', 'response');
    return textIn(response, 'output') || textIn(response, 'error');
  });
  // Remove the frame that Gemini CLI puts around the output of commands.
  const output = answers.join('\n').replace(/^<untrusted_context>\n?|\n?<\/untrusted_context>$/g, '');
  const shell = name === 'run_shell_command';
  const code = shell ? /^Exit Code: (\d+)/m.exec(output)?.[1] : undefined;
  const exit = code === undefined ? (textIn(call, 'status') === 'success' ? 0 : null) : Number(code);
  const failed = textIn(call, 'status') === 'error' || (exit ?? 0) !== 0;
  const how = /^Successfully created/.test(output) ? 'created' : FILE_TOOLS[name];
  const path = textIn(args, 'file_path');
  const command = shell ? { command: textIn(args, 'command'), exit } : {};
  return toolTurn({ name, output, failed, ...command }, args, { path, how }, 'description');
}
