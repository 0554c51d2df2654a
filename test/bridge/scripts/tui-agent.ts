/**
 * Behaves like a coding agent in a terminal: it starts slowly and drops earlier input, repaints the whole screen,
 * collapses long pastes, and shows a spinner. Its answer is the SHA-256 of its input.
 * Environment variables change this behaviour:
 * - TUI_ASKS: it asks a person before it starts (`start`) or before it answers (`task`).
 * - TUI_FREEZES: it stops in the middle of its answer.
 * - TUI_DIES: it exits instead of answering.
 * - TUI_SILENT: it prints no answer.
 * - TUI_MUTE: it prints no result block.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** True if the agent delivers results with the command. Otherwise it prints them on the screen. */
const byCommand = process.env.TUI_DONE === 'command';
const dies = process.env.TUI_DIES === '1';
const mute = process.env.TUI_MUTE === '1';
const silent = process.env.TUI_SILENT === '1';
const asks = process.env.TUI_ASKS;
const freezes = process.env.TUI_FREEZES === '1';
const SPINNER = [...'⠋⠙⠹⠸⠼⠴⠦⠧'];
const out = process.stdout;

const transcript: string[] = [];
const pastes = new Map<string, string>();
let input = '';
let busy: string | null = null;
/** The open dialog: its question, and the callback that runs after the answer. */
let dialog: { question: string; answered: () => void } | null = null;
let frozen = false;
let pasteCount = 0;

function paint(): void {
  const width = out.columns;
  const height = out.rows;
  const inner = width - 6;
  const box: string[] = [];
  for (const line of input.split('\n')) {
    for (let at = 0; at === 0 || at < line.length; at += inner) box.push(line.slice(at, at + inner));
  }
  const visibleLines = box.slice(-8);
  const question = [
    '─'.repeat(width - 2),
    ` ${dialog?.question}`,
    ' Do you want to proceed?',
    ' ❯ 1. Yes',
    '   2. No',
    '',
    ' Esc to cancel',
  ];
  const inputBox = [
    busy === null ? '' : `${busy} Working… (3s · esc to interrupt)`,
    `╭${'─'.repeat(width - 2)}╮`,
    ...visibleLines.map((line, i) => `│ ${i === 0 ? '>' : ' '} ${line.padEnd(inner)} │`),
    `╰${'─'.repeat(width - 2)}╯`,
    '  ? for shortcuts',
  ];
  const bottom = dialog !== null ? question : frozen ? [] : inputBox;
  const wrapped = transcript.flatMap((line) => {
    const parts: string[] = [];
    for (let at = 0; at === 0 || at < line.length; at += width - 4)
      parts.push(line.slice(at, at + width - 4));
    return parts;
  });
  const top = wrapped.slice(-(height - bottom.length - 1));
  out.write(`\x1b[H\x1b[2J${[...top, ...bottom].join('\r\n')}`);
}

function say(text: string): void {
  for (const line of text.split('\n')) transcript.push(`  ${line}`);
}

function run(command: string, args: readonly string[]): Promise<string> {
  const [program, ...first] = command.split(' ') as [string, ...string[]];
  return new Promise((resolve, reject) => {
    execFile(program, [...first, ...args], { maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      error ? reject(new Error(stderr)) : resolve(stdout),
    );
  });
}

/** Displays a dialog until someone presses Enter. */
function ask(question: string): Promise<void> {
  return new Promise((resolve) => {
    dialog = {
      question,
      answered: () => {
        dialog = null;
        resolve();
      },
    };
    paint();
  });
}

async function work(prompt: string): Promise<void> {
  const pointer = /Read it with: (.+) pull "([^"]+)"/.exec(prompt);
  const task = pointer ? await run(pointer[1]!, ['pull', pointer[2]!]) : prompt.split('\n\n---\n')[0]!;
  const hash = createHash('sha256').update(task).digest('hex');
  if (dies) process.exit(1);
  await sleep(100);
  const id = / task done ([0-9a-f-]{36})/.exec(prompt)?.[1];
  if (silent) return;
  if (asks === 'task') await ask('Bash command: rm -r build');
  if (freezes) {
    say('half of the answer');
    frozen = true;
    return;
  }
  if (mute) return say(`hash ${hash}`);
  if (byCommand && pointer && id) {
    await run(pointer[1]!, ['task', 'done', id, `sha256 ${hash}`]);
    say('I have reported it.');
    return;
  }
  say('Here you are.');
  say(
    `=== CC_OUTCOME_START ===\nCOMPLETED: sha256 ${hash}\nNOT_DONE: nothing\nNOTES: none\n=== CC_OUTCOME_END ===`,
  );
}

async function submit(): Promise<void> {
  if (input.trim() === '' || busy !== null) return;
  const prompt = input.replace(/\[Pasted text #\d+ \+\d+ lines\]/g, (name) => pastes.get(name) ?? name);
  const [first, ...more] = input.split('\n');
  transcript.push(`> ${first}`, ...more.map((line) => `  ${line}`));
  input = '';
  let frame = 0;
  const spinning = setInterval(() => {
    if (dialog !== null) return;
    busy = SPINNER[frame++ % SPINNER.length]!;
    paint();
  }, 80);
  busy = SPINNER[0]!;
  paint();
  try {
    await work(prompt);
  } catch (error) {
    say(`Error: ${error instanceof Error ? error.message : error}`);
  }
  clearInterval(spinning);
  busy = null;
  paint();
}

let pending = '';
function key(data: string): void {
  pending += data;
  for (;;) {
    const begin = pending.indexOf('\x1b[200~');
    if (begin < 0) break;
    const end = pending.indexOf('\x1b[201~', begin);
    if (end < 0) return;
    typed(pending.slice(0, begin));
    pasted(pending.slice(begin + 6, end).replace(/\r\n?/g, '\n'));
    pending = pending.slice(end + 6);
  }
  typed(pending);
  pending = '';
  paint();
}

function pasted(text: string): void {
  if (dialog !== null) return;
  const lines = text.split('\n').length - 1;
  if (lines <= 2 && text.length <= 800) {
    input += text;
    return;
  }
  const name = `[Pasted text #${++pasteCount} +${lines} lines]`;
  pastes.set(name, text);
  input += name;
}

function typed(keys: string): void {
  for (const character of keys) {
    if (dialog !== null) {
      if (character === '\r') dialog.answered();
    } else if (character === '\r') void submit();
    else if (character === '\x03') process.exit(0);
    else if (character >= ' ') input += character;
  }
}

out.write('loading the agent');
process.stdin.setRawMode(true);
let ready = false;
process.stdin.on('data', (data) => {
  if (ready) key(data.toString('utf8'));
});
// Change the screen several times during the start, as real agents do.
for (let i = 0; i < 10; i++) {
  await sleep(80);
  out.write('.');
}
out.write('\x1b[?2004h');
ready = true;
transcript.push('Welcome to the scripted agent. Claude Code it is not.');
paint();
if (asks === 'start') void ask('Do you trust this folder?').then(paint);
