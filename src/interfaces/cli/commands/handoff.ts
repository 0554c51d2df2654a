import { BRIEF_TOKENS } from '../../../base/limits.ts';
import { boundedBrief, LEAST_TOKENS } from '../../../client/projects/brief.ts';
import { transferDraft } from '../../../client/projects/transfer.ts';
import { draftAsTyped } from '../as-typed.ts';
import { defineCommand } from '../command.ts';
import { parseCount } from '../human.ts';
import { needText, PROJECT_FLAGS, theProject } from './project-call.ts';
import { findThread } from './thread-choice.ts';

/** How each client is started with a first prompt. */
const STARTS = new Map([
  ['claude', 'claude'],
  ['codex', 'codex'],
  ['gemini', 'gemini -i'],
  ['opencode', 'opencode --prompt'],
  ['cursor', 'cursor-agent'],
]);

const handoff = defineCommand({
  details: `The ask and the folder, constraints, the decisions that matter, files in flight with a summary of the diff, open todos and what to
read, each line with the place it comes from. Secrets are masked, and you are told where. No model is asked. With --push the brief becomes a pointer, and the line to give is printed.`,
  flags: {
    to: { value: 'AGENT', help: 'claude, codex, gemini or any other name' },
    ask: { value: 'TEXT', help: 'what the next agent should do (the current task by default)' },
    context: { multiple: true, value: 'URL|FILE', help: 'what it should read; may be repeated' },
    thread: { value: 'ID', help: 'a thread whose header goes with it; the beginning of its id will do' },
    'max-tokens': { value: 'N', help: `the most it may cost a model (${BRIEF_TOKENS})` },
    push: { help: 'store the brief and print a pointer to it' },
    channel: { value: 'NAME', help: 'with --push: announce it there' },
    ...PROJECT_FLAGS,
  },
  examples: `
    relay handoff --to codex  # print the brief
    relay handoff --to gemini --ask "finish the parser" --push  # print the line to start the other agent with`,
  async run(call) {
    const { io, host, flags } = call;
    const to = needText('--to', flags.to);
    const max = parseCount(flags['max-tokens'], '--max-tokens', { min: LEAST_TOKENS }) ?? BRIEF_TOKENS;
    const project = await theProject(call);
    await project.needContext(flags.context ?? []);
    const view = await project.read();
    const threads = flags.thread === undefined ? null : (await call.open()).relay.threads;
    const draft = await transferDraft(view, project.git, {
      to,
      folder: project.files.folder,
      ask: flags.ask ?? null,
      pointers: flags.context ?? [],
      thread: threads && (await threads.header(await findThread(threads, flags.thread!))),
    });
    const brief = await boundedBrief(draftAsTyped(draft, io.typed), max, view.now, host.program.countTokens);
    const tokens = { ...brief.tokens, tokenizer: 'o200k_base' };
    for (const warning of brief.warnings) io.warn(warning);
    if (!flags.push) {
      const { omitted, warnings, text } = brief;
      return io.result({ to, tokens, omitted, warnings, text }, text);
    }
    const client = await (await call.open()).client();
    const metadata = { summary: draft.title, to, from: 'relay handoff' };
    const url = await client.push(brief.text, { metadata, channel: flags.channel || undefined });
    const relay = io.program('anywhere');
    const prompt = `Take over the work described in ${url} (read it with: ${relay} pull ${url}).`;
    const start = STARTS.has(to) ? `${STARTS.get(to)} "${prompt}"` : null;
    io.result(
      { to, url, tokens, omitted: brief.omitted, warnings: brief.warnings, prompt, start },
      [url, '', start ?? prompt].join('\n'),
    );
  },
});

export const commands = { handoff };
