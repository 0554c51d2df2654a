import { PROMPT_WAYS } from '../../../client/prompts/types.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import { rows, unpainted } from '../human.ts';
import { PROMPT_FLAGS, promptWords, runWrapped, withBundle } from './prompt.ts';

const run = defineCommand({
  usage: '--cli PROGRAM ["WORDS" | -] [-- ARGS…]',
  details: `What the program says on stdout goes through untouched and is kept as an artifact; its stderr stays apart,
and its exit code is the one of this command. claude, codex, gemini, opencode, aider and sgpt are known by name; others get
the prompt on stdin, or where {prompt} or {file} stands among ARGS. Without words the program gets the terminal, and nothing
that is said there is kept.`,
  flags: {
    cli: { value: 'PROGRAM', help: 'which program: a name or a path' },
    ...PROMPT_FLAGS,
    'prompt-by': { value: 'stdin|argument|file', help: 'how the prompt gets in' },
  },
  takes: { max: 1 },
  takesRest: true,
  examples: `
    relay wrap run --cli claude "fix the tests"  # Claude Code, with the memory of a new thread
    relay wrap run --cli codex "and now the docs" -- --model o4  # options of its own behind --
    relay wrap run --cli ./bot "hello" -- --ask {prompt}  # a program nobody knows, by a template`,
  async run({ io, host, flags, args, rest }) {
    const { cli } = flags;
    if (!cli)
      throw badUsage(
        'relay wrap run needs a program.',
        'Name it with --cli; relay wrap list shows those that are known.',
      );
    const promptBy = PROMPT_WAYS.find((way) => way === flags['prompt-by']);
    if (flags['prompt-by'] !== undefined && !promptBy)
      throw badUsage(`--prompt-by takes ${PROMPT_WAYS.join(', ')}.`, 'For example: --prompt-by stdin');
    await using work = await host.agents.openWork(io.cwd);
    if (args.length > 0) {
      const words = await promptWords(io, args);
      return await withBundle({ io, host, flags }, work, words, (bundle) =>
        runWrapped(io, work, bundle, { cli, args: rest, promptBy }),
      );
    }
    if (!io.stdin.isTTY || !work.programs.converses(cli))
      throw badUsage(
        'There is nothing to ask: no words were given.',
        `Use: relay wrap run --cli ${cli} "WORDS", or - to read them from stdin.`,
      );
    const { thread } = flags;
    const { code } = await work.programs.run({ cli, args: rest, prompt: null, terminal: true, thread });
    return code;
  },
});

const list = answerCommand({
  examples: 'relay wrap list  # what --cli can name without more ado',
  async ask({ io, host }) {
    await using work = await host.agents.openWork(io.cwd);
    return { programs: work.programs.known() };
  },
  print({ programs }, { style }) {
    const here = (installed: boolean) => (installed ? '' : style.dim(', not here'));
    return rows(
      unpainted,
      programs.map(({ name, about, installed }) => [name, `${about}${here(installed)}`]),
    );
  },
});

export const commands = { run, list };
