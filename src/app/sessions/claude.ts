import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { JsonObject } from '../../base/json.ts';
import { orElse } from '../../base/or-else.ts';
import {
  type Candidate,
  contentText,
  fieldIn,
  headOf,
  jsonLines,
  lines,
  listIn,
  type RawTurn,
  type Reader,
  textIn,
  toolTurn,
  userWords,
} from './reader.ts';

/**
 * Claude Code stores `projects/<folder>/<session>.jsonl`, with dashes for special characters in the folder's
 * name.
 */
export const claudeReader: Reader = {
  client: 'claude',
  candidates({ home, env }, folder) {
    const root = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'projects');
    const folderPrefix = folder === null ? '' : folder.replace(/[^a-zA-Z0-9]/g, '-').slice(0, 200);
    return namesIn(root)
      .filter((name) => name.startsWith(folderPrefix))
      .flatMap((name) => transcriptsIn(join(root, name)));
  },
  async describe({ file }) {
    const head = await headOf(file);
    const folder = head.map((line) => textIn(line, 'cwd')).find(Boolean);
    if (folder === undefined) return null;
    const task = head.filter(isPrompt).map(promptText).find(Boolean) ?? null;
    return { id: basename(file, '.jsonl'), folder, task };
  },
  async *turns({ file }, tally) {
    const current = await currentPrompts(file);
    const calls = new Map<string, { name: string; input: unknown; turn: RawTurn }>();
    let prompt = '';
    for await (const line of jsonLines(file, tally)) {
      const { type, isSidechain } = line;
      if (isSidechain === true) continue;
      if (isPrompt(line)) prompt = textIn(line, 'uuid');
      const abandoned = prompt !== '' && !current.has(prompt) ? { abandoned: true as const } : {};
      const base = { at: textIn(line, 'timestamp') || null, ...abandoned };
      if (type === 'user') {
        const text = promptText(line);
        if (line.isCompactSummary === true) yield { ...base, who: 'compaction', text };
        else if (isPrompt(line) && text !== '') yield { ...base, who: 'user', text };
        for (const block of listIn(line, 'message', 'content')) {
          const call = calls.get(textIn(block, 'tool_use_id'));
          if (call === undefined) continue;
          calls.delete(textIn(block, 'tool_use_id'));
          yield { ...call.turn, ...callTurn(call.name, call.input, block, line.toolUseResult) };
        }
      } else if (type === 'assistant') {
        const model = textIn(line, 'message', 'model');
        if (model === '<synthetic>') continue;
        const usage = fieldIn(line, 'message', 'usage');
        const tokens = Number(fieldIn(usage, 'input_tokens')) + Number(fieldIn(usage, 'output_tokens')) || 0;
        for (const block of listIn(line, 'message', 'content')) {
          const kind = textIn(block, 'type');
          const turn = { ...base, who: 'agent' as const, text: textIn(block, 'text'), model, tokens };
          if (kind === 'text' && turn.text.trim() !== '') yield turn;
          if (kind === 'tool_use')
            calls.set(textIn(block, 'id'), {
              name: textIn(block, 'name'),
              input: fieldIn(block, 'input'),
              turn,
            });
        }
      } else if (type === 'attachment' && textIn(line, 'attachment', 'type') === 'queued_command') {
        // A prompt that the user typed while the agent worked on an earlier prompt.
        const text = userWords(textIn(line, 'attachment', 'prompt'));
        if (text !== '') yield { ...base, who: 'user', text };
      } else if (typeof type !== 'string' || !KNOWN.has(type)) tally.skipped++;
    }
    for (const { name, input, turn } of calls.values())
      yield { ...turn, ...callTurn(name, input, null, null) };
  },
};

/** Types of lines without a turn. They do not count as unknown lines. */
const KNOWN = new Set(
  `attachment system summary queue-operation file-history-snapshot file-history-delta mode permission-mode last-prompt tools-used
  api-request api-request-blob api-request-shape atis-latch prompt_snapshot cost-state ai-title custom-title agent-name progress`.split(
    /\s+/,
  ),
);

