import { badRequest, isRelayError, RelayError } from '../../base/errors.ts';
import { sha256Hex } from '../../base/hash.ts';
import { checkIdempotencyKey, timeOrderedId } from '../../base/ids.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  ANSWER_CHARS,
  QUESTION_CHARS,
  QUESTION_CHOICE_CHARS,
  QUESTION_KEPT_MS,
  QUESTION_TTL_MAX_S,
  QUESTION_TTL_S,
  QUESTIONS_KEPT,
  QUESTIONS_LISTED,
  QUESTIONS_OPEN,
} from '../../base/limits.ts';
import { hasMade, reaches } from '../../contract/authorize.ts';
import { type Caller, type CallerAt, doneBy, LOCAL_CALLER } from '../../contract/caller.ts';
import type {
  AnswerLink,
  AskedQuestion,
  GivenAnswer,
  NewQuestion,
  questions,
} from '../../contract/questions.ts';
import { compareAndSet } from '../../kernel/records.ts';
import type { Deps } from '../deps.ts';
import type { Keys } from '../keys/keys.ts';
import { newAnswerToken } from '../keys/secrets.ts';
import { checkCount } from '../names.ts';
import { allRecords, type RecordsOf, recordsOf } from '../records.ts';
import type { Serves } from '../relay-binding.ts';
import type { ThreadLog } from '../threads/thread-log.ts';

/**
 * A stored question. An open question whose deadline has passed counts as answered with its default, or as
 * expired if it has no default.
 */
interface QuestionRecord extends Omit<AskedQuestion, 'asked_at' | 'expires_at' | 'answered_at'> {
  readonly tenant: string;
  /** Id of the API key that asked. */
  readonly key: string;
  readonly asked: number;
  readonly expires: number;
  readonly answered: number | null;
}

/** A link to answer one question. The hash of its token is the key of this record. */
interface LinkRecord {
  readonly tenant: string;
  readonly question: string;
  /** Name of the person who gets the link. It becomes the author of the answer. */
  readonly name: string;
  /**
   * Id of the API key that created the link. The link works as long as this key, or a key that replaced it, is valid.
   */
  readonly key: string;
}

const listPrefix = (tenant: string) => `ten.${tenant}/questions/`;
const recordKey = (tenant: string, id: string) => listPrefix(tenant) + id;
const linkKey = (hash: string) => `ask.${hash}/link`;

/**
 * Questions to people. The record of a question is the commit point of its answer: the first answer wins. If
 * the question belongs to a thread, the thread's log has an event for the question and one for the answer.
 */
export class Questions implements Serves<typeof questions> {
  readonly #deps: Deps;
  readonly #log: () => Promise<ThreadLog>;
  readonly #keys: () => Pick<Keys, 'isInUse'>;
  readonly #records: RecordsOf<QuestionRecord>;
  readonly #links: RecordsOf<LinkRecord>;

  constructor(deps: Deps, log: () => Promise<ThreadLog>, keys: () => Pick<Keys, 'isInUse'>) {
    this.#deps = deps;
    this.#log = log;
    this.#keys = keys;
    this.#records = recordsOf(deps.engine.records);
    this.#links = recordsOf(deps.engine.records);
  }

