import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXIT, isRelayError } from '../../../base/errors.ts';
import { shellWord } from '../../../base/format.ts';
import { BUNDLE_BYTES } from '../../../base/limits.ts';
import { orElse } from '../../../base/or-else.ts';
import { everyItem, firstItems } from '../../../base/pages.ts';
import type { OutputReport } from '../../../contract/pointers.ts';
import type {
  State,
  Stats,
  SumStats,
  ThreadEvent,
  ThreadInfo,
  ThreadsApi,
} from '../../../contract/threads.ts';
import { answerCommand, badUsage, defineCommand, type Invocation, rejectTogether } from '../command.ts';
import type { Host, LegacyThread } from '../host.ts';
import {
  columns,
  count,
  labelled,
  listFlags,
  moment,
  oneOf,
  parseCount,
  parseMost,
  parseSpan,
  plural,
  printable,
  printableLine,
  type Row,
  rows,
  shortLine,
  when,
} from '../human.ts';
import { type Io, interruption, type Style } from '../io.ts';
import { openPayload, writePayload } from '../payload.ts';
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';
import { findThread, openThread, THREAD_FLAG, useThread } from '../thread-choice.ts';
import { eventLine, newestEvents } from '../thread-events.ts';

const begin = answerCommand({
  usage: '[name]',
  details: `A thread has versioned state, artifacts and an event log. The new thread becomes the default thread of other
commands. In a pipe it prints only the id.`,
  flags: {
    name: { short: 'n', value: 'NAME', help: 'same as the argument name; need not be unique' },
    ttl: { value: 'TIME', help: 'delete the thread after this time, such as 2h or 7d (never)' },
  },
  examples: `
    relay thread new my-first-run  # create a thread and print its thread_id
    export RELAY_THREAD=$(relay thread new)  # use a new thread in this shell`,
  async ask({ host, args, flags, open }) {
    const created = await (await open()).relay.threads.create({
      name: flags.name ?? args[0],
      ttl: parseSpan(flags.ttl, '--ttl'),
    });
    await useThread(host, created.thread_id);
    return created;
  },
  print: ({ thread_id }, io) => labelled(io, 'thread_id', thread_id),
});

const use = answerCommand({
  usage: '<id>',
  details: `Commands that take --thread use the default thread if you name none. Creating or changing a thread also makes it
the default; reading does not. RELAY_THREAD sets the thread for one shell or agent and overrides the default.`,
  examples: `
    relay thread use 550e84  # choose by the first characters of the id
    relay thread use my-first-run  # choose by name`,
  async ask({ host, args, open }) {
    const { threads } = (await open()).relay;
    const info = await threads.get(await findThread(threads, args[0]!));
    await useThread(host, info.thread_id);
    return info;
  },
  print: ({ thread_id }, io) => labelled(io, 'thread_id', thread_id),
});

/** Returns the examples of `relay thread list` and of its other name, `relay runs`. */
function listExamples(name: string): string {
  return `
    relay ${name}  # list the newest 20 threads
    relay ${name} --all --json | jq -r ".threads[].thread_id"  # print the ids of all threads`;
}

const list = defineCommand({
  details: 'A star marks the default thread. In a pipe each line has id, creation time and name.',
  flags: listFlags(20),
  examples: listExamples('thread list'),
  async run({ io, host, flags, open }) {
    rejectTogether(flags, 'all', 'count');
    const most = parseMost(flags, 20);
    const { relay } = await open();
    const { items: threads, ...more } = await firstItems('threads', most, (o) => relay.threads.list(o));
    const last = (await host.relay.threadMemory()).get();
    const { interactive, style } = io;
    io.result({ threads, ...more }, () => {
      if (!interactive)
        return threads
          .map((t) => `${t.thread_id}  ${t.created_at}  ${printableLine(t.name)}`.trimEnd())
          .join('\n');
      if (threads.length === 0)
        return style.dim(
          io.typed('There are no threads yet. Create one with: relay thread new --name my-first-run'),
        );
      const times = threads.map(({ created_at }) => moment(created_at));
      const width = Math.max(...times.map((time) => time.length)) + 2;
      const lines = threads.map(({ thread_id, name }, i) => {
        const star = thread_id === last ? '* ' : '  ';
        return `${star}${style.cyan(thread_id)}  ${style.dim(times[i]!.padEnd(width))}${printableLine(name)}`;
      });
      if (more.more)
        lines.push(style.dim(io.typed('  There are older threads. List all with: relay thread list --all')));
      return lines.join('\n');
    });
  },
});

