import { defineCommand, refusal } from '../command.ts';
import type { Check, DamagedBody, Host } from '../host.ts';
import { bytes, parseMilliseconds, plural } from '../human.ts';
import type { Io } from '../io.ts';
import { progressBar } from '../progress.ts';

/** So that it ends within ten seconds. */
const PATIENCE_MS = 9_000;

const doctor = defineCommand({
  details: 'Every line is something that was really tried. Ends with 1 when anything is wrong.',
  flags: {
    deep: { help: 'read everything that is stored, and name what is missing, cut or altered' },
    repair: { help: 'write the files of threads anew from their logs, and what a search needs' },
    timeout: { value: 'TIME', help: 'the most it waits for what hangs (9s)' },
  },
  examples: `
    relay doctor  # look at Node, the store, the disk and the server
    relay doctor --url https://relay.example  # look at a server elsewhere
    relay doctor --deep  # read every payload and artifact, with what refers to those that are damaged
    relay doctor --repair  # write state.json and events.log of every thread anew, then look`,
  async run({ io, host, flags }) {
    if (flags.repair) {
      const { threads, artifacts, missing } = await host.store.repair();
      io.note(`Made the files of ${threads} threads with ${artifacts} artifacts anew.`);
      for (const gone of missing) io.warn(`${gone} is missing or damaged; relay doctor --deep says how.`);
    }
    const checks: Check[] = [];
    const { style } = io;
    const mark = {
      ok: style.green('ok     '),
      warning: style.yellow('warning'),
      wrong: style.red('wrong  '),
    };
    const tell = (check: Check) => {
      checks.push(check);
      if (io.json) return;
      io.print(`${mark[check.state]}  ${style.bold(check.name)}: ${check.found}`);
      if (check.fix) io.print(`         ${style.dim('→')} ${check.fix}`);
    };
    for await (const found of host.program.diagnose(
      parseMilliseconds(flags.timeout, '--timeout') ?? PATIENCE_MS,
    )) {
      const check = found.fix === undefined ? found : { ...found, fix: io.typed(found.fix) };
      tell(check);
    }
    const damaged: DamagedBody[] = [];
    if (flags.deep) {
      for await (const check of deepChecks(io, host, damaged)) tell(check);
    }
    const wrong = checks.filter((check) => check.state === 'wrong').length;
    io.result(
      { ok: wrong === 0, checks, ...(flags.deep ? { damaged } : {}) },
      () => `\n${inAll(checks, wrong)}`,
    );
    return wrong === 0 ? 0 : 1;
  },
});

const RESTORE = 'relay restore puts back a backup; relay backup --help says how to make one';

/** Reads the whole store. `damaged` gets the bodies that are not what was stored. */
async function* deepChecks(io: Io, host: Host, damaged: DamagedBody[]): AsyncGenerator<Check> {
  if (host.remote !== null)
    throw refusal(
      'bad_usage',
      '--deep reads the store of this machine, and --url names a server.',
      'Run relay doctor --deep where the server runs; GET /metrics there tells what it has read by itself.',
    );
  await using store = await host.store.open();
  const found = await store.checkDatabase();
  if (found === null) yield { name: 'database', state: 'ok', found: 'read whole; nothing is wrong with it' };
  else yield { name: 'database', state: 'wrong', found, fix: RESTORE };
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
    const what = `${file ?? `the body ${key}`} is ${fault}`;
    yield { name: 'body', state: 'wrong', found: `${what}; ${refers ?? 'nothing'} refers to it` };
  }
  const all = `${plural(read, 'body', 'bodies')} read, ${bytes(size)}`;
  if (damaged.length === 0) yield { name: 'bodies', state: 'ok', found: `${all}, all as they were stored` };
  else yield { name: 'bodies', state: 'wrong', found: `${all}; ${damaged.length} damaged`, fix: RESTORE };
}

/** A hook that never runs is a warning, and no reason to say that everything works. */
function inAll(checks: readonly Check[], wrong: number): string {
  if (wrong > 0) return `${wrong} of ${checks.length} wrong.`;
  const warnings = checks.filter((check) => check.state === 'warning').length;
  if (warnings === 0) return 'Everything works.';
  return `Nothing is wrong, but ${plural(warnings, 'warning')} above ${warnings === 1 ? 'needs' : 'need'} you.`;
}

export const commands = { doctor };