  async ask(caller: CallerAt, input: NewQuestion): Promise<AskedQuestion> {
    const { env, activity } = this.#deps;
    const { tenant, keyId: key, name: asked_by } = caller;
    const { question, choices, who, fallback, seconds } = checkQuestion(input);
    const thread_id = input.thread_id?.toLowerCase() ?? null;
    if (thread_id !== null) await (await this.#log()).meta(caller, thread_id);
    const retryKey = checkIdempotencyKey(input.idempotency_key);
    const id = `q_${retryKey === undefined ? timeOrderedId(env) : (await sha256Hex(`${key}\n${retryKey}`)).slice(0, 26)}`;
    const asked = env.now();
    const expires = asked + Math.round(seconds * 1000);
    const record: QuestionRecord = {
      id,
      tenant,
      key,
      question,
      choices,
      who,
      default: fallback,
      thread_id,
      step: input.step ?? null,
      asked_by,
      asked,
      expires,
      status: 'open',
      answer: null,
      comment: null,
      answered_by: null,
      answered: null,
      via: null,
    };
    if (retryKey !== undefined && (await this.#records.get(recordKey(tenant, id))))
      return this.get(caller, id);
    await this.#makeRoom(tenant);
    const expiresAt = expires + QUESTION_KEPT_MS;
    const stored = await this.#records.put(recordKey(tenant, id), record, { expect: 'absent', expiresAt });
    if (stored === null) return this.get(caller, id);
    activity.note(tenant, { kind: 'question.asked', ...doneBy(caller), question: id, ...ofThread(record) });
    await this.#note(record, 'asked', { question, choices: [...choices], by: asked_by });
    return toWire(record);
  }

  /** Throws if too many questions are open. Deletes the oldest questions that have ended if too many are stored. */
  async #makeRoom(tenant: string): Promise<void> {
    const all = await this.#all(tenant);
    const ended = all.filter(({ status }) => status !== 'open').sort((a, b) => a.asked - b.asked);
    if (all.length - ended.length >= QUESTIONS_OPEN)
      throw badRequest(
        `There are already ${QUESTIONS_OPEN} open questions, which is the limit.`,
        'Answer or withdraw some first.',
      );
    for (const { id } of ended.slice(0, Math.max(0, all.length - QUESTIONS_KEPT + 1)))
      await this.#records.delete(recordKey(tenant, id));
  }

  async list(
    caller: CallerAt,
    o: { status?: AskedQuestion['status']; thread_id?: string; limit?: number } = {},
  ): Promise<{ questions: AskedQuestion[] }> {
    const limit = checkCount('limit', o.limit ?? QUESTIONS_LISTED, QUESTIONS_LISTED);
    const thread = o.thread_id?.toLowerCase();
    const found = (await this.#all(caller.tenant))
      .filter(({ key, status }) => reaches(caller, { by: key }) && status === (o.status ?? 'open'))
      .filter(({ thread_id }) => thread === undefined || thread_id === thread)
      .sort((a, b) => b.asked - a.asked || (a.id < b.id ? 1 : -1));
    return { questions: found.slice(0, limit).map(toWire) };
  }

  async get(caller: CallerAt, id: string): Promise<AskedQuestion> {
    const record = await this.#find(caller, id);
    // The log of the thread may lack the event of the answer: a crash came before the event, or the default became the
    // answer. Write the event now.
    if (record.status === 'answered') await this.#noteAnswer(record);
    return toWire(record);
  }

  async answer(caller: CallerAt, id: string, input: GivenAnswer): Promise<AskedQuestion> {
    const { who } = await this.#find(caller, id);
    // Without API keys, names are not verified, so `who` is not enforced.
    if (who.length > 0 && caller.keyId !== LOCAL_CALLER.keyId && !who.includes(caller.name))
      throw onlyFor(who);
    return this.#settle(caller.tenant, id, { ...input, answered_by: caller.name, via: 'key' });
  }

  async link(caller: CallerAt, id: string, o: { name?: string } = {}): Promise<AnswerLink> {
    const { tenant, expires, status, who, key: asker } = await this.#find(caller, id);
    if (status !== 'open') throw notOpen(status);
    const isAsker = caller.keyId === LOCAL_CALLER.keyId || hasMade(caller, asker);
    if (who.length > 0 && !isAsker && !who.includes(caller.name)) throw onlyFor(who);
    // A person who may answer can create a link only in their own name.
    const own = who.length > 0 && !isAsker ? caller.name : who.length === 1 ? who[0]! : 'link';
    const name = o.name ?? own;
    if (who.length > 0 && name !== own && !(isAsker && who.includes(name))) throw onlyFor(who);
    const { keyId: key } = caller;
    const token = newAnswerToken(this.#deps.env);
    await this.#links.put(
      linkKey(await sha256Hex(token)),
      { tenant, question: id, name, key },
      { expiresAt: expires },
    );
    const path = `/answer/${token}`;
    return { path, url: `${caller.base}${path}`, expires_at: new Date(expires).toISOString() };
  }

  async withdraw(caller: CallerAt, id: string): Promise<void> {
    await this.#find(caller, id);
    await this.#change(caller.tenant, id, () => ({ status: 'withdrawn' }));
  }

  /**
   * Returns the question of a link. Returns null if the token is unknown, the link has expired, or the API key that
   * created the link no longer works.
   */
  async byToken(token: string): Promise<AskedQuestion | null> {
    const link = await this.#linkOf(token);
    const stored = link && (await this.#records.get(recordKey(link.tenant, link.question)));
    return stored ? toWire(this.#current(stored.value)) : null;
  }

  /** Answers the question of a link. Afterwards no link can answer this question. */
  async answerByToken(token: string, input: GivenAnswer): Promise<AskedQuestion> {
    const link = await this.#linkOf(token);
    if (!link) throw missing();
    return this.#settle(link.tenant, link.question, { ...input, answered_by: link.name, via: 'link' });
  }

  async #linkOf(token: string): Promise<LinkRecord | null> {
    const link = (await this.#links.get(linkKey(await sha256Hex(token))))?.value ?? null;
    return link && (await this.#keys().isInUse(link.tenant, link.key)) ? link : null;
  }

  /** Commits an answer and writes its event. */
  async #settle(
    tenant: string,
    id: string,
    { answer, comment = '', ...by }: GivenAnswer & Pick<QuestionRecord, 'answered_by' | 'via'>,
  ): Promise<AskedQuestion> {
    const text = answer.trim();
    if (text === '' || text.length > ANSWER_CHARS || comment.length > ANSWER_CHARS)
      throw badRequest(`An answer has 1 to ${ANSWER_CHARS} characters.`);
    const answered = await this.#change(tenant, id, ({ choices }) => {
      if (choices.length > 0 && !choices.includes(text))
        throw badRequest(`The answer must be one of: ${choices.join(', ')}.`);
      const answered = this.#deps.env.now();
      return { ...by, status: 'answered', answer: text, comment: comment.trim() || null, answered };
    });
    const { activity } = this.#deps;
    const note = { by: by.answered_by ?? 'link', question: id, ...ofThread(answered) };
    activity.note(tenant, { kind: 'question.answered', ...note });
    await this.#noteAnswer(answered);
    return toWire(answered);
  }

  /** Changes an open question. The first of several concurrent changes wins, and the others are rejected. */
  #change(
    tenant: string,
    id: string,
    change: (record: QuestionRecord) => Partial<QuestionRecord>,
  ): Promise<QuestionRecord> {
    return compareAndSet(`question ${id}`, async () => {
      const stored = await this.#records.get(recordKey(tenant, id));
      if (!stored) throw missing();
      const { status, expires } = this.#current(stored.value);
      if (status !== 'open') throw notOpen(status);
      const next = { ...stored.value, ...change(stored.value) };
      const o = { expect: stored.revision, expiresAt: expires + QUESTION_KEPT_MS };
      return (await this.#records.put(recordKey(tenant, id), next, o)) === null ? null : next;
    });
  }

  async #find(caller: CallerAt, id: string): Promise<QuestionRecord> {
    const isId = /^q_[0-9a-f]{26}$/.test(id);
    const stored = isId ? await this.#records.get(recordKey(caller.tenant, id)) : null;
    if (!stored || !reaches(caller, { by: stored.value.key })) throw missing();
    return this.#current(stored.value);
  }

  /**
   * Returns a question in its current form. If an open question has passed its deadline, the default is the answer, or
   * the question is expired if it has no default.
   */
  #current(record: QuestionRecord): QuestionRecord {
    const { status, expires, default: answer } = record;
    if (status !== 'open' || this.#deps.env.now() < expires) return record;
    if (answer === null) return { ...record, status: 'expired' };
    return { ...record, status: 'answered', answer, answered_by: 'timeout', answered: expires };
  }

  async #all(tenant: string): Promise<QuestionRecord[]> {
    return Array.fromAsync(allRecords(this.#records, listPrefix(tenant)), ({ value }) =>
      this.#current(value),
    );
  }

  #noteAnswer(record: QuestionRecord): Promise<void> {
    const { answer, comment, answered_by, answered, via } = record;
    const at = new Date(answered ?? 0).toISOString();
    const payload = { answer, by: answered_by, answered_at: at, via, ...(comment ? { comment } : {}) };
    return this.#note(record, 'answered', payload);
  }

  /** Appends an event about a question to its thread, once. */
  async #note(record: QuestionRecord, what: 'asked' | 'answered', payload: JsonObject): Promise<void> {
    const { id, tenant, thread_id, step } = record;
    if (thread_id === null) return;
    const log = await this.#log();
    const relay: Caller = { ...LOCAL_CALLER, tenant, asRelay: true };
    const { idempotentRequest } = await import('../threads/fold.ts');
    const retry = (await idempotentRequest(`question.${what}`, id, () => sha256Hex(id)))!;
    const event = {
      type: `question.${what}`,
      at: this.#deps.env.now(),
      payload: { id, ...(step === null ? {} : { step }), ...payload },
      ...retry.mark,
    };
    try {
      await log.commit(relay, thread_id, (head) =>
        retry.previousUse(head) ? { done: undefined } : { event, answer: () => undefined },
      );
    } catch (error) {
      // The thread was deleted. The record still has the answer.
      if (!isRelayError(error, 'not_found')) throw error;
    }
  }
}