const rm = defineCommand({
  usage: '<id…>',
  details: `Deletes state, artifacts and events permanently. Use relay export first to keep a copy. At a terminal it asks for
confirmation.`,
  takes: { min: 1, max: 1000 },
  flags: FORCE_FLAG,
  examples: `
    relay thread rm 550e84  # delete one thread
    relay export 550e84 --out kept.zip && relay thread rm 550e84  # export, then delete`,
  async run({ io, host, args, flags, open }) {
    const { threads } = (await open()).relay;
    // Find all threads before deleting the first one, so that a wrong argument deletes nothing.
    const ids = new Set<string>();
    for (const arg of args) ids.add(await findThread(threads, requireFourCharacters(arg)));
    return removeEach(io, 'deleted', [...ids], async (id) => {
      if (!(await agrees(io, flags, () => deleteQuestion(threads, id)))) return false;
      await threads.delete(id);
      await (await host.relay.threadMemory()).forget(id);
    });
  },
});

/**
 * Rejects arguments with fewer than four characters: with a typing error they could match the wrong thread.
 */
function requireFourCharacters(word: string): string {
  if (word.trim().length >= 4) return word;
  throw badUsage(
    `"${word}" is too short to identify a thread to delete.`,
    'Use at least four characters of its id. To list the ids: relay thread list',
  );
}

async function deleteQuestion(threads: ThreadsApi, id: string): Promise<string> {
  const { name, artifact_count, state_version } = await threads.get(id);
  const title = printableLine(name) === '' ? '' : ` "${printableLine(name)}"`;
  return `Delete thread ${id}${title} with ${plural(artifact_count, 'artifact')}, state v${state_version}?`;
}

/** Maximum number of items that `relay show` prints per list. */
const MAX_ITEMS = 8;

const show = answerCommand({
  usage: '[<id>]',
  details:
    'For the text that goes into a prompt use relay state header --text. For the full content use relay report.',
  flags: THREAD_FLAG,
  examples: `
    relay show  # show the default thread
    relay show 550e84  # show another thread`,
  async ask(call) {
    const { threads, id } = await openThread(call, { word: call.args[0], quiet: true });
    const info = await threads.get(id);
    const state = await threads.state(id, { counted: false });
    return { ...info, state_ref: `v${info.state_version}`, stats: await threads.stats(id), state };
  },
  print: summary,
});

function summary(info: ThreadInfo & { readonly state: State; readonly stats: Stats }, io: Io): string {
  const { state, stats } = info;
  const { style } = io;
  const facts: Row[] = [
    ['thread_id', info.thread_id],
    ['name', printableLine(info.name) || null],
    ['created', when(io, info.created_at)],
    ['state_ref', `v${info.state_version}, ${when(io, state.updated_at)}`],
    ['artifacts', count(info.artifact_count)],
    ['events', count(info.event_count)],
    ['hops', info.hop_count > 0 ? count(info.hop_count) : null],
    ['tokens avoided', stats.artifacts > 0 ? `${count(stats.avoided_tokens)} (${stats.tokenizer})` : null],
  ];
  const room = io.width - 4;
  const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const open = state.open_questions.filter(({ status }) => (status ?? 'open') === 'open');
  const pending = state.plan.filter(({ status }) => (status ?? 'pending') === 'pending');
  const refs = state.artifacts.map(({ ref, type, name }) => [ref, type, name].filter(Boolean).join(' · '));
  // Facts, decisions and artifacts are shown newest first.
  const lists: [string, string[]][] = [
    ['Summary', state.session_summary ? [state.session_summary] : []],
    ['Facts', state.facts.map(({ key, value }) => `${key}: ${text(value)}`).reverse()],
    ['Constraints', state.constraints.map(({ description }) => description)],
    ['Decisions', state.decisions.map(({ description }) => description).reverse()],
    ['Open questions', open.map(({ question }) => question)],
    ['Next steps', pending.map(({ step }) => step)],
    ['Artifacts', refs.reverse()],
  ];
  const lines = [rows(style.dim, facts)];
  for (const [title, items] of lists) {
    if (items.length === 0) continue;
    lines.push(
      '',
      style.bold(title),
      ...items.slice(0, MAX_ITEMS).map((item) => `  ${shortLine(item, room)}`),
    );
    if (items.length > MAX_ITEMS) lines.push(style.dim(`  … ${count(items.length - MAX_ITEMS)} more`));
  }
  return lines.join('\n');
}

