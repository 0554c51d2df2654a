import { MARK } from './claude-prefix.ts';
import type { Launcher } from './launcher.ts';

export function isOurPlugin(text: string): boolean {
  return text.startsWith(`// ${MARK} opencode"`);
}

/**
 * Returns our plugin for OpenCode, where hooks cannot be commands. The plugin runs `relay hook opencode EVENT`. It
 * adds the brief to the system prompt, and new messages to the prompt. It also adds claims of other agents to the
 * result of an edit. If messages wait for an idle session, the plugin sends them as a prompt. If the program is
 * missing or fails, the plugin adds nothing.
 */
export function opencodePlugin({ command, args }: Pick<Launcher, 'command' | 'args'>): string {
  return `// ${MARK} opencode". "relay install opencode --remove" deletes this file.
import { spawn } from 'node:child_process';
import { unwatchFile, watchFile, writeFileSync } from 'node:fs';

const RELAY = ${JSON.stringify([command, ...args, 'hook', 'opencode'])};
const TIMEOUT_MS = 10_000;
const EDITS = /^(?:edit|multiedit|write|patch|apply_patch)$/;

function hook(event, directory, session, more = {}) {
  return new Promise((resolve) => {
    const { BUN_BE_BUN: _, ...env } = process.env;
    const [program, ...words] = [...RELAY, event];
    const o = { cwd: directory, env, timeout: TIMEOUT_MS, shell: process.platform === 'win32' };
    const child = spawn(program, words, { ...o, stdio: ['pipe', 'pipe', 'ignore'] });
    let answer = '';
    child.stdout.on('data', (chunk) => (answer += chunk));
    child.on('error', () => resolve({}));
    child.on('close', () => {
      try {
        resolve(JSON.parse(answer).hookSpecificOutput ?? {});
      } catch {
        resolve({});
      }
    });
    child.stdin.on('error', () => {});
    child.stdin.end(JSON.stringify({ cwd: directory, session_id: session, trigger: 'manual', ...more }));
  }).catch(() => ({}));
}

export const ContextRelay = async ({ client, directory, serverUrl }) => {
  // Read the brief once per session, so that the beginning of the prompt stays the same and is cached.
  const briefs = new Map();
  const compacted = new Set();
  const children = new Map();
  const warnings = new Map();
  const watched = new Map();
  const server = String(serverUrl ?? '');
  const watch = (sessionID, mark) => {
    if (!mark || children.has(sessionID) || watched.has(sessionID)) return;
    watched.set(sessionID, mark);
    writeFileSync(mark, String(process.pid), { mode: 0o600 });
    watchFile(mark, { interval: 1_000, persistent: false }, () => wake(sessionID));
  };
  const busy = new Set();
  const waking = new Set();
  const wake = async (sessionID) => {
    if (waking.has(sessionID)) return;
    waking.add(sessionID);
    // Each call takes messages and confirms the messages that the previous call took.
    for (let prompt = '', tries = 0; tries < 5; tries++) {
      const answer = await hook('wake', directory, sessionID, { prompt, busy: busy.has(sessionID) });
      const text = answer.additionalContext;
      if (!text && answer.wakeMark) break;
      if (!text) continue;
      const o = { path: { id: sessionID }, body: { parts: [{ type: 'text', text }] } };
      const sent = await client.session.promptAsync(o).catch((error) => ({ error }));
      if (sent.error) break;
      [prompt, tries] = [prompt + text, 0];
    }
    waking.delete(sessionID);
  };
  return {
    event: async ({ event }) => {
      const info = event.properties?.info;
      const { sessionID } = event.properties ?? {};
      if (event.type === 'session.created' && info?.parentID) children.set(info.id, info.parentID);
      if (event.type === 'session.idle' && busy.delete(sessionID)) wake(sessionID);
      if (event.type === 'session.deleted' && watched.has(info?.id)) unwatchFile(watched.get(info.id));
    },
    'experimental.chat.system.transform': async ({ sessionID = '' }, output) => {
      const source = compacted.has(sessionID) ? 'compact' : 'startup';
      if (!briefs.has(sessionID)) briefs.set(sessionID, hook('session-start', directory, sessionID, { source, server }));
      const { additionalContext: brief, wakeMark } = await briefs.get(sessionID);
      watch(sessionID, wakeMark);
      if (brief) output.system.push(brief);
    },
    'chat.message': async ({ sessionID }, output) => {
      if (children.has(sessionID)) return;
      busy.add(sessionID);
      const prompt = output.parts.map(({ text }) => text ?? '').join('\\n');
      const { additionalContext: text, wakeMark } = await hook('prompt-submit', directory, sessionID, { prompt, server });
      watch(sessionID, wakeMark);
      const last = output.parts.at(-1);
      if (text && last) output.parts.push({ ...last, id: last.id + 'r', type: 'text', text, synthetic: true });
    },
    // OpenCode passes no text to the model before an edit. So the hook starts before the edit, and the text of the
    // hook is added to the result of the edit.
    'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
      if (!EDITS.test(tool)) return;
      const session = children.get(sessionID) ?? sessionID;
      warnings.set(callID, hook('pre-edit', directory, session, { tool_input: args }));
    },
    'tool.execute.after': async ({ callID }, output) => {
      const { additionalContext: message } = (await warnings.get(callID)) ?? {};
      warnings.delete(callID);
      if (!message || typeof output.output !== 'string') return;
      output.output += '\\n' + message;
      client.tui.showToast({ body: { message, variant: 'warning' } }).catch(() => {});
    },
    'experimental.session.compacting': async ({ sessionID }, output) => {
      await hook('pre-compact', directory, sessionID);
      briefs.delete(sessionID);
      compacted.add(sessionID);
      const { additionalContext: brief } = await hook('session-start', directory, sessionID, { source: 'compact' });
      if (brief) output.context.push(brief);
    },
  };
};
`;
}

