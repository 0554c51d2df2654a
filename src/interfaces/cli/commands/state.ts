import type { Json } from '../../../base/json.ts';
import { childAt, parsePath } from '../../../base/json.ts';
import { HEADER_BYTES, VIEW_TOKENS, VIEW_TOKENS_MAX, VIEW_TOKENS_MIN } from '../../../base/limits.ts';
import type { Header, ThreadEvent } from '../../../contract/threads.ts';
import { VERSION_EVENTS } from '../../../domain/threads/event.ts';
import { parseVersion } from '../../../domain/threads/state.ts';
import { type StateView, stateView } from '../../../domain/threads/state-view.ts';
import type { PatchOp } from '../../../formats/json-patch/apply.ts';
import { answerCommand, badUsage, refusal } from '../command.ts';
import {
  bytes,
  labelled,
  listFlags,
  parseCount,
  parseMost,
  plural,
  printable,
  printableLine,
  type Row,
  rows,
  when,
} from '../human.ts';
import type { Style } from '../io.ts';
import { jsonInput } from '../payload.ts';
import { openThread, readCommand, THREAD_FLAG } from '../thread-choice.ts';
import { describe, newestEvents } from '../thread-events.ts';

const header = readCommand('headers', {
  details: `At a terminal, or with --text or --tokens, it prints the text for a prompt: constraints, steps, questions, decisions,
facts and artifacts, most important first, in at most ${VIEW_TOKENS} tokens. The last line counts the items that are left out. In a
pipe without these options it prints JSON of at most ${bytes(HEADER_BYTES)}. Tokens that this command prints in a pipe are counted in relay stats.`,
  flags: {
    text: { help: 'print text for a prompt (the default at a terminal)' },
    tokens: { value: 'N', help: `print at most N tokens (${VIEW_TOKENS})` },
    ...THREAD_FLAG,
  },
  examples: `
    relay state header --thread 550e84  # print the state of a thread in short
    claude -p "$(relay state header --text) Go on with the next step."  # put the state in a prompt
    relay state header --text --tokens 2000  # show more of a long state`,
  async ask({ threads, id }, { io, host, flags }): Promise<Header | StateView> {
    const asText = flags.text || flags.tokens !== undefined || (io.interactive && !io.json);
    if (!asText) return threads.header(id, { counted: false });
    const tokens = parseCount(flags.tokens, '--tokens', { min: VIEW_TOKENS_MIN, max: VIEW_TOKENS_MAX });
    const state = await threads.state(id, { counted: false });
    return stateView(
      state,
      { count: (text) => host.program.countTokens(text) },
      {
        tokens,
        more: (lists) =>
          `Print them with: ${lists.map((list) => `relay state get /${list} -t ${id}`).join('; ')}`,
      },
    );
  },
  print: (answer, io) => {
    if (!('text' in answer)) return JSON.stringify(answer, null, io.interactive ? 2 : undefined);
    if (!io.interactive) return answer.text;
    return answer.text === '' ? io.style.dim('the state is empty') : printable(answer.text);
  },
});

