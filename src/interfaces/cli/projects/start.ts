import { BRIEF_TOKENS } from '../../../base/limits.ts';
import { boundedBrief, LEAST_TOKENS } from '../../../client/projects/brief.ts';
import { coldStart } from '../../../client/projects/cold-start.ts';
import { draftAsTyped } from '../as-typed.ts';
import { parseCount } from '../human.ts';
import { projectCommand } from './project-call.ts';

export default projectCommand({
  details: `For a new session, a sub-agent, a cron or a heartbeat run: reads PROJECT.md, state.json, todos.json and the decisions that
matter, checks them, and prints one page with the source and the age of each part, and what was committed since.`,
  flags: {
    for: { value: 'TASK', help: 'what it is for, or a hand-off such as HANDOFF-002' },
    'max-tokens': { value: 'N', help: `the most it may cost a model (${BRIEF_TOKENS})` },
  },
  examples: [
    ['relay project start', 'the brief, for a prompt'],
    ['relay project start --for "the login form"', 'with the decisions and todos about that first'],
    ['relay project start --for HANDOFF-002', 'for the sub-agent that was given this task'],
    ['relay project start --json', 'for a program'],
  ],
  async ask(project, { io, host, flags }) {
    const max = parseCount(flags['max-tokens'], '--max-tokens', { min: LEAST_TOKENS }) ?? BRIEF_TOKENS;
    const { draft, now } = await coldStart(project, flags.for ?? null);
    const brief = await boundedBrief(draftAsTyped(draft, io.typed), max, now, host.countTokens);
    return {
      folder: project.files.folder,
      tokens: { ...brief.tokens, tokenizer: 'o200k_base' },
      omitted: brief.omitted,
      warnings: brief.warnings,
      parts: brief.parts.map(({ title, source, at, lines }) => ({
        title,
        source,
        at: at === null ? null : new Date(at).toISOString(),
        age_seconds: at === null ? null : Math.round((now - at) / 1000),
        lines: lines.map(({ text }) => text),
      })),
      text: brief.text,
    };
  },
  print: ({ text }) => text,
});
