import { isRelayError, RelayError } from '../../../base/errors.ts';
import { isUuid } from '../../../base/ids.ts';
import { parsePointer } from '../../../contract/pointer-url.ts';
import { defineCommand, type Invocation } from '../command.ts';

export default defineCommand({
  usage: '[THREAD | POINTER | CHANNEL]',
  details: `Opens the dashboard of the server in a browser, at the page of a thread, a pointer or a channel where one is named. Where there
is no browser, the address is printed.`,
  flags: { print: { help: 'print the address and open nothing' } },
  takes: { max: 1 },
  examples: [
    ['relay open', 'the overview'],
    ['relay open 550e8400-e29b-41d4-a716-446655440000', 'a thread, a run of a pipeline, or a pointer'],
    ['relay open agent-tasks', 'a channel'],
    ['relay open --print', 'only the address'],
  ],
  async run(invocation) {
    const { io, host, flags, args } = invocation;
    const base = (host.remote ?? host.server.running()?.url)?.replace(/\/$/, '');
    if (base === undefined) {
      throw new RelayError('failed', {
        what: 'No server runs, so there is no page to open.',
        hint: 'Start one: relay up --detach',
      });
    }
    const url = base + (args[0] === undefined ? '/ui/' : await pageOf(invocation, args[0]));
    const opened = !flags.print && io.interactive && !io.json && (await host.openBrowser(url));
    io.result({ url, opened }, opened ? `opened ${url}` : url);
  },
});

/** A channel may have any name; what looks like an id or the address of a pointer is none. */
async function pageOf({ open }: Invocation, word: string): Promise<string> {
  const pointer = pointerIn(word);
  if (pointer === null) return `/ui/channels/${encodeURIComponent(word)}`;
  if (!isUuid(word)) return pointer;
  const client = await (await open()).client();
  try {
    await client.threads.get(word);
    return `/ui/threads/${word.toLowerCase()}`;
  } catch (error) {
    if (!isRelayError(error, 'not_found') && !isRelayError(error, 'forbidden')) throw error;
    return pointer;
  }
}

/** With its fragment: what decrypts it stays in the address, and no server gets to see it. */
function pointerIn(word: string): string | null {
  try {
    const { id, key } = parsePointer(word);
    return `/pull/${id}${key === null ? '' : `#key=${key}`}`;
  } catch {
    return null;
  }
}