const tail = defineCommand({
  usage: '[<id>]',
  details: 'Prints one line per event, oldest first. With --json each line is the whole event.',
  flags: {
    follow: { short: 'f', help: 'keep running and show new events' },
    count: { short: 'n', value: 'N', help: 'start with the newest N events (10)' },
    all: { help: 'start with the first event' },
    ...THREAD_FLAG,
  },
  examples: `
    relay tail  # show the newest ten events of the default thread
    relay tail 550e84 --follow  # watch a thread while agents work on it
    relay tail --all --json  # print the whole history as JSON lines`,
  async run(call) {
    const { io, args, flags } = call;
    const most = flags.all ? Number.POSITIVE_INFINITY : (parseCount(flags.count, '--count') ?? 10);
    const show = (event: ThreadEvent) => {
      if (io.json) io.stdout.write(`${JSON.stringify(event)}\n`);
      else io.print(eventLine(event, io));
    };
    const { threads, id } = await openThread(call, { word: args[0] });
    if (flags.follow) {
      using interrupted = interruption();
      const { event_count } = await threads.get(id);
      const after = String(Math.max(0, event_count - most));
      for await (const event of threads.watch(id, { after, signal: interrupted.signal })) show(event);
    } else if (flags.all) {
      for await (const event of everyItem('events', ({ after = '0' }) => threads.events(id, { after })))
        show(event);
    } else {
      for (const event of await newestEvents(threads, id, { most })) show(event);
    }
  },
});

const report = defineCommand({
  usage: '[<id>]',
  details: `Prints a report with facts, decisions, plan, artifacts and tokens, and stores it as an artifact of the thread.
With --json it prints only the artifact_ref and the token counts.`,
  flags: {
    format: { value: 'md|json', help: 'Markdown or JSON (md)' },
    out: { short: 'o', value: 'FILE', help: 'write the report to this file' },
    ...THREAD_FLAG,
  },
  examples: `
    relay report 550e84  # print the report as Markdown
    relay report --format json --out run.json  # write the report as JSON to a file`,
  async run(call) {
    const { io, args, flags } = call;
    const format = oneOf('--format', flags.format, ['md', 'json']);
    const { threads, id } = await openThread(call, { word: args[0] });
    const answer = await threads.report(id, { format });
    if (io.json && flags.out === undefined) return io.result(answer, '');
    if (io.stderr.isTTY && !io.json) io.note(`artifact_ref  ${answer.artifact_ref}`);
    const { body } = await threads.content(id, answer.artifact_ref, { counted: false });
    await writePayload(io, body, { out: flags.out, size: answer.size });
  },
});