const get = readCommand('states', {
  usage: '[/path]',
  details: 'Always prints JSON. The path is a JSON Pointer (RFC 6901), as in a patch.',
  flags: {
    at: { value: 'v3', help: 'read this version (the latest)' },
    path: { value: '/PATH', help: 'print only this value; same as the argument /path' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state get --thread 550e84  # print the whole state
    relay state get --at v3  # print version 3
    relay state get /facts/0/value  # print one value`,
  async ask({ threads, id }, call) {
    const state = await threads.state(id, { at: call.flags.at, counted: false });
    const path = call.flags.path ?? call.args[0];
    return path === undefined ? state : valueAt(state as unknown as Json, path);
  },
  print: (found, io) => JSON.stringify(found, null, io.interactive ? 2 : undefined),
});

function valueAt(state: Json, pointer: string): Json {
  const path = parsePath(pointer);
  if (path === null)
    throw badUsage(
      `"${pointer}" is not a JSON Pointer.`,
      'A JSON Pointer starts with a slash: relay state get /facts/0',
    );
  let at: Json | undefined = state;
  for (const segment of path) at = at === undefined ? undefined : childAt(at, segment);
  if (at !== undefined) return at;
  throw refusal('not_found', `${pointer} of the state`, 'Print the whole state with: relay state get');
}

const patch = answerCommand({
  usage: '[file|-]',
  details: `Applies a JSON Patch (RFC 6902) and creates a new version. The whole patch is applied or none of it. Pass it
with --json, as a file, or on standard input (-). With --if-match v7 the patch is rejected if the state is no longer at
v7.

Lists of the state, and the fields of their entries (? = optional):

  facts           {"id", "key", "value"}
  constraints     {"id", "description", "severity"?}
  open_questions  {"id", "question", "status"?}
  decisions       {"id", "description", "reason_codes"?, "evidence_refs"?,
                   "confidence"?}
  plan            {"id", "step", "status"?}
  last_actions    {"description", "result_ref"?}

In this command --json passes the patch. Use --output json for JSON output.`,
  flags: {
    json: { value: 'PATCH', help: 'the patch, or - for standard input' },
    'if-match': { value: 'v7', help: 'reject the patch if the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state patch --json '[{"op":"add","path":"/facts/-","value":{"id":"f1","key":"db","value":"SQLite"}}]'  # add a fact
    relay state patch --if-match v7 --json '[{"op":"replace","path":"/plan/0/status","value":"done"}]'  # only if the state is still at v7
    relay state patch patch.json --thread 550e84  # read the patch from a file`,
  async ask(call) {
    const { io, args, flags } = call;
    const ops = await jsonInput(io, 'state patch', { flag: flags.json, file: args[0] });
    if (ops === undefined)
      throw badUsage(
        'The patch is missing.',
        "Use: relay state patch --json '[…]', or name a file, or - for standard input.",
      );
    const { threads, id } = await openThread(call, { use: true });
    // The domain checks the operations. Its error names the invalid one.
    return threads.patch(id, { ops: ops as unknown as PatchOp[], if_match: flags['if-match'] });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});

const diff = answerCommand({
  usage: '[<from> [<to>]]',
  details: `Without versions it shows the latest change. With one version it shows all changes since then. With --json the
output contains a JSON Patch from the first version to the second, which relay state patch accepts. The fields
for version number, time and metrics are ignored.`,
  flags: { at: { value: 'v3', help: 'show the changes of this version' }, ...THREAD_FLAG },
  examples: `
    relay state diff  # show the latest change
    relay state diff v3  # show all changes since version 3
    relay state diff v3 v7 --thread 550e84  # compare two versions
    relay state diff v9 v8 --json | jq .ops | relay state patch -  # undo version 9 in a new version`,
  async ask(call) {
    const { args, flags } = call;
    if (flags.at !== undefined && args.length > 0)
      throw badUsage(
        '--at names one version and cannot be combined with other versions.',
        `Use: relay state diff ${args.join(' ')}, or: relay state diff --at ${flags.at}`,
      );
    const { threads, id } = await openThread(call);
    if (args.length > 0) return threads.diff(id, { from: args[0]!, to: args[1] });
    const version = flags.at === undefined ? (await threads.get(id)).state_version : parseVersion(flags.at);
    // Compare the version with the one before. Version 1 is compared with itself.
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
  usage: '--to v3',
  details: `Creates a new version with the content of the earlier one. All versions in between are kept.`,
  flags: {
    to: { value: 'v3', help: 'the version to restore' },
    'if-match': { value: 'v7', help: 'fail if the state is at another version' },
    ...THREAD_FLAG,
  },
  examples: `
    relay state revert --to v3  # restore version 3
    relay state diff v3  # see first which changes this would undo`,
  async ask(call) {
    const { to, 'if-match': if_match } = call.flags;
    if (to === undefined)
      throw badUsage(
        'The version to restore is missing.',
        'Use: relay state revert --to v3. List the versions with: relay state log',
      );
    const { threads, id } = await openThread(call, { use: true });
    return threads.revert(id, { to, if_match });
  },
  print: ({ state_ref }, io) => labelled(io, 'state_ref', state_ref),
});

const log = answerCommand({
  details:
    'Shows time, author and changes of each version. Use relay state diff --at v3 for the changes of one version and relay state get --at v3 for its content.',
  flags: {
    at: { value: 'v3', help: 'start at this version and list older ones' },
    ...listFlags(20),
    ...THREAD_FLAG,
  },
  examples: `
    relay state log  # list the newest 20 versions
    relay state log --at v3 --thread 550e84  # list version 3 and older
    relay state log --all --json  # list all versions with their operations`,
  async ask(call) {
    const most = parseMost(call.flags, 20);
    const newest = call.flags.at === undefined ? Number.POSITIVE_INFINITY : parseVersion(call.flags.at);
    const { threads, id } = await openThread(call);
    const isVersionEvent = ({ type, payload }: ThreadEvent) =>
      VERSION_EVENTS.has(type) &&
      typeof payload.version === 'number' &&
      payload.version <= newest &&
      // Skip rejected patches of a Go relay: they repeat the version number of the patch that won, and their
      // `ops` is a number.
      typeof payload.ops !== 'number';
    const events = (await newestEvents(threads, id, { most, matches: isVersionEvent })).reverse();
    return { versions: events.map((event) => ({ state_ref: `v${event.payload.version}`, ...event })) };
  },
  print({ versions }, io) {
    const entries = versions.map((version): Row => {
      const { state_ref, timestamp, payload } = version;
      const by = typeof payload.by === 'string' ? printableLine(payload.by) : '';
      return [
        state_ref,
        `${io.style.dim(`${when(io, timestamp)}  ${by}`)}  ${describeVersion(version, state_ref)}`,
      ];
    });
    return rows(io.style.cyan, entries);
  },
});

/** Describes an event without its version, which the first column already shows. */
function describeVersion(event: ThreadEvent, stateRef: string): string {
  const details = describe(event).replace(new RegExp(`^${stateRef}(?: · |$)`), '');
  const verb: { [type: string]: string } = {
    'thread.created': 'created',
    'artifact.created': 'artifact',
    'checkpoint.created': 'compacted',
  };
  return [verb[event.type] ?? '', details].filter((part) => part !== '').join(' ');
}

const compact = answerCommand({
  details: `Merges repeated entries of last_actions and keeps the newest 50. Keeps the newest 200 artifact refs, and older ones that
other parts of the state mention. The other actions and refs are replaced by a short summary (session_summary). The artifacts are not deleted. Creates a new version; earlier versions are kept. A very long
state is compacted automatically.`,
  flags: THREAD_FLAG,
  examples: 'relay state compact --thread 550e84  # compact the state and print what was dropped',
  async ask(call) {
    const { threads, id } = await openThread(call, { use: true });
    return threads.compact(id);
  },
  print: ({ state_ref, dropped }, io) =>
    labelled(io, 'state_ref', state_ref, [
      `${plural(dropped.actions, 'action')} and ${plural(dropped.artifacts, 'artifact ref')} dropped`,
    ]),
});

export const commands = { header, get, patch, diff, revert, log, compact };
