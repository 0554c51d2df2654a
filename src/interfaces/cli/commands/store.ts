import { resolve } from 'node:path';
import { EXIT } from '../../../base/errors.ts';
import { answerCommand, refusal } from '../command.ts';
import type { CopyReport } from '../host.ts';
import { bytes, count, plural, rows, span } from '../human.ts';
import type { Io } from '../io.ts';
import { progressBar } from '../progress.ts';

const init = answerCommand({
  localOnly: true,
  details: `This is optional: other commands create the store when they need it. An existing store is not changed.`,
  examples: `
    relay init  # create ~/.relay
    relay init --home ./relay  # create another home; RELAY_HOME does the same`,
  async ask({ host }) {
    const { config, written } = await host.store.init();
    await using store = await host.store.open();
    await store.usage();
    return { home: host.home, config, config_written: written };
  },
  print({ home, config, config_written }, { interactive, style, typed }) {
    const facts = rows(style.dim, [
      ['home', home],
      ['config', `${config}${config_written ? '' : ' (existed, not changed)'}`],
      ['storage', 'ready'],
    ]);
    const next = `\nNext: ${style.cyan(typed('relay thread new --name my-first-run'))}, or ${typed('relay demo')}.`;
    return interactive ? facts + next : facts;
  },
});

const prune = answerCommand({
  localOnly: true,
  details:
    'Expired data is already invisible; this command frees its disk space. A running server does this automatically. --outputs also deletes every output that relay tee has stored.',
  flags: { outputs: { help: 'also delete all outputs stored by relay tee' } },
  examples: `
    relay prune  # clean up the local store
    relay prune --outputs  # also delete stored outputs of commands`,
  async ask({ host, flags }) {
    const outputs = flags.outputs ? await host.outputs.prune() : undefined;
    await using store = await host.store.open();
    return { ...(await store.sweep()), ...(outputs === undefined ? {} : { outputs }) };
  },
  print: ({ outputs, blobs, records, bytes: freed, waiting }) => {
    const size = waiting?.bytes ? `, ${bytes(waiting.bytes)},` : '';
    const later = waiting?.count
      ? `\n${plural(waiting.count, 'orphaned upload')}${size} will be deleted when they are an hour old; run relay prune again then`
      : '';
    const done = [
      ...(outputs === undefined ? [] : [`deleted ${plural(outputs, 'output')}`]),
      ...(blobs + records > 0
        ? [`pruned ${plural(blobs, 'payload')} and ${plural(records, 'record')}, ${bytes(freed)}`]
        : []),
    ];
    return (done.join('; ') || 'nothing to prune') + later;
  },
});

const du = answerCommand({
  localOnly: true,
  examples: `
    relay du  # show the size of the local store
    relay du --json  # print sizes in bytes as JSON`,
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
  localOnly: true,
  usage: '<dir>',
  details:
    'The backup is consistent even if a server or other commands write at the same time. The folder must be new or empty. Damaged payloads are listed and skipped; the exit code is then 1. In a backup of a NATS cluster, or of a home with a bucket, each thread and each channel is consistent, but they can be from different moments. The backup is a normal home folder.',
  flags: { engine: { value: 'URL', help: 'back up this NATS cluster (RELAY_ENGINE)' } },
  examples: `
    relay backup ~/relay-backup  # back up the local store
    relay backup /mnt/relay-$(date +%F)  # make a daily backup
    relay backup --engine nats://a:4222,b:4222,c:4222 /mnt/relay  # back up a cluster`,
  async ask({ io, host, args, flags }) {
    const backup = resolve(io.cwd, args[0]!);
    const { lost } = await host.store.backup(backup, flags.engine);
    for (const key of lost) io.warn(`The payload ${key} is damaged and not in the backup.`);
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
  localOnly: true,
  usage: '<dir>',
  details:
    'Without --force the home must not contain a store. --force moves an existing store to a folder before-restore-… in the home, then restores. A cluster, or a home that is restored with --blobs, must be empty; --force is rejected there.',
  flags: {
    engine: { value: 'URL', help: 'restore into this NATS cluster (RELAY_ENGINE)' },
    blobs: {
      value: 'URL',
      help: 'store payloads above 1 MiB in this bucket (RELAY_BLOBS if you restore into a cluster)',
    },
    force: { help: 'replace the existing store' },
    partial: { help: 'skip damaged payloads and restore the rest; the exit code is then 1' },
  },
  examples: `
    relay restore ~/relay-backup  # restore into an empty home
    relay restore ~/relay-backup --force  # replace the existing store
    relay restore ~/relay-backup --home /tmp/look  # restore into another home
    relay restore /mnt/relay --engine nats://a:4222,b:4222,c:4222  # restore into an empty cluster`,
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
    for (const key of lost) io.warn(`The payload ${key} is damaged in the backup and was not restored.`);
    return {
      home: cluster === null ? host.home : 'the cluster',
      restored,
      ...(lost.length > 0 ? { lost } : {}),
    };
  },
  exit: ({ lost }) => (lost ? EXIT.failed : EXIT.ok),
  print: ({ home, restored }) => `restored ${restored} into ${home}`,
});