/**
 * Returns the plugin that replaces long tool results in OpenCode by excerpts. OpenCode itself cuts a long
 * output and keeps the whole text in a file. If the program is missing, fails or is slow, the result stays as
 * it is.
 */
export function opencodeTeePlugin({ command, args }: Pick<Launcher, 'command' | 'args'>): string {
  return `// ${MARK} opencode --tee". "relay install opencode --no-tee" deletes this file.
import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';

const RELAY = ${JSON.stringify([command, ...args, 'tee'])};
const TIMEOUT_MS = 20_000;
const MIN_CHARS = 1_200;
const END_CHARS = 200;

// Returns what "relay tee" prints: the text if it is short, otherwise an excerpt.
function tee(words, text, file) {
  return new Promise((resolve) => {
    const { BUN_BE_BUN: _, ...env } = process.env;
    const [program, ...before] = RELAY;
    const o = { env, timeout: TIMEOUT_MS, shell: process.platform === 'win32' };
    const child = spawn(program, [...before, ...words], { ...o, stdio: ['pipe', 'pipe', 'ignore'] });
    const printed = [];
    child.stdout.on('data', (chunk) => printed.push(chunk));
    child.on('error', () => resolve(null));
    child.on('close', (code) => resolve(code === 0 ? Buffer.concat(printed).toString() : null));
    child.stdin.on('error', () => {});
    if (file) createReadStream(file).on('error', () => child.kill()).pipe(child.stdin);
    else child.stdin.end(text);
  }).catch(() => null);
}

// OpenCode may still be writing the file. The file is complete when it ends like the output that OpenCode
// shows.
async function isComplete(file, shown) {
  const end = Buffer.from(shown.trimEnd().slice(-END_CHARS));
  for (let tries = 0; tries < 40; tries++) {
    const opened = await open(file);
    const { size } = await opened.stat();
    const { buffer } = await opened.read({ position: Math.max(0, size - end.length - END_CHARS) });
    await opened.close();
    if (buffer.includes(end)) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

export const ContextRelayTee = async () => ({
  'tool.execute.after': async ({ tool, args }, output) => {
    try {
      const { metadata = {}, content } = output;
      if (Array.isArray(content)) {
        if (content.some((block) => block.type !== 'text')) return;
        const text = content.map((block) => block.text).join('\\n');
        if (text.length <= MIN_CHARS || tool.endsWith('pull_context')) return;
        const shown = await tee(['--name', 'mcp ' + tool], text);
        if (shown && shown.length < text.length) output.content = [{ type: 'text', text: shown }];
      } else if (tool === 'bash' && typeof output.output === 'string') {
        // Pulled text is not cut again.
        if (/\\brelay\\b.* pull\\b/.test(args?.command ?? '')) return;
        const file = existsSync(metadata.outputPath ?? '') ? metadata.outputPath : null;
        if (file ? !(await isComplete(file, output.output)) : output.output.length <= MIN_CHARS) return;
        const exit = Number.isInteger(metadata.exit) ? ['--exit', String(metadata.exit)] : [];
        const shown = await tee(['--name', String(args?.command ?? tool), ...exit], output.output, file);
        if (shown && (file || shown.length < output.output.length)) output.output = shown;
      }
    } catch {
      // Keep the result as it is.
    }
  },
});
`;
}