export const namesIn = (folder: string) => orElse(() => readdirSync(folder), []);

/** Lists the transcripts in a folder, except those of sub-agents. */
export function transcriptsIn(folder: string): Candidate[] {
  return namesIn(folder)
    .filter((name) => name.endsWith('.jsonl') && !name.startsWith('agent-'))
    .flatMap((name) => {
      const file = join(folder, name);
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat?.isFile() ? [{ file, bytes: stat.size, updatedAt: stat.mtimeMs }] : [];
    });
}

function isPrompt(line: JsonObject): boolean {
  if (line.type !== 'user' || line.isSidechain === true || line.isMeta === true) return false;
  const kind = textIn(line, 'origin', 'kind');
  const results = listIn(line, 'message', 'content').some((block) => textIn(block, 'type') === 'tool_result');
  return (
    !results && line.isCompactSummary !== true && (kind === '' || kind === 'human') && promptText(line) !== ''
  );
}

const promptText = (line: JsonObject) => userWords(contentText(fieldIn(line, 'message', 'content')));

/**
 * Maximum size of `promptOf`, which maps lines to their prompts. The oldest lines are forgotten first, because the
 * parent of a line is nearly always recent.
 */
const REMEMBERED = 100_000;

/**
 * Returns the ids of the prompts in the current conversation. Lines form a tree, which branches if the user goes
 * back to an earlier prompt, or if two processes use one session. The last line is in the current branch. Only
 * prompts are followed, because results of parallel tool calls form branches too but belong to the same
 * conversation.
 */
async function currentPrompts(file: string): Promise<Set<string>> {
  const promptOf = new Map<string, string>();
  const before = new Map<string, string>();
  let last = '';
  for await (const text of lines(file, { skipped: 0 })) {
    const parent = /"(?:logicalParentUuid|parentUuid)":"([^"]{1,64})"/.exec(text.slice(0, 4_000))?.[1] ?? '';
    const uuid = /"uuid":"([^"]{1,64})"/.exec(text)?.[1];
    if (uuid === undefined || text.includes('"isSidechain":true')) continue;
    const above = promptOf.get(parent) ?? (parent === '' ? '' : last);
    const isNew = text.includes('"promptId":') && !text.includes('"type":"tool_result"');
    if (isNew) before.set(uuid, above);
    last = isNew ? uuid : above;
    promptOf.set(uuid, last);
    if (promptOf.size > REMEMBERED) promptOf.delete(promptOf.keys().next().value!);
  }
  const current = new Set<string>();
  for (let at = last; at !== '' && !current.has(at); at = before.get(at) ?? '') current.add(at);
  return current;
}

const READS = ['Read', 'NotebookRead'];

function callTurn(name: string, input: unknown, block: unknown, result: unknown) {
  const output = contentText(fieldIn(block, 'content'));
  const failed = fieldIn(block, 'is_error') === true;
  const path = textIn(input, 'file_path') || textIn(input, 'notebook_path');
  const changed = textIn(result, 'type') === 'create' ? 'created' : 'changed';
  const how = READS.includes(name) ? 'read' : changed;
  const command =
    name === 'Bash' ? { command: textIn(input, 'command'), exit: exitOf(output, failed, block) } : {};
  const turn = toolTurn({ name, output, failed, ...command }, input, { path, how }, 'content');
  // The tool that ends plan mode has the plan as an argument. Show the plan.
  return { ...turn, text: name === 'ExitPlanMode' ? textIn(input, 'plan') : '' };
}

/**
 * Returns the exit code of a command, or null if unknown. Only the first line of a failed command's output
 * has it.
 */
function exitOf(output: string, failed: boolean, block: unknown): number | null {
  if (block === null) return null;
  const code = /^(?:Error: )?Exit code (\d+)/.exec(output)?.[1];
  return code === undefined ? (failed ? null : 0) : Number(code);
}
