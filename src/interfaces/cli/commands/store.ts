import { resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { answerCommand, refusal } from '../command.ts';
import type { CopyReport } from '../host.ts';
import { bytes, count, plural, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import { progressBar } from '../progress.ts';

const init = answerCommand({
  details: `Nothing needs it: every command makes what it misses. It shows where things are, and what is there already
stays as it is.`,
  examples: `
    relay init  # in ~/.relay
    relay init --home ./relay  # somewhere else; RELAY_HOME says the same`,
  async ask({ host }) {
    const { config, written } = await host.store.init();
    await using store = await host.store.open();
    await store.usage();
    return { home: host.home, config, config_written: written };
  },
  print({ home, config, config_written }, { interactive, style, typed }) {
    const facts = rows(style.dim, [
      ['home', home],
      ['config', `${config}${config_written ? '' : ' (was there, left as it is)'}`],
      ['storage', 'ready'],
    ]);
    const next = `\nNext: ${style.cyan(typed('relay thread new --name my-first-run'))}, or ${typed('relay demo')}.`;
    return interactive ? facts + next : facts;
  },
});

const prune = answerCommand({
  details:
    'What has expired is invisible at once; this reclaims its space. A running server does so by itself.',
  examples: 'relay prune  # sweep the local store',
  async ask({ host }) {
    await using store = await host.store.open();
    return await store.sweep();
  },
  print: (swept) =>
    swept.blobs === 0 && swept.records === 0
      ? 'nothing to prune'
      : `pruned ${plural(swept.blobs, 'payload')} and ${plural(swept.records, 'record')}, ${bytes(swept.bytes)}`,
});

const du = answerCommand({
  examples: `
    relay du  # of the local store
    relay du --json  # in bytes`,
  async ask({ host }) {
    await using store = await host.store.open();
    return { home: host.home, ...(await store.usage()) };
  },
  print: ({ home, blobs, records, entries, diskBytes, bucket }, { style }) =>
    rows(style.dim, [
      ['payloads', `${count(blobs.count)}, ${bytes(blobs.bytes)}`],
      ['records', count(records)],
      ['log entries', count(entries)],
      ['on disk', `${bytes(diskBytes)} in ${home}`],
      [
        'in the bucket',
        bucket ? `${bucket.bytes === null ? 'no answer' : bytes(bucket.bytes)} in ${bucket.name}` : null,
      ],
    ]),
});

const backup = answerCommand({
  usage: '<dir>',
  details:
    'The copy is consistent, also while a server or other commands write. The folder must be new or empty. What is damaged is named and left out; it ends with 1 then. Of a NATS cluster, each thread and each channel is as it was at one moment; the copy is a home folder like any other.',
  flags: { engine: { value: 'URL', help: 'back up this NATS cluster (RELAY_ENGINE)' } },
  examples: `
    relay backup ~/relay-backup  # copy the local store there
    relay backup /mnt/relay-$(date +%F)  # one a day
    relay backup --engine nats://a:4222,b:4222,c:4222 /mnt/relay  # of a cluster`,
  async ask({ io, host, args, flags }) {
    const backup = resolve(io.cwd, args[0]!);
    const { lost } = await host.store.backup(backup, flags.engine);
    for (const key of lost) io.warn(`The body of ${key} is damaged, and not in the backup.`);
    return {
      home: (flags.engine ?? host.store.engine) === null ? host.home : 'the cluster',
      backup,
      ...(lost.length > 0 ? { lost } : {}),
    };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, backup }) => `backed up ${home} to ${backup}`,
});

const restore = answerCommand({
  usage: '<dir>',
  details:
    'The store that is there now is kept aside, not deleted, and is replaced only with --force. A store of a NATS cluster, or one that gets a bucket, must be empty.',
  flags: {
    engine: { value: 'URL', help: 'restore into this NATS cluster (RELAY_ENGINE)' },
    blobs: { value: 'URL', help: 'keep bodies above 1 MiB in this bucket (into a cluster also RELAY_BLOBS)' },
    force: { help: 'replace the store that is there' },
    partial: { help: 'also a backup with damaged bodies, without these; it ends with 1 then' },
  },
  examples: `
    relay restore ~/relay-backup  # into an empty home
    relay restore ~/relay-backup --force  # in place of what is there
    relay restore ~/relay-backup --home /tmp/look  # somewhere else, to look into it
    relay restore /mnt/relay --engine nats://a:4222,b:4222,c:4222  # into an empty cluster`,
  async ask({ io, host, args, flags }) {
    const cluster = flags.engine ?? host.store.engine;
    const running = cluster === null ? (await host.server()).running() : null;
    if (running !== null)
      throw refusal(
        'failed',
        `A relay serves this home: ${running.url} (pid ${running.pid}).`,
        'Stop it first with: relay down',
      );
    const restored = resolve(io.cwd, args[0]!);
    const { engine, blobs } = flags;
    const o = { force: flags.force === true, partial: flags.partial === true, engine, blobs };
    const { lost } = await host.store.restore(restored, o);
    for (const key of lost) io.warn(`The body of ${key} is damaged in the backup, and was left out.`);
    return {
      home: cluster === null ? host.home : 'the cluster',
      restored,
      ...(lost.length > 0 ? { lost } : {}),
    };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, restored }) => `restored ${restored} into ${home}`,
});