const stats = answerCommand({
  usage: '[<id>]',
  details: `Counts the tokens of all artifacts, each once: naive is the tokens of the full contents, actual the tokens of the previews,
and avoided the difference.

For prompts that relay built from the thread, it also shows three numbers: the cost with everything pasted, the tokens
that models were shown (prompts, pulls, other reads), and the difference. The difference is negative if pasting would
have cost less. All numbers are counted with the named tokenizer. See relay help guide tokens.

With --tools it shows one row for each command of relay tee and for each tool of a wrapped MCP server: the tokens of the
output, the tokens printed (shown), left out of the excerpt (kept back) and pulled later, and the net saving. The net saving may be
negative. Only stored outputs that have not expired are counted.`,
  flags: {
    all: { help: 'sum over all threads' },
    tools: { help: 'show what relay tee and relay mcp wrap saved, by command and tool' },
    ...THREAD_FLAG,
  },
  examples: `
    relay stats  # show the default thread
    relay stats 550e84 --json  # print all numbers as JSON
    relay stats --all  # sum over all threads
    relay stats --tools  # show what excerpts have saved, by command and tool`,
  async ask(call): Promise<Stats | SumStats | OutputReport> {
    const { args, flags, host } = call;
    const word = args[0] ?? flags.thread;
    const sums = flags.tools ? '--tools' : '--all';
    if ((flags.all || flags.tools) && word !== undefined)
      throw badUsage(
        `${sums} cannot be combined with a thread.`,
        `Use: relay stats ${word}, or: relay stats ${sums}`,
      );
    rejectTogether(flags, 'all', 'tools');
    if (flags.tools) return host.outputs.report();
    if (flags.all) return (await call.open()).relay.threads.totals();
    const { threads, id } = await openThread(call, { word: args[0] });
    return threads.stats(id);
  },
  print: (stats, { style, typed }) =>
    'commands' in stats ? outputRows(stats, style, typed) : tokenRows(stats, style),
});

/** Formats the tokens of stored outputs as a table. The last line has the totals. */
function outputRows(
  { commands, total, since, truncated }: OutputReport,
  { bold, dim }: Style,
  typed: Io['typed'],
): string {
  if (since === null) return typed('no stored outputs; store one with: relay tee -- COMMAND');
  const names = ['runs', 'tokens', 'shown', 'kept_back', 'pulled', 'net'] as const;
  const row = (name: string, figures: OutputReport['total']) => [
    name,
    ...names.map((each) => count(figures[each])),
  ];
  const cells = [
    ['command', ...names.map((name) => name.replace('_', ' '))],
    ...commands.map(({ command, ...figures }) => row(printable(command).slice(0, 40) || '(pipe)', figures)),
    row('total', total),
  ];
  const [head, ...lines] = columns(cells, [1, 2, 3, 4, 5, 6]);
  const note = `tokens of the outputs stored since ${moment(since)}${truncated ? ', the newest only' : ''}; pulled is estimated from bytes`;
  return [dim(head!), ...lines.slice(0, -1), bold(lines.at(-1)!), '', dim(note)].join('\n');
}

type Figure = readonly [name: string, figure: number];

/**
 * Formats the token counts of a thread and the name of the tokenizer, then the counts of its prompts, if it
 * has any.
 */
export function tokenRows(stats: Stats | SumStats, style: Style): string {
  const { prompts, billed } = stats;
  const figures: readonly Figure[] = [
    ['artifacts', stats.artifacts],
    ['naive tokens (if pasted)', stats.naive_tokens],
    ['actual tokens (via refs)', stats.actual_tokens],
    ['tokens avoided', stats.avoided_tokens],
    ['cache hits', stats.cache_hits],
    ['session cache hits', stats.session_cache_hits],
  ];
  const prompted: readonly Figure[] = prompts
    ? [
        ['prompts', prompts.prompts],
        ['tokens if pasted', prompts.pasted_tokens],
        ['tokens shown to models', prompts.shown_tokens],
        ['  in prompts', prompts.prompt_tokens],
        ['  in pulls while answering', prompts.tool_call_tokens],
        ['  in other reads', prompts.read_tokens],
        ['avoided by prompts', prompts.avoided_tokens],
      ]
    : [];
  const all = [...figures, ...prompted];
  const label = Math.max(...all.map(([name]) => name.length));
  const width = Math.max(9, ...all.map(([, n]) => count(n).length + 2));
  const rows = (some: readonly Figure[]) =>
    some.map(([name, n]) => `  ${style.dim(name.padEnd(label))}${count(n).padStart(width)}`);
  const by = stats.tokenizer === '' ? 'nothing to count yet' : `counted with ${stats.tokenizer}`;
  const countedWith = `${by}${stats.estimated ? ', some of it estimated' : ''}`;
  const ledger = prompts
    ? [
        '',
        ...rows(prompted),
        '',
        `  ${style.dim(comparePasting(prompts.shown_tokens, prompts.pasted_tokens) + bill(billed))}`,
      ]
    : [];
  const compared = comparePasting(stats.actual_tokens, stats.naive_tokens);
  return [
    ...rows(figures),
    '',
    `  ${style.dim([countedWith, compared].filter(Boolean).join('; '))}`,
    ...ledger,
  ].join('\n');
}

