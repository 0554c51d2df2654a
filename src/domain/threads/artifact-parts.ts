import { badRequest } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { PART_CHARS } from '../../base/limits.ts';
import { withinBudget } from '../../text/parts/part-budget.ts';
import { checkPartRequest, type PartRequest } from '../../text/parts/part-request.ts';
import { workFor } from '../text-work.ts';
import { artifactMeta, openArtifact } from './artifacts.ts';
import type { ThreadVerb } from './thread-log.ts';

/** A part of a content. It is a pull that costs what is answered; what is refused is none. */
export const readPart: ThreadVerb<'part'> = async (log, caller, id, ref, o) => {
  const { max_tokens = PART_CHARS, counted = true, ...asked } = o;
  if (!Number.isInteger(max_tokens) || max_tokens < 1 || max_tokens > PART_CHARS)
    throw badRequest(`"max_tokens" is a whole number from 1 to ${PART_CHARS}.`);
  const given = Object.entries(asked).filter(([, value]) => value !== undefined && value !== false);
  const part = checkPartRequest(Object.fromEntries(given) as PartRequest);
  const { root } = await log.meta(caller, id);
  const artifact = await artifactMeta(log, root, ref);
  const texts = workFor(caller, log.deps.texts);
  const taken = await texts.part(await openArtifact(log, root, artifact), part, { size: artifact.size });
  const answer = await withinBudget(taken, max_tokens, texts);
  const [[name, value]] = given as [[string, unknown]];
  const what = name === 'outline' ? name : `${name}=${value}`.slice(0, 200);
  const uncounted: JsonObject = counted ? {} : { counted };
  const payload = { ref, by: caller.name, tokens: answer.tokens.tokens, part: what, ...uncounted };
  log.background.run(() =>
    log.note(caller, id, { type: 'artifact.pulled', at: log.deps.env.now(), payload }),
  );
  return answer;
};