/** Returns the address of a cluster unchanged, and the path of a home folder as an absolute path. */
function storeArgument(io: Io, place: string): string {
  return /^[a-z]+:\/\//.test(place) ? place : resolve(io.cwd, place);
}

const copy = answerCommand({
  localOnly: true,
  usage: '<from> <to>',
  details:
    'A store is a home folder or the address of a NATS cluster. The source may be in use; it rejects writes only for the few seconds at the end in which the last changes are copied and compared. Afterwards the source is read-only, and its error messages name the new store. Start the servers on the new store. Messages keep their sequence numbers, so clients continue where they were. If the command is interrupted, run it again to continue.',
  flags: { blobs: { value: 'URL', help: 'store payloads above 1 MiB of the new store in this bucket' } },
  examples: `
    relay engine copy ~/.relay nats://a:4222,b:4222,c:4222  # move from a folder to a cluster
    relay engine copy nats://a:4222,b:4222,c:4222 ~/.relay-new  # move from a cluster to a folder
    relay engine copy ~/.relay /mnt/relay  # move to another disk`,
  async ask({ io, host, args, flags }) {
    const [from, to] = args.map((place) => storeArgument(io, place)) as [string, string];
    const { report, end } = copyProgress(io);
    try {
      const copied = await host.store.copy(from, to, report, flags.blobs);
      for (const key of copied.lost) io.warn(`The payload ${key} is damaged and was not copied.`);
      return copied;
    } finally {
      end();
    }
  },
  exit: ({ lost }) => (lost.length > 0 ? EXIT.failed : EXIT.ok),
  print: (copied) =>
    [
      `copied ${copied.from} to ${copied.to}: ${plural(copied.blobs, 'payload')} with ${bytes(copied.bytes)}, ${plural(copied.records, 'record')}, ${count(copied.entries)} entries in ${plural(copied.logs, 'log')}`,
      `writes were rejected for ${span(copied.frozen_ms)}; the store is now ${copied.to}`,
    ].join('\n'),
});

const LABELS = { copy: 'copying', check: 'comparing', switch: 'switching over' };

/** Returns a report that shows a progress bar for each step of a copy, at a terminal only. */
export function copyProgress(io: Io): { report: CopyReport; end(): void } {
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
  localOnly: true,
  usage: '<store>',
  details:
    'Use it after relay engine copy to return to the old store. Data written to the new store since then is missing in the old one; to keep it, use relay engine copy from the new store to an empty place instead.',
  examples: 'relay engine reopen ~/.relay  # use the old store again',
  ask: ({ io, host, args }) => host.store.reopen(storeArgument(io, args[0]!)),
  print: ({ store, was }) =>
    was === null ? `${store} is already writable` : `${store} is writable again; it had been moved to ${was}`,
});

export const commands = { init, prune, du, backup, restore, copy, reopen };
