import { badUsage, defineCommand } from '../command.ts';
import type { InstallReport } from '../host.ts';
import { oneOf } from '../human.ts';
import type { Io } from '../io.ts';
import { suggest } from '../suggest.ts';
import { LINKS_FLAG } from './project-call.ts';

const PARTS = ['skill', 'hooks', 'mcp'] as const;

const install = defineCommand({
  usage: '<claude|codex|gemini|opencode|openclaw|cursor|vscode|git>…',
  details: `Settings of others stay as they are, comments and order included; a file that does not parse is not touched. Installing twice
changes nothing. --remove takes out what was put in, and gives the files back as they were.`,
  flags: {
    project: { help: 'for this folder (by default)' },
    user: { help: 'for you, in every folder' },
    'dry-run': { help: 'show what would change, and change nothing' },
    check: { help: 'say what is missing or has drifted; ends with 1 if anything has' },
    remove: { help: 'take it out again' },
    'approve-tools': { help: 'let Codex run the tools of relay without asking' },
    only: { multiple: true, value: PARTS.join('|'), help: 'just this part; may be repeated' },
    ...LINKS_FLAG,
  },
  takes: { min: 1, max: 8 },
  examples: `
    relay install claude  # for this folder, to be committed with it
    relay install codex gemini --user  # for you, everywhere
    relay install claude --dry-run  # look first
    relay install claude --remove  # as if nothing had been
    relay install git  # git merges the project files by itself`,
  async run({ io, host, flags, args }) {
    if (flags.project && flags.user)
      throw badUsage('--project and --user exclude each other.', 'Choose one.');
    if (flags['approve-tools'] && !args.includes('codex'))
      throw badUsage('--approve-tools is for Codex.', 'Use: relay install codex --approve-tools');
    const installer = await host.program.installer();
    for (const client of args) {
      if (installer.clients.includes(client)) continue;
      const near = suggest(client, installer.clients);
      throw badUsage(
        `"${client}" is no agent that relay knows.`,
        near ? `Did you mean: relay install ${near}?` : `It knows: ${installer.clients.join(', ')}.`,
      );
    }
    const only = flags.only?.map((part) => oneOf('--only', part, PARTS)!);
    const scope = flags.user ? 'user' : 'project';
    const action = flags.remove ? 'remove' : 'add';
    const dryRun = flags['dry-run'] || flags.check;
    const [followLinks, approveTools] = [flags['follow-links'], flags['approve-tools']];
    const request = { scope, action, only, dryRun, followLinks, approveTools } as const;
    const reports: ({ client: string; scope: string } & InstallReport)[] = [];
    for (const client of args) {
      const { notes, ...report } = await installer.run({ client, ...request });
      reports.push({ client, scope, ...report, notes: notes.map(io.typed) });
    }
    const drifted = reports.some(({ changes }) => changes.some(({ what }) => what !== 'same'));
    const ok = !flags.check || !drifted;
    const shown = reports.map((report) => (io.json ? report : render(report, io, { ...flags, scope })));
    io.result({ ok, scope, action, dry_run: dryRun ?? false, reports }, () => shown.join('\n\n'));
    return ok ? 0 : 1;
  },
});

/** What a change is called by --check and by --dry-run. */
const VERBS = {
  same: ['ok', 'same'],
  created: ['missing', 'would create'],
  changed: ['drifted', 'would change'],
  deleted: ['drifted', 'would delete'],
  kept: ['edited', 'would keep'],
} as const;

function render(
  { client, changes, notes }: { client: string } & InstallReport,
  io: Io,
  o: { 'dry-run'?: boolean; check?: boolean; remove?: boolean; scope: string },
): string {
  const { style } = io;
  const lines = [style.bold(`${client} (${o.scope === 'user' ? 'for you' : 'for this folder'})`)];
  if (changes.length === 0) lines.push('  nothing to do');
  for (const { path, parts, what, diff } of changes) {
    const paint = what === 'same' ? style.dim : o.check ? style.yellow : style.green;
    const [checked, planned] = VERBS[what];
    const verb = o.check ? checked : o['dry-run'] ? planned : what;
    lines.push(`  ${paint(verb.padEnd(13))}${path} ${style.dim(`(${parts.join(', ')})`)}`);
    const shown = o['dry-run'] && what !== 'same' && !parts.includes('skill');
    if (shown) lines.push(...diff.map((row) => `      ${paintRow(row, io)}`));
  }
  const told = o.remove ? [] : notes;
  return [...lines, ...told.map((note) => `  ${style.yellow('note')}  ${note}`)].join('\n');
}

function paintRow(row: string, { style }: Io): string {
  if (row.startsWith('+')) return style.green(row);
  return row.startsWith('-') ? style.red(row) : style.dim(row);
}

export const commands = { install };
