import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { EXIT, isRelayError } from '../../../base/errors.ts';
import { shellWord } from '../../../base/format.ts';
import { BUNDLE_BYTES } from '../../../base/limits.ts';
import { everyItem, firstItems } from '../../../base/pages.ts';
import type {
  State,
  Stats,
  SumStats,
  ThreadEvent,
  ThreadInfo,
  ThreadsApi,
} from '../../../contract/threads.ts';
import { answerCommand, badUsage, defineCommand, type Invocation } from '../command.ts';
import type { Host, LegacyThread } from '../host.ts';
import {
  count,
  labelled,
  listFlags,
  moment,
  oneOf,
  parseCount,
  parseMost,
  parseSpan,
  plural,
  type Row,
  rows,
  when,
} from '../human.ts';
import { type Io, interruption, type Style } from '../io.ts';
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';
import { eventLine, newestEvents, plain, short } from './event-line.ts';
import { openPayload, writePayload } from './payload.ts';
import { findThread, openThread, THREAD_FLAG, useThread } from './thread-choice.ts';

const begin = answerCommand({
  usage: '[name]',
  details: `A thread holds versioned state, artifacts and the events of both. From here on it is the one that other
commands mean where none is named. Piped, the id alone is printed.`,
  flags: {
    name: { short: 'n', value: 'NAME', help: 'the same as the name in front; need not be unique' },
    ttl: { value: 'TIME', help: 'how long it lives: 90s, 2h, 7d (until it is deleted)' },
  },
  examples: `
    relay thread new my-first-run  # prints its thread_id
    export RELAY_THREAD=$(relay thread new)  # the one that this shell means from now on`,
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
  details: `Beginning a thread or changing one chooses it too; looking at one does not. RELAY_THREAD chooses one for a
shell or an agent alone, whatever others do meanwhile.`,
  examples: `
    relay thread use 550e84  # the beginning of its id will do
    relay thread use my-first-run  # or its name`,
  async ask({ host, args, open }) {
    const { threads } = (await open()).relay;
    const info = await threads.get(await findThread(threads, args[0]!));
    await useThread(host, info.thread_id);
    return info;
  },
  print: ({ thread_id }, io) => labelled(io, 'thread_id', thread_id),
});

const list = defineCommand({
  details: 'The one that is meant where none is named has a star. Piped: id, moment of its making and name.',
  flags: listFlags(20),
  examples: `
    relay runs  # the newest 20
    relay runs --all --json | jq -r ".threads[].thread_id"  # the ids of all of them`,
  async run({ io, host, flags, open }) {
    if (flags.all && flags.count !== undefined)
      throw badUsage('--all and --count do not go together.', 'Use one.');
    const most = parseMost(flags, 20);
    const { relay } = await open();
    const { items: threads, ...more } = await firstItems('threads', most, (o) => relay.threads.list(o));
    const last = (await host.relay.threadMemory()).get();
    const { interactive, style } = io;
    io.result({ threads, ...more }, () => {
      if (!interactive)
        return threads.map((t) => `${t.thread_id}  ${t.created_at}  ${plain(t.name)}`.trimEnd()).join('\n');
      if (threads.length === 0)
        return style.dim(
          io.typed('There are no threads yet. Begin with: relay thread new --name my-first-run'),
        );
      const times = threads.map(({ created_at }) => moment(created_at));
      const width = Math.max(...times.map((time) => time.length)) + 2;
      const lines = threads.map(({ thread_id, name }, i) => {
        const star = thread_id === last ? '* ' : '  ';
        return `${star}${style.cyan(thread_id)}  ${style.dim(times[i]!.padEnd(width))}${plain(name)}`;
      });
      if (more.more) lines.push(style.dim(io.typed('  There are older ones: relay runs --all')));
      return lines.join('\n');
    });
  },
});

const rm = defineCommand({
  usage: '<id…>',
  details: `State, artifacts and events are gone for good; relay export keeps a copy. At a terminal it asks first.`,
  takes: { min: 1, max: 1000 },
  flags: FORCE_FLAG,
  examples: `
    relay thread rm 550e84  # delete one
    relay export 550e84 --out kept.zip && relay thread rm 550e84  # keep a copy`,
  async run({ io, host, args, flags, open }) {
    const { threads } = (await open()).relay;
    // All are known before the first is gone.
    const ids = new Set<string>();
    for (const arg of args) ids.add(await findThread(threads, longEnough(arg)));
    return removeEach(io, 'deleted', [...ids], async (id) => {
      if (!(await agrees(io, flags, () => whatGoes(threads, id)))) return false;
      await threads.delete(id);
      await (await host.relay.threadMemory()).forget(id);
    });
  },
});

/** Where a slip of the finger costs a thread, a letter or two are not enough to name it. */
function longEnough(word: string): string {
  if (word.trim().length >= 4) return word;
  throw badUsage(
    `"${word}" is too short to delete a thread by.`,
    'Say at least four characters of its id; relay runs lists them.',
  );
}

