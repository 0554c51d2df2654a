import type { Json } from '../../../base/json.ts';
import { childAt, parsePath } from '../../../base/json.ts';
import type { ThreadEvent } from '../../../contract/threads.ts';
import { VERSION_EVENTS } from '../../../domain/threads/event.ts';
import { parseVersion } from '../../../domain/threads/state.ts';
import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { answerCommand, badUsage, refusal } from '../command.ts';
import { labelled, listFlags, parseMost, plural, printable, type Row, rows, when } from '../human.ts';
import type { Style } from '../io.ts';
import { describe, newestEvents, plain } from './event-line.ts';
import { jsonInput } from './payload.ts';
import { openThread, readCommand, THREAD_FLAG } from './thread-choice.ts';

const header = answerCommand({
  details: `At most 2 048 bytes and 500 tokens however large the state is; the same state gives the same bytes. The
newest facts, the constraints, what is open, what comes next, and refs to what is stored. Piped, reading it is
counted in relay stats.`,
  flags: THREAD_FLAG,
  examples: `
    relay state header --thread 550e84  # token-efficient
    claude -p "$(relay state header) Go on with the next step."  # in front of a prompt`,
  async ask(call) {
    const { threads, id } = await openThread(call);
    return threads.header(id, { counted: !call.io.interactive });
  },
  print: (header, io) => JSON.stringify(header, null, io.interactive ? 2 : undefined),
});

