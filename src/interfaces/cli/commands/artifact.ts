import { ARTIFACT_BYTES, PAGE_ITEMS } from '../../../base/limits.ts';
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
} from '../human.ts';
import { withProgress } from '../progress.ts';
import { agrees, FORCE_FLAG, removeEach } from '../removal.ts';
import { plain } from './event-line.ts';
import {
  notForTerminals,
  openPayload,
  PART_FLAGS,
  partOf,
  WRITE_FLAGS,
  writePart,
  writePayload,
} from './payload.ts';
import { findArtifact, openThread, readCommand, showRead, THREAD_FLAG } from './thread-choice.ts';

const put = answerCommand({
  usage: '<file|->',
  details: `Up to 50 MiB. The ref and a preview of at most 2 KB are what goes into prompts; the content stays here until
it is asked for. Piped, the ref alone is printed.`,
  flags: {
    type: { value: 'TYPE', help: `${ARTIFACT_TYPES.join(', ')} or one of your own (told from the name)` },
    name: { short: 'n', value: 'NAME', help: 'the name it goes by (that of the file)' },
    mime: { value: 'TYPE', help: 'its media type (that of its type)' },
    source: { value: 'REF', multiple: true, help: 'what it was made from; may be repeated' },
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact put notes.md --thread 550e84 --type markdown  # prints its artifact_ref
    npm test 2>&1 | relay artifact put - --type tool_output --name test.log  # from a pipe
    ref=$(relay artifact put survey.md)  # the ref alone, for a script`,
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
      plain(name),
      type,
      bytes(size),
      `${about}${count(tokens.content)} tokens, its preview ${count(tokens.preview)} (${tokens.tokenizer})`,
    ]);
  },
});

const get = defineCommand({
  usage: '<ref>',
  details: `The bytes go to standard output as they are, which is counted as a pull in relay stats. With --preview only
what goes into prompts is printed. A part costs a model only its own tokens: look at --outline first, then take the
lines you need. With --json everything but the content is: type, name, size, hash, preview,
provenance and tokens. The beginning of a ref will do, or a name: of several by that name, the newest.`,
  flags: {
    ...PART_FLAGS,
    preview: { short: 'p', help: 'only the preview' },
    ...WRITE_FLAGS,
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact get 01914a2b3c4d5e6f7890abcdef  # to standard output
    relay artifact get survey.md --outline  # what is in it, for a few tokens
    relay artifact get survey.md --lines 120-180  # these lines
    relay artifact get survey.md --out survey.md  # by its name, into a file
    relay artifact get <ref> --preview  # what a model is shown of it`,
  async run(call) {
    const { io, args, flags } = call;
    if (flags.preview && flags.out !== undefined)
      throw badUsage(
        '--preview and --out do not go together.',
        'Redirect the preview: relay artifact get <ref> --preview > FILE',
      );
    const part = partOf(flags, 'relay artifact get <ref>');
    if (part && flags.preview) throw badUsage('A preview has no parts.', 'Leave out --preview, or the part.');
    const { threads, id } = await openThread(call);
    const ref = await findArtifact(threads, id, args[0]!);
    if (part) return writePart(io, await threads.part(id, ref, part), flags);
    if (flags.preview || (io.json && flags.out === undefined)) {
      const artifact = await threads.artifact(id, ref, { counted: false });
      const { text } = artifact.preview;
      return showRead(call, { threads, id, what: 'previews' }, artifact, passedOn(io, text));
    }
    if (io.interactive && !flags.force && flags.out === undefined) {
      // Before it counts as a pull.
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
  details: 'Piped: ref, type, bytes, tokens and name.',
  flags: {
    ...listFlags(PAGE_ITEMS),
    ...THREAD_FLAG,
  },
  examples: `
    relay artifact list  # of the thread used last
    relay artifact list --thread 550e84 --json  # with previews, hashes and provenance`,
  async ask({ threads, id }, call) {
    const most = parseMost(call.flags, PAGE_ITEMS);
    const { items, ...more } = await firstItems('artifacts', most, (o) =>
      threads.artifacts(id, { ...o, counted: false }),
    );
    return { artifacts: items, ...more };
  },
  print({ artifacts, more }, { interactive, style, typed }) {
    if (artifacts.length === 0)
      return interactive ? style.dim(typed('None yet. Store one with: relay artifact put FILE')) : '';
    const cells = artifacts.map(({ type, size, tokens: { content } }) =>
      interactive ? [type, bytes(size), `${count(content)} tokens`] : [type, String(size), String(content)],
    );
    const figures = columns(cells, [1, 2]);
    const lines = artifacts.map(({ ref, name, created_at }, i) => {
      const made = interactive ? `  ${style.dim(moment(created_at))}` : '';
      return `${style.cyan(ref)}  ${figures[i]}  ${plain(name)}${made}`;
    });
    if (more && interactive) lines.push(style.dim(typed('There are older ones: relay artifact list --all')));
    return lines.join('\n');
  },
});

const search = readCommand('searches', {
  usage: '<words…>',
  details: `Words, or a question in words of your own: passages with most of its words come first, rare words counting more. An
artifact may be there several times; the number is the line on which the passage begins.`,
  takes: { min: 1, max: 100 },
  flags: { count: { short: 'n', value: 'N', help: 'so many at most (10)' }, ...THREAD_FLAG },
  examples: `
    relay artifact search retry backoff  # in the thread used last
    relay artifact search "how long does it wait before the third try?"  # a question
    relay artifact search timeout --thread 550e84 --json  # with scores`,
  async ask({ threads, id }, call) {
    const limit = parseCount(call.flags.count, '--count', { min: 1, max: 1000 }) ?? 10;
    return threads.search(id, call.args.join(' '), { limit, counted: false });
  },
  print({ hits, unsearched }, { interactive, style, ...io }) {
    if (unsearched) io.warn(unsearchedText(unsearched));
    if (hits.length === 0) return interactive ? style.dim('Nothing fits.') : '';
    const bold = (text: string) => text.replace(/\*\*(.+?)\*\*/g, (_, word: string) => style.bold(word));
    const shown = (text: string) => (interactive ? bold(printable(text)) : text).replace(/\s+/g, ' ').trim();
    return hits
      .map(
        ({ ref, name, line, snippet }) => `${style.cyan(ref)}  ${plain(name)}:${line}\n    ${shown(snippet)}`,
      )
      .join('\n');
  },
});

const rm = defineCommand({
  usage: '<ref…>',
  details: `For a secret that should never have been stored. The content, its preview and what a search finds of it are gone for
good; its hash and name stay, and an event says who deleted it. Reports and search results that quote it are artifacts of
their own, and backups and exports keep what they have. At a terminal it asks first.`,
  takes: { min: 1, max: 1000 },
  flags: { ...FORCE_FLAG, ...THREAD_FLAG },
  examples: `
    relay artifact rm 01914a2b3c4d5e6f7890abcdef  # delete one
    relay artifact rm .env --thread 550e84  # by its name, in another thread`,
  async run(call) {
    const { io, args, flags } = call;
    const { threads, id } = await openThread(call);
    // All are known before the first is gone.
    const refs = new Set<string>();
    for (const arg of args) refs.add(await findArtifact(threads, id, arg));
    if (!(await agrees(io, flags, () => `Delete ${plural(refs.size, 'artifact')} for good?`))) return;
    return removeEach(io, 'deleted', [...refs], (ref) => threads.deleteArtifact(id, ref));
  },
});

export const commands = { put, get, list, search, rm };