async function whatGoes(threads: ThreadsApi, id: string): Promise<string> {
  const { name, artifact_count, state_version } = await threads.get(id);
  const title = plain(name) === '' ? '' : ` "${plain(name)}"`;
  return `Delete thread ${id}${title} with ${plural(artifact_count, 'artifact')}, state v${state_version}?`;
}

/** Of each list, as many as a screen holds. */
const SHOWN = 8;

const show = answerCommand({
  usage: '[<id>]',
  details: 'A summary for people. What goes into a prompt is relay state header; all there is, relay report.',
  flags: THREAD_FLAG,
  examples: `
    relay show  # the thread used last
    relay show 550e84  # another one, by the beginning of its id`,
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
    ['name', plain(info.name) || null],
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
  // Of facts, decisions and artifacts the newest first.
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
    lines.push('', style.bold(title), ...items.slice(0, SHOWN).map((item) => `  ${short(item, room)}`));
    if (items.length > SHOWN) lines.push(style.dim(`  … ${count(items.length - SHOWN)} more`));
  }
  return lines.join('\n');
}

const tail = defineCommand({
  usage: '[<id>]',
  details: 'One line an event, oldest first. With --json each line is the whole event.',
  flags: {
    follow: { short: 'f', help: 'go on and show what is new' },
    count: { short: 'n', value: 'N', help: 'begin with so many of the newest (10)' },
    all: { help: 'begin with the first one' },
    ...THREAD_FLAG,
  },
  examples: `
    relay tail  # the newest ten of the thread used last
    relay tail 550e84 --follow  # watch agents at work on it
    relay tail --all --json  # the whole history as JSON lines`,
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
  details: `Prints the report, which is stored as an artifact of the thread too. With --json only its artifact_ref and
the token figures are printed.`,
  flags: {
    format: { value: 'md|json', help: 'Markdown for people, or JSON (md)' },
    out: { short: 'o', value: 'FILE', help: 'write it to this file' },
    ...THREAD_FLAG,
  },
  examples: `
    relay report 550e84  # facts, decisions, plan, artifacts and tokens
    relay report --format json --out run.json  # the same as JSON, into a file`,
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
  details: `Naive are the contents of the artifacts, each once; actual are their previews; what was avoided is the difference.
Where prompts were made of the thread, the prompt ledger follows: what they would have cost with the artifacts that they stood for pasted,
and what was put in front of a model instead, pulls and reads with it. The difference may be negative. All of it is counted by a
tokenizer, whose name is given; docs/tokens.md has the definitions.`,
  flags: { all: { help: 'all threads together' }, ...THREAD_FLAG },
  examples: `
    relay stats  # of the thread used last
    relay stats 550e84 --json  # with what the figures are made of
    relay stats --all  # of all threads together`,
  async ask(call) {
    const { args, flags } = call;
    const word = args[0] ?? flags.thread;
    if (flags.all && word !== undefined)
      throw badUsage(
        '--all is about all threads, not about one.',
        `Use: relay stats ${word}, or: relay stats --all`,
      );
    if (flags.all) return (await call.open()).relay.threads.totals();
    const { threads, id } = await openThread(call, { word: args[0] });
    return threads.stats(id);
  },
  print: (stats: Stats | SumStats, { style }) => tokenRows(stats, style),
});

type Figure = readonly [name: string, figure: number];

/** The six figures of a thread, and who counted them; then the prompts, where there were any. */
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
        ['pasted into them', prompts.pasted_tokens],
        ['shown to models instead', prompts.shown_tokens],
        ['  by prompts', prompts.prompt_tokens],
        ['  by pulls while answering', prompts.tool_call_tokens],
        ['  read beside them', prompts.read_tokens],
        ['avoided by prompts', prompts.avoided_tokens],
      ]
    : [];
  const all = [...figures, ...prompted];
  const label = Math.max(...all.map(([name]) => name.length));
  const width = Math.max(9, ...all.map(([, n]) => String(n).length + 2));
  const rows = (some: readonly Figure[]) =>
    some.map(([name, n]) => `  ${style.dim(name.padEnd(label))}${String(n).padStart(width)}`);
  const by = stats.tokenizer === '' ? 'nothing to count yet' : `counted with ${stats.tokenizer}`;
  const counted = `${by}${stats.estimated ? ', some of it estimated' : ''}`;
  const ledger = prompts
    ? [
        '',
        ...rows(prompted),
        '',
        `  ${style.dim(against(prompts.shown_tokens, prompts.pasted_tokens) + bill(billed))}`,
      ]
    : [];
  const compared = against(stats.actual_tokens, stats.naive_tokens);
  return [
    ...rows(figures),
    '',
    `  ${style.dim([counted, compared].filter(Boolean).join('; '))}`,
    ...ledger,
  ].join('\n');
}

function against(shown: number, pasted: number): string {
  if (pasted === 0) return '';
  const share = ((shown - pasted) / pasted) * 100;
  if (share === 0) return 'as much as pasting';
  return `${Math.abs(share).toFixed(1)} % ${share > 0 ? 'more' : 'less'} than pasting`;
}

