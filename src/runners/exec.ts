import { TASK_OUTPUT_BYTES } from '../base/limits.ts';
import type { ExecOptions, Job, Runner } from '../client/bridge/runner.ts';
import { promptFile, runSupervised, Tail, whyEnded } from './processes.ts';

/** Maximum number of bytes of stderr that are kept to explain a failure. */
const STDERR_BYTES = 8 * 1024;

/**
 * Runs a command for each task. It gets the prompt on standard input and prints the answer to standard
 * output. When the bridge ends, the command and all processes that it started end too.
 */
export function execRunner(o: ExecOptions): Runner {
  return {
    kind: 'exec',
    target: o.command,
    async run(job) {
      await using file = promptFile();
      let command = o.command.replaceAll('{url}', quoted(job.url));
      // The prompt is always sent to standard input. Write it to a file too if the command names `{file}`.
      if (command.includes('{file}'))
        command = command.replaceAll('{file}', quoted(await file.write(job.prompt)));
      const [out, err] = [new Tail(TASK_OUTPUT_BYTES), new Tail(STDERR_BYTES)];
      const { code, signal } = await runSupervised(
        { command, input: job.prompt },
        {
          cwd: o.cwd,
          env: { ...(o.env ?? process.env), ...taskEnv(job) },
          signal: job.signal,
          graceful: true,
          onOutput: (chunk) => out.add(chunk),
          onComplaint: (chunk) => err.add(chunk),
        },
      );
      if (code === 0) return { output: out.text(), binary: out.binary() ?? undefined };
      return { output: out.text(), failed: whyEnded('command', code, signal, err.text()) };
    },
    close: async () => {},
  };
}

/**
 * Returns the environment variables of a task. For a task that did not come over A2A, the variables about the
 * A2A message are undefined. This removes inherited variables, in case the bridge itself runs for an A2A
 * task.
 */
function taskEnv({ id, url, message }: Job): { readonly [name: string]: string | undefined } {
  return {
    RELAY_TASK_ID: id,
    RELAY_TASK_URL: url,
    RELAY_A2A_MESSAGE_ID: message?.id,
    RELAY_A2A_TASK_ID: message?.taskId,
    RELAY_A2A_CONTEXT_ID: message?.contextId,
    RELAY_A2A_MESSAGE: message && JSON.stringify(message.json),
  };
}

/** Quotes a word for the shell. */
function quoted(word: string): string {
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}
