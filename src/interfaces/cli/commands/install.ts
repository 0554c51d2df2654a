import { isRelayError, type RelayError } from '../../../base/errors.ts';
import { badUsage, defineCommand, type Flags, type FlagValues, rejectTogether } from '../command.ts';
import type { InstallReport, InstallRequest } from '../host.ts';
import { oneOf } from '../human.ts';
import type { Io } from '../io.ts';
import { LINKS_FLAG } from '../project-call.ts';
import { suggest } from '../suggest.ts';

const PARTS = ['skill', 'hooks', 'mcp'] as const;

const FLAGS = {
  project: { help: 'install for this folder (default)' },
  user: { help: 'install for you, in all folders' },
  'dry-run': { help: 'show the changes without making them' },
  check: { help: 'list missing or changed entries; exit code 1 if there are any' },
  remove: { help: 'remove what was installed' },
  'approve-tools': { help: 'let Codex or Gemini CLI call the relay tools without asking' },
  tools: {
    value: 'GROUPS',
    help: 'also offer these groups of MCP tools: agents, ask, resources, sessions',
  },
  agent: { value: 'NAME', help: 'name of the sessions of this client in this folder; see relay send' },
  tee: { help: 'replace long tool outputs by excerpts for this agent; applies to all your folders' },
  'no-tee': { help: 'undo --tee' },
  wrap: { value: 'NAME', help: 'run the MCP server NAME of this agent through relay mcp wrap' },
  unwrap: { value: 'NAME', help: 'undo --wrap' },
  only: { multiple: true, value: PARTS.join('|'), help: 'install only this part' },
  ...LINKS_FLAG,
} as const satisfies Flags;

const install = defineCommand({
  usage: '<claude|codex|gemini|opencode|openclaw|cursor|vscode|git>…',
  details: `relay changes only the entries that it adds to the settings of the agent; other entries, comments and order are kept. A settings file
that does not parse is not changed. Installing a second time changes nothing. --remove deletes these entries;
a file that nobody has edited since the installation gets its earlier content back.`,
  flags: FLAGS,
  takes: { min: 1, max: 8 },
  examples: `
    relay install claude  # install for this folder; commit the files
    relay install codex gemini --user  # install for all your folders
    relay install claude --dry-run  # show what would change
    relay install claude --remove  # uninstall
    relay install claude --tee  # show excerpts of long command outputs to the agent
    relay install claude --wrap github  # show excerpts of long results of the MCP server github
    relay install git  # let git merge the project files automatically`,
  async run({ io, host, flags, args }) {
    rejectTogether(flags, 'project', 'user');
    if (flags['approve-tools'] && !args.some((client) => client === 'codex' || client === 'gemini'))
      throw badUsage(
        '--approve-tools works only for Codex and Gemini CLI.',
        'Use: relay install codex gemini --approve-tools',
      );
    const installer = await host.program.installer();
    for (const client of args) {
      if (installer.clients.includes(client)) continue;
      const near = suggest(client, installer.clients);
      throw badUsage(
        `"${client}" is not a supported agent.`,
        near ? `Did you mean: relay install ${near}?` : `Supported: ${installer.clients.join(', ')}.`,
      );
    }
    if (flags.agent !== undefined && (args.length > 1 || flags.remove))
      throw badUsage(
        '--agent needs exactly one client and cannot be used with --remove.',
        'Use: relay install codex --agent reviewer',
      );
    const only = flags.only?.map((part) => oneOf('--only', part, PARTS)!);
    const extra = extraOf(flags);
    if (extra?.kind === 'tee' && flags.project)
      throw badUsage('--tee is never written into a project.', 'Omit --project.');
    const scope = flags.user || extra?.kind === 'tee' ? 'user' : 'project';
    const action = flags.remove || flags['no-tee'] || flags.unwrap !== undefined ? 'remove' : 'add';
    const dryRun = flags['dry-run'] || flags.check;
    const [followLinks, approveTools] = [flags['follow-links'], flags['approve-tools']];
    const { tools } = flags;
    const request = { scope, action, only, dryRun, followLinks, approveTools, tools, extra } as const;
    const reports: ({ client: string; scope: string } & InstallReport)[] = [];
    const failures: { client: string; error: RelayError }[] = [];
    for (const client of args) {
      try {
        const { notes, ...report } = await installer.run({ client, ...request });
        reports.push({ client, scope, ...report, notes: notes.map(io.typed) });
      } catch (error) {
        // An error, such as an invalid settings file, concerns only this client. Continue with the next
        // client.
        if (!isRelayError(error) || args.length === 1) throw error;
        failures.push({ client, error });
        io.warn(`${client} was not changed: ${error.message} ${io.typed(error.hintFor('cli'))}`.trim());
      }
    }
    if (flags.agent !== undefined && !dryRun)
      await host.agents.chooseName(args[0]!, scope === 'user' ? null : io.cwd, flags.agent);
    const drifted = reports.some(({ changes }) => changes.some(({ what }) => what !== 'same'));
    const ok = failures.length === 0 && (!flags.check || !drifted);
    const failed = failures.map(({ client, error: { code, message } }) => ({ client, code, message }));
    io.result({ ok, scope, action, dry_run: dryRun ?? false, reports, failed }, () =>
      reports.map((report) => render(report, io, { ...flags, scope })).join('\n\n'),
    );
    return ok ? 0 : 1;
  },
});

function extraOf(flags: FlagValues<typeof FLAGS>): InstallRequest['extra'] {
  rejectTogether(flags, 'tee', 'no-tee', 'wrap', 'unwrap', 'remove');
  if (flags.tee || flags['no-tee']) return { kind: 'tee' };
  const server = flags.wrap ?? flags.unwrap;
  return server === undefined ? undefined : { kind: 'wrap', server };
}

/** How --check (first word) and --dry-run (second word) name each kind of change. */
const VERBS = {
  same: ['ok', 'same'],
  created: ['missing', 'would create'],
  changed: ['changed', 'would change'],
  deleted: ['changed', 'would delete'],
  kept: ['edited', 'would keep'],
} as const;

function render(
  { client, changes, notes }: { client: string } & InstallReport,
  io: Io,
  o: FlagValues<typeof FLAGS> & { scope: string },
): string {
  const { style } = io;
  const lines = [style.bold(`${client} (${o.scope === 'user' ? 'for you' : 'for this folder'})`)];
  if (changes.length === 0) lines.push('  nothing to do');
  for (const { path, parts, what, diff } of changes) {
    const paint = what === 'same' ? style.dim : o.check ? style.yellow : style.green;
    const [checked, planned] = VERBS[what];
    const verb = o.check ? checked : o['dry-run'] ? planned : what;
    lines.push(`  ${paint(verb.padEnd(13))}${path} ${style.dim(`(${parts.join(', ')})`)}`);
    const showDiff = o['dry-run'] && what !== 'same' && !parts.includes('skill');
    if (showDiff) lines.push(...diff.map((row) => `      ${paintRow(row, io)}`));
  }
  const visibleNotes = o.remove ? [] : notes;
  return [...lines, ...visibleNotes.map((note) => `  ${style.yellow('note')}  ${note}`)].join('\n');
}

function paintRow(row: string, { style }: Io): string {
  if (row.startsWith('+')) return style.green(row);
  return row.startsWith('-') ? style.red(row) : style.dim(row);
}

export const commands = { install };
