import { badUsage, defineCommand } from '../command.ts';
import type { Check, DamagedBody, Host } from '../host.ts';
import { bytes, parseMilliseconds, plural } from '../human.ts';
import type { Io } from '../io.ts';
import { progressBar } from '../progress.ts';

/**
 * Default timeout of a check in ms. On a busy machine, running the hooks of three clients takes more than ten
 * seconds.
 */
const TIMEOUT_MS = 20_000;

const doctor = defineCommand({
  details: 'Tests each part and prints one line per test. The exit code is 1 if a test failed.',
  flags: {
    deep: { help: 'also read all stored data and list missing or damaged payloads; local store only' },
    repair: {
      help: 'first rebuild the search index and the files of every thread from the store; local store only',
    },
    timeout: { value: 'TIME', help: 'maximum time to wait for a test (20s)' },
  },
  examples: `
    relay doctor  # check Node, the store, the disk and the server
    relay doctor --url https://relay.example  # check another server
    relay doctor --deep  # also read every payload and artifact
    relay doctor --repair  # rebuild state.json, events.log and the search index, then check`,
  async run({ io, host, flags }) {
    if (flags.repair) {
      needLocal(host, '--repair');
      const { threads, artifacts, missing } = await host.store.repair();
      io.note(`Rebuilt the files of ${plural(threads, 'thread')} with ${plural(artifacts, 'artifact')}.`);
      for (const gone of missing)
        io.warn(`${gone} is missing or damaged. Run relay doctor --deep for details.`);
    }
    const checks: Check[] = [];
    const { style } = io;
    const mark = {
      ok: style.green('ok     '),
      warning: style.yellow('warning'),
      wrong: style.red('wrong  '),
    };
    const printCheck = (check: Check) => {
      checks.push(check);
      if (io.json) return;
      io.print(`${mark[check.state]}  ${style.bold(check.name)}: ${check.found}`);
      if (check.fix) io.print(`         ${style.dim('→')} ${check.fix}`);
    };
    for await (const found of host.program.diagnose(
      parseMilliseconds(flags.timeout, '--timeout') ?? TIMEOUT_MS,
    )) {
      const check = found.fix === undefined ? found : { ...found, fix: io.typed(found.fix) };
      printCheck(check);
    }
    const damaged: DamagedBody[] = [];
    if (flags.deep) {
      for await (const check of deepChecks(io, host, damaged)) printCheck(check);
    }
    const wrong = checks.filter((check) => check.state === 'wrong').length;
    io.result(
      { ok: wrong === 0, checks, ...(flags.deep ? { damaged } : {}) },
      () => `\n${formatTotal(checks, wrong)}`,
    );
    return wrong === 0 ? 0 : 1;
  },
});

/** Throws if the checked relay is a server, because `option` works only on the local store. */
function needLocal(host: Host, option: string): void {
  if (host.remote === null) return;
  throw badUsage(
    `${option} works only on the local store, not on ${host.remote}.`,
    `Omit --url and unset CONTEXTRELAY_URL, or run relay doctor ${option} on the machine of the server. Its GET /metrics shows the results of its own checks.`,
  );
}

const RESTORE = 'Restore a backup with relay restore. To make backups, see relay backup --help.';

/** Reads the whole store and yields the results of the checks. Adds damaged payloads to `damaged`. */
async function* deepChecks(io: Io, host: Host, damaged: DamagedBody[]): AsyncGenerator<Check> {
  needLocal(host, '--deep');
  await using store = await host.store.open();
  const damage = await store.checkDatabase();
  if (damage === null) yield { name: 'database', state: 'ok', found: 'all of it was read, no errors' };
  else yield { name: 'database', state: 'wrong', found: damage, fix: RESTORE };
  const { blobs } = await store.usage();
  let [read, size] = [0, 0];
  {
    using bar = progressBar(io, 'reading', blobs.bytes);
    for await (const body of store.checkBodies()) {
      bar.add(body.size);
      read++;
      size += body.size;
      if (body.damaged) damaged.push(body.damaged);
    }
  }
  for (const { file, key, fault, refers } of damaged) {
    const what = `${file ?? `the payload ${key}`} is ${fault}`;
    yield {
      name: 'payload',
      state: 'wrong',
      found: `${what}; ${refers ? `used by ${refers}` : 'nothing refers to it'}`,
    };
  }
  const all = `${plural(read, 'payload')} read, ${bytes(size)}`;
  if (damaged.length === 0) yield { name: 'payloads', state: 'ok', found: `${all}, none damaged` };
  else yield { name: 'payloads', state: 'wrong', found: `${all}; ${damaged.length} damaged`, fix: RESTORE };
}

/**
 * Returns the last line that `relay doctor` prints: the number of failed checks or, if none failed, the
 * number of warnings.
 */
function formatTotal(checks: readonly Check[], wrong: number): string {
  if (wrong > 0) return `${wrong} of ${plural(checks.length, 'test')} failed.`;
  const warnings = checks.filter((check) => check.state === 'warning').length;
  if (warnings === 0) return 'Everything works.';
  return `Nothing failed, but ${warnings === 1 ? 'there is 1 warning' : `there are ${warnings} warnings`} above.`;
}

export const commands = { doctor };