function comparePasting(sent: number, pasted: number): string {
  if (pasted === 0) return '';
  const share = ((sent - pasted) / pasted) * 100;
  if (share === 0) return 'same as pasting';
  return `${Math.abs(share).toFixed(1)} % ${share > 0 ? 'more' : 'less'} than pasting`;
}

function bill({ input_tokens, output_tokens, cached_input_tokens }: Stats['billed']): string {
  if (input_tokens + output_tokens === 0) return '';
  return `; billed ${count(input_tokens)} in (${count(cached_input_tokens)} cached), ${count(output_tokens)} out`;
}

const exportThread = defineCommand({
  usage: '[<id>]',
  details: `The ZIP bundle contains state, artifacts and events with their hashes. relay import restores the thread from it on
any machine. In a pipe the bundle goes to standard output. Missing or damaged artifact contents are listed and skipped;
the exit code is then 1.`,
  flags: {
    out: { short: 'o', value: 'FILE', help: 'file to write (thread-<id>.zip in this folder)' },
    ...THREAD_FLAG,
  },
  examples: `
    relay export --thread 550e84 --out bundle.zip  # write a file
    relay export 550e84 | ssh elsewhere relay import -  # copy to another machine`,
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call, { word: args[0] });
    const { body, name, damaged } = await threads.export(id);
    const out = flags.out ?? (io.interactive || io.json ? name : undefined);
    await writePayload(io, body, { out, about: damaged.length > 0 ? { damaged } : {} });
    for (const ref of damaged)
      io.warn(`The content of artifact ${ref} is missing or damaged. It is not in the bundle.`);
    return damaged.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

const importThread = defineCommand({
  usage: '<bundle.zip|-> | --legacy [dir]',
  details: `Checks the bundle first, then imports all of it or nothing. A thread that already exists is not changed.

With --legacy it imports all threads from the home of a Go relay (github.com/nebullii/relay; default ~/.relay). The Go
relay may be running; its home is only read. Names, ids, refs, types, hashes, events and all state versions are kept; differences are
reported. If this relay cannot represent some fields of a state, the original state is also stored as an artifact. Run the command again to import new threads. A ZIP
exported by a Go relay has no artifact contents and is rejected.`,
  takes: { max: 1 },
  flags: { legacy: { help: 'import all threads from the home of a Go relay' } },
  examples: `
    relay import bundle.zip  # import one thread
    relay import --legacy --home ~/.contextrelay  # import the Go relay in ~/.relay into another home
    relay import --legacy /mnt/old/.relay  # import from a copy`,
  async run(call) {
    const { io, host, args, flags, open } = call;
    if (flags.legacy) return importLegacy(call, args[0]);
    if (args[0] === undefined)
      throw badUsage(
        'The bundle is missing.',
        'Use: relay import bundle.zip. Create a bundle with relay export.',
      );
    const source = await openPayload(io, args[0], { limit: BUNDLE_BYTES });
    const { relay } = await open();
    const imported = await relay.threads.import(withProgress(io, source.body, source));
    await useThread(host, imported.thread_id);
    for (const ref of imported.damaged ?? [])
      io.warn(`Artifact ${ref} has no content, because it was damaged when the thread was exported.`);
    io.result(imported, () => {
      const { thread_id, name, state_ref, artifacts, events } = imported;
      const facts = [printableLine(name), state_ref, plural(artifacts, 'artifact'), plural(events, 'event')];
      return labelled(io, 'thread_id', thread_id, facts);
    });
  },
});

interface Outcome extends Omit<LegacyThread, 'bundle'> {
  readonly outcome: 'imported' | 'here already' | 'failed';
}

async function importLegacy({ io, host, open }: Invocation, named: string | undefined): Promise<number> {
  const dir = named === undefined ? join(homedir(), '.relay') : resolve(io.cwd, named);
  if (dir === host.home && !isRemote(host)) {
    const elsewhere = join(homedir(), '.contextrelay');
    throw badUsage(
      `${dir} is both the source and the target of the import.`,
      `Use another home: relay import --legacy ${shellWord(dir)} --home ${shellWord(elsewhere)}, and RELAY_HOME=${shellWord(elsewhere)} from then on.`,
    );
  }
  using legacy = await host.store.openLegacy(dir);
  const { relay } = await open();
  const threads: Outcome[] = [];
  let exit: number = EXIT.ok;
  for await (const { bundle, ...thread } of legacy.threads) {
    const { thread_id } = thread;
    const notes = [...thread.notes];
    let outcome: Outcome['outcome'] = 'imported';
    try {
      await relay.threads.import(bundle());
    } catch (error) {
      if (!isRelayError(error)) throw error;
      outcome = error.code === 'conflict' ? 'here already' : 'failed';
      if (outcome === 'failed') {
        exit ||= error.exit;
        notes.push(error.message);
      }
    }
    threads.push({ ...thread, outcome, notes });
    if (io.json) continue;
    io.print(`${outcome}  ${thread_id}  ${printableLine(thread.name)} · ${io.style.dim(inFigures(thread))}`);
    if (outcome !== 'here already') for (const note of notes) io.warn(`${thread_id}: ${printableLine(note)}`);
  }
  const imported = threads.filter(({ outcome }) => outcome === 'imported').length;
  const { changes } = legacy;
  if (!io.json && imported > 0) for (const change of changes) io.warn(change);
  io.result({ from: dir, imported, changes, threads }, () =>
    io.interactive ? `${imported} of ${plural(threads.length, 'thread')} imported from ${dir}` : '',
  );
  return exit;
}

function inFigures({ versions, artifacts, events }: Omit<LegacyThread, 'bundle'>): string {
  const last = versions === 0 ? '' : `v${versions}, `;
  return `${last}${plural(artifacts, 'artifact')}, ${plural(events, 'event')}`;
}

/**
 * Returns whether commands use a remote server. If the configuration cannot be read, the home probably
 * belongs to a Go relay, and the answer is false.
 */
function isRemote(host: Host): boolean {
  return orElse(() => host.remote !== null, false);
}

const replay = answerCommand({
  usage: '[<id>]',
  details: `Replays all events from the first one, without snapshots, and compares the result with the stored state. The exit
code is 1 if they differ.`,
  flags: THREAD_FLAG,
  examples: `
    relay replay 550e84  # print version, number of events and hash of the state
    relay replay --json | jq -r .sha256  # print only the hash, to compare with another machine`,
  async ask(call) {
    const { threads, id } = await openThread(call, { word: call.args[0] });
    return { thread_id: id, ...(await threads.replay(id)) };
  },
  print: ({ version, events, sha256, matches }, { style }) =>
    rows(style.dim, [
      ['state_ref', `v${version}`],
      ['events', count(events)],
      ['sha256', sha256],
      ['replayed', matches ? style.green('same as the state') : style.red('differs from the state')],
    ]),
  exit: ({ matches }) => (matches ? EXIT.ok : EXIT.failed),
});

export const commands = {
  new: begin,
  use,
  list,
  rm,
  runs: { ...list, examples: listExamples('runs') },
  show,
  tail,
  report,
  stats,
  export: exportThread,
  import: importThread,
  replay,
};
