import { once } from 'node:events';
import { TASK_OUTPUT_BYTES } from '../../base/limits.ts';
import type { Job, Ran, Runner } from '../../client/bridge/runner.ts';
import type { ExecOptions } from '../../client/bridge/runners.ts';
import { endWhenAborted, leashedShell, signalGroup, whyEnded } from '../leashed-shell.ts';
import { promptFile } from '../prompt-file.ts';
import { Tail } from '../tail.ts';

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
      return await runCommand({ ...o, command }, job);
    },
    close: async () => {},
  };
}

async function runCommand({ command, cwd, env }: ExecOptions, job: Job): Promise<Ran> {
  const child = leashedShell(command, {
    cwd,
    env: { ...(env ?? process.env), RELAY_TASK_ID: job.id, RELAY_TASK_URL: job.url, ...messageEnv(job) },
  });
  const out = new Tail(TASK_OUTPUT_BYTES);
  const err = new Tail(STDERR_BYTES);
  child.stdout.on('data', (chunk: Buffer) => out.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.add(chunk));
  // A command that does not read its input is free not to.
  child.stdin.on('error', () => {});
  child.stdin.end(job.prompt);
  using _ = endWhenAborted(job.signal, (force) => signalGroup(child, force ? 'SIGKILL' : 'SIGTERM'));
  try {
    const [code, endedBy] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    const failed = code === 0 ? {} : { failed: whyEnded('command', code, endedBy, err.text()) };
    return { output: out.text(), ...failed };
  } catch (error) {
    return { output: '', failed: `The command could not be started: ${(error as Error).message}` };
  }
}

/** Of a task that came over A2A; of another there is none, also where the bridge itself was started for one. */
function messageEnv({ message }: Job): { readonly [name: string]: string | undefined } {
  return {
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