const get = readCommand('states', {
  usage: '[/path]',
  details: 'Always JSON. A path is a JSON Pointer (RFC 6901), the same as in a patch.',
  flags: {
    at: { value: 'v3', help: 'as it was at this version' },
    path: { value: '/PATH', help: 'one place: the same as /path by itself' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state get --thread 550e84  # all of it
    relay state get --at v3  # as it was at version 3
    relay state get /facts/0/value  # one place`,
  async ask({ threads, id }, call) {
    const state = await threads.state(id, { at: call.flags.at, counted: false });
    const path = call.flags.path ?? call.args[0];
    return path === undefined ? state : placeOf(state as unknown as Json, path);
  },
  print: (found, io) => JSON.stringify(found, null, io.interactive ? 2 : undefined),
});

function placeOf(state: Json, pointer: string): Json {
  const path = parsePath(pointer);
  if (path === null)
    throw badUsage(`"${pointer}" is not a JSON Pointer.`, 'It begins with a slash: relay state get /facts/0');
  let at: Json | undefined = state;
  for (const segment of path) at = at === undefined ? undefined : childAt(at, segment);
  if (at !== undefined) return at;
  throw refusal('not_found', `${pointer} of the state`, 'relay state get shows what there is.');
}

const patch = answerCommand({
  usage: '[file|-]',
  details: `The patch is a JSON array of operations (RFC 6902), in --json '…', in a file, or with - on standard input. A
version comes of it; what is refused changes nothing. Without --if-match, patches of several agents all get in, in some
order; with it, one that was made for an older version is refused and told the current one.

  facts           {"id", "key", "value"}
  constraints     {"id", "description", "severity"?}
  open_questions  {"id", "question", "status"?}
  decisions       {"id", "description", "reason_codes"?, "evidence_refs"?,
                   "confidence"?}
  plan            {"id", "step", "status"?}
  last_actions    {"description", "result_ref"?}

Here --json is for the patch; --output json asks for an answer in JSON.`,
  flags: {
    json: { value: 'PATCH', help: 'the operations; - reads them from standard input' },
    'if-match': { value: 'v7', help: 'refuse where the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state patch --json '[{"op":"add","path":"/facts/-","value":{"id":"f1","key":"db","value":"SQLite"}}]'  # add a fact
    relay state patch --if-match v7 --json '[{"op":"replace","path":"/plan/0/status","value":"done"}]'  # only if nothing has changed since v7
    relay state patch patch.json --thread 550e84  # from a file`,
  async ask(call) {
    const { io, args, flags } = call;
    const ops = await jsonInput(io, 'state patch', { flag: flags.json, file: args[0] });
    if (ops === undefined)
      throw badUsage(
        'There is no patch.',
        "Use: relay state patch --json '[…]', or a file, or - for standard input.",
      );
    const { threads, id } = await openThread(call, { use: true });
    // The domain says what is wrong with which operation.
    return threads.patch(id, { ops: ops as unknown as PatchOp[], if_match: flags['if-match'] });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});

const diff = answerCommand({
  usage: '[<from> [<to>]]',
  details: `Without versions, what the newest one changed; with one, everything since it. With --json it is a JSON Patch
that leads from the one to the other, which can be sent; version, time and metrics are left out of it.`,
  flags: { at: { value: 'v3', help: 'what this version changed' }, ...THREAD_FLAG },
  examples: `
    relay state diff  # the newest change
    relay state diff v3  # all since version 3
    relay state diff v3 v7 --thread 550e84  # between two versions
    relay state diff v9 v8 --json | jq .ops | relay state patch -  # take a change back, as a new version`,
  async ask(call) {
    const { args, flags } = call;
    if (flags.at !== undefined && args.length > 0)
      throw badUsage(
        '--at is about one version, and does not go with others.',
        `Use: relay state diff ${args.join(' ')}, or: relay state diff --at ${flags.at}`,
      );
    const { threads, id } = await openThread(call);
    if (args.length > 0) return threads.diff(id, { from: args[0]!, to: args[1] });
    const version = flags.at === undefined ? (await threads.get(id)).state_version : parseVersion(flags.at);
    // From the version before. The first one began with nothing.
    return threads.diff(id, { from: `v${Math.max(1, version - 1)}`, to: `v${version}` });
  },
  print(diff, { interactive, style }) {
    const lines = diff.ops.map((op) => opLine(op, style));
    if (!interactive) return lines.join('\n');
    return [style.dim(`${diff.from} → ${diff.to}`), ...(lines.length === 0 ? ['no difference'] : lines)].join(
      '\n',
    );
  },
});

function opLine(op: PatchOp, style: Style): string {
  const paint = { add: style.green, remove: style.red }[op.op as string] ?? style.yellow;
  const value = 'value' in op ? ` ${printable(JSON.stringify(op.value))}` : '';
  const from = 'from' in op ? ` from ${printable(String(op.from))}` : '';
  return `${paint(op.op)} ${printable(op.path)}${from}${value}`;
}

const revert = answerCommand({
  details: `Makes a version that equals the one you name. Nothing is lost: the versions between them stay, can be read and
compared, and can be gone back to in the same way.`,
  flags: {
    to: { value: 'v3', help: 'the version to go back to' },
    'if-match': { value: 'v7', help: 'refuse where the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state revert --to v3  # the state as it was at version 3
    relay state diff v3  # what that would undo, before you do it`,
  async ask(call) {
    const { to, 'if-match': if_match } = call.flags;
    if (to === undefined)
      throw badUsage(
        'There is no version to go back to.',
        'Use: relay state revert --to v3. See what there is: relay state log',
      );
    const { threads, id } = await openThread(call, { use: true });
    return threads.revert(id, { to, if_match });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});

const log = answerCommand({
  details:
    'Each with when, by whom and what. relay state diff --at v3 shows one of them, relay state get --at v3 all.',
  flags: {
    at: { value: 'v3', help: 'from this version backwards' },
    ...listFlags(20),
    ...THREAD_FLAG,
  },
  examples: `
    relay state log  # the newest 20
    relay state log --at v3 --thread 550e84  # how it came to version 3
    relay state log --all --json  # every version with its operations`,
  async ask(call) {
    const most = parseMost(call.flags, 20);
    const newest = call.flags.at === undefined ? Number.POSITIVE_INFINITY : parseVersion(call.flags.at);
    const { threads, id } = await openThread(call);
    const wanted = ({ type, payload }: ThreadEvent) =>
      VERSION_EVENTS.has(type) &&
      typeof payload.version === 'number' &&
      payload.version <= newest &&
      // One that lost a race in a Go relay names the version of another, and the number of its operations.
      typeof payload.ops !== 'number';
    const events = (await newestEvents(threads, id, { most, wanted })).reverse();
    return { versions: events.map((event) => ({ state_ref: `v${event.payload.version}`, ...event })) };
  },
  print({ versions }, io) {
    const entries = versions.map((version): Row => {
      const { state_ref, timestamp, payload } = version;
      const by = typeof payload.by === 'string' ? plain(payload.by) : '';
      return [
        state_ref,
        `${io.style.dim(`${when(io, timestamp)}  ${by}`)}  ${whatItDid(version, state_ref)}`,
      ];
    });
    return rows(io.style.cyan, entries);
  },
});

/** The version stands in front already. */
function whatItDid(event: ThreadEvent, stateRef: string): string {
  const told = describe(event).replace(new RegExp(`^${stateRef}(?: · |$)`), '');
  const verb: { [type: string]: string } = {
    'thread.created': 'began',
    'artifact.created': 'artifact',
    'checkpoint.created': 'compacted',
  };
  return [verb[event.type] ?? '', told].filter((part) => part !== '').join(' ');
}

const compact = answerCommand({
  details: `Repeated actions are put together; of actions and artifact refs the newest stay, and whatever is still
referred to. It makes a version, and every earlier one can still be read. A long session does this by itself.`,
  flags: THREAD_FLAG,
  examples: 'relay state compact --thread 550e84  # says what was left out',
  async ask(call) {
    const { threads, id } = await openThread(call, { use: true });
    return threads.compact(id);
  },
  print: ({ state_ref, dropped }, io) =>
    labelled(io, 'state_ref', state_ref, [
      `${plural(dropped.actions, 'action')} and ${plural(dropped.artifacts, 'artifact ref')} left out`,
    ]),
});

export const commands = { header, get, patch, diff, revert, log, compact };