/** A store is a home folder or the address of a cluster. */
function storeArgument(io: Io, place: string): string {
  return /^[a-z]+:\/\//.test(place) ? place : resolve(io.cwd, place);
}

const copy = answerCommand({
  usage: '<from> <to>',
  details:
    'A store is a home folder or the address of a NATS cluster. The first one may be in use: it is copied in passes, and takes nothing new for some seconds only while the last changes are copied. Then everything has been compared, the first store can only be read and says where it went, and the second one is the store: start the servers on it. Messages keep their numbers, so clients go on where they were. Interrupted, it goes on when it is called again.',
  flags: { blobs: { value: 'URL', help: 'keep bodies above 1 MiB of the new store in this bucket' } },
  examples: `
    relay engine copy ~/.relay nats://a:4222,b:4222,c:4222  # from one machine to a cluster
    relay engine copy nats://a:4222,b:4222,c:4222 ~/.relay-new  # and back
    relay engine copy ~/.relay /mnt/relay  # to another disk`,
  async ask({ io, host, args, flags }) {
    const [from, to] = args.map((place) => storeArgument(io, place)) as [string, string];
    const { report, end } = shown(io);
    try {
      const copied = await host.store.copy(from, to, report, flags.blobs);
      for (const key of copied.lost) io.warn(`The body of ${key} is damaged, and was not copied.`);
      return copied;
    } finally {
      end();
    }
  },
  exit: ({ lost }) => (lost.length > 0 ? EXIT.failed : EXIT.ok),
  print: (copied) =>
    [
      `copied ${copied.from} to ${copied.to}: ${plural(copied.blobs, 'body', 'bodies')} with ${bytes(copied.bytes)}, ${plural(copied.records, 'record')}, ${count(copied.entries)} entries in ${plural(copied.logs, 'log')}`,
      `nobody could write for ${span(copied.frozen_ms)}; from now on the store is ${copied.to}`,
    ].join('\n'),
});

const LABELS = { copy: 'copying', check: 'comparing', switch: 'switching over' };

/** A bar for each step, where someone is looking. */
export function shown(io: Io): { report: CopyReport; end(): void } {
  let bar: ReturnType<typeof progressBar> | null = null;
  const end = () => {
    bar?.[Symbol.dispose]();
    bar = null;
  };
  const step: CopyReport['step'] = (name, items) => {
    end();
    bar = progressBar(io, LABELS[name], Math.max(items, 1), { amount: count });
  };
  return { report: { step, add: (items) => bar?.add(items) }, end };
}

const reopen = answerCommand({
  usage: '<store>',
  details:
    'For a store that relay engine copy has left. What was written since into the one that it moved to is not there: copy it back instead, unless nothing was.',
  examples: 'relay engine reopen ~/.relay  # go on with the old store after all',
  ask: ({ io, host, args }) => host.store.reopen(storeArgument(io, args[0]!)),
  print: ({ store, was }) =>
    was === null
      ? `${store} can be written already`
      : `${store} can be written again; it had moved to ${was}`,
});

export const commands = { init, prune, du, backup, restore, copy, reopen };
