import { PROMPT_WAYS } from '../../../client/prompts/types.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import { rows, unpainted } from '../human.ts';
import { PROMPT_FLAGS, promptWords, runWrapped, withBundle } from './prompt.ts';

const run = defineCommand({
  usage: '--cli PROGRAM ["PROMPT" | -] [-- ARGS…]',
  details: `Prints the standard output of the program unchanged and stores it as an artifact. Standard error is passed through
and not stored. The exit code is the exit code of the program. For claude, codex, gemini, opencode, aider and sgpt the way
to pass the prompt is built in. Other programs get the prompt on standard input. In ARGS, {prompt} is replaced by the
prompt and {file} by the path of a file that contains it. Without
a prompt the program runs interactively in the terminal and nothing is stored.`,
  flags: {
    cli: { value: 'PROGRAM', help: 'name or path of the program' },
    ...PROMPT_FLAGS,
    'prompt-by': { value: 'stdin|argument|file', help: 'how to pass the prompt' },
  },
  takes: { max: 1 },
  takesRest: true,
  examples: `
    relay wrap run --cli claude "fix the tests"  # run Claude Code with a prompt
    relay wrap run --cli codex "and now the docs" -- --model o4  # pass options to the program
    relay wrap run --cli ./bot "hello" -- --ask {prompt}  # run any program with a template`,
  async run({ io, host, flags, args, rest }) {
    const { cli } = flags;
    if (!cli)
      throw badUsage(
        'relay wrap run needs a program.',
        'Name it with --cli. relay wrap list shows the supported programs.',
      );
    const promptBy = PROMPT_WAYS.find((way) => way === flags['prompt-by']);
    if (flags['prompt-by'] !== undefined && !promptBy)
      throw badUsage(
        `--prompt-by must be one of: ${PROMPT_WAYS.join(', ')}.`,
        'For example: --prompt-by stdin',
      );
    await using work = await host.agents.openWork(io.cwd);
    if (args.length > 0) {
      const promptText = await promptWords(io, args);
      return await withBundle({ io, host, flags }, work, promptText, (bundle) =>
        runWrapped(io, work, bundle, { cli, args: rest, promptBy }),
      );
    }
    if (!io.stdin.isTTY || !work.programs.converses(cli))
      throw badUsage(
        'The prompt is missing.',
        `Use: relay wrap run --cli ${cli} "PROMPT", or - to read it from standard input.`,
      );
    const { thread } = flags;
    const { code } = await work.programs.run({ cli, args: rest, prompt: null, terminal: true, thread });
    return code;
  },
});

const list = answerCommand({
  examples: 'relay wrap list  # list the programs that --cli supports by name',
  async ask({ io, host }) {
    await using work = await host.agents.openWork(io.cwd);
    return { programs: work.programs.known() };
  },
  print({ programs }, { style }) {
    const missing = (installed: boolean) => (installed ? '' : style.dim(', not installed'));
    return rows(
      unpainted,
      programs.map(({ name, about, installed }) => [name, `${about}${missing(installed)}`]),
    );
  },
});

export const commands = { run, list };