const ofThread = ({ thread_id }: QuestionRecord) => (thread_id === null ? {} : { thread: thread_id });

function checkQuestion(input: NewQuestion) {
  const question = input.question.trim();
  if (question === '' || question.length > QUESTION_CHARS)
    throw badRequest(`A question has 1 to ${QUESTION_CHARS} characters.`);
  const { choices = [], who = [], default: fallback = null, expires_in: seconds = QUESTION_TTL_S } = input;
  if (new Set(choices).size < choices.length) throw badRequest('Two choices are the same.');
  if (fallback !== null && choices.length > 0 && !choices.includes(fallback))
    throw badRequest(`The default "${fallback.slice(0, 100)}" is not one of the choices.`);
  if ((fallback ?? '').length > ANSWER_CHARS || (input.step ?? '').length > QUESTION_CHOICE_CHARS)
    throw badRequest(
      `"default" may have at most ${ANSWER_CHARS} characters, and "step" at most ${QUESTION_CHOICE_CHARS}.`,
    );
  if (!(seconds >= 1 && seconds <= QUESTION_TTL_MAX_S))
    throw badRequest(`A question stays open for 1 to ${QUESTION_TTL_MAX_S} seconds.`);
  return { question, choices, who, fallback, seconds };
}

function onlyFor(who: readonly string[]): RelayError {
  return new RelayError('forbidden', {
    what: `Only ${who.join(', ')} may answer this question.`,
    hint: who.length === 1 ? 'Use the key with this name.' : 'Use a key with one of these names.',
  });
}

function missing(): RelayError {
  return new RelayError('not_found', {
    what: 'this question',
    hint: 'List open questions with: relay approve --list',
  });
}

function notOpen(status: AskedQuestion['status']): RelayError {
  const what = status === 'answered' ? 'The question is already answered.' : `The question is ${status}.`;
  return new RelayError('conflict', {
    what,
    hint: 'Only the first answer counts. For another answer, ask a new question.',
  });
}

function toWire({ tenant: _, key: _key, asked, expires, answered, ...rest }: QuestionRecord): AskedQuestion {
  return {
    ...rest,
    asked_at: new Date(asked).toISOString(),
    expires_at: new Date(expires).toISOString(),
    answered_at: answered === null ? null : new Date(answered).toISOString(),
  };
}
