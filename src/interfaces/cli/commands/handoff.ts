import { BRIEF_TOKENS } from '../../../base/limits.ts';
import { boundedBrief, LEAST_TOKENS } from '../../../client/projects/brief.ts';
import { startCommand, transferDraft } from '../../../client/projects/transfer.ts';
import { draftAsTyped } from '../as-typed.ts';
import { defineCommand } from '../command.ts';
import { parseCount } from '../human.ts';
import { needText, PROJECT_FLAGS, theProject } from './project-call.ts';
import { findThread } from './thread-choice.ts';

const handoff = defineCommand({
  usage: '--to AGENT',
  details: `The brief contains the task, what is done and what is next, constraints, relevant decisions, changed files with their lines or
hunks, open todos, commands and layout. Changed files about the task come first. Each part names its source. Secrets are masked and
reported. No model is called. With --push it stores the brief and prints a pointer, and the command that starts the agent (for an
unknown agent: a prompt). To give a sub-agent a task and get its result back, use relay project handoff.`,
  flags: {
    to: { value: 'AGENT', help: 'the next agent: claude, codex, gemini or any name' },
    ask: { value: 'TEXT', help: 'what the next agent should do (the current task)' },
    context: { multiple: true, value: 'URL|FILE', help: 'what it should read' },
    thread: {
      value: 'ID',
      help: 'include the header of this thread: thread id, its first characters, or name',
    },
    'max-tokens': { value: 'N', help: `maximum length of the brief in tokens (${BRIEF_TOKENS})` },
    push: { help: 'store the brief and print a pointer to it' },
    channel: { value: 'NAME', help: 'with --push: announce the pointer on this channel' },
    ...PROJECT_FLAGS,
  },
  examples: `
    relay handoff --to codex  # print the brief
    relay handoff --to gemini --ask "finish the parser" --push  # print a pointer and a command that starts the agent`,
  async run(call) {
    const { io, host, flags } = call;
    const to = needText('--to', flags.to);
    const max = parseCount(flags['max-tokens'], '--max-tokens', { min: LEAST_TOKENS }) ?? BRIEF_TOKENS;
    const project = await theProject(call);
    await project.needContext(flags.context ?? []);
    const view = await project.read();
    const threads = flags.thread === undefined ? null : (await call.open()).relay.threads;
    const draft = await transferDraft(project, view, {
      to,
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
    const start = startCommand(to, prompt);
    io.result(
      { to, url, tokens, omitted: brief.omitted, warnings: brief.warnings, prompt, start },
      [url, '', start ?? prompt].join('\n'),
    );
  },
});

export const commands = { handoff };
