import { ARTIFACT_BYTES, PAGE_ITEMS, PREVIEW_BYTES } from '../../../base/limits.ts';
import { firstItems } from '../../../base/pages.ts';
import { ARTIFACT_TYPES, unsearchedText } from '../../../contract/threads.ts';
import { answerCommand, badUsage, defineCommand } from '../command.ts';
import {
  bytes,
  columns,
  count,
  labelled,
  listFlags,
  moment,
  parseCount,
  parseMost,
  passedOn,
  plural,
  printable,
  printableLine,
} from '../human.ts';
import {
  notForTerminals,
  openPayload,
  PART_FLAGS,
  partOf,
  WRITE_FLAGS,
  writePart,
  writePayload,
} from '../payload.ts';
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';
import { findArtifact, openThread, readCommand, showRead, THREAD_FLAG } from '../thread-choice.ts';

const put = answerCommand({
  usage: '<file|->',
  details: `Stores up to ${bytes(ARTIFACT_BYTES)}. A prompt contains the ref and a preview of at most ${bytes(PREVIEW_BYTES)}, not the whole content; a model pulls the
content when it needs it. In a pipe it prints only the ref.`,
  flags: {
    type: { value: 'TYPE', help: `${ARTIFACT_TYPES.join(', ')} or your own type (guessed from the name)` },
    name: { short: 'n', value: 'NAME', help: 'name of the artifact (name of the file)' },
    mime: { value: 'TYPE', help: 'media type (derived from the type)' },
    source: { value: 'REF', multiple: true, help: 'ref of an artifact it was made from' },
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact put notes.md --thread 550e84 --type markdown  # store a file and print its artifact_ref
    npm test 2>&1 | relay artifact put - --type tool_output --name test.log  # store standard input
    ref=$(relay artifact put survey.md)  # save the ref in a variable`,
  async ask(call) {
    const { io, args, flags } = call;
    const source = await openPayload(io, args[0]!, { limit: ARTIFACT_BYTES });
    const { threads, id } = await openThread(call, { use: true });
    const { size, label } = source;
    const { type, mime, source: source_refs } = flags;
    const body = withProgress(io, source.body, source);
    const name = flags.name ?? (args[0] === '-' ? undefined : label);
    return threads.putArtifact(id, { body, size, name, type, mime, source_refs });
  },
  print({ ref, name, type, size, tokens }, io) {
    const about = tokens.estimated ? 'about ' : '';
    return labelled(io, 'artifact_ref', ref, [
      printableLine(name),
      type,
      bytes(size),
      `${about}${plural(tokens.content, 'token')}, its preview ${count(tokens.preview)} (${tokens.tokenizer})`,
    ]);
  },
});

const get = defineCommand({
  usage: '<ref>',
  details: `Writes the bytes to standard output unchanged. To save tokens, look at --outline first, then get only the lines
you need. In a pipe, a read is counted as a pull in relay stats. --json prints everything except the content: type, name,
size, hash, preview, provenance and tokens. You can pass a ref, the first characters of a ref, or a name. If several
artifacts have the name, the newest is used.`,
  flags: {
    ...PART_FLAGS,
    preview: { short: 'p', help: 'only the preview that prompts can contain' },
    ...WRITE_FLAGS,
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact get 01914a2b3c4d5e6f7890abcdef  # print the content
    relay artifact get survey.md --outline  # print headings or definitions only
    relay artifact get survey.md --lines 120-180  # print these lines
    relay artifact get survey.md --out survey.md  # write to a file
    relay artifact get <ref> --preview  # print the preview`,
  async run(call) {
    const { io, args, flags } = call;
    if (flags.preview && flags.out !== undefined)
      throw badUsage(
        '--preview and --out cannot be used together.',
        'Redirect the preview: relay artifact get <ref> --preview > FILE',
      );
    const part = partOf(flags, 'relay artifact get <ref>');
    if (part && flags.preview)
      throw badUsage(
        '--preview cannot be combined with a part.',
        'Remove --preview, or the option that selects the part.',
      );
    const { threads, id } = await openThread(call);
    const ref = await findArtifact(threads, id, args[0]!);
    if (part) return writePart(io, await threads.part(id, ref, part), flags);
    if (flags.preview || (io.json && flags.out === undefined)) {
      const artifact = await threads.artifact(id, ref, { counted: false });
      const { text } = artifact.preview;
      return showRead(call, { threads, id, what: 'previews' }, artifact, passedOn(io, text));
    }
    if (io.interactive && !flags.force && flags.out === undefined) {
      // Check the type first, because reading the content would count as a pull.
      const { type } = await threads.artifact(id, ref, { counted: false });
      if (type === 'binary') throw notForTerminals();
    }
    const { artifact, body } = await threads.content(id, ref, {
      counted: !io.interactive && flags.out === undefined,
    });
    await writePayload(io, body, { ...flags, size: artifact.size });
  },
});

const list = readCommand('listings', {
  details: 'In a pipe each line has ref, type, bytes, tokens and name.',
  flags: {
    ...listFlags(PAGE_ITEMS),
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact list  # list the artifacts of the default thread
    relay artifact list --thread 550e84 --json  # include previews, hashes and provenance`,
  async ask({ threads, id }, call) {
    const most = parseMost(call.flags, PAGE_ITEMS);
    const { items, ...more } = await firstItems('artifacts', most, (o) =>
      threads.artifacts(id, { ...o, counted: false }),
    );
    return { artifacts: items, ...more };
  },
  print({ artifacts, more }, { interactive, style, typed }) {
    if (artifacts.length === 0)
      return interactive
        ? style.dim(typed('There are no artifacts yet. Store one with: relay artifact put FILE'))
        : '';
    const cells = artifacts.map(({ type, size, tokens: { content } }) =>
      interactive ? [type, bytes(size), plural(content, 'token')] : [type, String(size), String(content)],
    );
    const figures = columns(cells, [1, 2]);
    const lines = artifacts.map(({ ref, name, created_at }, i) => {
      const createdAt = interactive ? `  ${style.dim(moment(created_at))}` : '';
      return `${style.cyan(ref)}  ${figures[i]}  ${printableLine(name)}${createdAt}`;
    });
    if (more && interactive)
      lines.push(style.dim(typed('There are older artifacts. List all with: relay artifact list --all')));
    return lines.join('\n');
  },
});

const search = readCommand('searches', {
  usage: '<words…>',
  details: `Pass keywords or a question. Passages that contain more of the words come first; rare words count more. An
artifact can appear several times. The number after the name is the first line of the passage. Items of the state that
match come before the passages, with their paths.`,
  takes: { min: 1, max: 100 },
  flags: { count: { short: 'n', value: 'N', help: 'show at most N passages (10)' }, ...THREAD_FLAG },
  examples: `
    relay artifact search retry backoff  # search the default thread
    relay artifact search "how long does it wait before the third try?"  # ask a question
    relay artifact search timeout --thread 550e84 --json  # include scores`,
  async ask({ threads, id }, call) {
    const limit = parseCount(call.flags.count, '--count', { min: 1, max: 1000 }) ?? 10;
    return threads.search(id, call.args.join(' '), { limit, counted: false });
  },
  print({ hits, state = [], unsearched }, { interactive, style, ...io }) {
    if (unsearched) io.warn(unsearchedText(unsearched));
    if (hits.length + state.length === 0) return interactive ? style.dim('No matches.') : '';
    const bold = (text: string) => text.replace(/\*\*(.+?)\*\*/g, (_, word: string) => style.bold(word));
    const formatSnippet = (text: string) =>
      (interactive ? bold(printable(text)) : text).replace(/\s+/g, ' ').trim();
    return [
      ...state.map(({ path, text }) => `${style.cyan(path)}\n    ${formatSnippet(text)}`),
      ...hits.map(
        ({ ref, name, line, snippet }) =>
          `${style.cyan(ref)}  ${printableLine(name)}:${line}\n    ${formatSnippet(snippet)}`,
      ),
    ].join('\n');
  },
});

const rm = defineCommand({
  usage: '<ref…>',
  details: `Use it for a secret that was stored by mistake. Deletes the content, the preview and the search index entries. The
hash and the name stay, and an event records who deleted it. Copies remain in reports and search results that quote it,
in backups and in exports. At a terminal it asks for confirmation.`,
  takes: { min: 1, max: 1000 },
  flags: { ...FORCE_FLAG, ...THREAD_FLAG },
  examples: `
    relay artifact rm 01914a2b3c4d5e6f7890abcdef  # delete one artifact
    relay artifact rm .env --thread 550e84  # delete by name, in another thread`,
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call);
    // Find all artifacts before deleting the first one, so that a wrong argument deletes nothing.
    const refs = new Set<string>();
    for (const arg of args) refs.add(await findArtifact(threads, id, arg));
    if (!(await agrees(io, flags, () => `Delete ${plural(refs.size, 'artifact')} permanently?`))) return;
    return removeEach(io, 'deleted', [...refs], (ref) => threads.deleteArtifact(id, ref));
  },
});

export const commands = { put, get, list, search, rm };
