import { isJsonObject, type JsonObject } from '../../../base/json.ts';
import { FILE_VERSIONS, FILE_VERSIONS_MAX } from '../../../base/limits.ts';
import { answerCommand, badUsage } from '../command.ts';
import { bytes, expiry, labelled, parseCount, parseSpan, typedJson } from '../human.ts';
import { openPayload } from '../pointers/payload.ts';
import { withProgress } from '../progress.ts';
import { fileArgument } from './file-argument.ts';

export default answerCommand({
  usage: '<file|-> <space/path>',
  details: `Up to 25 MiB. What was there before stays readable as an earlier version. Behind a slash the name of the file is taken.
Piped, the path with its space is printed.`,
  flags: {
    type: { value: 'TYPE', help: 'its media type' },
    metadata: { short: 'm', value: 'JSON', help: 'an object that goes with it, for everybody to read' },
    ttl: { value: 'TIME', help: 'how long it lives: 90s, 2h, 7d (until it is deleted)' },
    keep: {
      value: 'N',
      help: `earlier versions to keep, 0 to ${FILE_VERSIONS_MAX} (${FILE_VERSIONS}, or as before)`,
    },
    'if-match': { value: 'v3', help: 'only where the file is at this version' },
    new: { help: 'only where there is no such file yet' },
  },
  examples: [
    ['relay file put plan.md notes/', 'as notes/plan.md'],
    ['relay file put main.ts code/src/main.ts --if-match v3', 'only over version 3'],
    ['date | relay file put - notes/last-run --keep 0', 'from a pipe, without a history'],
  ],
  async ask({ io, args, flags, open }) {
    const target = fileArgument(args[1]!);
    const source = await openPayload(io, args[0]);
    const folder = target.path === '' || target.path.endsWith('/');
    if (folder && args[0] === '-')
      throw badUsage('What comes from a pipe has no name.', 'Name the file: relay file put - SPACE/PATH');
    const { relay } = await open();
    return relay.files.put(target.space, folder ? target.path + source.label : target.path, {
      body: withProgress(io, source.body, source),
      size: source.size,
      content_type: flags.type,
      metadata: flags.metadata === undefined ? undefined : metadataOf(flags.metadata),
      ttl: parseSpan(flags.ttl, '--ttl'),
      keep: parseCount(flags.keep, '--keep', { max: FILE_VERSIONS_MAX }),
      if_match: flags['if-match'],
      if_none_match: flags.new ? '*' : undefined,
    });
  },
  print({ space, path, version, size, expires_at }, io) {
    const ends = expires_at === null ? [] : [`expires ${expiry(expires_at)}`];
    return labelled(io, 'file', `${space}/${path}`, [`v${version}`, bytes(size), ...ends]);
  },
});

function metadataOf(text: string): JsonObject {
  const wrong = (reason: string) =>
    badUsage(`--metadata is no JSON object: ${reason}.`, `Use: --metadata '{"author":"ada"}'`);
  const metadata = typedJson(text, wrong);
  if (isJsonObject(metadata)) return metadata;
  throw wrong('it is something else');
}
