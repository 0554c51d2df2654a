import { TASK_OUTPUT_BYTES } from '../base/limits.ts';
import type { ExecOptions, Job, Runner } from '../client/bridge/runner.ts';
import { promptFile, runSupervised, Tail, whyEnded } from './processes.ts';

/** Of what went to standard error, for whoever asks why it failed. */
const STDERR_BYTES = 8 * 1024;

/**
 * A command for each task: the prompt on standard input, the answer on standard output. It ends with the bridge, with all
 * that it has started.
 */
export function execRunner(o: ExecOptions): Runner {
  return {
    kind: 'exec',
    target: o.command,
    async run(job) {
      await using file = promptFile();
      let command = o.command.replaceAll('{url}', quoted(job.url));
      // For programs that read no standard input.
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
      const failed = code === 0 ? {} : { failed: whyEnded('command', code, signal, err.text()) };
      return { output: out.text(), ...failed };
    },
    close: async () => {},
  };
}

/** The message variables are unset for a task that did not come over A2A, also where the bridge itself runs for one that did. */
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

/** For the shell, as one word. */
function quoted(word: string): string {
  return process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`;
}