function bill({ input_tokens, output_tokens, cached_input_tokens }: Stats['billed']): string {
  if (input_tokens + output_tokens === 0) return '';
  return `; billed ${input_tokens} in (${cached_input_tokens} cached), ${output_tokens} out`;
}

const exportThread = defineCommand({
  usage: '[<id>]',
  details: `A ZIP bundle of its state, artifacts and events with the hash of each. relay import gives the same thread
again, on any machine. Piped, the bundle goes to standard output. Contents that are missing or are not as they were
stored are named and left out; everything else is in it, and the command ends with 1.`,
  flags: { out: { short: 'o', value: 'FILE', help: 'where to (thread-<id>.zip here)' }, ...THREAD_FLAG },
  examples: `
    relay export --thread 550e84 --out bundle.zip  # into a file
    relay export 550e84 | ssh elsewhere relay import -  # straight to another machine`,
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call, { word: args[0] });
    const { body, name, damaged } = await threads.export(id);
    const out = flags.out ?? (io.interactive || io.json ? name : undefined);
    await writePayload(io, body, { out, about: damaged.length > 0 ? { damaged } : {} });
    for (const ref of damaged)
      io.warn(`The content of artifact ${ref} is missing or not as it was stored; it is not in the bundle.`);
    return damaged.length > 0 ? EXIT.failed : EXIT.ok;
  },
});

const importThread = defineCommand({
  usage: '<bundle.zip|->',
  details: `A bundle is checked before anything is stored, and taken in whole or not at all. A thread that is here
already is left as it is.

With --legacy it reads the home of a Go relay (~/.relay by default), which may be running, and never changes it.
Names, ids, refs, types, hashes, events and every version of every state are kept; whatever is otherwise here is
told. A state with something that has no place here is kept whole beside it, as an artifact. Importing again takes
over the threads that are not here yet. A ZIP that a Go relay exported has no contents, and is refused.`,
  takes: { max: 1 },
  flags: { legacy: { help: 'read the home of a Go relay' } },
  examples: `
    relay import bundle.zip  # a thread from elsewhere
    relay import --legacy --home ~/.contextrelay  # what a Go relay left in ~/.relay, into a home of its own
    relay import --legacy /mnt/old/.relay  # from a copy`,
  async run(call) {
    const { io, host, args, flags, open } = call;
    if (flags.legacy) return importLegacy(call, args[0]);
    if (args[0] === undefined)
      throw badUsage('Which bundle?', 'Use: relay import bundle.zip. relay export makes one.');
    const source = await openPayload(io, args[0], { limit: BUNDLE_BYTES });
    const { relay } = await open();
    const taken = await relay.threads.import(withProgress(io, source.body, source));
    await useThread(host, taken.thread_id);
    for (const ref of taken.damaged ?? [])
      io.warn(`Artifact ${ref} comes without its content, which was damaged where it was exported.`);
    io.result(taken, () => {
      const { thread_id, name, state_ref, artifacts, events } = taken;
      const facts = [plain(name), state_ref, plural(artifacts, 'artifact'), plural(events, 'event')];
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
      `${dir} is both where the old threads are and where they would go.`,
      `Keep them apart: relay import --legacy ${shellWord(dir)} --home ${shellWord(elsewhere)}, and RELAY_HOME=${shellWord(elsewhere)} from then on.`,
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
    io.print(`${outcome}  ${thread_id}  ${plain(thread.name)} · ${io.style.dim(inFigures(thread))}`);
    if (outcome !== 'here already') for (const note of notes) io.warn(`${thread_id}: ${plain(note)}`);
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

/** The configuration of a Go relay is none of ours: that it cannot be read is part of the same mix-up. */
function isRemote(host: Host): boolean {
  try {
    return host.remote !== null;
  } catch {
    return false;
  }
}

const replay = answerCommand({
  usage: '[<id>]',
  details: `A state is what its events add up to. This adds them up from the first one, without snapshots, and says
whether that gives the same bytes. Ends with 1 where it does not.`,
  flags: THREAD_FLAG,
  examples: `
    relay replay 550e84  # the version, the number of events and the hash of the state
    relay replay --json | jq -r .sha256  # the hash alone, to compare with another machine`,
  async ask(call) {
    const { threads, id } = await openThread(call, { word: call.args[0] });
    return { thread_id: id, ...(await threads.replay(id)) };
  },
  print: ({ version, events, sha256, matches }, { style }) =>
    rows(style.dim, [
      ['state_ref', `v${version}`],
      ['events', count(events)],
      ['sha256', sha256],
      ['replayed', matches ? style.green('the same bytes') : style.red('other bytes than the state')],
    ]),
  exit: ({ matches }) => (matches ? EXIT.ok : EXIT.failed),
});

export const commands = {
  new: begin,
  use,
  list,
  rm,
  runs: list,
  show,
  tail,
  report,
  stats,
  export: exportThread,
  import: importThread,
  replay,
};
