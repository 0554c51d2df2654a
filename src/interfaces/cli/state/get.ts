import { RelayError } from '../../../base/errors.ts';
import type { Json } from '../../../base/json.ts';
import { childAt, parsePath } from '../../../base/json-pointer.ts';
import { badUsage } from '../command.ts';
import { THREAD_FLAG } from '../threads/thread-choice.ts';
import { readCommand } from '../threads/thread-read.ts';

export default readCommand('states', {
  usage: '[/path]',
  details: 'Always JSON. A path is a JSON Pointer (RFC 6901), the same as in a patch.',
  flags: {
    at: { value: 'v3', help: 'as it was at this version' },
    path: { value: '/PATH', help: 'one place: the same as /path by itself' },
    ...THREAD_FLAG,
  },
  examples: [
    ['relay state get --thread 550e84', 'all of it'],
    ['relay state get --at v3', 'as it was at version 3'],
    ['relay state get /facts/0/value', 'one place'],
  ],
  async ask({ threads, id }, call) {
    const state = await threads.state(id, { at: call.flags.at, counted: false });
    const path = call.flags.path ?? call.args[0];
    return path === undefined ? state : placeOf(state as unknown as Json, path);
  },
  print: (found, io) => JSON.stringify(found, null, io.interactive ? 2 : undefined),
});

function placeOf(state: Json, pointer: string): Json {
  const path = parsePath(pointer);
  if (path === null) {
    throw badUsage(`"${pointer}" is not a JSON Pointer.`, 'It begins with a slash: relay state get /facts/0');
  }
  let at: Json | undefined = state;
  for (const segment of path) at = at === undefined ? undefined : childAt(at, segment);
  if (at !== undefined) return at;
  throw new RelayError('not_found', {
    what: `${pointer} of the state`,
    hint: 'relay state get shows what there is.',
  });
}
