import { isRelayError, RelayError } from '../../../base/errors.ts';
import { pushResult } from '../../../client/bridge/task-run.ts';
import type { Settlement, TaskResult } from '../../../contract/tasks.ts';
import { isCiphertext } from '../../../sdk/ciphertext.ts';
import { warnOfEncryption } from '../channels/encryption-words.ts';
import { answerCommand, type Command } from '../command.ts';
import type { OpenClient } from '../host.ts';
import type { Io } from '../io.ts';
import { textOrFile } from '../pointers/payload.ts';
import { taskArgument } from './task-words.ts';

export default settlementCommand('done');

/** `relay task done` and `relay task fail` differ in one word. */
export function settlementCommand(status: 'done' | 'failed'): Command {
  const word = status === 'done' ? 'done' : 'fail';
  const text = status === 'done' ? 'Tests pass; nothing is left' : 'The build does not start';
  return answerCommand({
    usage: '<id|url> [text|-]',
    details: `The text is what the sender gets; - reads it from standard input, --file from a file. It is brought once:
the same again is fine, another result is refused. The first line is the summary unless --summary says another.
With --encrypt there is no summary, and the sender needs the key of the done channel.`,
    takes: { min: 1, max: 2 },
    flags: {
      file: { short: 'f', value: 'FILE', help: 'the result is in this file' },
      summary: { short: 's', value: 'TEXT', help: 'one line for lists' },
      encrypt: { short: 'e', help: 'encrypt it; the sender needs the done channel’s key' },
    },
    examples: [
      [`relay task ${word} <id> "${text}"`, 'the result in words'],
      [`relay task ${word} <id> --file report.md --summary "see the report"`, 'a long one'],
    ],
    async ask({ io, args, flags, open }) {
      const id = await taskArgument(io, args[0]!);
      // Standard input only where it was asked for: an agent's shell may hold it open for ever.
      const data = await textOrFile(io, 'result', args[1], flags.file);
      const opened = await open();
      if (flags.encrypt) return bringEncrypted(io, opened, { id, status, data, summary: flags.summary });
      const result = await opened.relay.tasks[word](id, { data, summary: flags.summary });
      const sent = await (await opened.client()).inspect(id).catch(() => null);
      if (sent && isCiphertext(sent))
        io.warn('the task is encrypted and its result is not: --encrypt hides it.');
      return result;
    },
    print: (result, io) => (io.interactive ? `${result.status}: ${result.url}` : result.url),
  });
}

/** Encrypted here and brought as a push: the relay, which settles tasks otherwise, must not see it. */
async function bringEncrypted(
  io: Io,
  { relay, client: openClient }: OpenClient,
  { id, status, data, summary }: Settlement & { readonly id: string; readonly status: 'done' | 'failed' },
): Promise<TaskResult> {
  const { done_channel: doneChannel } = await relay.tasks.get(id);
  const about = summary === undefined ? {} : { summary };
  const client = await openClient();
  await warnOfEncryption(io, client, { metadata: about, channel: doneChannel });
  const text = data?.trim() ? data : (summary ?? status);
  const result = { id, status, doneChannel, encrypted: true, about };
  const url = await pushResult(client, text, result).catch((error) => {
    if (!isRelayError(error, 'idempotency_conflict')) throw error;
    const hint = `Read it: relay task show ${id}`;
    throw new RelayError('conflict', { what: 'This task already has a result.', hint });
  });
  return { ...(await relay.tasks.get(id)).result!, url };
}
